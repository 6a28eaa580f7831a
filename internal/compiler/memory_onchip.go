package compiler

import (
	"slices"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/segment"
)

// chipValues finds the root tensors of a plan and who reads them:
//
//	%a = anec.convolution(%x)                 roots   %x  read by Conv
//	%r = anec.reshape(%a)                      %a  read by Softmax and MatMul
//	%s = anec.softmax(%r)                      %s  read by MatMul
//	%m = MatMul(%s, %r)
func chipValues(s *segment.Segment) error {
	if !keepsOnChip(s) {
		return nil
	}
	t := s.Target
	oc := &segment.OnChip{Bytes: int64(t.Sizes.OnChip), Budget: int64(float64(t.Sizes.OnChip) * t.Residency.Margin)}
	s.Plan.OnChip = oc
	number := map[*anec.Layer]int{}
	derived := segment.DerivedLayers(s.Order)
	for i, l := range s.Plan.Layers {
		number[l] = i
		oc.Tasks = append(oc.Tasks, segment.ChipTask{Unit: l.Info().Unit, AtLoad: derived[l], Partition: -1, Chained: -1, Partner: -1})
	}
	roots := map[*anec.Value]*segment.ChipValue{}
	root := func(v *anec.Value, maker int) *segment.ChipValue {
		r := roots[v]
		if r == nil {
			r = &segment.ChipValue{Value: v, Maker: maker, Offset: -1, Chain: segment.NotMade}
			r.Layout = layoutOf(v.Type, t, oc.ClassOf(maker))
			roots[v] = r
			oc.Values = append(oc.Values, r)
		}
		return r
	}
	var rootsOf func(v *anec.Value, list []*segment.ChipValue) []*segment.ChipValue
	rootsOf = func(v *anec.Value, list []*segment.ChipValue) []*segment.ChipValue {
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

// keepsOnChip reports whether the target's tasks share on-chip memory, which its schedule then goes by.
func keepsOnChip(s *segment.Segment) bool {
	return s.Target != nil && s.Target.Sizes.OnChip > 0 && s.Target.Residency.Margin > 0
}
