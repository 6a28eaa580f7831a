package espalier_test

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier"
	"github.com/espalier-ane/espalier/bundle"
	"github.com/espalier-ane/espalier/coreml"
	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/compiler"
	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// Graphs of native layers go the way of models: compiled, written as a bundle, opened and run.

func parseGraph(t *testing.T, text string) *anec.Graph {
	t.Helper()
	g, err := anec.Parse(text, nil)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func compileGraphs(t *testing.T, target string, graphs ...*anec.Graph) (*compiler.Result, error) {
	t.Helper()
	on, err := hal.Lookup(target)
	if err != nil {
		t.Fatal(err)
	}
	job := &compiler.Job{Target: on}
	for _, g := range graphs {
		job.Functions = append(job.Functions, compiler.Entry{Graph: g})
	}
	return compiler.Compile(t.Context(), job)
}

// openGraphs compiles graphs and opens the bundle that was written.
func openGraphs(t *testing.T, target string, graphs ...*anec.Graph) (*espalier.Model, *bundle.Manifest) {
	t.Helper()
	r, err := compileGraphs(t, target, graphs...)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "graph.bundle")
	if _, err := bundle.Write(dir, r.Bundle.Content()); err != nil {
		t.Fatal(err)
	}
	return open(t, espalier.Config{}, dir), r.Bundle.Manifest
}

// wave is an array of numbers that fp16 holds exactly.
func wave(seed int, shape ...int) *tensor.Tensor {
	n, _ := tensor.Count(shape)
	vals := make([]float32, n)
	for i := range vals {
		vals[i] = float32((i*7+seed*5)%17-8) / 8
	}
	return tensor.FromFloat32s(tensor.Float16, vals, shape...)
}

// arrayOf is an array for an input.
func arrayOf(a *coreml.ArrayType, vals []float32) *tensor.Tensor {
	if a.DType.IsFloat() {
		return tensor.FromFloat32s(a.DType, vals, a.Shape...)
	}
	whole := make([]int64, len(vals))
	for i, v := range vals {
		whole[i] = int64(v)
	}
	return tensor.FromInt64s(a.DType, whole, a.Shape...)
}

// A graphCase is a graph with a plain definition of what it computes.
type graphCase struct {
	name     string
	text     string
	targets  string
	segments map[string]int // by target; 1 if it is not there
	steps    int            // predictions on one state; 0: one

	// give has the elements of inputs that are not to be a wave.
	give map[string][]float32

	// define makes the outputs of the inputs, and changes the states.
	define func(in, states map[string][]float32) map[string][]float32
	within float64
}

