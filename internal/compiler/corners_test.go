package compiler_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/bundle"
	"github.com/espalier-ane/espalier/e5rt"
	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/compiler"
	"github.com/espalier-ane/espalier/internal/host"
	"github.com/espalier-ane/espalier/internal/ops"
	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// A corner is a function of a form that models seldom have.
type corner struct {
	name  string
	build func(b *cornerBuilder)
}

// A cornerBuilder knows what the inputs hold.
type cornerBuilder struct {
	*mil.Builder
	inputs map[string]*tensor.Tensor
}

func (b *cornerBuilder) input(name string, t *tensor.Tensor) *mil.Value {
	b.inputs[name] = t
	return b.Input(name, mil.TypeOf(t))
}

// like adds an operation whose result has the type of x.
func (b *cornerBuilder) like(kind string, x *mil.Value, more mil.Args) *mil.Value {
	args := mil.Args{"x": x}
	for name, a := range more {
		args[name] = a
	}
	return b.Op(kind, kind, x.Type, args)
}

func (b *cornerBuilder) cast(x *mil.Value, to tensor.DType) *mil.Value {
	return b.Op("cast", "cast", &mil.TensorType{DType: to, Shape: x.Type.(*mil.TensorType).Shape}, mil.Args{"x": x, "dtype": to.String()})
}

// ramp is an array of small numbers of both signs.
func ramp(d tensor.DType, shape ...int) *tensor.Tensor {
	n, _ := tensor.Count(shape)
	vals := make([]float32, n)
	for i := range vals {
		vals[i] = float32(i*5%13) - 6
		if d.IsFloat() {
			vals[i] /= 4
		}
	}
	return tensor.FromFloat32s(d, vals, shape...)
}

