package v256

import (
	"fmt"

	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/td"
)

// Encoder is the encoder of version 256, which takes every layer that becomes a task.
type Encoder struct{}

// Takes reports whether a layer becomes tasks, wherever its values will lie.
func (Encoder) Takes(s *segment.Segment, l *anec.Layer) error {
	if segment.IsView(l) || l.Info().View.Only && emitters[l.Kind()] == nil { // with an epilogue, it will be a copy of a view
		return nil
	}
	anywhere := func(v *anec.Value) td.Operand { return td.Dense(hwx.BaseScratch, 0, v.Type.DType, v.Type.Dims) }
	_, err := Layer(l, anywhere)
	return err
}

// Layout is dense.
func (Encoder) Layout(t anec.Type) (strides [anec.NumAxes]int64, size int64) {
	bytes, _ := t.Bytes()
	return td.Dense(0, 0, t.DType, t.Dims).Strides, int64(bytes)
}

func (Encoder) Align() int64 { return 1 }

// Names is always true: operands have any strides.
func (Encoder) Names(segment.Spot, anec.Type) bool { return true }

func (Encoder) Groups(*segment.Segment, []*anec.Layer) map[*anec.Layer]*anec.Layer { return nil }

// Choose makes the operations of the one layer of a choice.
func (Encoder) Choose(c *segment.Choice) ([]segment.Task, error) {
	l := c.Layer()
	for _, v := range append(l.Reads(), l.Tops...) {
		if _, ok := c.Spot(v); !ok {
			return nil, &anec.LayerError{Layer: l.Name, Kind: l.Kind(), Origin: l.Origin, Err: fmt.Errorf("value %q has no place", v.Name)}
		}
	}
	ops, err := Layer(l, c.Operand)
	var tasks []segment.Task
	for _, op := range ops {
		tasks = append(tasks, segment.Task{Layer: l, Op: op})
	}
	return tasks, err
}

func (Encoder) Fits(*segment.Choice, []segment.Task) error { return nil }

// Keep is false: version 256 has no memory on chip.
func (Encoder) Keep(*anec.Value, segment.Spot, []segment.Task, []segment.Task) bool { return false }

// Encode makes tasks of version 256.
func (Encoder) Encode(tasks []segment.Task) ([]*td.Task, error) {
	list := make([]*td.Task, len(tasks))
	for i, t := range tasks {
		var err error
		if list[i], err = Task(t.Op, td.V256, i, len(tasks)); err != nil {
			return nil, fmt.Errorf("task %d: %w", i, err)
		}
	}
	return list, nil
}

// Task makes the task of an operation, the index-th of count, in a program of a version.
func Task(op *td.Op, version td.Version, index, count int) (*td.Task, error) {
	t, err := op.Task(version)
	if err != nil {
		return nil, err
	}
	for _, flag := range []struct {
		field *td.Field
		set   bool
	}{{td.V7NotFirst, index > 0}, {td.V7Last, index == count-1}} {
		if flag.set {
			if err := t.Set(flag.field, 1); err != nil {
				return nil, err
			}
		}
	}
	return t, nil
}