var graphCases = []graphCase{
	{
		name: "convolution", targets: "virtual h13 h14", within: 0.01,
		text: `graph net
input %x : fp16[1,1,2,3,4]
const %w : fp16[3,1,2,1,1] {data = [0.5, -1, 2, 0.25, -0.5, 1]}
const %b : fp16[1,1,3,1,1] {data = [1, -1, 0.5]}
%c = anec.convolution(%x, %w, %b) : fp16[1,1,3,3,4]
%y = anec.relu(%c) : fp16[1,1,3,3,4]
output %y
`,
		define: func(in, _ map[string][]float32) map[string][]float32 {
			w, b := []float32{0.5, -1, 2, 0.25, -0.5, 1}, []float32{1, -1, 0.5}
			y := make([]float32, 3*12)
			for o := range 3 {
				for p := range 12 {
					y[12*o+p] = max(0, b[o]+w[2*o]*in["x"][p]+w[2*o+1]*in["x"][12+p])
				}
			}
			return map[string][]float32{"y": y}
		},
	},
	{
		name: "state", targets: "virtual h13", steps: 4,
		text: `graph count
input %x : fp16[1,1,1,2,5]
state %total : fp16[1,1,1,2,5] -> %sum
%sum = anec.add(%total, %x) : fp16[1,1,1,2,5]
%y = anec.add(%sum, %total) : fp16[1,1,1,2,5]
output %y
output %total
output %y
`,
		define: func(in, states map[string][]float32) map[string][]float32 {
			y, before := make([]float32, 10), make([]float32, 10)
			copy(before, states["total"])
			for i, x := range in["x"] {
				states["total"][i] += x
				y[i] = states["total"][i] + before[i]
			}
			return map[string][]float32{"y": y, "total@before": before}
		},
	},
	{
		name: "attention", targets: "virtual h13 h14", segments: map[string]int{"h13": 3, "h14": 3}, within: 0.02,
		text: `graph attend
input %x : fp16[1,1,2,4,8]
input %k : fp16[1,1,2,4,8]
const %scale : fp16[1,1,1,1,1] {data = [0.5]}
const %two : fp16[1,1,1,1,1] {data = [2]}
%q = anec.relu(%x) : fp16[1,1,2,4,8]
%a = anec.sdpa(%q, %k, %k, %scale) {subtract_max = true} : fp16[1,1,2,4,8]
%y = anec.multiply(%a, %two) : fp16[1,1,2,4,8]
output %y
`,
		define: func(in, _ map[string][]float32) map[string][]float32 {
			q := make([]float32, len(in["x"]))
			for i, x := range in["x"] {
				q[i] = max(0, x)
			}
			y := attention(q, in["k"], 2, 4, 8, 0.5)
			for i := range y {
				y[i] *= 2
			}
			return map[string][]float32{"y": y}
		},
	},
	{
		// What is left in the state is read from it behind the attention; what was in it before is handed on.
		name: "state across segments", targets: "virtual h13", segments: map[string]int{"h13": 3}, steps: 3, within: 0.02,
		text: `graph remember
input %x : fp16[1,1,1,4,8]
state %held : fp16[1,1,1,4,8] -> %now @memory
const %half : fp16[1,1,1,1,1] {data = [0.5]}
%part = anec.multiply(%held, %half) : fp16[1,1,1,4,8]
%now = anec.add(%part, %x) : fp16[1,1,1,4,8]
%a = anec.sdpa(%x, %now, %now, %half) {subtract_max = true} : fp16[1,1,1,4,8]
%b = anec.add(%a, %held) : fp16[1,1,1,4,8]
%y = anec.add(%b, %now) : fp16[1,1,1,4,8]
output %y
`,
		define: func(in, states map[string][]float32) map[string][]float32 {
			before, now := states["memory"], make([]float32, 32)
			for i, x := range in["x"] {
				now[i] = before[i]/2 + x
			}
			y := attention(in["x"], now, 1, 4, 8, 0.5)
			for i := range y {
				y[i] += before[i] + now[i]
			}
			copy(states["memory"], now)
			return map[string][]float32{"y": y}
		},
	},
	{
		name: "no layers", targets: "virtual h13", steps: 2,
		text: `graph given
input %x : fp16[1,1,1,1,4]
input %unused : fp16[1,1,1,1,4]
state %s : fp16[1,1,1,1,4] -> %x
const %c : fp16[1,1,1,1,2] {data = [3, 4]}
output %x
output %c
output %s
`,
		define: func(in, states map[string][]float32) map[string][]float32 {
			before := append([]float32(nil), states["s"]...)
			copy(states["s"], in["x"])
			return map[string][]float32{"x": in["x"], "c": {3, 4}, "s@before": before}
		},
	},
	{
		name: "softmax that is taken apart", targets: "virtual h13", within: 0.005,
		text: `graph soft
input %x : fp16[1,1,2,3,4]
%y = anec.softmax(%x) {axes = HW} : fp16[1,1,2,3,4]
output %y
`,
		define: func(in, _ map[string][]float32) map[string][]float32 {
			y := make([]float32, 24)
			for c := range 2 {
				sum := 0.0
				for i := range 12 {
					sum += math.Exp(float64(in["x"][12*c+i]))
				}
				for i := range 12 {
					y[12*c+i] = float32(math.Exp(float64(in["x"][12*c+i])) / sum)
				}
			}
			return map[string][]float32{"y": y}
		},
	},
	{
		name: "depth", targets: "virtual",
		text: `graph deep
input %x : fp16[2,3,1,1,2]
%y = anec.reduce_sum(%x) {axes = D} : fp16[2,1,1,1,2]
output %y
`,
		define: func(in, _ map[string][]float32) map[string][]float32 {
			y, x := make([]float32, 4), in["x"]
			for n := range 2 {
				for w := range 2 {
					y[2*n+w] = x[6*n+w] + x[6*n+2+w] + x[6*n+4+w]
				}
			}
			return map[string][]float32{"y": y}
		},
	},
	{
		name: "a kind that no operation lowers to", targets: "virtual h15", within: 0.01,
		text: `graph cross
input %x : fp16[4,1,3,1,1]
input %z : fp16[4,1,3,1,1]
%y = anec.cross_product(%x, %z) : fp16[4,1,3,1,1]
output %y
`,
		define: func(in, _ map[string][]float32) map[string][]float32 {
			y := make([]float32, 12)
			for n := range 4 {
				x, z := in["x"][3*n:], in["z"][3*n:]
				for c := range 3 {
					a, b := (c+1)%3, (c+2)%3
					y[3*n+c] = x[a]*z[b] - x[b]*z[a]
				}
			}
			return map[string][]float32{"y": y}
		},
	},
}

