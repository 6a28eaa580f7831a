package compiler

import (
	"slices"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/tensor"
)

// joins reports whether a concatenation is a task, of a chip whose native tasks write rows of whole 64 bytes, because a part of it
// begins inside of them. Its parts lie by themselves.
func (p *planner) joins(l *anec.Layer) bool {
	c, ok := l.Params.(*anec.Concat)
	if !ok || c.Interleave || p.native.Align() == 1 || p.derived[l] || l.Top().Type.DType != tensor.Float16 || !segment.IsBare(l) {
		return false
	}
	at := segment.Spot{}
	at.Strides, _ = p.native.Layout(l.Top().Type)
	return slices.ContainsFunc(segment.PartsOf(l, at), func(s segment.Spot) bool { return s.Offset%p.native.Align() != 0 })
}

// widthConcats finds the concatenations along W:
//
//	%y = anec.concat(%a, %b) {axis = W}      8 and 8 elements of fp16: %b begins at byte 16, on a granule
//	                                6 and 8: at byte 12, not on one
func widthConcats(s *segment.Segment) error {
	if !keepsOnChip(s) {
		return nil
	}
	granule := int64(max(s.Target.Sizes.OnChipAlign, 1))
	for _, l := range s.Order {
		c, ok := l.Params.(*anec.Concat)
		if !ok || c.Axis != anec.W || c.Interleave {
			continue
		}
		join := segment.WidthConcat{Value: l.Top(), InPlace: true}
		at := int64(0)
		for _, v := range l.Bottoms {
			join.Starts = append(join.Starts, at)
			join.InPlace = join.InPlace && at%granule == 0
			at += int64(v.Type.Dims[anec.W]) * int64(v.Type.DType.Bits()) / 8
		}
		s.Plan.OnChip.Joins = append(s.Plan.OnChip.Joins, join)
	}
	return nil
}
