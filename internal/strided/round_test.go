package strided

import (
	"math"
	"math/rand/v2"
	"testing"
)

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