// attention is softmax(q·kᵀ·scale)·k for each of several heads, by the book.
func attention(q, k []float32, heads, positions, features int, scale float64) []float32 {
	y := make([]float32, len(q))
	for h := range heads {
		at := func(x []float32, p, f int) float64 { return float64(x[(h*positions+p)*features+f]) }
		for p := range positions {
			weights, sum := make([]float64, positions), 0.0
			for r := range positions {
				dot := 0.0
				for f := range features {
					dot += at(q, p, f) * at(k, r, f)
				}
				weights[r] = math.Exp(dot * scale)
				sum += weights[r]
			}
			for f := range features {
				v := 0.0
				for r := range positions {
					v += weights[r] / sum * at(k, r, f)
				}
				y[(h*positions+p)*features+f] = float32(v)
			}
		}
	}
	return y
}

func TestGraphs(t *testing.T) {
	for _, c := range graphCases {
		for target := range strings.FieldsSeq(c.targets) {
			t.Run(c.name+"/"+target, func(t *testing.T) {
				g := parseGraph(t, c.text)
				m, manifest := openGraphs(t, target, g)
				if got := anec.Print(g); got != c.text {
					t.Errorf("the graph has changed:\n%s", got)
				}
				if want := max(c.segments[target], 1); len(manifest.Functions[0].Segments) != want {
					t.Errorf("%d segments, want %d: %+v", len(manifest.Functions[0].Segments), want, manifest.Functions[0].Segments)
				}
				c.compare(t, m.Functions()[0], g)
			})
		}
	}
}

// compare runs the steps of a case against its definition.
func (c *graphCase) compare(t *testing.T, f *espalier.Function, g *anec.Graph) {
	t.Helper()
	if f.Name() != g.Name || len(f.Inputs()) != len(g.Inputs) || len(f.States()) != len(g.States) {
		t.Fatalf("function %s takes %v and keeps %v", f.Name(), f.Inputs(), f.States())
	}
	held := map[string][]float32{}
	for _, d := range f.States() {
		n, _ := tensor.Count(d.Type.(*coreml.StateType).Array.Shape)
		held[d.Name] = make([]float32, n)
	}
	s := f.NewState()
	for step := range max(c.steps, 1) {
		in, plain := map[string]any{}, map[string][]float32{}
		for i, d := range f.Inputs() {
			array := d.Type.(*coreml.ArrayType)
			x := wave(step+3*i, array.Shape...)
			if given := c.give[d.Name]; given != nil {
				x = arrayOf(array, given)
			}
			in[d.Name], plain[d.Name] = x, x.Float32s()
		}
		out, err := f.PredictWithState(t.Context(), in, s)
		if err != nil {
			t.Fatal(err)
		}
		want := c.define(plain, held)
		if len(out) != len(want) {
			t.Errorf("step %d: outputs %v, want %d", step, out, len(want))
		}
		for name, w := range want {
			if out[name] == nil {
				t.Fatalf("step %d: there is no output %q: %v", step, name, out)
			}
			c.near(t, fmt.Sprintf("step %d: output %s", step, name), out[name].Tensor.Float32s(), w)
		}
		for name, w := range held {
			got, err := s.Tensor(name)
			if err != nil {
				t.Fatal(err)
			}
			c.near(t, fmt.Sprintf("step %d: state %s", step, name), got.Float32s(), w)
		}
	}
}

