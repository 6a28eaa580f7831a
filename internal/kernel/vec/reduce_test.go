package vec

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Reductions of any length are what plain sums in fp64 are, within their rounding.
func TestReductions(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	for _, n := range []int{0, 1, 2, 7, 8, 9, 15, 16, 17, 31, 33, 100, 511, 512, mostReduced, mostReduced + 13} {
		v, gamma, beta := make([]float32, n+3), make([]float32, n+3), make([]float32, n+3)
		for i := range v {
			v[i], gamma[i], beta[i] = float32(r.NormFloat64()), float32(r.NormFloat64()), float32(r.NormFloat64())
		}
		sum, size, squares, top := 0.0, 0.0, 0.0, float32(math.Inf(-1))
		const mean = 0.25
		for _, x := range v[:n] {
			sum += float64(x)
			size += math.Abs(float64(x))
			squares += (float64(x) - mean) * (float64(x) - mean)
			top = max(top, x)
		}
		if got := Sum(v[:n]); math.Abs(got-sum) > float64(n)*0x1p-52*size {
			t.Errorf("the sum of %d is %g, expected %g", n, got, sum)
		}
		if got := SumSquares(v[:n], mean); math.Abs(got-squares) > float64(n)*0x1p-52*squares {
			t.Errorf("the squares of %d are %g, expected %g", n, got, squares)
		}
		if got := MaxOf(v[:n]); got != top {
			t.Errorf("the greatest of %d is %g, expected %g", n, got, top)
		}
		for _, odd := range []bool{false, true} {
			for name, f := range map[string]struct {
				do  func(v []float32)
				one func(i int, x float64) float64
			}{
				"normalized": {
					func(v []float32) { Normalize(v, gamma, beta, mean, 1.5, odd) },
					func(i int, x float64) float64 { return (x-mean)*1.5*float64(gamma[i]) + float64(beta[i]) },
				},
				"scaled": {func(v []float32) { Scale(v, 0.3, odd) }, func(_ int, x float64) float64 { return x * 0.3 }},
			} {
				got := append([]float32(nil), v...)
				f.do(got[:n])
				for i, x := range got {
					want := v[i]
					if i < n {
						want = round(f.one(i, float64(v[i])), odd)
					}
					if math.Abs(float64(x-want)) > 0x1p-22*math.Abs(float64(want)) {
						t.Fatalf("element %d of %d, %s, is %g, expected %g", i, n, name, x, want)
					}
				}
			}
		}
		powers := append([]float32(nil), v...)
		got, want := Powers(powers[:n], 2), 0.0
		for i, x := range v {
			p := x
			if i < n {
				p = float32(math.Exp(float64(x) - 2))
				want += float64(p)
			}
			if !near(powers[i], float64(p)) {
				t.Fatalf("the power of element %d of %d is %g, expected %g", i, n, powers[i], p)
			}
		}
		if math.Abs(got-want) > 0x1p-22*want {
			t.Errorf("the powers of %d add up to %g, expected %g", n, got, want)
		}
	}
	for n := range 40 {
		v := make([]float32, n+1)
		v[n] = float32(math.NaN())
		if got := MaxOf(v); got == got {
			t.Errorf("the greatest of %d and NaN is %g", n, got)
		}
		v[n] = float32(math.Inf(-1))
		if got := Powers(v, 0); got != float64(n) || v[n] != 0 {
			t.Errorf("the powers of %d zeros and -inf add up to %g; the last is %g", n, got, v[n])
		}
	}
}
