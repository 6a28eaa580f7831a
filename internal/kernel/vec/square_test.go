package vec

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/espalier-ane/espalier/internal/kernel/half"
)

// Squares are exact, or one of the two neighbours: the nearer, or the odd one. All
// lengths, and nothing else is written.
func TestSquare(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 16))
	var inputs []float32
	for h := range 1 << 16 {
		inputs = append(inputs, half.Float(uint16(h)))
	}
	for range 1 << 16 {
		inputs = append(inputs, math.Float32frombits(r.Uint32()))
	}
	for _, odd := range []bool{false, true} {
		for n := range 40 {
			v := append([]float32(nil), inputs[1000:1040]...)
			Square(v[:n], odd)
			for i, x := range inputs[1000:1040] {
				if i < n {
					x *= x
				}
				if v[i] != x { // all of them exact
					t.Fatalf("element %d of %d is %g, expected %g", i, n, v[i], x)
				}
			}
		}
		got := append([]float32(nil), inputs...)
		Square(got, odd)
		for i, x := range inputs {
			if want := squareOf(x, odd); math.Float32bits(got[i]) != math.Float32bits(want) && (got[i] == got[i] || want == want) {
				t.Fatalf("the square of %g, odd %v, is %g, expected %g", x, odd, got[i], want)
			}
		}
	}
}

// squareOf is a square by way of numbers of any length.
func squareOf(x float32, odd bool) float32 {
	if x != x || math.IsInf(float64(x), 0) {
		return x * x
	}
	exact := new(big.Float).SetPrec(200).SetFloat64(float64(x))
	exact.Mul(exact, exact)
	nearest, _ := exact.Float32()
	if c := big.NewFloat(float64(nearest)); !odd || !math.IsInf(float64(nearest), 0) && c.Cmp(exact) == 0 {
		return nearest
	}
	if math.Float32bits(nearest)&1 == 1 {
		return nearest
	}
	if math.IsInf(float64(nearest), 0) || big.NewFloat(float64(nearest)).Cmp(exact) > 0 {
		return math.Float32frombits(math.Float32bits(nearest) - 1)
	}
	return math.Float32frombits(math.Float32bits(nearest) + 1)
}
