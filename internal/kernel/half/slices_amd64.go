//go:build amd64

package half

import "github.com/espalier-ane/espalier/internal/kernel/isa"

// step is how many numbers the machine code takes at once, 0 if there is none.
// With AVX-512 it takes the rest under a mask.
var step = func() int {
	switch have := isa.Have(); {
	case have.Has(isa.AVX512):
		return 1
	case have.Has(isa.AVX2):
		return 8
	}
	return 0
}()

// most is how many numbers go into one call, which cannot be preempted.
const most = 1 << 15

// floatsFast converts as many numbers as the machine code takes, and returns how
// many these are.
func floatsFast(dst []float32, src []byte) (n int) {
	if step == 0 {
		return 0
	}
	for end := len(dst) / step * step; n < end; {
		part := min(most, end-n)
		floatsPart(&dst[n], &src[2*n], part)
		n += part
	}
	return n
}

func putFast(dst []byte, src []float32) (n int) {
	if step == 0 {
		return 0
	}
	for end := len(src) / step * step; n < end; {
		part := min(most, end-n)
		putPart(&dst[2*n], &src[n], part)
		n += part
	}
	return n
}

func roundFast(v []float32) (n int) {
	if step == 0 {
		return 0
	}
	for end := len(v) / step * step; n < end; {
		part := min(most, end-n)
		roundPart(&v[n], part)
		n += part
	}
	return n
}

// The parts are calls of their own so that the scheduler can stop a loop over rows:
// machine code it cannot.

//go:noinline
func floatsPart(dst *float32, src *byte, n int) {
	if step == 1 {
		floatsAVX512(dst, src, n)
	} else {
		floatsAVX2(dst, src, n)
	}
}

//go:noinline
func putPart(dst *byte, src *float32, n int) {
	if step == 1 {
		putAVX512(dst, src, n)
	} else {
		putAVX2(dst, src, n)
	}
}

//go:noinline
func roundPart(v *float32, n int) {
	if step == 1 {
		roundAVX512(v, n)
	} else {
		roundAVX2(v, n)
	}
}

func narrowFast(dst, src []byte) (n int) {
	if step == 0 {
		return 0
	}
	for end := len(src) / 4 / step * step; n < end; {
		part := min(most, end-n)
		narrowPart(&dst[2*n], &src[4*n], part)
		n += part
	}
	return n
}

//go:noinline
func narrowPart(dst, src *byte, n int) {
	if step == 1 {
		narrowAVX512(dst, src, n)
	} else {
		narrowAVX2(dst, src, n)
	}
}

// The machine code. n is a multiple of 8 for AVX2. NaN becomes the quiet one that
// Bits returns, with its sign.

//go:noescape
func floatsAVX2(dst *float32, src *byte, n int)

//go:noescape
func putAVX2(dst *byte, src *float32, n int)

//go:noescape
func roundAVX2(v *float32, n int)

//go:noescape
func floatsAVX512(dst *float32, src *byte, n int)

//go:noescape
func putAVX512(dst *byte, src *float32, n int)

//go:noescape
func roundAVX512(v *float32, n int)

//go:noescape
func awayAVX512(v *float32, n int)

// awayFast is RoundAllAway of as many numbers as there is machine code for.
func awayFast(v []float32) (n int) {
	if step != 1 {
		return 0
	}
	for n < len(v) {
		part := min(most, len(v)-n)
		awayPart(&v[n], part)
		n += part
	}
	return n
}

//go:noinline
func awayPart(v *float32, n int) { awayAVX512(v, n) }

// Of NaN, the first bits stay.

//go:noescape
func narrowAVX2(dst, src *byte, n int)

//go:noescape
func narrowAVX512(dst, src *byte, n int)
