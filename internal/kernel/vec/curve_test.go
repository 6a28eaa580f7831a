package vec

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Machine code has the bits of the Go form, at every number that is near a border
// and at many others.
func TestCurve(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 9))
	inf := float32(math.Inf(1))
	edges := []float32{
		0, float32(math.Copysign(0, -1)), inf, -inf, float32(math.NaN()), 0x1p-149, -0x1p-149, 0x1p-126, 1, -1, 16, -16, 32, 2, -2,
		math.MaxFloat32, -math.MaxFloat32, 0x1p-30, -0x1p-30, -0x1p-24, 126.5, 127.9, -125.5, -126.5, -140.25, -149.5, -150.5, -1100,
	}
	for round := range 400 {
		c := Curve{
			Low: -inf, High: inf, AtLow: -3, AtHigh: 5, PerUnit: float32(math.Ldexp(1, r.IntN(30)-3)),
			LeftSlope: 0.25, LeftAt0: -1, RightSlope: 3, RightAt0: 0.5, Powers: round%2 == 1,
		}
		if c.Powers {
			c.PerUnit = []float32{32, 16, 64, 1}[r.IntN(4)]
		}
		if r.IntN(2) == 0 {
			c.Low, c.High = -float32(r.IntN(9)), float32(r.IntN(9))
		}
		var knots [33]float32
		for i := range knots {
			knots[i] = float32(r.NormFloat64())
		}
		c.Set(&knots)
		v := make([]float32, 1+r.IntN(70))
		for i := range v {
			switch r.IntN(3) {
			case 0:
				v[i] = edges[r.IntN(len(edges))]
			case 1:
				v[i] = float32(r.NormFloat64() * 20)
			default: // at a knot, or beside it
				v[i] = math.Nextafter32(float32(r.IntN(33)-16)/c.PerUnit, float32(r.IntN(3)-1)*100)
			}
		}
		given, want := append([]float32(nil), v...), append([]float32(nil), v...)
		c.Apply(v)
		c.plain(want)
		for i := range v {
			if math.Float32bits(v[i]) != math.Float32bits(want[i]) && !(v[i] != v[i] && want[i] != want[i]) {
				t.Fatalf("%+v of %v: got %v, want %v", c, given[i], v[i], want[i])
			}
		}
	}
}