var corners = []corner{
	{"no operations", func(b *cornerBuilder) { b.Return(b.input("x", ramp(tensor.Float16, 4))) }},
	{"a bool that is input and output", func(b *cornerBuilder) { b.Return(b.input("x", ramp(tensor.Bool, 4))) }},
	{"constants and no inputs", func(b *cornerBuilder) {
		c := b.Const("c", ramp(tensor.Float16, 4))
		b.Return(c, b.Const("d", int32(4)), b.Const("e", tensor.New(tensor.Float16, 2, 0)), b.like("relu", c, nil))
	}},
	{"more outputs that are constants than a container has ports", func(b *cornerBuilder) {
		out := []*mil.Value{b.like("sin", b.input("x", ramp(tensor.Float16, 4)), nil)}
		for i := range 300 {
			out = append(out, b.Const("c", int32(i)))
		}
		b.Return(out...)
	}},
	{"more inputs and outputs than a container has ports", func(b *cornerBuilder) {
		var out []*mil.Value
		for i := range 150 {
			out = append(out, b.like("sin", b.input(fmt.Sprint("x", i), ramp(tensor.Float16, 4)), nil))
		}
		b.Return(out...)
	}},
	{"the same output twice", func(b *cornerBuilder) {
		y := b.like("relu", b.input("x", ramp(tensor.Float16, 4)), nil)
		b.Return(y, y)
	}},
	{"unused input and state", func(b *cornerBuilder) {
		b.input("unused", ramp(tensor.Int32, 2))
		b.Input("s", &mil.StateType{Elem: mil.Tensor(tensor.Float16, 4)})
		b.Return(b.like("relu", b.input("x", ramp(tensor.Float16, 4)), nil))
	}},
	{"names", func(b *cornerBuilder) {
		x := b.input("x", ramp(tensor.Float16, 4))
		for _, name := range []string{strings.Repeat("long", 5000), "a/b", "../x", "ü€漢", "with space", "a\"b", "x__engine", "%y", "a\nb", "main_0"} {
			x = b.Op("sin", name, x.Type, mil.Args{"x": x})
			x = b.Op("cumsum", name, x.Type, mil.Args{"x": x})
		}
		b.Return(x)
	}},
	{"an output of the host that the engine reads too", func(b *cornerBuilder) {
		x := b.input("x", ramp(tensor.Int32, 3, 3))
		y := b.like("matmul", x, mil.Args{"y": x})
		b.Return(y, b.like("abs", y, nil))
	}},
	{"a cast of an input that is an output too", func(b *cornerBuilder) {
		y := b.cast(b.input("x", ramp(tensor.Float32, 4)), tensor.Float16)
		b.Return(y, b.like("sin", y, nil))
	}},
	{"an integer that becomes a bool, then a number", func(b *cornerBuilder) {
		x := b.cast(b.cast(b.input("x", ramp(tensor.Int32, 1, 9)), tensor.Bool), tensor.Float32)
		b.Return(b.Op("matmul", "y", mil.Tensor(tensor.Float32, 1, 1), mil.Args{"x": x, "y": b.input("w", ramp(tensor.Float32, 9, 1))}))
	}},
	{"a normalization over what its epilogue reads", func(b *cornerBuilder) {
		x := b.like("exp2", b.input("x", ramp(tensor.Float16, 4, 4, 3, 4, 2)), nil)
		y := b.like("relu", x, nil)
		mean, variance := ramp(tensor.Float16, 4), tensor.FromFloat32s(tensor.Float16, []float32{1, 2, 1, 2}, 4)
		z := b.like("batch_norm", x, mil.Args{"mean": mean, "variance": variance})
		z = b.like("layer_norm", z, mil.Args{"axes": []int32{0, 1, 2, 3, 4}, "epsilon": mil.F16(0.01)})
		b.Return(b.Op("gather", "y", mil.Tensor(tensor.Float16, 4, 4, 3, 2), mil.Args{
			"x": b.like("sub", y, mil.Args{"y": z}), "indices": int32(0), "axis": int32(3)}))
	}},
	{"constants that are written into each other", func(b *cornerBuilder) {
		data := b.Op("resize_nearest_neighbor", "r", mil.Tensor(tensor.Float16, 2, 5, 8, 4),
			mil.Args{"x": ramp(tensor.Float16, 2, 5, 1, 4), "target_size_height": int32(8), "target_size_width": int32(4)})
		for _, at := range [][]int32{{1, 2, 1, 1, 0, 1, 0, 1}, {1, 1, 1, 0}} {
			data = b.Op("scatter_nd", "s", data.Type, mil.Args{
				"data": data, "indices": tensor.Of(at, len(at)/2, 2), "updates": ramp(tensor.Float16, len(at)/2, 8, 4), "mode": "min"})
		}
		b.Return(data)
	}},
	{"an empty part of a concatenation", func(b *cornerBuilder) {
		x := b.input("x", ramp(tensor.Float16, 2, 1, 2, 1))
		empty := b.Op("crop", "empty", mil.Tensor(tensor.Float16, 2, 1, 2, 0), mil.Args{"x": x, "crop_height": []int32{0, 0}, "crop_width": []int32{0, 1}})
		none := b.input("none", tensor.New(tensor.Float16, 2, 1, 2, 0))
		joined := b.Op("concat", "y", mil.Tensor(tensor.Float16, 2, 1, 2, 2), mil.Args{"values": []*mil.Value{x, none, empty, x}, "axis": int32(-1)})
		b.Return(b.like("sin", joined, nil))
	}},
	{"a state that is given what it has", func(b *cornerBuilder) {
		s := b.Input("s", &mil.StateType{Elem: mil.Tensor(tensor.Float16, 4)})
		b.Do("write_state", mil.Args{"input": s, "data": b.Op("read_state", "r", mil.Tensor(tensor.Float16, 4), mil.Args{"input": s})})
		b.Return(b.input("x", ramp(tensor.Float16, 4)))
	}},
	{"a loop for the sake of a state", func(b *cornerBuilder) {
		x, n := b.input("x", ramp(tensor.Float16, 4)), b.input("n", tensor.Scalar(int32(3)))
		s := b.Input("s", &mil.StateType{Elem: x.Type})
		b.While("w", []*mil.Value{b.Const("zero", int32(0))}, func(v []*mil.Value) *mil.Value {
			return b.Op("less", "go", mil.Tensor(tensor.Bool), mil.Args{"x": v[0], "y": n})
		}, func(v []*mil.Value) []*mil.Value {
			b.Do("write_state", mil.Args{"input": s, "data": b.like("add", x, mil.Args{"y": b.Op("read_state", "r", x.Type, mil.Args{"input": s})})})
			return []*mil.Value{b.like("add", v[0], mil.Args{"y": int32(1)})}
		})
		b.Return(b.like("sin", x, nil))
	}},
	{"conditions in each other", func(b *cornerBuilder) {
		x, n := b.input("x", ramp(tensor.Float16, 4)), b.input("n", tensor.Scalar(int32(3)))
		var deep func(level int, v *mil.Value) []*mil.Value
		deep = func(level int, v *mil.Value) []*mil.Value {
			if level == 0 {
				return []*mil.Value{v}
			}
			return b.Cond("c", []mil.Type{v.Type}, b.Op("less", "p", mil.Tensor(tensor.Bool), mil.Args{"x": n, "y": int32(level)}),
				func() []*mil.Value { return deep(level-1, b.like("sin", v, nil)) },
				func() []*mil.Value { return []*mil.Value{b.like("relu", v, nil)} })
		}
		b.Return(deep(60, x)...)
	}},
}

