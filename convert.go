package espalier

import (
	"fmt"
	"math"

	"github.com/espalier-ane/espalier/tensor"
)

// convertLossless brings an array to the element type that a feature declares. Floats change their width
// freely, but a finite value must not become infinite; all other conversions must keep every value.
func convertLossless(t *tensor.Tensor, d tensor.DType) (*tensor.Tensor, error) {
	from := t.DType()
	if from == d {
		return t, nil
	}
	out, err := t.Convert(d)
	if err != nil {
		return nil, fmt.Errorf("it holds %v, expected %v", from, d)
	}
	same := func(a, b float64) bool { return a == b && a < 1<<63 } // MaxInt64, as a float64, is 2^63
	if from.IsFloat() && d.IsFloat() {
		same = func(a, b float64) bool { return math.IsInf(a, 0) || !math.IsInf(b, 0) }
	}
	if from.IsInteger() && d.IsInteger() || from.IsInteger() && d.IsFloat() {
		return out, checkIntegers(t, out)
	}
	a, b := t.Float64s(), out.Float64s()
	for i := range a {
		if !same(a[i], b[i]) {
			return nil, cannotHold(t, i, a[i], d)
		}
	}
	return out, nil
}

// checkIntegers compares converted integers exactly: float64 cannot tell large ones apart.
func checkIntegers(in, out *tensor.Tensor) error {
	a, b := in.Int64s(), out.Int64s()
	unsigned := func(t *tensor.Tensor) bool { return t.DType() == tensor.UInt64 }
	for i := range a {
		// An int64 and a uint64 of the same bits differ when the top bit is set. A float of 2^63 or more
		// comes back clamped to the largest int64, which no float is.
		clamped := out.DType().IsFloat() && b[i] == math.MaxInt64
		if a[i] != b[i] || clamped || unsigned(in) != unsigned(out) && a[i] < 0 {
			if unsigned(in) {
				return cannotHold(in, i, uint64(a[i]), out.DType())
			}
			return cannotHold(in, i, a[i], out.DType())
		}
	}
	return nil
}

// cannotHold is the error about the element at place i, counted through the whole array.
func cannotHold(t *tensor.Tensor, i int, element any, d tensor.DType) error {
	shape := t.Shape()
	at := make([]int, len(shape))
	for axis := len(shape) - 1; axis >= 0; axis-- {
		at[axis] = i % shape[axis]
		i /= shape[axis]
	}
	return fmt.Errorf("element %v is %v, which %v cannot hold", tensor.ShapeOf(at...), element, d)
}
