package v7

import (
	"fmt"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/internal/encode/selection"
	v256 "github.com/espalier-ane/espalier/internal/encode/v256"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/internal/units"
	"github.com/espalier-ane/espalier/td"
)

// Encoder is the encoder of version 7, H13's own.
type Encoder struct{ target *hal.Target }

func New(t *hal.Target) Encoder { return Encoder{t} }

func (Encoder) Takes(s *segment.Segment, l *anec.Layer) error { return selection.Takes(s, l) }

// Layout is in rows as ports have them.
func (e Encoder) Layout(t anec.Type) (strides [anec.NumAxes]int64, size int64) {
	return segment.PortLayout(t, e.target)
}

func (e Encoder) Align() int64 { return int64(e.target.Sizes.RowAlign) }

func (e Encoder) Names(at segment.Spot, t anec.Type) bool {
	_, why := selection.SurfaceAt(e.machine(), at.Offset, at.Strides, t)
	return why == nil
}

func (e Encoder) machine() units.Machine { return units.Machine{Sizes: e.target.Sizes} }

func (Encoder) Groups(s *segment.Segment, layers []*anec.Layer) map[*anec.Layer]*anec.Layer {
	return selection.Groups(s, layers)
}

func (Encoder) Choose(c *segment.Choice) ([]segment.Task, error) { return selection.Choose(c) }

func (Encoder) Fits(c *segment.Choice, tasks []segment.Task) error {
	return selection.Fits(c, tasks, func(o *units.Op) *diag.Reason {
		_, why := encodeOp(o, 1, 3)
		return why
	})
}

func (e Encoder) Keep(v *anec.Value, at segment.Spot, from, to []segment.Task) bool {
	return selection.Keep(e.machine(), v, at, from, to)
}

// Encode makes tasks of version 7. An operation of version 256 travels as an extension record.
func (Encoder) Encode(tasks []segment.Task) ([]*td.Task, error) {
	list := make([]*td.Task, len(tasks))
	for i, t := range tasks {
		if t.Unit != nil {
			task, why := encodeOp(t.Unit, i, len(tasks))
			if why != nil {
				return nil, fmt.Errorf("task %d: %w", i, why)
			}
			list[i] = task
			continue
		}
		task, err := v256.Task(t.Op, td.V7, i, len(tasks))
		if err != nil {
			return nil, fmt.Errorf("task %d: %w", i, err)
		}
		list[i] = task
	}
	return list, nil
}
