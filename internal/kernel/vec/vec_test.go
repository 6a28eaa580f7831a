package vec

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// special numbers meet each other in all pairs.
var special = []float32{
	0, float32(math.Copysign(0, -1)), 1, -1, 0.5, 3, 6, -6, math.MaxFloat32, -math.MaxFloat32, math.SmallestNonzeroFloat32,
	0x1p-126, -0x1p-149, float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN()), 65504, 0.1, -0.1,
}

func numbers(r *rand.Rand, n int) []float32 {
	v := make([]float32, n)
	for i := range v {
		if v[i] = float32(r.NormFloat64()); r.IntN(3) == 0 {
			v[i] = special[r.IntN(len(special))]
		}
	}
	return v
}

// same compares bits; of NaN any will do.
func same(a, b float32) bool {
	return math.Float32bits(a) == math.Float32bits(b) || a != a && b != b
}

// Machine code gives the bits of the plain form, and stays within its row.
func TestPairs(t *testing.T) {
	for name, p := range map[string]*pair{"add": &add, "sub": &sub, "mul": &mul, "div": &div, "max": &greater, "min": &lesser} {
		t.Run(name, func(t *testing.T) {
			check := func(a, b []float32) {
				n := len(a)
				want := make([]float32, n)
				p.plain(want, a, b)
				for _, off := range []int{0, 1, 5} {
					dst := make([]float32, n+off+20)
					for i := range dst {
						dst[i] = -7
					}
					p.do(dst[off:][:n], a, b)
					for i, v := range dst {
						if i < off || i >= off+n {
							if v != -7 {
								t.Fatalf("of %d elements: wrote at %d", n, i-off)
							}
						} else if !same(v, want[i-off]) {
							t.Fatalf("%s of %g and %g is %g, expected %g", name, a[i-off], b[i-off], v, want[i-off])
						}
					}
				}
				onto := append([]float32(nil), a...)
				p.do(onto, onto, b)
				for i, v := range onto {
					if !same(v, want[i]) {
						t.Fatalf("in place, %s of %g and %g is %g, expected %g", name, a[i], b[i], v, want[i])
					}
				}
			}
			var a, b []float32
			for _, x := range special {
				for _, y := range special {
					a, b = append(a, x), append(b, y)
				}
			}
			check(a, b)
			r := rand.New(rand.NewPCG(3, 4))
			for n := range 70 {
				check(numbers(r, n), numbers(r, n))
			}
			check(numbers(r, most+37), numbers(r, most+37))
		})
	}
}

func TestRows(t *testing.T) {
	functions := map[string]struct {
		do  func(v []float32)
		one func(x float32) float32
	}{
		"relu": {ReLU, func(x float32) float32 { return max(x, 0) }},
	}
	for _, s := range special {
		functions[fmt.Sprint("plus ", s, math.Signbit(float64(s)))] = struct {
			do  func(v []float32)
			one func(x float32) float32
		}{func(v []float32) { Plus(v, s) }, func(x float32) float32 { return x + s }}
		for _, hi := range special {
			functions[fmt.Sprint("clamp ", s, hi, math.Signbit(float64(s)), math.Signbit(float64(hi)))] = struct {
				do  func(v []float32)
				one func(x float32) float32
			}{func(v []float32) { Clamp(v, s, hi) }, func(x float32) float32 { return min(max(x, s), hi) }}
		}
	}
	r := rand.New(rand.NewPCG(5, 6))
	for name, f := range functions {
		for _, n := range []int{0, 1, 15, 16, 17, 33, 48, 70} {
			v := append(numbers(r, n), special...)
			before := append([]float32(nil), v...)
			f.do(v[:n])
			for i, x := range v {
				want := before[i]
				if i < n {
					want = f.one(want)
				}
				if !same(x, want) {
					t.Fatalf("%s of element %d, %g, of %d is %g, expected %g", name, i, before[i], n, x, want)
				}
			}
		}
	}
}
