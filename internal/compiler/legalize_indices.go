package compiler

import (
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/tensor"
)

// legalizeIndices makes integers of indices that are floats: Apple's layers count in fp16 too, tasks do not.
//
//	%y = Gather(%x, %i) Axes=[W]       %i fp16
//
//	%a int32 = TypeCast(%i) To=int32
//	%y = Gather(%x, %a) Axes=[W]
func legalizeIndices(s *segment.Segment) error {
	var refused refusals
	for _, l := range s.Graph.Order() {
		i, ok := indexBottoms[l.Kind()]
		if !ok || i >= len(l.Bottoms) || !l.Bottoms[i].Type.DType.IsFloat() {
			continue
		}
		b := &anec.Builder{Graph: s.Graph, Origin: l.Origin}
		whole := b.Layer(l.Name+"_indices", &anec.TypeCast{To: tensor.Int32}, l.Bottoms[i])
		err := b.Err()
		if err == nil {
			err = s.Graph.Edit(l, func(l *anec.Layer) { l.Bottoms[i] = whole })
		}
		refused.add(l, err)
	}
	return refused.err()
}

// indexBottoms says which bottom of a kind has indices.
var indexBottoms = map[anec.Kind]int{
	anec.KindGather: 1, anec.KindDynamicSlice: 1, anec.KindRingBufferWriter: 2, anec.KindRingBufferReader: 1,
}
