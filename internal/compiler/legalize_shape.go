package compiler

import (
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/tensor"
)

// legalizeShape makes a constant of the extents of a value, which are known.
//
//	%y = anec.shape(%x) {axes = [C, W]}      %x [1,1,3,8,9]
//
//	const %y : int32[1,1,1,1,2] {data = [3, 9]}
var legalizeShape = rewriteKinds(knownShape, anec.KindShape)

func knownShape(b *anec.Builder, l *anec.Layer) (*anec.Value, error) {
	axes := l.Params.(*anec.Shape).Axes
	extents := make([]int64, len(axes))
	for i, a := range axes {
		extents[i] = int64(l.Bottoms[0].Type.Dims[a])
	}
	return b.Constant(l.Name, anec.ConstantOf(tensor.FromInt64s(tensor.Int32, extents, 1, 1, 1, 1, len(axes)))), nil
}
