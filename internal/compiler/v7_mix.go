package compiler

import (
	"errors"
	"slices"

	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/units"
	"github.com/espalier-ane/espalier/td"
)

// v7Encoder is H13's own encoding.
type v7Encoder struct{}

// groups finds layers that another one's tasks compute along: which one that is.
func (v7Encoder) groups(s *Segment, layers []*anec.Layer) map[*anec.Layer]*anec.Layer {
	b := newV7build(&choice{Segment: s})
	root := map[*anec.Layer]*anec.Layer{}
	for _, l := range slices.Backward(layers) {
		stands := l
		if r := root[l]; r != nil {
			stands = r
		}
		before := len(b.joined)
		b.join(l)
		if len(b.joined) == before {
			continue
		}
		for j := range b.joined {
			if root[j] == nil {
				root[j] = stands
			}
		}
	}
	return root
}

// errNotCertain says that there are no tasks of the encoding that are certain to be right.
var errNotCertain = errors.New("version 7 has no certain tasks for it")

// choose selects the tasks of a choice.
func (v7Encoder) choose(c *choice) ([]Task, error) {
	b := newV7build(c)
	ops, ok := b.attempt(func() ([]*units.Op, bool) {
		ops, ok := selectV7(c.layer(), b)
		return ops, ok && len(ops) > 0
	})
	if !ok {
		return nil, errNotCertain
	}
	c.temporaries = int64(b.scratch)
	tasks := make([]Task, len(ops))
	for i, o := range ops {
		tasks[i] = Task{Layer: c.layer(), Unit: o}
	}
	return tasks, nil
}

// fits reports whether tasks may stand for the layers of a choice: the registers can say them, the numerics allow them, and no
// task writes over what a later one reads.
func (v7Encoder) fits(c *choice, tasks []Task) error {
	var ops []*units.Op
	for _, t := range tasks {
		o := t.Unit
		if c.exactFunctions && (o.NonLinear == units.Table || o.Rounded) || c.otherCrops && o.Cropped {
			return errNotCertain
		}
		if _, err := encodeOp(o.Bind(c.entry), 1, 3); err != nil {
			return errNotCertain
		}
		ops = append(ops, o)
	}
	stored := readsStored(ops)
	for _, y := range c.touched {
		for _, x := range c.touched {
			if c.makes(y) && !c.makes(x) && c.meet(x, y) && (stored || !c.inPlace(x, y)) {
				return errNotCertain
			}
		}
	}
	return nil
}

// entry is where a memory may come to lie, for the question whether words can say it.
func (s *Segment) entry(memory, offset int) (base, bound int) {
	switch m := s.buffers[memory]; m.region {
	case InPort:
		return hwx.BasePorts + m.port, offset
	case InDerived:
		return hwx.BaseDerived, offset
	case InPacked:
		return hwx.BaseConst, offset
	}
	return hwx.BaseScratch, offset
}

// meet reports whether the bytes of two values may overlap.
func (c *choice) meet(x, y *anec.Value) bool {
	a, _ := c.spot(x)
	b, _ := c.spot(y)
	return a.buffer == b.buffer && a.offset < b.end(y.Type) && b.offset < a.end(x.Type)
}

// inPlace reports whether two values lie the same way, element over element.
func (c *choice) inPlace(x, y *anec.Value) bool {
	a, _ := c.spot(x)
	b, _ := c.spot(y)
	return x.Type.Dims == y.Type.Dims && x.Type.DType == y.Type.DType && a.same(b, x.Type.Dims)
}

// end is the byte after the last of a value that lies there.
func (s spot) end(t anec.Type) int64 {
	last := s.offset + int64(max(t.DType.Size(), 1))
	for a, n := range t.Dims {
		last += int64(max(n-1, 0)) * s.strides[a]
	}
	return last
}

// readsStored reports whether a task reads where an earlier one has stored a value. Tasks that take a value piece by piece,
// and leave each in its place, do not.
func readsStored(ops []*units.Op) bool {
	for i, o := range ops {
		r := o.Result
		if r == nil || r.Backing || r.Base == temporaries {
			continue
		}
		size := o.Out
		if o.Exchange {
			size.C, size.W = size.W, size.C
		}
		lo, hi := r.Hull(size, o.Groups)
		if slices.ContainsFunc(ops[i+1:], func(later *units.Op) bool { return later.Reads(r.Base, lo, hi) }) {
			return true
		}
	}
	return false
}

// version is that of its tasks.
func (v7Encoder) version() td.Version { return td.V7 }
