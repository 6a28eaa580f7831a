package v7

import (
	"fmt"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/internal/encode/selection"
	v256 "github.com/espalier-ane/espalier/internal/encode/v256"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/internal/units"
	"github.com/espalier-ane/espalier/td"
)

// Encoder is the encoder of version 7, native to H13.
type Encoder struct{ selection.Chip }

// New makes the encoder for a target.
func New(t *hal.Target) Encoder {
	return Encoder{selection.Chip{Target: t, Words: func(o *units.Op) *diag.Reason {
		_, why := Encoder{selection.Chip{Target: t}}.words(o, 1, 3)
		return why
	}}}
}

// Encode makes tasks of version 7. An operation of version 256 travels as an extension record.
func (e Encoder) Encode(tasks []segment.Task) ([]*td.Task, error) {
	list := make([]*td.Task, len(tasks))
	for i, t := range tasks {
		if t.Unit != nil {
			task, why := e.words(t.Unit, i, len(tasks))
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

// words are those of an operation, in the form that the target asks for.
func (e Encoder) words(o *units.Op, index, count int) (*td.Task, *diag.Reason) {
	if e.Target.Form2020 {
		return encodeOp2020(units.Machine{Sizes: e.Target.Sizes}, o, index, count)
	}
	w := &words{task: td.NewV7Task(o.Kernel != nil)}
	w.op(o, index, count)
	return w.task, w.why
}
