package v7_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/compiler"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/tensor"
)

// Layers that no operation of a model becomes.

// compileGraph compiles a graph to nothing but native tasks.
func compileGraph(t testing.TB, g *anec.Graph) *segment.Segment {
	t.Helper()
	r, err := compiler.Compile(t.Context(), &compiler.Job{Target: h13(t), Strict: true, Functions: []compiler.Entry{{Graph: g}}})
	if err != nil {
		t.Fatal(err)
	}
	if segments := r.Functions[0].Segments; len(segments) != 1 {
		t.Fatalf("it is %d segments", len(segments))
	}
	return r.Functions[0].Segments[0]
}

func TestScaledElementWise(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 1))
	draw := func(n int) []float32 {
		v := make([]float32, n)
		for i := range v {
			v[i] = tensor.RoundF16(float32(r.NormFloat64()))
		}
		return v
	}
	x, z := draw(4*3*5), draw(4*3*5)
	for kind, f := range map[string]func(x, z float32) float32{
		"Add": func(x, z float32) float32 { return x + z }, "Mult": func(x, z float32) float32 { return x * z },
		"Max": func(x, z float32) float32 { return max(x, z) }, "Min": func(x, z float32) float32 { return min(x, z) },
	} {
		for _, c := range []struct {
			z     string
			every int // elements of x that one of z is for
			tasks int
			scale float32
		}{{"[1,1,4,3,5]", 1, 1, 1}, {"[1,1,4,3,5]", 1, 1, -2.5}, {"[1,1,4,1,1]", 15, 2, 0.5}} {
			g, err := anec.Parse(fmt.Sprintf("input %%x : fp16[1,1,4,3,5]\ninput %%z : fp16%s\n%%y = anec.scaled_elementwise(%%x, %%z) {type = %s, scale = %g} : fp16[1,1,4,3,5]\noutput %%y\n", c.z, kind, c.scale), nil)
			if err != nil {
				t.Fatal(err)
			}
			s := compileGraph(t, g)
			if len(s.Tasks) != c.tasks {
				t.Errorf("%s: %d tasks, want %d", kind, len(s.Tasks), c.tasks)
			}
			got := runPorts(t, s.File, s.Target.Numerics, map[string][]float32{"x": x, "z": z[:len(x)/c.every]})
			for i, v := range got {
				if want := tensor.RoundF16(c.scale * f(x[i], z[i/c.every])); v != want {
					t.Fatalf("%g * %s: element %d is %v, want %v", c.scale, kind, i, v, want)
				}
			}
		}
	}
}
