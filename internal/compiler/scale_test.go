package compiler

import (
	"fmt"
	"testing"

	"github.com/espalier-ane/espalier/mil"
)

// residualBlocks is a function of so many operations: a residual block again and again.
func residualBlocks(t testing.TB, operations int) *mil.Program {
	b := mil.NewBuilder("main", "CoreML7")
	x := b.Input("x", fp16(1, 16, 32))
	w, bias := b.Const("w", ramp(32, 32)), b.Const("bias", ramp(32))
	axes := b.Const("axes", []int32{-1})
	for i := 0; i+5 <= operations; i += 5 {
		n := b.Op("layer_norm", "n", x.Type, mil.Args{"x": x, "axes": axes, "gamma": bias, "beta": bias})
		m := b.Op("linear", "m", x.Type, mil.Args{"x": n, "weight": w, "bias": bias})
		g := b.Op("gelu", "g", x.Type, mil.Args{"x": m, "mode": "EXACT"})
		s := b.Op("softmax", "s", x.Type, mil.Args{"x": g, "axis": int32(-1)})
		x = b.Op("add", "a", x.Type, mil.Args{"x": s, "y": x})
	}
	b.Return(x)
	p, err := b.Program()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// BenchmarkCompile prints the cost of an operation: it must not grow with their number.
func BenchmarkCompile(b *testing.B) {
	for _, n := range []int{100, 1000, 10000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			p := residualBlocks(b, n)
			for b.Loop() {
				if _, err := Compile(b.Context(), &Job{Target: virtual(b), Program: p, Functions: []Entry{{Function: p.Functions[0]}}}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/operation")
		})
	}
}
