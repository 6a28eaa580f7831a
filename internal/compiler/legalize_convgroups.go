package compiler

import (
	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/segment"
)

// legalizeConvGroups makes a convolution of each group, where a group has more inputs than the target's engine takes side
// by side: channels times kernel area (guide A, group-conv decompose limit).
//
//	%y = anec.convolution(%x, %w) {groups = 2}
//
//	%x_1 = anec.input_view(%x) {axis = C, offset = 0} …
//	%y_1 = anec.convolution(%x_1, %w_1)
//	%x_2 = anec.input_view(%x) {axis = C, offset = …}
//	%y_2 = anec.convolution(%x_2, %w_2)
//	%y = anec.concat(%y_1, %y_2) {axis = C}
var legalizeConvGroups = splitLayers(func(l *anec.Layer, s *segment.Segment) []span {
	p, ok := l.Params.(*anec.Conv)
	limit := s.Target.Limits.GroupConv
	if !ok || p.Groups == 1 || p.Transposed || limit == hal.NoLimit {
		return nil
	}
	w := l.Bottoms[1].Type.Dims
	if w[anec.C]*p.Kernel[0]*p.Kernel[1]*p.Kernel[2] <= limit {
		return nil
	}
	return spansOf(w[anec.N], w[anec.N]/p.Groups)
})