// Functions of odd forms compile, from a bundle in memory and from one that was written, and do what the host evaluator does.
func TestCorners(t *testing.T) {
	for _, c := range corners {
		t.Run(c.name, func(t *testing.T) {
			b := &cornerBuilder{mil.NewBuilder("main", "CoreML8"), map[string]*tensor.Tensor{}}
			c.build(b)
			p, err := b.Program()
			if err == nil {
				err = ops.Verify(p)
			}
			if err != nil {
				t.Fatal(err)
			}
			holdToHost(t, p, b.inputs)
		})
	}
}

// holdToHost runs a function twice, on the states that the first run left, and on the host evaluator.
func holdToHost(t *testing.T, p *mil.Program, inputs map[string]*tensor.Tensor) {
	t.Helper()
	f := p.Functions[0]
	evaluator, err := ops.NewEvaluator(f, ops.Virtual)
	if err != nil {
		t.Fatal(err)
	}
	args := map[string]ops.Value{}
	features := bundle.Function{Name: f.Name}
	feature := func(kind, name string, t *mil.TensorType) bundle.Feature {
		shape, _ := t.Shape.Ints()
		return bundle.Feature{Name: name, Kind: kind, Array: &bundle.Array{Type: t.DType.String(), Shape: shape}}
	}
	for _, v := range f.Inputs {
		if s, ok := v.Type.(*mil.StateType); ok {
			elem := s.Elem.(*mil.TensorType)
			args[v.Name] = ops.NewState(elem)
			features.States = append(features.States, feature("state", v.Name, elem))
			continue
		}
		args[v.Name] = inputs[v.Name]
		features.Inputs = append(features.Inputs, feature("array", v.Name, v.Type.(*mil.TensorType)))
	}
	target, err := hal.Lookup("virtual")
	if err != nil {
		t.Fatal(err)
	}
	r, err := compiler.Compile(t.Context(), &compiler.Job{Target: target, Program: p, Functions: []compiler.Entry{{Function: f, Features: features}}})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir() + "/written"
	if _, err := bundle.Write(dir, r.Bundle.Content()); err != nil {
		t.Fatal(err)
	}
	written, err := bundle.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer written.Close()
	var runs []*cornerRun
	for _, b := range []*bundle.Bundle{r.Bundle, written} {
		h, _, err := host.FromBundle(b)
		if err != nil {
			t.Fatal(err)
		}
		library, err := e5rt.Open(b, e5rt.Options{Host: h})
		if err != nil {
			t.Fatal(err)
		}
		function := library.Functions()[0]
		runs = append(runs, &cornerRun{function.NewOperation(), function.NewState()})
	}
	for range 2 {
		want, err := evaluator.Run(t.Context(), args)
		if err != nil {
			t.Fatal(err)
		}
		for _, run := range runs {
			run.compare(t, f, inputs, want, args)
		}
	}
}

// A cornerRun is a compiled function with its states.
type cornerRun struct {
	*e5rt.Operation
	state *e5rt.State
}

// compare runs the function and compares outputs and states with those of the evaluator.
func (r *cornerRun) compare(t *testing.T, f *mil.Function, inputs map[string]*tensor.Tensor, want []ops.Value, args map[string]ops.Value) {
	t.Helper()
	for name, x := range inputs {
		if err := r.Set(name, x); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Run(t.Context(), r.state); err != nil {
		t.Fatal(err)
	}
	for i, v := range f.Body.Outputs {
		got, err := r.Value(v.Name)
		if err != nil {
			t.Fatal(err)
		}
		if c := tensor.Compare(got.(*tensor.Tensor), want[i].(*tensor.Tensor), 0.005); !c.Match {
			t.Errorf("output %d: %s", i, c.Reason)
		}
	}
	for _, v := range f.Inputs {
		held, ok := args[v.Name].(*ops.State)
		if !ok {
			continue
		}
		got, err := r.state.Tensor(v.Name)
		if err != nil {
			t.Fatal(err)
		}
		if c := tensor.Compare(got, held.Read(), 0.005); !c.Match {
			t.Errorf("state %s: %s", v.Name, c.Reason)
		}
	}
}
