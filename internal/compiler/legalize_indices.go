package compiler

import (
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/tensor"
)

// legalizeIndices makes integers of indices that are floats: Apple's layers count in fp16 too, tasks do not.
//
//	%y = anec.gather(%x, %i) {axes = [W]}       %i fp16
//
//	%a int32 = TypeCast(%i) To=int32
//	%y = anec.gather(%x, %a) {axes = [W]}
func legalizeIndices(s *segment.Segment) error {
	var refused refusals
	for _, l := range s.Graph.Order() {
		for i, o := range l.Info().Contract.Bottoms {
			if v := segment.Bottom(l, i); o.Indices && v != nil && v.Type.DType.IsFloat() {
				refused.add(l, makeWhole(s.Graph, l, i))
			}
		}
	}
	return refused.err()
}

// makeWhole makes integers of a bottom.
func makeWhole(g *anec.Graph, l *anec.Layer, i int) error {
	b := &anec.Builder{Graph: g, Origin: l.Origin}
	whole := b.Layer(l.Name+"_indices", &anec.TypeCast{To: tensor.Int32}, l.Bottoms[i])
	if err := b.Err(); err != nil {
		return err
	}
	return g.Edit(l, func(l *anec.Layer) { l.Bottoms[i] = whole })
}
