package vec

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestLimits(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	nan := float32(math.NaN())
	for _, l := range []Limits{NoLimits, {0x1p-14, 32760, nan}, {0x1p-14 - 0x1p-25, nan, 0}, {0, 1, float32(math.Inf(1))}, {0, nan, 65504}} {
		for n := range 70 {
			v := numbers(r, n)
			want := slices.Clone(v)
			l.plain(want)
			got := append(slices.Clone(v), -7)
			l.Apply(got[:n])
			for i, x := range got {
				if i < n && !same(x, want[i]) || i == n && x != -7 {
					t.Fatalf("%+v: element %d of %d: %g becomes %g, expected %g", l, i, n, v[min(i, n-1)], x, want[min(i, n-1)])
				}
			}
			var top float32
			for _, x := range v {
				top = max(top, x, -x)
			}
			if got := Greatest(v); !same(got, top) {
				t.Fatalf("the greatest of %g is %g, expected %g", v, got, top)
			}
			if got := HasNaN(v); got != slices.ContainsFunc(v, func(x float32) bool { return x != x }) {
				t.Fatalf("NaN among %g: %t", v, got)
			}
		}
	}
}
