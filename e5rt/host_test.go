package e5rt_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/e5"
	"github.com/espalier-ane/espalier/e5rt"
	"github.com/espalier-ane/espalier/tensor"
)

// functions is a host of Go functions.
type functions map[string]*function

type function struct {
	inputs, outputs []e5rt.HostType
	run             func(ctx context.Context, inputs, outputs []e5rt.Value) error
}

func (h functions) Function(name string) (e5rt.HostFunction, error) {
	if f := h[name]; f != nil {
		return f, nil
	}
	return nil, fmt.Errorf("no function %s", name)
}

func (f *function) Inputs() []e5rt.HostType  { return f.inputs }
func (f *function) Outputs() []e5rt.HostType { return f.outputs }

func (f *function) Run(ctx context.Context, inputs, outputs []e5rt.Value) error {
	return f.run(ctx, inputs, outputs)
}

// known is the type of a tensor.
func known(name string, d tensor.DType, shape ...int) e5rt.HostType {
	return e5rt.HostType{Name: name, Type: d, Shape: tensor.ShapeOf(shape...), Ranked: true}
}

// texts are two functions that hand a value without a layout to each other, which
// becomes an output too.
var texts = functions{
	"join": {
		inputs:  []e5rt.HostType{known("x", tensor.Float16, 6)},
		outputs: []e5rt.HostType{{Name: "text"}},
		run: func(ctx context.Context, inputs, outputs []e5rt.Value) error {
			outputs[0] = fmt.Sprint(inputs[0].(*tensor.Tensor).Float32s())
			return nil
		},
	},
	"long": {
		inputs:  []e5rt.HostType{{Name: "text"}},
		outputs: []e5rt.HostType{known("y", tensor.Bool, 2)},
		run: func(ctx context.Context, inputs, outputs []e5rt.Value) error {
			n := len(inputs[0].(string))
			return outputs[0].(*tensor.Tensor).CopyFrom(tensor.Of([]bool{n > 10, n > 100}, 2))
		},
	},
	"fail": {
		inputs: []e5rt.HostType{known("x", tensor.Float16, 6)}, outputs: []e5rt.HostType{{Name: "text"}},
		run: func(context.Context, []e5rt.Value, []e5rt.Value) error { return errOfHost },
	},
}

var errOfHost = errors.New("no such luck")

// mixed runs on the engine, then on the host twice.
func mixed(t testing.TB, first string) *maker {
	m := newMaker(t)
	m.value("x", tensor.Float16, 6)
	m.value("doubled", tensor.Float16, 6)
	m.value("y", tensor.Bool, 2)
	m.types["text"] = e5.Opaque()
	m.inputs("x")
	m.onEngine(linear(t, "x", "doubled", 6, 2, 0), []string{"x"}, []string{"doubled"})
	m.onHost(first, []string{"doubled"}, []string{"text"})
	m.onHost("long", []string{"text"}, []string{"y"})
	m.outputs("text", "y")
	return m
}

func TestHost(t *testing.T) {
	f := mixed(t, "join").open(texts)
	out := f.Outputs()
	if len(out) != 2 || out[0].Type != tensor.Invalid || out[1].Type != tensor.Bool {
		t.Errorf("outputs %+v", out)
	}
	o := f.NewOperation()
	for range 2 {
		check(t, o.Set("x", tensor.FromFloat32s(tensor.Float16, []float32{1, 2, 3, 4, 5, 6}, 6)))
		check(t, o.Run(context.Background(), nil))
		if text, err := o.Value("text"); err != nil || text != "[2 4 6 8 10 12]" {
			t.Errorf("text is %v, %v", text, err)
		}
		if y := tensor.Data[bool](get(t, o, "y")); !slices.Equal(y, []bool{true, false}) {
			t.Errorf("y is %v", y)
		}
	}
	err := mixed(t, "fail").open(texts).NewOperation().Run(context.Background(), nil)
	var at *e5rt.Error
	if !errors.Is(err, errOfHost) || !errors.As(err, &at) || at.Operation != "Op1_CpuInference" {
		t.Errorf("got %v", err)
	}
}

// An input without a layout is what the host expects there.
func TestOpaqueInput(t *testing.T) {
	m := newMaker(t)
	m.types["text"] = e5.Opaque()
	m.value("y", tensor.Bool, 2)
	m.inputs("text")
	m.onHost("long", []string{"text"}, []string{"y"})
	m.outputs("y")
	o := m.open(texts).NewOperation()
	check(t, o.Set("text", strings.Repeat("x", 200)))
	check(t, o.Run(context.Background(), nil))
	if y := tensor.Data[bool](get(t, o, "y")); !slices.Equal(y, []bool{true, true}) {
		t.Errorf("y is %v", y)
	}
}

// counting has a function that adds to a state, which it gives too.
var counting = functions{"count": {
	inputs:  []e5rt.HostType{known("by", tensor.Int32, 8), {Name: "sum", State: true, Type: tensor.Int32, Ranked: true, Shape: tensor.ShapeOf(8)}},
	outputs: []e5rt.HostType{known("y", tensor.Int32, 8)},
	run: func(ctx context.Context, inputs, outputs []e5rt.Value) error {
		sum := tensor.Data[int32](inputs[1].(*tensor.Tensor))
		sum[0] += tensor.Data[int32](inputs[0].(*tensor.Tensor))[0]
		return outputs[0].(*tensor.Tensor).CopyFrom(inputs[1].(*tensor.Tensor))
	},
}}

// counter is a function that calls it.
func counter(t testing.TB) *maker {
	m := newMaker(t)
	for _, s := range []string{"by", "sum", "y"} {
		m.value(s, tensor.Int32, 8)
	}
	m.inputs("by")
	m.states("sum")
	m.onHost("count", []string{"by", "sum"}, []string{"sum", "y"})
	m.outputs("y")
	return m
}

// The host reads and writes a state where it lies.
func TestHostState(t *testing.T) {
	f := counter(t).open(counting)
	o, s := f.NewOperation(), f.NewState()
	for k := range 5 {
		check(t, o.Set("by", tensor.Of([]int32{int32(k), 0, 0, 0, 0, 0, 0, 0}, 8)))
		check(t, o.Run(context.Background(), s))
	}
	held, err := s.Tensor("sum")
	check(t, err)
	if sum, y := held.Int64s()[0], get(t, o, "y").Int64s()[0]; sum != 10 || y != 10 {
		t.Errorf("the state is %d, y is %d; want 10", sum, y)
	}
}
