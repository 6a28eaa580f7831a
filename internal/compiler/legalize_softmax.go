package compiler

import (
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// legalizeSoftmax takes a softmax over several axes apart: its class has one.
//
//	%y = anec.softmax(%x) {axes = HW}
//
//	%m = anec.reduce_max(%x) {axes = HW}
//	%e fp32 = ElementWise(%x, %m) Type=Sub | act exp
//	%s fp32 = Reduction(%e) Type=Sum Axes=HW
//	%y = anec.divide(%e, %s)
var legalizeSoftmax = rewriteKinds(splitSoftmax, anec.KindSoftmax)

func splitSoftmax(b *anec.Builder, l *anec.Layer) (*anec.Value, error) {
	if _, ok := segment.SoftmaxAxis(l); ok {
		return nil, nil
	}
	axes, x := l.Params.(*anec.Softmax).Axes, l.Bottoms[0]
	most := b.Layer(l.Name, &anec.Reduction{Type: td.ReduceMax, Axes: axes}, x)
	exp := layerWith(b, tensor.Float32, l.Name, &anec.ElementWise{Type: td.EWSub},
		anec.Epilogue{Steps: []anec.Step{{Code: td.MicroActivation, Function: td.FuncExp}}}, x, most)
	sum := b.Layer(l.Name, &anec.Reduction{Type: td.ReduceSum, Axes: axes}, exp)
	return layerAs(b, x.Type.DType, l.Name, &anec.ElementWise{Type: td.EWDiv}, exp, sum), nil
}