func (c *graphCase) near(t *testing.T, what string, got, want []float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s has %d elements, want %d", what, len(got), len(want))
		return
	}
	for i, w := range want {
		if d := math.Abs(float64(got[i] - w)); !(d <= c.within) {
			t.Errorf("%s: element %d is %v, want %v", what, i, got[i], w)
			return
		}
	}
}

// The ports of a graph are features: arrays N, C, H, W, with the depth where there is one.
func TestGraphFeatures(t *testing.T) {
	m, _ := openGraphs(t, "virtual", parseGraph(t, `graph ports
input %x : fp16[2,3,4,5,6]
input %i : int32[1,1,1,1,7]
state %s : fp32[1,1,2,3,4] -> %s
%y = anec.relu(%x) : fp16[2,3,4,5,6]
%j = anec.copy(%i) : int32[1,1,1,1,7]
%z = anec.copy(%s) : fp32[1,1,2,3,4]
output %y
output %j
output %z
`))
	f := m.Functions()[0]
	var texts []string
	for _, list := range [][]coreml.Feature{f.Inputs(), f.Outputs(), f.States()} {
		for _, d := range list {
			texts = append(texts, d.Name+" "+d.Type.String())
		}
	}
	want := "x fp16 array [2, 3, 4, 5, 6], i int32 array [1, 1, 1, 7], y fp16 array [2, 3, 4, 5, 6], j int32 array [1, 1, 1, 7], z fp32 array [1, 2, 3, 4], s state of fp32 array [1, 2, 3, 4]"
	if got := strings.Join(texts, ", "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// What a target does not take is an error that names each layer: there is no host for it.
func TestGraphsRefuse(t *testing.T) {
	const twoMatrices = `graph net
input %x : fp16[1,2,1,4,4]
%ok = anec.relu(%x) : fp16[1,2,1,4,4]
%first = anec.matmul(%x, %x) : fp16[1,2,1,4,4]
%second = anec.matmul(%first, %x) : fp16[1,2,1,4,4]
output %ok
output %second
`
	for _, c := range []struct {
		name, target, text string
		want               []string
	}{
		{"gate", "h13", twoMatrices, []string{
			`graph net: layer "first" (MatrixMultiplication): depth > 1 is not supported for MatMult`, `layer "second" (MatrixMultiplication): depth > 1`,
		}},
		{"type", "h13", "graph net\ninput %x : fp32[1,1,1,1,4]\n%y = anec.relu(%x) : fp32[1,1,1,1,4]\noutput %y\n", []string{
			`layer "y" (Neuron): "x" is of fp32, and the engine computes in fp16`,
		}},
		{"pass", "virtual", "graph net\ninput %x : fp16[1,1,9,1,1]\n%ok = anec.relu(%x) : fp16[1,1,9,1,1]\n%z = anec.softmax(%ok) {axes = C} : fp16[1,1,9,1,1]\n%y = anec.neuron(%z) {type = degamma} : fp16[1,1,9,1,1]\noutput %y\n", []string{
			`what degamma computes is not known`, "y]",
		}},
		{"random", "virtual", "graph net\n%y = anec.random_generator() {dims = [1, 1, 1, 1, 4], fresh = true} : fp16[1,1,1,1,4]\noutput %y\n", []string{`layer "y" (RandomGenerator): without a seed`}},
		{"port", "virtual", "graph net\ninput %x : int4[1,1,1,1,4]\n%y = anec.cast(%x) {to = fp16} : fp16[1,1,1,1,4]\noutput %y\n", []string{`graph net: "x" is of int4: a port has elements of whole bytes`}},
		{"empty", "virtual", "graph net\ninput %x : fp16[1,1,1,1,0]\n%y = anec.relu(%x) : fp16[1,1,1,1,0]\noutput %y\n", []string{`layer "y" (Neuron): "x" has no elements`}},
		{"names", "virtual", "graph net\ninput %x : fp16[1,1,1,1,4]\nstate %s : fp16[1,1,1,1,4] -> %y @x\n%y = anec.relu(%x) : fp16[1,1,1,1,4]\noutput %y\n", []string{`state "x" has the name of another value`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := compileGraphs(t, c.target, parseGraph(t, c.text))
			for _, want := range c.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("got %v, want %s", err, want)
				}
			}
			if err != nil && strings.Contains(err.Error(), `"ok"`) {
				t.Errorf("the error is about a layer that is fine: %v", err)
			}
		})
	}
	if _, err := compileGraphs(t, "virtual", parseGraph(t, twoMatrices)); err != nil {
		t.Errorf("virtual takes everything: %v", err)
	}
}

