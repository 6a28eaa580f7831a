package compiler

import (
	"slices"

	"github.com/espalier-ane/espalier/internal/anec"
)

// OnChip is what the compiler of a chip adds to a plan: which values stay on chip and how, the partitions of the task list,
// and what runs side by side. Tasks address main memory whatever it says: it is for emission and reports, which choose
// by it. The passes after memory fill it in from the top down.
type OnChip struct {
	Bytes  int64 // of on-chip memory
	Budget int64 // bytes that a partition may fill
	Tasks  []ChipTask
	Values []*ChipValue // what tasks make, and before it what they read from outside, by task

	Partitions []Partition
	Pairs      [][2]int // tasks that run side by side
	Joins      []WidthConcat
	Kernels    []KernelStream
}

// A ChipTask is what is known of a task, by the index of its layer in Plan.Layers.
type ChipTask struct {
	Unit      Unit
	AtLoad    bool // it runs once, when the program is loaded: it is not in the schedule
	Partition int  // -1: none
	Pressure  int64
	Chained   int // the task whose result it takes as it comes; -1: none
	Partner   int // the task that runs beside it; -1: none

	Tiles      int64 // bytes of on-chip memory through which operands stream
	TileOffset int64
}

// A ChipValue is a root tensor: one that a task makes or that comes from outside. Views of it are not values here.
type ChipValue struct {
	Value   *anec.Value
	Maker   int   // task; -1: it comes from outside
	Readers []int // tasks that read its bytes, itself or through views and concatenations, ascending
	Leaves  bool  // by an output or a state
	Chain   chainRule

	State  AllocationState
	Over   *ChipValue // whose bytes it takes over
	Layout rowLayout  // on chip
	Offset int64      // on chip; -1: it is not there
	Bytes  int64      // on chip: all of it, or of a chain the two tiles

	streams bool // too large to stay whole
}

// last is the last task that needs the value.
func (v *ChipValue) last() int {
	if n := len(v.Readers); n > 0 {
		return max(v.Maker, v.Readers[n-1])
	}
	return v.Maker
}

// root is the value whose bytes it has.
func (v *ChipValue) root() *ChipValue {
	for v.Over != nil {
		v = v.Over
	}
	return v
}

// chipValues finds the root tensors of a plan and who reads them:
//
//	%a = Conv(%x)                 roots   %x  read by Conv
//	%r = Reshape(%a)                      %a  read by Softmax and MatMul
//	%s = Softmax(%r)                      %s  read by MatMul
//	%m = MatMul(%s, %r)
func chipValues(s *Segment) error {
	if !s.keepsOnChip() {
		return nil
	}
	t := s.Target
	oc := &OnChip{Bytes: int64(t.Sizes.OnChip), Budget: int64(float64(t.Sizes.OnChip) * t.Residency.Margin)}
	s.Plan.OnChip = oc
	number := map[*anec.Layer]int{}
	derived := derivedLayers(s.Order)
	for i, l := range s.Plan.Layers {
		number[l] = i
		oc.Tasks = append(oc.Tasks, ChipTask{Unit: kindUnits[l.Kind()], AtLoad: derived[l], Partition: -1, Chained: -1, Partner: -1})
	}
	roots := map[*anec.Value]*ChipValue{}
	root := func(v *anec.Value, maker int) *ChipValue {
		r := roots[v]
		if r == nil {
			r = &ChipValue{Value: v, Maker: maker, Offset: -1, Chain: notMade}
			r.Layout = layoutOf(v.Type, t, oc.classOf(maker))
			roots[v] = r
			oc.Values = append(oc.Values, r)
		}
		return r
	}
	var rootsOf func(v *anec.Value, list []*ChipValue) []*ChipValue
	rootsOf = func(v *anec.Value, list []*ChipValue) []*ChipValue {
		switch l := v.Def; {
		case v.Const != nil:
		case l == nil:
			list = append(list, root(v, -1))
		default:
			if i, ok := number[l]; ok {
				return append(list, root(v, i))
			}
			bottoms := l.Bottoms // of a concatenation
			if l.Kind() != anec.KindConcat {
				bottoms = bottoms[:1]
			}
			for _, b := range bottoms {
				list = rootsOf(b, list)
			}
		}
		return list
	}
	for i, l := range s.Plan.Layers {
		for _, v := range l.Reads() {
			for _, r := range rootsOf(v, nil) {
				if n := len(r.Readers); n == 0 || r.Readers[n-1] != i {
					r.Readers = append(r.Readers, i)
				}
			}
		}
		for _, v := range l.Tops {
			root(v, i)
		}
	}
	leave := slices.Clone(s.Graph.Outputs)
	for _, state := range s.Graph.States {
		leave = append(leave, state.After)
	}
	for _, v := range leave {
		for _, r := range rootsOf(v, nil) {
			r.Leaves = true
		}
	}
	return nil
}

// classOf is the class of a task's unit, that of the array where there is none.
func (oc *OnChip) classOf(task int) (class int) {
	if task >= 0 {
		class = int(oc.Tasks[task].Unit.Class)
	}
	return class
}

// Used is how much of on-chip memory a segment takes.
func (oc *OnChip) Used() (bytes int64) {
	for _, v := range oc.Values {
		if v.State.onChip() {
			bytes = max(bytes, v.Offset+v.Bytes)
		}
	}
	for _, t := range oc.Tasks {
		bytes = max(bytes, t.TileOffset+t.Tiles)
	}
	return bytes
}

// Chains counts the values that supply the next task directly.
func (oc *OnChip) Chains() (n int) {
	for _, v := range oc.Values {
		if v.State == Chained {
			n++
		}
	}
	return n
}

// operands are the root tensors that tasks read, by task.
func (oc *OnChip) operands() [][]*ChipValue {
	list := make([][]*ChipValue, len(oc.Tasks))
	for _, v := range oc.Values {
		for _, i := range v.Readers {
			list[i] = append(list[i], v)
		}
	}
	return list
}

// results are the root tensors that tasks make, by task.
func (oc *OnChip) results() [][]*ChipValue {
	list := make([][]*ChipValue, len(oc.Tasks))
	for _, v := range oc.Values {
		if v.Maker >= 0 {
			list[v.Maker] = append(list[v.Maker], v)
		}
	}
	return list
}
