package vec

import "testing"

// The same of kernels of any size, which a file may choose.
func TestTapsAreShort(t *testing.T) {
	for taps := 1; taps <= 1<<16; taps++ {
		if n := perCall(taps); n < 16 || n%16 != 0 || n > 1<<11 || taps*n > 1<<20 {
			t.Fatalf("%d elements of %d products", n, taps)
		}
	}
}
