package vec

import "math"

// fastSquare is the machine code; nil: none.
var fastSquare func(v *float32, n int)

// Square sets each element to its square, rounded to fp32, or to odd.
func Square(v []float32, odd bool) {
	if !odd {
		Mul(v, v, v)
		return
	}
	if fastSquare == nil {
		for i, x := range v {
			v[i] = squareToOdd(x)
		}
		return
	}
	for at := 0; at < len(v); at += most {
		squarePart(&v[at], min(most, len(v)-at))
	}
}

//go:noinline
func squarePart(v *float32, n int) { fastSquare(v, n) }

// squareToOdd is round(x·x, true): of 24 bits, the square has at most 48, so that
// fp64 is exact.
func squareToOdd(x float32) float32 {
	y := float64(x) * float64(x)
	if y <= math.MaxFloat32 || math.IsInf(y, 0) {
		return round(y, true)
	}
	if y != y {
		return x
	}
	return math.MaxFloat32 // the nearest to infinity that is odd
}
