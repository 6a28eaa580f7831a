//go:build amd64

package vec

import "unsafe"

// tapping is what the machine code is told.
type tapping struct {
	dst, src        unsafe.Pointer
	weights, shifts unsafe.Pointer
	taps, n         int
}

func manyTaps(dst, src, weights []float32, shifts []int) {
	shifts = shifts[:len(weights)]
	for _, s := range shifts {
		_ = src[s : s+len(dst)]
	}
	most := perCall(len(weights))
	for at := 0; at < len(dst); at += most {
		someTaps(&tapping{
			unsafe.Pointer(&dst[at]), unsafe.Pointer(&src[at]), unsafe.Pointer(&weights[0]), unsafe.Pointer(&shifts[0]),
			len(weights), min(most, len(dst)-at),
		})
	}
}

// perCall is how many elements go into one call, of so many products each.
func perCall(taps int) int { return max(16, min(1<<11, 1<<20/taps)) &^ 15 }

// someTaps is a call of its own so that the scheduler can stop a loop over rows:
// machine code it cannot.
//
//go:noinline
func someTaps(p *tapping) { tapsAVX512(p) }

//go:noescape
func tapsAVX512(p *tapping)
