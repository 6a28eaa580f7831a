package strided

import (
	"fmt"
	"math"

	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// quant is round(x/scale) + zero, saturated.
type quant struct {
	rowwise
	least, most float64
}

func bindQuant(op *Op) (Kernel, error) {
	y := op.Operands[0].Type
	k := &quant{rowwise: *newRowwise(op, 3)}
	switch bits := y.Bits(); y {
	case tensor.Int8, tensor.Int16, tensor.Int32, tensor.Int64:
		k.least, k.most = -math.Ldexp(1, bits-1), math.Ldexp(1, bits-1)-1
	case tensor.UInt8, tensor.UInt16, tensor.UInt32, tensor.UInt64:
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
		v := k.load(w, &i, n)
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

// scaledKinds are the functions of the scaled elementwise kinds.
var scaledKinds = map[td.ScaledEWKind]func(x, z float64) float64{
	td.ScaledAdd:       func(x, z float64) float64 { return x + z },
	td.ScaledMult:      func(x, z float64) float64 { return x * z },
	td.ScaledSumSquare: func(x, z float64) float64 { return x*x + z*z },
	td.ScaledMax:       func(x, z float64) float64 { return max(x, z) },
	td.ScaledMin:       func(x, z float64) float64 { return min(x, z) },
}

func bindScaledElementWise(op *Op) (Kernel, error) {
	p := op.Params.(*td.ScaledElementWise)
	f, ok := scaledKinds[p.Kind]
	if !ok {
		return nil, fmt.Errorf("%v is not known", p.Kind)
	}
	scale := float64(p.Scale)
	return bindRowwise(op, 2, func(s *sink, x, z, _ []float32) {
		for j, v := range x {
			x[j] = s.round(scale * f(float64(v), float64(z[j])))
		}
	})
}
