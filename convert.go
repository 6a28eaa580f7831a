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
		return out, inPieces(t, out, func(from int, in, converted *tensor.Tensor) error { return checkIntegers(t, from, in, converted) })
	}
	return out, inPieces(t, out, func(from int, in, converted *tensor.Tensor) error {
		a, b := in.Float64s(), converted.Float64s()
		for i := range a {
			if !same(a[i], b[i]) {
				return cannotHold(t, from+i, a[i], d)
			}
		}
		return nil
	})
}

// inPieces calls f with parts of two arrays of the same shape, and with where in them the part begins: to compare two arrays
// must not take many times their memory.
func inPieces(a, b *tensor.Tensor, f func(from int, a, b *tensor.Tensor) error) error {
	const piece = 1 << 16
	n := a.Len()
	if n <= piece {
		return f(0, a, b)
	}
	flatA, err := a.Reshape(n)
	if err != nil {
		return err
	}
	flatB, err := b.Reshape(n)
	if err != nil {
		return err
	}
	for from := 0; from < n; from += piece {
		count := min(piece, n-from)
		partA, err := flatA.Slice(0, from, count, 1)
		if err != nil {
			return err
		}
		partB, err := flatB.Slice(0, from, count, 1)
		if err != nil {
			return err
		}
		if err := f(from, partA, partB); err != nil {
			return err
		}
	}
	return nil
}

// checkIntegers compares converted integers exactly: float64 cannot tell large ones apart. They are part of an array, from a
// place on.
func checkIntegers(whole *tensor.Tensor, from int, in, out *tensor.Tensor) error {
	a, b := in.Int64s(), out.Int64s()
	unsigned := func(t *tensor.Tensor) bool { return t.DType() == tensor.UInt64 }
	for i := range a {
		// An int64 and a uint64 of the same bits differ when the top bit is set. A float of 2^63 or more
		// comes back clamped to the largest int64, which no float is.
		clamped := out.DType().IsFloat() && b[i] == math.MaxInt64
		if a[i] != b[i] || clamped || unsigned(in) != unsigned(out) && a[i] < 0 {
			if unsigned(in) {
				return cannotHold(whole, from+i, uint64(a[i]), out.DType())
			}
			return cannotHold(whole, from+i, a[i], out.DType())
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
