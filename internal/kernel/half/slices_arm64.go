//go:build arm64

package half

import "github.com/espalier-ane/espalier/internal/kernel/isa"

// step is how many numbers the machine code takes at once, 0 if there is none.
var step = func() int {
	if isa.Have().Has(isa.NEON) {
		return 8
	}
	return 0
}()

// most is how many numbers go into one call, which cannot be preempted.
const most = 1 << 15

// parts has machine code do as many of n numbers as it takes, and returns how many
// these are.
func parts(n int, part func(first, count int)) int {
	if step == 0 {
		return 0
	}
	n = n / step * step
	for first := 0; first < n; first += most {
		part(first, min(most, n-first))
	}
	return n
}

func floatsFast(dst []float32, src []byte) int {
	return parts(len(dst), func(i, n int) { floatsPart(&dst[i], &src[2*i], n) })
}

func putFast(dst []byte, src []float32) int {
	return parts(len(src), func(i, n int) { putPart(&dst[2*i], &src[i], n) })
}

func roundFast(v []float32) int {
	return parts(len(v), func(i, n int) { roundPart(&v[i], n) })
}

// The parts are calls of their own so that the scheduler can stop a loop over rows:
// machine code it cannot.

//go:noinline
func floatsPart(dst *float32, src *byte, n int) { floatsNEON(dst, src, n) }

//go:noinline
func putPart(dst *byte, src *float32, n int) { putNEON(dst, src, n) }

//go:noinline
func roundPart(v *float32, n int) { roundNEON(v, n) }

//go:noescape
func floatsNEON(dst *float32, src *byte, n int)

//go:noescape
func putNEON(dst *byte, src *float32, n int)

//go:noescape
func roundNEON(v *float32, n int)

func awayFast([]float32) int { return 0 }

func (*Rows) fast() bool { return false }

func narrowFast([]byte, []byte) int { return 0 }
