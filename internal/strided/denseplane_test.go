package strided

import (
	"math"
	"math/rand/v2"
	"testing"
)

// A plane has the bits of the sums that are made tap by tap.
func TestDensePlane(t *testing.T) {
	r := rand.New(rand.NewPCG(17, 18))
	for i := range 500 {
		s := convShape{
			cin: 1, cout: 1, inputs: 1, unicast: true, hin: 1 + r.IntN(20), win: 1 + r.IntN(40), kh: 1 + r.IntN(5), kw: 1 + r.IntN(5),
			sy: 1 + r.IntN(3), sx: 1 + r.IntN(3), py: r.IntN(3), px: r.IntN(3), hout: 1 + r.IntN(22), wout: 1 + r.IntN(42),
		}
		k := newDense(s, 1, nil, nil, nil, nil)
		if k.plane == nil {
			t.Fatalf("case %d: no plane for %+v", i, s)
		}
		floats := func(n int) []float32 {
			v := make([]float32, n)
			for j := range v {
				if v[j] = float32(r.NormFloat64()); r.IntN(8) == 0 {
					v[j] = float32(math.Copysign(0, r.NormFloat64()))
				}
			}
			return v
		}
		src, weights := floats(s.hin*s.win), floats(s.weights())
		bias := floats(1)[0]
		got, want := make([]float32, k.places), make([]float32, k.places)
		area := make([]float32, k.plane.floats)
		for range 2 { // the second time over what the first left
			k.plane.run(got, area, src, weights, bias)
		}
		k.addTaps(want, src, weights, bias)
		for j := range got {
			if math.Float32bits(got[j]) != math.Float32bits(want[j]) {
				t.Fatalf("case %d: place %d is %g, expected %g; %+v", i, j, got[j], want[j], s)
			}
		}
	}
	if p := (&densePlane{}); p.takes([]float32{1, infinity}) || p.takes([]float32{float32(math.NaN())}) || !p.takes([]float32{-1, 0}) {
		t.Error("infinite weights and padding are not the same as tap by tap")
	}
}
