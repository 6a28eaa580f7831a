package compiler

import (
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// legalizeBatchNorm writes a batch normalization as steps. The root is of weights alone: where they are constant,
// it is computed once.
//
//	%y = anec.batch_norm(%x, %mean, %variance, %gamma, %beta) {epsilon = e}
//
//	%r fp32 = Neuron(%variance) Type=rsqrt A=e
//	%y = anec.copy(%x) | ew Sub %mean | ew Mult %r | ew Mult %gamma | ew Add %beta
var legalizeBatchNorm = rewriteKinds(splitBatchNorm, anec.KindBatchNorm)

func splitBatchNorm(b *anec.Builder, l *anec.Layer) (*anec.Value, error) {
	p, x := l.Params.(*anec.BatchNorm), l.Bottoms[0]
	root := layerAs(b, tensor.Float32, l.Name, &anec.Neuron{Type: td.FuncRSqrt, A: p.Epsilon}, l.Bottoms[2])
	steps := []anec.Step{ewValue(td.EWSub, l.Bottoms[1]), ewValue(td.EWMult, root)}
	for i, k := range []td.EWKind{td.EWMult, td.EWAdd} {
		if at := 3 + i; at < len(l.Bottoms) && l.Bottoms[at] != nil {
			steps = append(steps, ewValue(k, l.Bottoms[at]))
		}
	}
	out := x.Type.DType
	if !l.Epilogue.Empty() {
		out = between(out) // of a value on its way to the epilogue
	}
	return layerWith(b, out, l.Name, &anec.Copy{}, anec.Epilogue{Steps: steps}, x), nil
}
