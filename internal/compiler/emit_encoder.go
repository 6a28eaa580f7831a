package compiler

import (
	"fmt"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/td"
)

// encoder256 is the encoding of version 256, which takes every layer that becomes a task.
type encoder256 struct{}

func newEncoder256(*hal.Target) encoder { return encoder256{} }

// Takes reports whether a layer becomes tasks, wherever its values will lie.
func (encoder256) Takes(s *Segment, l *anec.Layer) error {
	if isView(l) || viewKinds[l.Kind()] && emitters[l.Kind()] == nil { // with an epilogue, it will be a copy of a view
		return nil
	}
	anywhere := func(v *anec.Value) td.Operand { return td.Dense(hwx.BaseScratch, 0, v.Type.DType, v.Type.Dims) }
	_, err := emitLayer(l, anywhere)
	return err
}

// Layout is dense.
func (encoder256) Layout(t anec.Type) (strides [anec.NumAxes]int64, size int64) {
	bytes, _ := t.Bytes()
	return td.Dense(0, 0, t.DType, t.Dims).Strides, int64(bytes)
}

func (encoder256) Align() int64 { return 1 }

// Names is always true: operands have any strides.
func (encoder256) Names(spot, anec.Type) bool { return true }

func (encoder256) Groups(*Segment, []*anec.Layer) map[*anec.Layer]*anec.Layer { return nil }

// Choose makes the operations of the one layer of a choice.
func (encoder256) Choose(c *choice) ([]Task, error) {
	l := c.layer()
	for _, v := range append(l.Reads(), l.Tops...) {
		if _, ok := c.spot(v); !ok {
			return nil, &anec.LayerError{Layer: l.Name, Kind: l.Kind(), Origin: l.Origin, Err: fmt.Errorf("value %q has no place", v.Name)}
		}
	}
	ops, err := emitLayer(l, c.operand)
	var tasks []Task
	for _, op := range ops {
		tasks = append(tasks, Task{Layer: l, Op: op})
	}
	return tasks, err
}

func (encoder256) Fits(*choice, []Task) error { return nil }

// Keep is false: version 256 has no memory on chip.
func (encoder256) Keep(*anec.Value, spot, []Task, []Task) bool { return false }

// Encode makes tasks of version 256.
func (encoder256) Encode(tasks []Task) ([]*td.Task, error) {
	list := make([]*td.Task, len(tasks))
	for i, t := range tasks {
		var err error
		if list[i], err = encodeOperation(t.Op, td.V256, i, len(tasks)); err != nil {
			return nil, fmt.Errorf("task %d: %w", i, err)
		}
	}
	return list, nil
}

// encodeOperation makes the task of an operation, the index-th of count, in a program of a version.
func encodeOperation(op *td.Op, version td.Version, index, count int) (*td.Task, error) {
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
