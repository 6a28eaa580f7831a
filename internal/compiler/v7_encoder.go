package compiler

import (
	"fmt"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/units"
	"github.com/espalier-ane/espalier/td"
)

// encoder7 is H13's own encoding, version 7.
type encoder7 struct{ target *hal.Target }

func newEncoder7(t *hal.Target) encoder { return encoder7{t} }

func (encoder7) Takes(s *Segment, l *anec.Layer) error { return takesLayer(s, l) }

// Layout is in rows as ports have them.
func (e encoder7) Layout(t anec.Type) (strides [anec.NumAxes]int64, size int64) {
	return portLayout(t, e.target)
}

func (e encoder7) Align() int64 { return int64(e.target.Sizes.RowAlign) }

func (e encoder7) Names(at spot, t anec.Type) bool {
	_, ok := surfaceAt(e.machine(), at.offset, at.strides, t)
	return ok
}

func (e encoder7) machine() units.Machine { return units.Machine{Sizes: e.target.Sizes} }

func (encoder7) Groups(s *Segment, layers []*anec.Layer) map[*anec.Layer]*anec.Layer {
	return groupLayers(s, layers)
}

func (encoder7) Choose(c *choice) ([]Task, error) { return chooseTasks(c) }

func (encoder7) Fits(c *choice, tasks []Task) error {
	return fitsTasks(c, tasks, func(o *units.Op) error {
		_, err := encodeOp(o, 1, 3)
		return err
	})
}

func (e encoder7) Keep(v *anec.Value, at spot, from, to []Task) bool {
	return keepOnChip(e.machine(), v, at, from, to)
}

// Encode makes tasks of version 7. An operation of version 256 travels as an extension record.
func (encoder7) Encode(tasks []Task) ([]*td.Task, error) {
	list := make([]*td.Task, len(tasks))
	for i, t := range tasks {
		var err error
		if t.Unit != nil {
			list[i], err = encodeOp(t.Unit, i, len(tasks))
		} else {
			list[i], err = encodeOperation(t.Op, td.V7, i, len(tasks))
		}
		if err != nil {
			return nil, fmt.Errorf("task %d: %w", i, err)
		}
	}
	return list, nil
}
