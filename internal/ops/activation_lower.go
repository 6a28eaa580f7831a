package ops

import (
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

func lowerLinearActivation(l *Lowering) error {
	l.Give(0, l.Layer(l.Name(), &anec.GOC{Scale: l.Float("alpha"), Bias: l.Float("beta")}, l.In("x")))
	return nil
}

func lowerGELU(l *Lowering) error {
	mode, err := geluMode(l.Call)
	if err != nil {
		return err
	}
	l.Give(0, l.Layer(l.Name(), neuron(mode.native), l.In("x")))
	return nil
}

func lowerPReLU(l *Lowering) error {
	x := l.toImage(l.In("x"), l.Rank("x"))
	l.giveImage(l.Layer(l.Name(), neuron(td.FuncPReLU), x, l.perChannel("alpha")))
	return nil
}

// lowerSoftplusParametric multiplies before and after, as no function has constants for each channel but prelu. What
// lies between the layers is fp32, should it ever be stored.
func lowerSoftplusParametric(l *Lowering) error {
	x := l.toImage(l.In("x"), l.Rank("x"))
	x = l.LayerAs(tensor.Float32, l.Name(), &anec.ElementWise{Type: td.EWMult}, x, l.perChannel("beta"))
	x = l.Layer(l.Name(), neuron(td.FuncSoftplus, 1, 1), x)
	l.giveImage(l.LayerAs(l.OutDType(0), l.Name(), &anec.ElementWise{Type: td.EWMult}, x, l.perChannel("alpha")))
	return nil
}

func lowerSoftmax(l *Lowering) error {
	axis, err := softmaxAxis(l.Call)
	if err != nil {
		return err
	}
	l.Give(0, l.Layer(l.Name(), &anec.Softmax{Axes: td.AxesOf(l.Axis5("x", axis))}, l.In("x")))
	return nil
}
