package ops

import (
	"math"
	"testing"

	"github.com/espalier-ane/espalier/tensor"
)

// Of all fp16 numbers, zeros and normal ones are known to be such, and of the floats
// beside them none is.
func TestAreHalves(t *testing.T) {
	h := new(halt)
	for i := range 1 << 16 {
		v := tensor.F16(uint16(i))
		exponent := i >> 10 & 31
		if want := i&0x7fff == 0 || exponent != 0 && exponent != 31; areHalves(h, []float32{1, v}) != want {
			t.Fatalf("%#x: want %v", i, want)
		}
		for _, beside := range []float32{math.Nextafter32(v, 1e30), math.Nextafter32(v, -1e30)} {
			if beside != tensor.RoundF16(beside) && areHalves(h, []float32{beside}) {
				t.Fatalf("%g", beside)
			}
		}
	}
	for _, v := range []float32{65536, -65536, 131072, 1e30} {
		if areHalves(h, []float32{v}) {
			t.Errorf("%g", v)
		}
	}
}
