// Package vec has loops over rows of floats: what follows the sums of a kernel,
// and elementwise operations.
//
// Every function rounds each element once, so that all instruction sets give the
// same bits. The plain Go says what is computed; machine code takes over where the
// processor has it.
package vec

import "math"

// fast: there is machine code for functions and reductions.
var fast bool

// A pair sets dst to a function of a and b, element by element. dst may be one of
// them; all three are equally long.
type pair struct {
	plain func(dst, a, b []float32)
	fast  func(dst, a, b *float32, n int) // machine code; nil: none
}

// most is how many elements go into one call of machine code, which cannot be
// preempted.
const most = 1 << 15

func (p *pair) do(dst, a, b []float32) {
	a, b = a[:len(dst)], b[:len(dst)]
	if p.fast == nil {
		p.plain(dst, a, b)
		return
	}
	for at := 0; at < len(dst); at += most {
		p.part(&dst[at], &a[at], &b[at], min(most, len(dst)-at))
	}
}

// part is a call of its own so that the scheduler can stop a loop over rows: machine
// code it cannot.
//
//go:noinline
func (p *pair) part(dst, a, b *float32, n int) { p.fast(dst, a, b, n) }

// The pairs, in plain Go. Their machine code is added where there is some.
var (
	add = pair{plain: func(dst, a, b []float32) {
		for i := range dst {
			dst[i] = a[i] + b[i]
		}
	}}
	sub = pair{plain: func(dst, a, b []float32) {
		for i := range dst {
			dst[i] = a[i] - b[i]
		}
	}}
	mul = pair{plain: func(dst, a, b []float32) {
		for i := range dst {
			dst[i] = a[i] * b[i]
		}
	}}
	div = pair{plain: func(dst, a, b []float32) {
		for i := range dst {
			dst[i] = a[i] / b[i]
		}
	}}
	greater = pair{plain: func(dst, a, b []float32) {
		for i := range dst {
			dst[i] = max(a[i], b[i])
		}
	}}
	lesser = pair{plain: func(dst, a, b []float32) {
		for i := range dst {
			dst[i] = min(a[i], b[i])
		}
	}}
)

// Add sets dst to a + b. dst may be a or b, of which as much is read as dst has.
func Add(dst, a, b []float32) { add.do(dst, a, b) }

// Sub sets dst to a - b.
func Sub(dst, a, b []float32) { sub.do(dst, a, b) }

// Mul sets dst to a * b.
func Mul(dst, a, b []float32) { mul.do(dst, a, b) }

// Div sets dst to a / b.
func Div(dst, a, b []float32) { div.do(dst, a, b) }

// Max sets dst to the greater of a and b, NaN if either is; 0 is greater than -0.
func Max(dst, a, b []float32) { greater.do(dst, a, b) }

// Min sets dst to the lesser of a and b, NaN if either is; -0 is less than 0.
func Min(dst, a, b []float32) { lesser.do(dst, a, b) }

// Machine code for one row; nil: none.
var (
	fastPlus  func(v *float32, s float32, n int)
	fastClamp func(v *float32, lo, hi, zero float32, n int)
)

// The parts are calls of their own, as those of a pair.

//go:noinline
func plusPart(v *float32, s float32, n int) { fastPlus(v, s, n) }

//go:noinline
func clampPart(v *float32, lo, hi, zero float32, n int) { fastClamp(v, lo, hi, zero, n) }

// Plus adds a number to each element.
func Plus(v []float32, s float32) {
	if fastPlus == nil {
		for i := range v {
			v[i] += s
		}
		return
	}
	for at := 0; at < len(v); at += most {
		plusPart(&v[at], s, min(most, len(v)-at))
	}
}

// ReLU sets each element to the greater of it and 0.
func ReLU(v []float32) {
	if !fast {
		for i, x := range v {
			v[i] = max(x, 0)
		}
		return
	}
	for at := 0; at < len(v); at += most {
		callReLU(&v[at], min(most, len(v)-at))
	}
}

// Clamp sets each element to min(max(x, lo), hi).
func Clamp(v []float32, lo, hi float32) {
	if fastClamp == nil || lo != lo || hi != hi || lo == 0 && math.Signbit(float64(lo)) || hi == 0 { // bounds that would show
		for i, x := range v {
			v[i] = min(max(x, lo), hi)
		}
		return
	}
	zero := float32(math.Copysign(0, -1))
	if lo == 0 {
		zero = 0
	}
	for at := 0; at < len(v); at += most {
		clampPart(&v[at], lo, hi, zero, min(most, len(v)-at))
	}
}
