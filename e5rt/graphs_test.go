package e5rt_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/bundle"
	"github.com/espalier-ane/espalier/e5rt"
	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/compiler"
	"github.com/espalier-ane/espalier/internal/host"
	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// A graph is the body of a function main(x) of one input, as MIL text, line by line.
type graph struct {
	shape []int // of x, fp16
	lines []string
	last  string // the value that is the output
	rng   *rand.Rand
}

func newGraph(shape ...int) *graph {
	return &graph{shape: shape, last: "x", rng: rand.New(rand.NewPCG(7, uint64(len(shape))))}
}

func dims(shape []int) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(shape), " ", ", "), "[]")
}

func (g *graph) constant(name, typ, value string) {
	g.lines = append(g.lines, fmt.Sprintf("%s %s = const()[name = string(%q), val = %s(%s)];", typ, name, name, typ, value))
}

// add appends an operation whose result is the output so far.
func (g *graph) add(name string, shape []int, call string) *graph {
	g.lines = append(g.lines, fmt.Sprintf("tensor<fp16, [%s]> %s = %s[name = string(%q)];", dims(shape), name, call, name))
	g.last = name
	return g
}

// conv appends a convolution to so many channels, with a kernel k×k and as much padding as keeps the size, and random weights.
func (g *graph) conv(channels, k int) *graph {
	weight := fmt.Sprintf("w%d", len(g.lines))
	values := make([]string, channels*g.shape[1]*k*k)
	for i := range values {
		values[i] = fmt.Sprintf("%g", float32(g.rng.IntN(17)-8)/32)
	}
	g.constant(weight, fmt.Sprintf("tensor<fp16, [%d, %d, %d, %d]>", channels, g.shape[1], k, k), "["+strings.Join(values, ", ")+"]")
	return g.convOf(weight, channels, k)
}

// convOf is conv with a weight that is there.
func (g *graph) convOf(weight string, channels, k int) *graph {
	name, x := fmt.Sprintf("c%d", len(g.lines)), g.shape
	for _, c := range []struct{ name, typ, value string }{
		{"pt", "string", `"custom"`}, {"pad", "tensor<int32, [4]>", fmt.Sprintf("[%d, %d, %d, %d]", k/2, k/2, k/2, k/2)},
		{"st", "tensor<int32, [2]>", "[1, 1]"}, {"di", "tensor<int32, [2]>", "[1, 1]"}, {"gr", "int32", "1"},
	} {
		g.constant(name+"_"+c.name, c.typ, c.value)
	}
	g.shape = []int{x[0], channels, x[2], x[3]}
	return g.add(name, g.shape, fmt.Sprintf("conv(dilations = %[1]s_di, groups = %[1]s_gr, pad = %[1]s_pad, pad_type = %[1]s_pt, strides = %[1]s_st, weight = %[2]s, x = %[3]s)",
		name, weight, g.last))
}

func (g *graph) relu() *graph {
	return g.add(fmt.Sprintf("r%d", len(g.lines)), g.shape, fmt.Sprintf("relu(x = %s)", g.last))
}

// mean appends the mean over rows and columns.
func (g *graph) mean() *graph {
	g.constant("axes", "tensor<int32, [2]>", "[2, 3]")
	g.constant("keep", "bool", "true")
	g.shape = []int{g.shape[0], g.shape[1], 1, 1}
	return g.add("mean", g.shape, fmt.Sprintf("reduce_mean(axes = axes, keep_dims = keep, x = %s)", g.last))
}

// text is the program; the output is called y.
func (g *graph) text(shape ...int) string {
	g.add("y", g.shape, fmt.Sprintf("identity(x = %s)", g.last))
	return fmt.Sprintf("program(1.3)\n{\n    func main<ios18>(tensor<fp16, [%s]> x) {\n            %s\n        } -> (y);\n}\n",
		dims(shape), strings.Join(g.lines, "\n            "))
}

// tiny is the graph that the execution model measures: a convolution 3×3 of 8 channels to 8 at 16×16, relu, mean.
func tiny() string { return newGraph(1, 8, 16, 16).conv(8, 3).relu().mean().text(1, 8, 16, 16) }

// compileText makes the bundle of a program, for a target.
func compileText(t testing.TB, text, target string) (*bundle.Bundle, e5rt.Options) {
	t.Helper()
	p, err := mil.ParseText("model.mil", []byte(text), nil)
	check(t, err)
	chip, err := hal.Lookup(target)
	check(t, err)
	f := p.Functions[0]
	described := bundle.Function{Name: f.Name}
	feature := func(name string, typ mil.Type) bundle.Feature {
		of := typ.(*mil.TensorType)
		shape, _ := of.Shape.Ints()
		return bundle.Feature{Name: name, Kind: "array", Array: &bundle.Array{Type: of.DType.String(), Shape: shape}}
	}
	for _, in := range f.Inputs {
		described.Inputs = append(described.Inputs, feature(in.Name, in.Type))
	}
	for _, out := range f.Body.Outputs {
		described.Outputs = append(described.Outputs, feature(out.Name, out.Type))
	}
	result, err := compiler.Compile(context.Background(), &compiler.Job{Target: chip, Program: p, Functions: []compiler.Entry{{Function: f, Features: described}}})
	check(t, err)
	var o e5rt.Options
	if result.Host != nil {
		hosted, err := host.New(result.Host)
		check(t, err)
		o.Host = hosted
	}
	return result.Bundle, o
}

// openText is the function main of a program on the virtual engine, on one thread.
func openText(t testing.TB, text string) *e5rt.Function {
	t.Helper()
	b, o := compileText(t, text, "virtual")
	o.Threads = 1
	lib, err := e5rt.Open(b, o)
	check(t, err)
	f, err := lib.Function("main")
	check(t, err)
	return f
}

// someHalves are numbers that fp16 has, other ones for each seed.
func someHalves(seed uint64, shape ...int) *tensor.Tensor {
	n, _ := tensor.Count(shape)
	rng := rand.New(rand.NewPCG(seed, 1))
	values := make([]float32, n)
	for i := range values {
		values[i] = float32(rng.IntN(257)-128) / 64
	}
	return tensor.FromFloat32s(tensor.Float16, values, shape...)
}
