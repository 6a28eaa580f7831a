package ops

import (
	"math"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// random adds the layer of the words of philox, as fractions from low to high. It makes the numbers of the evaluator,
// of 24 bits in fp32 and of 11 in fp16.
func (l *Lowering) random(d tensor.DType, dims anec.Dims, low, high float32) (*anec.Value, error) {
	seed := l.Int("seed")
	p := &anec.Random{Dims: dims, Low: low, High: high, Seed: int(uint32(int32(seed))), Fresh: seed == -1}
	if p.Fresh {
		p.Seed = 0
	}
	return l.LayerAs(d, l.Name(), p), nil
}

func lowerUniform(l *Lowering) error {
	low, high := l.Float("low"), l.Float("high")
	if !(low < high) {
		return l.Refuse("low is %v and high %v: a task takes an interval", low, high)
	}
	y, err := l.random(l.OutDType(0), l.OutDims(0), low, high)
	l.Give(0, y)
	return err
}

func lowerBernoulli(l *Lowering) error {
	u, err := l.random(tensor.Float32, l.OutDims(0), 0, 1)
	prob := l.Number("prob", tensor.Float32, float64(l.Float("prob")))
	l.Give(0, l.LayerAs(l.OutDType(0), l.Name(), &anec.ElementWise{Type: td.EWLessThan}, u, prob))
	return err
}

// lowerNormal takes words in pairs, which lie along W, Box and Muller's way:
//
//	u, v  →  √(-2 ln (u + 2^-24)) times cos 2πv, sin 2πv
//
// Of an odd number of results the last word is not used.
func lowerNormal(l *Lowering) error {
	n := l.OutLen(0)
	pairs := anec.Dims{1, 1, 1, (n + 1) / 2, 2}
	words, err := l.random(tensor.Float32, pairs, 0, 1)
	if err != nil {
		return err
	}
	half := func(i int) *anec.Value { return l.part(words, anec.W, i, 1) }
	radius := l.Layer(l.Name(), neuron(td.FuncLog, 0x1p-24), half(0))
	radius = l.Layer(l.Name(), &anec.GOC{Scale: -2}, radius)
	radius = l.Layer(l.Name(), neuron(td.FuncSqrt), radius)
	angle := half(1)
	part := func(f td.Function) *anec.Value {
		turned := l.Layer(l.Name(), neuron(f), l.Layer(l.Name(), &anec.GOC{Scale: 2 * math.Pi}, angle))
		return l.Layer(l.Name(), &anec.ElementWise{Type: td.EWMult}, turned, radius)
	}
	both := l.Layer(l.Name(), &anec.Concat{Axis: anec.W}, part(td.FuncCos), part(td.FuncSin))
	both = l.Reshape(both, anec.Dims{1, 1, 1, 1, 2 * pairs[anec.H]})
	both = l.part(both, anec.W, 0, n)
	scaled := &anec.GOC{Scale: l.Float("stddev"), Bias: l.Float("mean")}
	l.Give(0, l.LayerAs(l.OutDType(0), l.Name(), scaled, l.Reshape(both, l.OutDims(0))))
	return nil
}
