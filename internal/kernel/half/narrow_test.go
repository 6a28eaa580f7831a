package half

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/espalier-ane/espalier/tensor"
)

// Narrow converts as package tensor does, NaN included, in portions of any length.
func TestNarrow(t *testing.T) {
	values := edges()
	src, dst := make([]byte, 4*len(values)), make([]byte, 2*len(values)+2)
	for i, v := range values {
		binary.LittleEndian.PutUint32(src[4*i:], math.Float32bits(v))
	}
	for at, n := 0, 1; at < len(values); at += n {
		n = min(1+at%150, len(values)-at)
		end := [2]byte{byte(at), 0x55}
		copy(dst[2*(at+n):], end[:])
		Narrow(dst[2*at:], src[4*at:][:4*n])
		if [2]byte(dst[2*(at+n):]) != end {
			t.Fatalf("%d numbers: what lies behind them has changed", n)
		}
	}
	for i, v := range values {
		if got, want := binary.LittleEndian.Uint16(dst[2*i:]), tensor.ToF16(v); got != want {
			t.Fatalf("%#x is narrowed to %#x, expected %#x", math.Float32bits(v), got, want)
		}
	}
}
