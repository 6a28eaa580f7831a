package compiler

import (
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/td"
)

// legalizeReductions brings channels to the rows before a reduction over more of them than the target's threshold: an
// engine reduces along rows (guide 24, reduction-via-transpose extent; guide A, none before A13).
//
//	%y fp16[1,1,1,8,8] = Reduction(%x) Type=Sum Axes=C                  %x [1,1,256,8,8]
//
//	%t fp16[1,1,8,8,256] = Transpose(%x) Perm=[N,D,W,H,C]
//	%r fp16[1,1,8,8,1] = Reduction(%t) Type=Sum Axes=W
//	%y fp16[1,1,1,8,8] = Transpose(%r) Perm=[N,D,W,H,C]
//
// A reduction over rows too stays as it is, and so does one that gives places.
func legalizeReductions(s *Segment) error {
	for _, l := range s.Graph.Order() {
		p, ok := l.Params.(*anec.Reduction)
		if !ok || !p.Axes.Has(anec.C) || p.Axes.Has(anec.W) || p.Type == td.ReduceArgMin || p.Type == td.ReduceArgMax ||
			l.Bottoms[0].Type.Dims[anec.C] <= s.Target.Limits.ReductionViaTranspose {
			continue
		}
		if err := reduceRows(s.Graph, l, *p); err != nil {
			return &anec.LayerError{Layer: l.Name, Kind: l.Kind(), Origin: l.Origin, Err: err}
		}
	}
	return nil
}

func reduceRows(g *anec.Graph, l *anec.Layer, p anec.Reduction) error {
	b := &anec.Builder{Graph: g, Origin: l.Origin}
	turn := exchange(anec.C, anec.W)
	p.Axes = p.Axes&^td.AxesOf(anec.C) | td.AxesOf(anec.W)
	x := b.Layer(l.Name, &anec.Transpose{Perm: turn}, l.Bottoms[0])

	// An epilogue that is the same for all elements stays with the reduction.
	same := l.Epilogue.Transpose == nil && l.Epilogue.Quant == nil && l.Epilogue.Texture == nil && l.Epilogue.Broadcast == (anec.Dims{})
	for _, v := range l.Reads()[len(l.Bottoms):] {
		same = same && v.Type.Dims == anec.Dims{1, 1, 1, 1, 1}
	}
	if !same {
		return rewrite(g, l, func(b *anec.Builder, l *anec.Layer) (*anec.Value, error) {
			bare, err := bareType(l)
			if err != nil {
				return nil, err
			}
			return b.Layer(l.Name, &anec.Transpose{Perm: turn}, layerAs(b, bare.DType, l.Name, &p, x)), nil
		})
	}
	y := b.Layer(l.Name, &anec.Transpose{Perm: turn}, layerWith(b, l.Top().Type.DType, l.Name, &p, l.Epilogue, x))
	if err := b.Err(); err != nil {
		return err
	}
	return takeOver(g, l, y)
}
