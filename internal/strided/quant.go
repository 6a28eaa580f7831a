package strided

import (
	"fmt"
	"math"
)

const (
	classScaledElementWise = 5
	classQuant             = 58
	classDeQuant           = 59
)

// quant is round(x/scale) + zero, saturated.
type quant struct {
	rowwise
	least, most float64
}

func bindQuant(op *Op) (Kernel, error) {
	y := op.Operands[0].Type
	k := &quant{rowwise: *newRowwise(op, 3)}
	switch bits := y.bits(); y {
	case I8, I16, I32, I64:
		k.least, k.most = -math.Ldexp(1, bits-1), math.Ldexp(1, bits-1)-1
	case U8, U16, U32, U64:
		k.least, k.most = 0, math.Ldexp(1, bits)-1
	default:
		return nil, fmt.Errorf("a result of %v: want integers of 8 bits or more", y)
	}
	return k, nil
}

func (k *quant) Need() Need { return Need{Float: 3 * chunk, Int: chunk} }

func (k *quant) Run(w *Scratch, lo, hi int) {
	for t := lo; t < hi; t++ {
		i, n := k.tile(t)
		v := k.load(w, i, n)
		x, scale, zero, out := v[0], v[1], v[2], w.int[:n]
		for j := range out {
			q := math.RoundToEven(float64(x[j]/scale[j])) + float64(zero[j])
			out[j] = k.saturate(q)
		}
		k.sink.out.storeInts(w, out, i, k.axis)
	}
}

// saturate makes an integer of the result's type of a whole number. The ends of
// a range of 64 bits are no fp64 numbers.
func (k *quant) saturate(q float64) int64 {
	q = min(max(q, k.least), k.most)
	if q >= math.MaxInt64 && k.least == 0 {
		if q >= math.MaxUint64 {
			return -1 // all bits set
		}
		return int64(uint64(q))
	}
	return toInt(q)
}

func bindDeQuant(op *Op) (Kernel, error) { return bindRowwise(op, 3, deQuant) }

func deQuant(s *sink, x, scale, zero []float32) {
	scale, zero = scale[:len(x)], zero[:len(x)]
	for j, v := range x {
		x[j] = s.round((float64(v) - float64(zero[j])) * float64(scale[j]))
	}
}

// scaledKinds are the functions of the scaled elementwise kinds, by number.
var scaledKinds = map[uint8]struct {
	name string
	f    func(x, z float64) float64
}{
	1: {"Add", func(x, z float64) float64 { return x + z }},
	2: {"Mult", func(x, z float64) float64 { return x * z }},
	3: {"SumSquare", func(x, z float64) float64 { return x*x + z*z }},
	4: {"Max", func(x, z float64) float64 { return max(x, z) }},
	5: {"Min", func(x, z float64) float64 { return min(x, z) }},
}

// ScaledName returns the name of a scaled elementwise kind.
func ScaledName(number uint8) (name string, known bool) {
	k, ok := scaledKinds[number]
	return k.name, ok
}

func bindScaledElementWise(op *Op) (Kernel, error) {
	kind, ok := scaledKinds[op.Params.Kind]
	if !ok {
		return nil, fmt.Errorf("scaled elementwise kind %d is not known", op.Params.Kind)
	}
	scale := float64(op.Params.Scale)
	return bindRowwise(op, 2, func(s *sink, x, z, _ []float32) {
		for j, v := range x {
			x[j] = s.round(scale * kind.f(float64(v), float64(z[j])))
		}
	})
}
