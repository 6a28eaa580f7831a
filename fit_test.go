package espalier_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/fit"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/tensor"
)

// Functions of one number, as tables and as rectifiers, compiled and run.

var fitCases = []struct {
	name    string
	f       func(float64) float64
	domain  fit.Domain
	options fit.Options
}{
	{"bump", func(x float64) float64 { return math.Exp(-x * x) }, fit.Domain{Min: -4, Max: 4}, fit.Options{}},
	{"bump of an odd domain", func(x float64) float64 { return math.Exp(-x * x) }, fit.Domain{Min: -3.3, Max: 3}, fit.Options{}},
	{"softplus", func(x float64) float64 { return math.Log1p(math.Exp(x)) }, fit.Domain{Min: -8, Max: 8}, fit.Options{Right: fit.Line}},
	{"tanh", math.Tanh, fit.Domain{Min: -4, Max: 4}, fit.Options{}},
}

// allHalves has every fp16 number but the NaNs, which it has as 0.
func allHalves() *tensor.Tensor {
	values := make([]float32, 1<<16)
	for h := range values {
		if v := tensor.F16(uint16(h)); v == v {
			values[h] = v
		}
	}
	return tensor.FromFloat32s(tensor.Float16, values, 1, 4, 128, 128)
}

// fitGraph is a graph of one fit, of four channels.
func fitGraph(t *testing.T, side int, add func(*anec.Builder, *anec.Value) *anec.Value) *anec.Graph {
	t.Helper()
	g := parseGraph(t, fmt.Sprintf("graph net\ninput %%x : fp16[1,1,4,%d,%d]\n", side, side))
	b := &anec.Builder{Graph: g}
	g.AddOutput(add(b, g.Value("x")))
	if err := b.Err(); err != nil {
		t.Fatal(err)
	}
	return g
}

func runFit(t *testing.T, target string, g *anec.Graph, x *tensor.Tensor) []float32 {
	t.Helper()
	m, _ := openGraphs(t, target, g)
	out, err := m.Predict(t.Context(), map[string]any{"x": x})
	if err != nil {
		t.Fatal(err)
	}
	return out["fit"].Tensor.Float32s()
}

// The table runs on virtual as Result.At says, for every fp16 number; chips take it with the reason that is known of them.
func TestFitTables(t *testing.T) {
	x := allHalves()
	for _, c := range fitCases {
		t.Run(c.name, func(t *testing.T) {
			r, err := fit.Table(c.f, c.domain, c.options)
			if err != nil {
				t.Fatal(err)
			}
			table := func(b *anec.Builder, x *anec.Value) *anec.Value { return fit.AddTable(b, r, x) }
			got := runFit(t, "virtual", fitGraph(t, 128, table), x)
			for i, v := range x.Float32s() {
				if want := r.At(float64(v)); float64(got[i]) != want {
					t.Fatalf("at %v: got %v, want %v", v, got[i], want)
				}
			}
			for _, target := range []string{"h13", "h15", "h17"} {
				_, err := compileGraphs(t, target, fitGraph(t, 128, table))
				if want := `layer "fit" (NeuronCustom): no network description has both sets of keys`; err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%s: %v, want %s", target, err, want)
				}
			}
		})
	}
}

// The rectifiers run on virtual and on chips as Basis.At says. The M1 takes numbers below 2^-14 for 0 where it multiplies: some of
// the rests of rises, and the first part of a segment.
func TestFitBases(t *testing.T) {
	all, values := allHalves().Float32s(), make([]float32, 1<<12)
	for i := range values {
		values[i] = all[16*i+i%16]
	}
	x := tensor.FromFloat32s(tensor.Float16, values, 1, 4, 32, 32)
	for _, c := range fitCases {
		r, err := fit.Table(c.f, c.domain, c.options)
		if err != nil {
			t.Fatal(err)
		}
		basis, err := r.Basis()
		if err != nil {
			t.Fatal(err)
		}
		for _, target := range []string{"virtual", "h13", "h15"} {
			t.Run(c.name+" on "+target, func(t *testing.T) {
				within, reach := 0.0, math.MaxFloat64
				if target == "h13" {
					within, reach = 0x1p-13, 1<<15 // beyond which it has no sums
				}
				add := func(b *anec.Builder, x *anec.Value) *anec.Value { return fit.AddBasis(b, basis, x) }
				got := runFit(t, target, fitGraph(t, 32, add), x)
				for i, v := range values {
					if want := basis.At(float64(v)); math.Abs(float64(got[i])-want) > within && math.Abs(want) < reach {
						t.Fatalf("at %v: got %v, want %v", v, got[i], want)
					}
				}
			})
		}
	}
}