// Several graphs, and graphs beside the functions of a program, are functions of one bundle. The same job gives the same bytes.
func TestGraphsBesideFunctions(t *testing.T) {
	program, err := mil.ParseText("main.mil", []byte(`program(1.3)
{
    func main<ios18>(tensor<fp16, [1, 2, 3, 4]> x) {
            tensor<fp16, [1, 2, 3, 4]> y = tanh(x = x)[name = string("y")];
        } -> (y);
}
`), nil)
	if err != nil {
		t.Fatal(err)
	}
	array := func(name string) []bundle.Feature {
		return []bundle.Feature{{Name: name, Kind: "array", Array: &bundle.Array{Type: "fp16", Shape: []int{1, 2, 3, 4}}}}
	}
	target, err := hal.Lookup("h13")
	if err != nil {
		t.Fatal(err)
	}
	var manifests [][]byte
	var dir string
	for i := range 2 {
		r, err := compiler.Compile(t.Context(), &compiler.Job{Target: target, Program: program, Functions: []compiler.Entry{
			{Graph: parseGraph(t, graphCases[0].text)},
			{Function: program.Functions[0], Features: bundle.Function{Inputs: array("x"), Outputs: array("y")}},
			{Graph: parseGraph(t, graphCases[1].text)},
		}})
		if err != nil {
			t.Fatal(err)
		}
		dir = filepath.Join(t.TempDir(), fmt.Sprint(i))
		if _, err := bundle.Write(dir, r.Bundle.Content()); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
		if err != nil {
			t.Fatal(err)
		}
		manifests = append(manifests, data)
	}
	if !bytes.Equal(manifests[0], manifests[1]) {
		t.Error("two compiles differ")
	}
	m := open(t, espalier.Config{}, dir)
	var names []string
	for _, f := range m.Functions() {
		names = append(names, f.Name())
	}
	if got := strings.Join(names, " "); got != "net main count" {
		t.Errorf("functions %s", got)
	}
	main, err := m.Function("main")
	if err != nil {
		t.Fatal(err)
	}
	x := wave(1, 1, 2, 3, 4)
	out, err := main.Predict(t.Context(), map[string]any{"x": x})
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range x.Float32s() {
		if got := out["y"].Tensor.Float32s()[i]; math.Abs(float64(got)-math.Tanh(float64(v))) > 0.01 {
			t.Errorf("tanh %v is %v", v, got)
		}
	}
	graphCases[0].compare(t, m.Functions()[0], parseGraph(t, graphCases[0].text))
}
