package compiler

import (
	"slices"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/segment"
)

// fuseTransposes makes a layer write its result transposed where somebody wants it dense: an output, a state, or a
// reshape. Everywhere else a transpose is a view, for operands have strides. Native tasks have none along W: there
// a product comes back from the channels by itself.
//
//	%a = anec.convolution(%x, %w)
//	%y = anec.transpose(%a) {perm = [N, D, H, W, C]}
//	output %y
//
//	%y = anec.convolution(%x, %w) | transpose NDHWC
//	output %y
func fuseTransposes(s *segment.Segment) error {
	f := newFusion(s)
	for _, l := range s.Graph.Order() {
		if l.Kind() != anec.KindTranspose || !isMove(l) || !f.wantedDense(l) {
			continue
		}
		x := l.Bottoms[0]
		p := x.Def
		if p == nil || !f.hasEpilogue(p) || len(p.Tops) != 1 || p.Epilogue.Quant != nil || !f.readBy(x, l) || !f.canDelay(p) {
			continue
		}
		perm := l.Params.(*anec.Transpose).Perm
		if p.Epilogue.Transpose != nil {
			perm = p.Epilogue.Transpose.Then(perm)
		}
		f.check(f.Edit(l, func(l *anec.Layer) {
			l.Params, l.Bottoms, l.Epilogue, l.OutputType = p.Params, slices.Clone(p.Bottoms), p.Epilogue, p.OutputType
			l.Epilogue.Transpose = &perm
			l.Origin = segment.JoinOrigins(p.Origin, l.Origin)
		}))
		f.discard(p)
	}
	s.Graph.Sweep()
	return f.err
}

// wantedDense reports whether a transposed view would be copied, or read by no native task.
func (f *fusion) wantedDense(transpose *anec.Layer) bool {
	v, x := transpose.Top(), transpose.Bottoms[0]
	if f.kept[v] {
		return true
	}
	if f.target.HasNativeEncoding() && x.Def != nil && x.Def.Kind() == anec.KindConv && transpose.Params.(*anec.Transpose).Perm == segment.Exchange(anec.C, anec.W) {
		return true
	}
	return slices.ContainsFunc(v.Uses, func(l *anec.Layer) bool { return l.Kind() == anec.KindReshape || l.Kind() == anec.KindFlatten })
}
