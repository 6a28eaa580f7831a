package compiler

import (
	"math"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// legalizeScores writes attention that does not subtract the largest score, for which no task has a form, as the layers
// that it stands for, with fp16 between them. So it overflows as on a chip: from a score of 11.1 on, exp is infinite in fp16.
//
//	%y = SDPA(%q, %k, %v, %scale, %mask)
//
//	%s = MatrixMultiplication(%q, %k) TransposeZ=true | goc %scale _
//	%m = ElementWise(%s, %mask) Type=Add
//	%e = Neuron(%m) Type=exp
//	%t = Reduction(%e) Type=Sum Axes=W
//	%p = ElementWise(%e, %t) Type=Div
//	%y = MatrixMultiplication(%p, %v)
//
// A mask of bool selects between the score and -inf.
var legalizeScores = rewriteKinds(writeOutAttention, anec.KindSDPA)

func writeOutAttention(b *anec.Builder, l *anec.Layer) (*anec.Value, error) {
	if l.Params.(*anec.SDPA).SubtractMax {
		return nil, nil
	}
	q, k, v, scale, mask := l.Bottoms[0], l.Bottoms[1], l.Bottoms[2], l.Bottoms[3], segment.Bottom(l, 4)
	between := q.Type.DType
	scores := layerWith(b, between, l.Name, &anec.MatMul{TransposeZ: true}, anec.Epilogue{GOC: &anec.GainOffset{Gain: scale}}, q, k)
	switch {
	case mask == nil:
	case mask.Type.DType == tensor.Bool:
		dropped := b.Constant(l.Name+"_dropped", anec.ConstantOf(tensor.FromFloat32s(between, []float32{float32(math.Inf(-1))}, 1, 1, 1, 1, 1)))
		scores = layerAs(b, between, l.Name, &anec.Select{}, mask, scores, dropped)
	default:
		scores = layerAs(b, between, l.Name, &anec.ElementWise{Type: td.EWAdd}, scores, mask)
	}
	powers := layerAs(b, between, l.Name, &anec.Neuron{Type: td.FuncExp}, scores)
	sum := layerAs(b, between, l.Name, &anec.Reduction{Type: td.ReduceSum, Axes: td.AxesOf(anec.W)}, powers)
	weights := layerAs(b, between, l.Name, &anec.ElementWise{Type: td.EWDiv}, powers, sum)
	return layerAs(b, l.Bottoms[0].Type.DType, l.Name, &anec.MatMul{}, weights, v), nil
}
