package anec

import (
	"fmt"
	"testing"

	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// The cost of a layer does not grow with the graph.
func BenchmarkGraph(b *testing.B) {
	for _, layers := range []int{100, 10000} {
		b.Run(fmt.Sprint(layers), func(b *testing.B) {
			for b.Loop() {
				g := New("chain")
				x, err := g.AddInput("x", TypeOf(tensor.Float16, 1, 1, 1, 8, 8))
				if err != nil {
					b.Fatal(err)
				}
				build := Builder{Graph: g}
				two := build.Scalar("two", 2)
				for range layers {
					x = build.Layer("y", &ElementWise{Type: td.EWMult}, x, two)
				}
				g.AddOutput(x)
				if build.Err() != nil || Verify(g) != nil || len(g.Order()) != layers {
					b.Fatal(build.Err())
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*layers), "ns/layer")
		})
	}
}
