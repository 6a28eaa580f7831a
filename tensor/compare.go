package tensor

import (
	"fmt"
	"math"
	"slices"
)

// Comparison is how far an array is from its reference.
type Comparison struct {
	Match bool
	// Worst is the element that is furthest off, in row-major order; -1 if none is, or if the arrays
	// cannot be compared element by element.
	Worst int
	// Error is the distance of that element in units of the reference's root mean square; absolute if
	// the reference is all zero; +Inf where one of the two is NaN or infinite and the other is not the same.
	Error float64
	// RMS is the root mean square of the reference, the unit of Error; 0 where Error is absolute or has none.
	RMS float64
	// Reason says in words why there is no match.
	Reason string
}

// Compare holds an array against its reference. The reference's type decides: integers, booleans and strings
// must be equal, everything else within the tolerance:
//
//	max |got - want| / rms(want) ≤ tolerance
//
// with the root mean square over the finite elements of want. NaN matches NaN and an infinity itself. A
// rank-0 array and one of shape [1] are the same; other shapes must be equal.
func Compare(got, want *Tensor, tolerance float64) Comparison {
	if !sameShape(got.shape, want.shape) {
		return mismatch("it has shape %v, expected %v", ShapeOf(got.shape...), ShapeOf(want.shape...))
	}
	if (got.dtype == String) != (want.dtype == String) {
		return mismatch("it is %v, expected %v", got.dtype, want.dtype)
	}
	switch {
	case want.dtype == String:
		return compareExact(got.Strings(), want.Strings())
	case want.dtype.IsFloat():
		return compareFloats(got.Float64s(), want.Float64s(), tolerance)
	case got.dtype.IsFloat():
		return compareExact(got.Float64s(), want.Float64s())
	}
	return compareExact(got.Int64s(), want.Int64s())
}

func mismatch(format string, args ...any) Comparison {
	return Comparison{Worst: -1, Error: math.Inf(1), Reason: fmt.Sprintf(format, args...)}
}

func sameShape(a, b []int) bool {
	one := func(s []int) bool { return len(s) == 0 || len(s) == 1 && s[0] == 1 }
	return slices.Equal(a, b) || one(a) && one(b)
}

func compareExact[T comparable](got, want []T) Comparison {
	for i := range want {
		if got[i] != want[i] {
			return Comparison{Worst: i, Error: math.Inf(1), Reason: fmt.Sprintf("element %d is %v, expected %v", i, got[i], want[i])}
		}
	}
	return Comparison{Match: true, Worst: -1}
}

func compareFloats(got, want []float64, tolerance float64) Comparison {
	sum, n := 0.0, 0
	for _, v := range want {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			sum += v * v
			n++
		}
	}
	scale, unit := 1.0, ""
	if sum > 0 {
		scale, unit = math.Sqrt(sum/float64(n)), " of the root mean square"
	}
	c := Comparison{Match: true, Worst: -1}
	if unit != "" {
		c.RMS = scale
	}
	for i, w := range want {
		g := got[i]
		d := math.Abs(g-w) / scale
		switch {
		case g == w || math.IsNaN(g) && math.IsNaN(w):
			continue
		case math.IsNaN(d) || math.IsInf(d, 0):
			d = math.Inf(1)
		}
		if c.Worst < 0 || d > c.Error {
			c.Worst, c.Error = i, d
		}
	}
	if c.Error > tolerance {
		c.Match = false
		c.Reason = fmt.Sprintf("element %d is %v, expected %v: off by %.3g%s, tolerance %.3g",
			c.Worst, got[c.Worst], want[c.Worst], c.Error, unit, tolerance)
	}
	return c
}
