package ops

import (
	"fmt"
	"math"

	"github.com/espalier-ane/espalier/tensor"
)

// samplingModes are the ways to lay m points over an axis of length n, whose positions are 0 to n-1: where the
// i-th point is, before it is brought into that interval. Products come before quotients: where the
// position is a whole number, it is exactly one.
var samplingModes = map[string]func(i, n, m float64) float64{
	"STRICT_ALIGN_CORNERS": func(i, n, m float64) float64 { return i * (n - 1) / max(1, m-1) },
	"ALIGN_CORNERS": func(i, n, m float64) float64 {
		if m == 1 {
			return (n - 1) / 2
		}
		return i * (n - 1) / (m - 1)
	},
	"DEFAULT":         func(i, n, m float64) float64 { return i * n / m },
	"OFFSET_CORNERS":  func(i, n, m float64) float64 { return (i + 0.5) * max(1, n-1) / m },
	"UNALIGN_CORNERS": func(i, n, m float64) float64 { return (i+0.5)*n/m - 0.5 },
}

// samplePoints are the positions of m points on an axis of length n.
func samplePoints(mode string, n float64, m int) []float64 {
	place := samplingModes[mode]
	at := make([]float64, m)
	for i := range at {
		at[i] = min(n-1, max(0, place(float64(i), n, float64(m))))
	}
	return at
}

func checkSamplingMode(c *Call) error {
	if mode := c.Str("sampling_mode"); samplingModes[mode] == nil {
		return fmt.Errorf("sampling_mode is %q, expected DEFAULT, STRICT_ALIGN_CORNERS, ALIGN_CORNERS, OFFSET_CORNERS or UNALIGN_CORNERS", mode)
	}
	return nil
}

// tap is the mix of two neighbours, 1-t of the element at lo and t of the one at hi.
type tap struct {
	lo, hi int
	t      float64
}

// tapAt is the mix at a position of an axis of length n.
func tapAt(pos float64, n int) tap {
	lo := int(math.Floor(pos))
	return tap{lo: lo, hi: min(lo+1, n-1), t: pos - float64(lo)}
}

// linearTaps are the mixes that resize an axis from n elements to m.
func linearTaps(mode string, n, m int) []tap {
	taps := make([]tap, m)
	for i, pos := range samplePoints(mode, float64(n), m) {
		taps[i] = tapAt(pos, n)
	}
	return taps
}

// roundedPoints are the elements nearest to the points of a mode, ties going up.
func roundedPoints(mode string, n, m int) []int {
	at := make([]int, m)
	for i, pos := range samplePoints(mode, float64(n), m) {
		at[i] = min(n-1, int(math.Floor(pos+0.5)))
	}
	return at
}

// flooredPoints are the elements i·n/m, rounded down.
func flooredPoints(n, m int) []int {
	at := make([]int, m)
	for i, pos := range samplePoints("DEFAULT", float64(n), m) {
		at[i] = int(math.Floor(pos))
	}
	return at
}

// mixAxis resizes the middle axis of an array [before, n, inner] by taps.
func mixAxis[T float32 | float64](h *halt, x []T, before, n, inner int, taps []tap) []T {
	m := len(taps)
	out := make([]T, before*m*inner)
	h.For(before*m, 1+moveGrain/(1+inner), func(first, last int) {
		for r := first; r < last; r++ {
			src, tap := x[r/m*n*inner:][:n*inner], taps[r%m]
			a, b := src[tap.lo*inner:(tap.lo+1)*inner], src[tap.hi*inner:(tap.hi+1)*inner]
			row := out[r*inner : (r+1)*inner]
			if tap.t == 0 { // b may be infinite, and 0·∞ is not a number
				copy(row, a)
				continue
			}
			s, t := T(1-tap.t), T(tap.t)
			for i := range row {
				row[i] = T(a[i]*s) + T(b[i]*t)
			}
		}
	})
	return out
}

// resizeLinear resizes the last axes of an array, one after the other. Axes that shrink go first, so that
// nothing in between is larger than the array or the result.
func resizeLinear[T float32 | float64](h *halt, x []T, from, to []int, axes int, mode string) []T {
	shape := append([]int(nil), from...)
	for _, grow := range []bool{false, true} {
		for axis := len(shape) - 1; axis >= len(shape)-axes; axis-- {
			n, m := from[axis], to[axis]
			if n == m && mode != "OFFSET_CORNERS" || (m > n) != grow {
				continue // of equal lengths, only OFFSET_CORNERS moves the points
			}
			x = mixAxis(h, x, lengthOf(shape[:axis]), n, lengthOf(shape[axis+1:]), linearTaps(mode, n, m))
			shape[axis] = m
		}
	}
	return x
}

// resizeNearest resizes an array to a shape of the same rank, by elements that are chosen on each axis.
func resizeNearest(h *halt, x *tensor.Tensor, to []int, points func(n, m int) []int) *tensor.Tensor {
	shape := append([]int(nil), x.Shape()...)
	for _, grow := range []bool{false, true} {
		for axis := range shape {
			n, m := x.Shape()[axis], to[axis]
			if (m > n) != grow {
				continue
			}
			l := blockLayout{batch: 1, before: lengthOf(shape[:axis]), n: n, inner: lengthOf(shape[axis+1:])}
			at := points(n, m)
			if isIdentity(at, n) {
				continue
			}
			shape[axis] = m
			x = takeBlocks(h, x, l, at, shape)
		}
	}
	return x
}

// isIdentity reports whether a choice takes each of n elements, in order.
func isIdentity(at []int, n int) bool {
	if len(at) != n {
		return false
	}
	for i, p := range at {
		if p != i {
			return false
		}
	}
	return true
}
