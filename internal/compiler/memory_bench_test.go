package compiler

import (
	"fmt"
	"testing"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// stacked returns blocks of ten layers on top of each other: branches, views, a concatenation, a sum.
func stacked(tb testing.TB, blocks int) *anec.Graph {
	g := anec.New("stacked")
	b := &anec.Builder{Graph: g}
	x, err := g.AddInput("x", anec.TypeOf(tensor.Float16, 1, 1, 8, 16, 16))
	if err != nil {
		tb.Fatal(err)
	}
	for range blocks {
		l := b.Layer("l", &anec.InputView{Axis: anec.C, Size: 4, Step: 1}, x)
		r := b.Layer("r", &anec.InputView{Axis: anec.C, Offset: 4, Size: 4, Step: 1}, x)
		l = b.Layer("sigmoid", &anec.Neuron{Type: td.FuncSigmoid}, l)
		r = b.Layer("tanh", &anec.Neuron{Type: td.FuncTanh}, r)
		c := b.Layer("concat", &anec.Concat{Axis: anec.C}, l, r)
		m := b.Layer("max", &anec.Reduction{Type: td.ReduceMax, Axes: td.AxesOf(anec.H)}, c)
		m = b.Layer("t", &anec.Transpose{Perm: anec.Perm{anec.N, anec.D, anec.W, anec.H, anec.C}}, m)
		m = b.Layer("back", &anec.Transpose{Perm: anec.Perm{anec.N, anec.D, anec.W, anec.H, anec.C}}, m)
		y := b.Layer("mul", &anec.ElementWise{Type: td.EWMult}, c, m)
		x = b.Layer("add", &anec.ElementWise{Type: td.EWAdd}, y, x)
	}
	g.AddOutput(x)
	if err := b.Err(); err != nil {
		tb.Fatal(err)
	}
	return g
}

// BenchmarkPlan orders and places; the time of a layer must not grow with their number.
func BenchmarkPlan(b *testing.B) {
	for _, layers := range []int{100, 1000, 10000} {
		b.Run(fmt.Sprint(layers), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				s := &segment.Segment{Target: virtual(b), Graph: stacked(b, layers/10)}
				b.StartTimer()
				if err := schedule(s); err != nil {
					b.Fatal(err)
				}
				if err := planMemory(s); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(layers), "ns/layer")
		})
	}
}
