package ops

import (
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// neuron is a function with its constants A and B.
func neuron(f td.Function, constants ...float32) *anec.Neuron {
	n := &anec.Neuron{Type: f}
	for i, to := range []*float32{&n.A, &n.B} {
		if i < len(constants) {
			*to = constants[i]
		}
	}
	return n
}

// lowerNeuron is the lowering of a function of x whose constants are arguments, of one element each.
func lowerNeuron(f td.Function, params ...string) LowerFunc {
	return func(l *Lowering) error {
		constants := make([]float32, len(params))
		for i, p := range params {
			constants[i] = l.Float(p)
		}
		l.Give(0, l.Layer(l.Name(), neuron(f, constants...), l.In("x")))
		return nil
	}
}

func (u unary) lower(l *Lowering) error {
	x := l.In("x")
	if l.DType("x").IsFloat() {
		l.Give(0, l.Layer(l.Name(), u.native, x))
	} else {
		l.Give(0, u.int.native(l, x))
	}
	return nil
}

// unaryLayer is a function of one value that is an elementwise kind, which integers go through whole.
func unaryLayer(kind td.EWKind) func(*Lowering, *anec.Value) *anec.Value {
	return func(l *Lowering, x *anec.Value) *anec.Value {
		return l.Layer(l.Name(), &anec.ElementWise{Type: kind}, x)
	}
}

// lowerIntSign keeps x between -1 and 1.
func lowerIntSign(l *Lowering, x *anec.Value) *anec.Value {
	x = l.Layer(l.Name(), &anec.ElementWise{Type: td.EWMax}, x, l.Number("least", tensor.Int32, -1))
	return l.Layer(l.Name(), &anec.ElementWise{Type: td.EWMin}, x, l.Number("most", tensor.Int32, 1))
}

func lowerIntExp2(l *Lowering, x *anec.Value) *anec.Value {
	return l.Layer(l.Name(), &anec.ElementWise{Type: td.EWPower}, l.Number("base", tensor.Int32, 2), x)
}

// lowerThreshold is the greater of x and alpha, which may be integers. alpha may be an array of one element.
func lowerThreshold(l *Lowering) error {
	alpha := l.Reshape(l.In("alpha"), anec.Dims{1, 1, 1, 1, 1})
	l.Give(0, l.Layer(l.Name(), &anec.ElementWise{Type: td.EWMax}, l.In("x"), alpha))
	return nil
}
