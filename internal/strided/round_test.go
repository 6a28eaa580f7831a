package strided

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/espalier-ane/espalier/internal/kernel/half"
)

// storeHalves rounds as half.Bits does: at every fp16 number, halfway to the
// next and next to that, and at every power of two that a float32 has.
func TestStoreHalves(t *testing.T) {
	var values []float32
	around := func(b uint32) {
		for _, d := range []uint32{0, 1, 2, 3, 0xfff, 0x1000, 0x1001} {
			values = append(values, math.Float32frombits(b+d), math.Float32frombits(b-d))
		}
	}
	for h := range 1 << 16 {
		v := half.Float(uint16(h))
		around(math.Float32bits(v))
		if a, next := float64(v), float64(half.Float(uint16(h)+1)); !math.IsNaN(a + next) {
			around(math.Float32bits(float32((a + next) / 2)))
		}
	}
	for e := range uint32(1 << 9) {
		around(e << 23)
	}
	stored := make([]byte, 2*len(values))
	storeHalves(stored, values)
	for i, v := range values {
		if got, want := binary.LittleEndian.Uint16(stored[2*i:]), half.Bits(v); got != want {
			t.Fatalf("%g (%#x) is %#04x, want %#04x", v, math.Float32bits(v), got, want)
		}
	}
}

// toOdd finds the neighbour that toOddSlowly looks for.
func TestToOddBits(t *testing.T) {
	check := func(v float64) {
		if got, want := toOdd(v), toOddSlowly(v); math.Float32bits(got) != math.Float32bits(want) {
			t.Fatalf("%g is %g, want %g", v, got, want)
		}
	}
	r := rand.New(rand.NewPCG(1, 1))
	for range 100_000 {
		v := math.Float64frombits(r.Uint64()&^(0x7ff<<52) | (800+r.Uint64N(400))<<52)
		check(v)
		check(float64(float32(v)))
	}
	for e := range uint64(1 << 12) {
		for _, low := range []uint64{0, 1, 1<<29 - 1, 1 << 29, 1<<29 + 1, 1<<52 - 1} {
			check(math.Float64frombits(e<<52 | low))
		}
	}
}
