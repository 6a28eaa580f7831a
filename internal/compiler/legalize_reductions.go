package compiler

import (
	"errors"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/td"
)

// legalizeReductions brings channels to the rows before a reduction over more of them than the target's threshold: an
// engine reduces along rows (guide 24, reduction-via-transpose extent; guide A, none before A13).
//
//	%y = anec.reduce_sum(%x) {axes = C} : fp16[1,1,1,8,8]                  %x [1,1,256,8,8]
//
//	%t = anec.transpose(%x) {perm = [N, D, W, H, C]} : fp16[1,1,8,8,256]
//	%r = anec.reduce_sum(%t) {axes = W} : fp16[1,1,8,8,1]
//	%y = anec.transpose(%r) {perm = [N, D, W, H, C]} : fp16[1,1,1,8,8]
//
// Channels that are more than a row has elements go in parts, whose results are combined. A reduction over rows too stays as it
// is, and so does one that gives places.
func legalizeReductions(s *segment.Segment) error {
	var refused refusals
	for _, l := range s.Graph.Order() {
		p, ok := l.Params.(*anec.Reduction)
		if !ok || !p.Axes.Has(anec.C) || p.Axes.Has(anec.W) || p.Type == td.ReduceArgMin || p.Type == td.ReduceArgMax ||
			l.Bottoms[0].Type.Dims[anec.C] <= s.Target.Limits.ReductionViaTranspose {
			continue
		}
		if longest := s.Target.Limits.Tensor[anec.W]; l.Bottoms[0].Type.Dims[anec.C] > longest {
			refused.add(l, rewrite(s.Graph, l, func(b *anec.Builder, l *anec.Layer) (*anec.Value, error) { return reduceParts(b, l, longest) }))
			continue
		}
		refused.add(l, rewriteCore(s.Graph, l, 0, reduceRows))
	}
	return refused.err()
}

// combining are the reductions of which one of parts is one of all, and what combines two results.
var combining = map[td.ReductionKind]td.EWKind{td.ReduceSum: td.EWAdd, td.ReduceMax: td.EWMax, td.ReduceMin: td.EWMin}

func reduceParts(b *anec.Builder, l *anec.Layer, longest int) (*anec.Value, error) {
	p, x := l.Params.(*anec.Reduction), l.Bottoms[0]
	by, ok := combining[p.Type]
	if !ok || p.Square {
		return nil, nil
	}
	var y *anec.Value
	for _, s := range spansOf(x.Type.Dims[anec.C], longest) {
		part := b.Layer(l.Name, &anec.InputView{Axis: anec.C, Offset: s.begin, Size: s.size, Step: 1}, x)
		if b.Err() != nil {
			return nil, b.Err()
		}
		one := &anec.Layer{Name: l.Name, Params: p, Bottoms: []*anec.Value{part}}
		reduced, err := reduceRows(b, one, func(p anec.Params, bottoms ...*anec.Value) *anec.Value { return b.Layer(l.Name, p, bottoms...) })
		switch {
		case err != nil || b.Err() != nil:
			return nil, errors.Join(err, b.Err())
		case y == nil:
			y = reduced
		default:
			y = b.Layer(l.Name, &anec.ElementWise{Type: by}, y, reduced)
		}
	}
	return y, b.Err()
}

func reduceRows(b *anec.Builder, l *anec.Layer, core builder) (*anec.Value, error) {
	p := *l.Params.(*anec.Reduction)
	p.Axes = p.Axes&^td.AxesOf(anec.C) | td.AxesOf(anec.W)
	exchange := &anec.Transpose{Perm: segment.Exchange(anec.C, anec.W)}
	return b.Layer(l.Name, exchange, core(&p, b.Layer(l.Name, exchange, l.Bottoms[0]))), nil
}
