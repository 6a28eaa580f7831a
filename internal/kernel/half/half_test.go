package half

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/espalier-ane/espalier/tensor"
)

// TestHalves holds both conversions to package tensor, over all fp16 numbers,
// and over the values in the middle of two.
func TestHalves(t *testing.T) {
	for h := range 1 << 16 {
		v := tensor.F16(uint16(h))
		if got := Float(uint16(h)); got != v && (got == got || v == v) {
			t.Fatalf("%#04x is %v, want %v", h, got, v)
		}
		if v != v {
			if got := Bits(v); got&0x7c00 != 0x7c00 || got&0x3ff == 0 {
				t.Fatalf("NaN gives %#04x", got)
			}
			continue
		}
		b := math.Float32bits(v)
		for _, x := range []float32{v, math.Float32frombits(b + 0x1000), math.Float32frombits(b + 0xfff), math.Float32frombits(b + 0x1001)} {
			if got, want := Bits(x), tensor.ToF16(x); x == x && got != want {
				t.Fatalf("%v gives %#04x, want %#04x", x, got, want)
			}
		}
	}
	r := rand.New(rand.NewPCG(3, 4))
	for range 1 << 20 {
		x := math.Float32frombits(r.Uint32())
		if got, want := Bits(x), tensor.ToF16(x); x == x && got != want {
			t.Fatalf("%v (%#x) gives %#04x, want %#04x", x, math.Float32bits(x), got, want)
		}
	}
}

// TestRoundAway holds rounding half away from zero to its definition.
func TestRoundAway(t *testing.T) {
	for h := range uint16(0x7bff) {
		lo, hi := float64(tensor.F16(h)), float64(tensor.F16(h+1))
		middle := float32((lo + hi) / 2)
		for _, test := range []struct {
			x    float32
			want uint16
		}{
			{middle, h + 1}, {-middle, (h + 1) | 0x8000},
			{math.Nextafter32(middle, 0), h}, {math.Nextafter32(middle, 1e6), h + 1}, {float32(lo), h},
		} {
			if got := BitsAway(test.x); got != test.want {
				t.Fatalf("%v gives %#04x, want %#04x", test.x, got, test.want)
			}
		}
	}
}
