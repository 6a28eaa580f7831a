package compiler

import (
	"fmt"
	"slices"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/units"
	"github.com/espalier-ane/espalier/tensor"
)

// What an encoder of a chip with these engines asks.

// groupLayers finds layers that another one's tasks compute along: which one that is.
func groupLayers(s *Segment, layers []*anec.Layer) map[*anec.Layer]*anec.Layer {
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

// takesLayer knows the kinds that have tasks, and that all values are in fp16 or bool, without depth, and no states.
func takesLayer(s *Segment, l *anec.Layer) error {
	if !unitKinds[l.Kind()] {
		return fmt.Errorf("no task of the array or planar engine is known for %v", l.Kind())
	}
	for _, v := range append(l.Reads(), l.Tops...) {
		switch {
		case v.Const != nil || isDecoded(v):
		case v.Type.Dims[anec.D] != 1:
			return fmt.Errorf("%q has depth", v.Name)
		case v.Type.DType != tensor.Float16 && v.Type.DType != tensor.Bool:
			return fmt.Errorf("%q is of %v", v.Name, v.Type.DType)
		case v.Def == nil && !slices.Contains(s.Graph.Inputs, v):
			return fmt.Errorf("%q is a state", v.Name)
		}
	}
	return nil
}

var unitKinds = setOf(
	anec.KindElementWise, anec.KindNeuron, anec.KindTypeCast, anec.KindGOC, anec.KindSelect, anec.KindPooling, anec.KindReduction,
	anec.KindSoftmax, anec.KindLayerNorm, anec.KindInstanceNorm, anec.KindL2Norm, anec.KindConv, anec.KindMatMul, anec.KindLinear,
	anec.KindSDPA, anec.KindCopy, anec.KindConcat, anec.KindPadding, anec.KindTile, anec.KindGather, anec.KindPixelShuffle,
	anec.KindPixelUnshuffle, anec.KindChannelToSpace, anec.KindSpaceToChannel, anec.KindBatchToSpace, anec.KindSpaceToBatch,
)

// errNotCertain says that there are no tasks that are certain to be right.
var errNotCertain = fmt.Errorf("no certain tasks are known for it")

// chooseTasks selects the tasks of a choice.
func chooseTasks(c *choice) ([]Task, error) {
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

// fitsTasks reports whether tasks may stand for the layers of a choice: words can say them, the numerics allow them, and no task
// writes over what a later one reads.
func fitsTasks(c *choice, tasks []Task, words func(*units.Op) error) error {
	for _, t := range tasks {
		o := t.Unit
		if c.exactFunctions && (o.NonLinear == units.Table || o.Rounded) || c.otherCrops && o.Cropped {
			return errNotCertain
		}
		if err := words(o.Bind(c.entry)); err != nil {
			return errNotCertain
		}
	}
	stored := readsStored(tasks)
	for _, y := range c.touched {
		for _, x := range c.touched {
			if c.makes(y) && !c.makes(x) && c.meet(x, y) && (stored || !c.inPlace(x, y)) {
				return errNotCertain
			}
		}
	}
	return nil
}

// keepOnChip leaves a result on chip that supplies the next task directly, where both tasks can:
//
//	task 0  conv   x from memory       a to memory                   task 0  conv   x from memory     a on chip
//	task 1  relu   a from memory       y to memory          →        task 1  relu   a on chip         y to memory
//
// The value lies behind all that the two tasks have on chip besides. One for which there is no room goes through memory.
func keepOnChip(m units.Machine, v *anec.Value, spot spot, from, to []Task) bool {
	at, ok := surfaceAt(m, spot.offset, spot.strides, v.Type)
	if !ok || len(from) == 0 || len(to) == 0 {
		return false
	}
	at.Base = spot.buffer.id
	made, taken := from[len(from)-1].Unit, to[0].Unit
	if made == nil || taken == nil || !made.Leaves(at) || !taken.Takes(at) {
		return false
	}
	size, groups := v7sizeOf(v.Type.Dims)
	lo, hi := at.Hull(size, groups)
	again := slices.ContainsFunc(to[1:], func(t Task) bool { return t.Unit.Reads(at.Base, lo, hi) })
	if groups != 1 || made.Out != size || taken.In != size || again {
		return false // one of them reads its axes otherwise, or a part of it later
	}
	chip := m.ResidentChip(units.Apart(units.Align(max(m.ChipEnd(made), m.ChipEnd(taken)), 0x40)), size)
	if chip.End(size.H) >= m.OnChip {
		return false
	}
	made.Result, made.Chip = nil, chip
	taken.Source1 = units.Source{Chip: chip}
	return true
}
