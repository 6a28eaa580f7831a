package compiler

import (
	"fmt"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// fused takes a graph through the passes that fuse.
func fused(t testing.TB, g *anec.Graph, seed uint64) *anec.Graph {
	t.Helper()
	return fusedFor(t, virtual(t), g, seed)
}

func fusedFor(t testing.TB, target *hal.Target, g *anec.Graph, seed uint64) *anec.Graph {
	t.Helper()
	runPhase(t, Fuse, &segment.Segment{Name: "test", Target: target, Graph: g}, seed)
	return g
}

// Each rule has a file with a graph before and after. The order in which a graph is stored changes nothing, and what
// is fused cannot be fused further.
func TestFuse(t *testing.T) {
	goldens(t, "fuse", 1, func(t *testing.T, archive *txtar.Archive) {
		before, target := string(archive.Files[0].Data), targetOf(t, archive)
		after := anec.Print(fusedFor(t, target, parseGraph(t, before), 0))
		for seed := uint64(1); seed < 4; seed++ {
			if got := anec.Print(fusedFor(t, target, parseGraph(t, before), seed)); got != after {
				t.Errorf("stored in another order, it becomes\n%s\nnot\n%s", got, after)
			}
		}
		if again := anec.Print(fusedFor(t, target, parseGraph(t, after), 0)); again != after {
			t.Errorf("fused again, it becomes\n%s\nnot\n%s", again, after)
		}
		archive.Files = append(archive.Files, txtar.File{Name: "after", Data: []byte(after)})
	})
}

// What users expect to be one task is one layer.
func TestOneLayer(t *testing.T) {
	for _, name := range []string{
		"conv_bias_relu", "matmul_bias_gelu", "conv_bn_relu6", "conv_add_relu", "six_elementwise", "linear_bias",
		"silu_written_out", "gelu_tanh_written_out", "gelu_erf_written_out", "hard_swish_written_out", "two_branches", "quant",
		"attention",
	} {
		archive, err := txtar.ParseFile("testdata/fuse/" + name + ".txtar")
		if err != nil {
			t.Fatal(err)
		}
		g := fused(t, parseGraph(t, string(archive.Files[0].Data)), 0)
		if len(g.Layers) != 1 {
			t.Errorf("%s: %d layers, want one\n%s", name, len(g.Layers), anec.Print(g))
		}
	}
}

// A run that no task holds is cut, and every piece fits.
func TestRunLimits(t *testing.T) {
	long := stack(t, 1, func(b *anec.Builder, v *anec.Value, _ int) *anec.Value {
		for i := range 50 {
			v = b.Layer(fmt.Sprint("t", i), &anec.Neuron{Type: td.FuncTanh}, v)
		}
		return v
	})
	wide := stack(t, 1, func(b *anec.Builder, v *anec.Value, _ int) *anec.Value {
		for i := range 20 {
			in, err := b.Graph.AddInput(fmt.Sprint("in", i), v.Type)
			b.Fail(err)
			v = b.Layer(fmt.Sprint("s", i), &anec.ElementWise{Type: td.EWAdd}, v, in)
		}
		return v
	})
	for name, c := range map[string]struct {
		graph *anec.Graph
		want  int
	}{"50 functions": {long, 4}, "20 operands": {wide, 4}} {
		g := fused(t, c.graph, 0)
		if len(g.Layers) != c.want {
			t.Errorf("%s: %d layers, want %d\n%s", name, len(g.Layers), c.want, anec.Print(g))
		}
		for _, l := range g.Layers {
			if !fits(l) {
				t.Errorf("%s: no task holds %s", name, l.Name)
			}
		}
	}
}

// stack is a graph of one block upon another.
func stack(t testing.TB, blocks int, block func(b *anec.Builder, v *anec.Value, i int) *anec.Value) *anec.Graph {
	t.Helper()
	g := anec.New("stack")
	in, err := g.AddInput("x", anec.TypeOf(tensor.Float16, 1, 1, 4, 8, 8))
	if err != nil {
		t.Fatal(err)
	}
	b := &anec.Builder{Graph: g}
	v := in
	for i := range blocks {
		v = block(b, v, i)
	}
	if err := b.Err(); err != nil {
		t.Fatal(err)
	}
	g.AddOutput(v)
	return g
}

// residual is a block of ten layers: a convolution with bias, silu written out, a view there and back, a sum.
func residual(b *anec.Builder, v *anec.Value, i int) *anec.Value {
	name := func(s string) string { return fmt.Sprint(s, i) }
	weights, biases := make([]float32, 16), make([]float32, 4)
	weights[0], biases[0] = float32(i), float32(i) // no two are equal
	w := b.Constant(name("w"), anec.ConstantOf(tensor.Of(weights, 4, 1, 4, 1, 1)))
	bias := b.Constant(name("b"), anec.ConstantOf(tensor.Of(biases, 1, 1, 4, 1, 1)))
	c := b.Layer(name("c"), &anec.Conv{Window: anec.UnitWindow, Groups: 1, PaddingMode: td.PadZero}, v, w)
	a := b.Layer(name("a"), &anec.ElementWise{Type: td.EWAdd}, c, bias)
	s := b.Layer(name("s"), &anec.Neuron{Type: td.FuncSigmoid}, a)
	m := b.Layer(name("m"), &anec.ElementWise{Type: td.EWMult}, a, s)
	f := b.Layer(name("f"), &anec.Reshape{Dims: anec.Dims{1, 1, 1, 4, 64}}, m)
	h := b.Layer(name("h"), &anec.ElementWise{Type: td.EWMult}, f, b.Scalar(name("half"), 0.5))
	r := b.Layer(name("r"), &anec.Reshape{Dims: anec.Dims{1, 1, 4, 8, 8}}, h)
	y := b.Layer(name("y"), &anec.ElementWise{Type: td.EWAdd}, r, v)
	n := b.Layer(name("n"), &anec.Neuron{Type: td.FuncReLU}, y)
	return b.Layer(name("o"), &anec.Dropout{}, n)
}

// BenchmarkFuse prints the cost of a layer of a stacked block, which does not grow with the stack.
func BenchmarkFuse(b *testing.B) {
	for _, blocks := range []int{10, 100, 1000} {
		layers := len(stack(b, blocks, residual).Layers)
		b.Run(fmt.Sprint(layers), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				s := &segment.Segment{Target: virtual(b), Graph: stack(b, blocks, residual)}
				b.StartTimer()
				for _, p := range passes {
					if p.Phase == Fuse {
						if err := p.Run(s); err != nil {
							b.Fatal(err)
						}
					}
				}
				if len(s.Graph.Layers) != blocks {
					b.Fatalf("%d layers, want %d", len(s.Graph.Layers), blocks)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(layers), "ns/layer")
		})
	}
}
