package engine

import (
	"context"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/testkit"
	"github.com/espalier-ane/espalier/td"
)

// Under the rules of H13 no class stores a NaN, whatever it reads; the bits do not
// depend on the threads, and nothing is allocated.
func TestVirtualUnderRules(t *testing.T) {
	target, err := hal.Lookup("h13")
	if err != nil {
		t.Fatal(err)
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	r := rand.New(rand.NewPCG(5, 13))
	for _, b := range largeBenches(t) {
		b.rules = &target.Numerics
		if b.op.Class() == td.ClassRingBufferWriter { // bytes of a state
			continue
		}
		for i := b.op.Results(); i < len(b.op.Operands); i++ {
			o := &b.op.Operands[i]
			if !o.Present() || !o.Type.IsFloat() || slices.Contains(o.Dims[:], 0) {
				continue
			}
			for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 60000, -60000} {
				var at [td.NumAxes]int
				for a, n := range o.Dims {
					at[a] = r.IntN(n)
				}
				b.put(i, at, v)
			}
		}
		results := b.memories[:b.op.Results()]
		var first []byte
		for _, threads := range []int{1, 3} {
			runtime.GOMAXPROCS(threads)
			for _, m := range results {
				clear(m)
			}
			c := b.run(t)
			if got := slices.Concat(results...); first == nil {
				first = got
			} else if string(first) != string(got) {
				t.Errorf("%v: %d threads give other bits", b.op.Class(), threads)
			}
			if threads == 1 {
				continue
			}
			if n := testkit.Allocs(1, func() { c.program.RunAll(context.Background(), c) }); n != 0 {
				t.Errorf("%v: %v allocations", b.op.Class(), n)
			}
		}
		for i := range results {
			o := &b.op.Operands[i]
			if !o.Present() || !o.Type.IsFloat() {
				continue
			}
			none := 0
			each(o.Dims, func(at [td.NumAxes]int) {
				if v := b.get(i, at); v != v {
					none++
				}
			})
			if none > 0 {
				t.Errorf("%v: %d elements of result %d are NaN: %+v", b.op.Class(), none, i, b.op.Params)
			}
		}
	}
}
