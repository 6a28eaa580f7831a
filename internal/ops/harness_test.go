package ops

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// The helpers here evaluate one operation in isolation:
//
//	got := evalOp(t, IOS15, "relu", args{"x": f32(dims(3), -1, 0, 2)})
//	wantFloats(t, got[0], 0, 0, 0, 2)
//
// evalOp also holds every operation to laws that need no expected values; see checkLaws.

// args are the arguments of an operation by parameter. A *tensor.Tensor becomes an input of the function, or
// a constant where the signature demands one; []*tensor.Tensor is a variadic argument; *List and *State are
// inputs; fixed(t) is a constant whatever the signature says. Go scalars and slices of bool, int, float64,
// float32 and string become constants of the type that the parameter wants.
type args map[string]any

// fixed makes an argument a constant though the signature does not demand it.
func fixed(t *tensor.Tensor) *mil.Constant { return mil.NewConst(t) }

// dims is a shape.
func dims(n ...int) []int { return n }

func f32(shape []int, vals ...float64) *tensor.Tensor { return floats(tensor.Float32, shape, vals) }
func f16(shape []int, vals ...float64) *tensor.Tensor { return floats(tensor.Float16, shape, vals) }
func i32(shape []int, vals ...int64) *tensor.Tensor   { return ints(tensor.Int32, shape, vals) }
func i16(shape []int, vals ...int64) *tensor.Tensor   { return ints(tensor.Int16, shape, vals) }
func i8(shape []int, vals ...int64) *tensor.Tensor    { return ints(tensor.Int8, shape, vals) }
func u16(shape []int, vals ...int64) *tensor.Tensor   { return ints(tensor.UInt16, shape, vals) }
func u8(shape []int, vals ...int64) *tensor.Tensor    { return ints(tensor.UInt8, shape, vals) }
func strs(shape []int, vals ...string) *tensor.Tensor { return tensor.Of(fill(shape, vals), shape...) }
func bools(shape []int, vals ...bool) *tensor.Tensor  { return tensor.Of(fill(shape, vals), shape...) }
func scalarF32(v float64) *tensor.Tensor              { return f32(nil, v) }
func scalarF16(v float64) *tensor.Tensor              { return f16(nil, v) }
func scalarI32(v int64) *tensor.Tensor                { return i32(nil, v) }
func seq(d tensor.DType, shape ...int) *tensor.Tensor { return seqFrom(d, 0, shape...) }

// floats makes a tensor of any floating-point type.
func floats(d tensor.DType, shape []int, vals []float64) *tensor.Tensor {
	vals = fill(shape, vals)
	fs := make([]float32, len(vals))
	for i, v := range vals {
		fs[i] = float32(v)
	}
	return tensor.FromFloat32s(d, fs, shape...)
}

// ints makes a tensor of any integer type.
func ints(d tensor.DType, shape []int, vals []int64) *tensor.Tensor {
	return tensor.FromInt64s(d, fill(shape, vals), shape...)
}

// seqFrom makes a tensor of first, first+1, …
func seqFrom(d tensor.DType, first int64, shape ...int) *tensor.Tensor {
	n, _ := tensor.Count(shape)
	vals := make([]int64, n)
	for i := range vals {
		vals[i] = first + int64(i)
	}
	return tensor.FromInt64s(d, vals, shape...)
}

// fill repeats a single value, or none at all, over a shape.
func fill[T any](shape []int, vals []T) []T {
	n, _ := tensor.Count(shape)
	if len(vals) > 1 || len(vals) == n {
		return vals
	}
	out := make([]T, n)
	for i := range out {
		if len(vals) == 1 {
			out[i] = vals[0]
		}
	}
	return out
}

// evalConfig is what options of evalOp change.
type evalConfig struct {
	numerics  Numerics
	blocks    []*mil.Block
	outer     []*mil.Value // function inputs that blocks use, beside the arguments
	outerVals []Value
	declared  []mil.Type // nil: what the type rule gives
	onlyKnown bool
}

type evalOption func(*evalConfig)

// under chooses the numerics; Virtual is the default.
func under(n Numerics) evalOption { return func(c *evalConfig) { c.numerics = n } }

// withBlocks gives the operation nested blocks, written by hand with newBlock.
func withBlocks(b ...*mil.Block) evalOption { return func(c *evalConfig) { c.blocks = b } }

// withOuter adds an input to the function that nested blocks refer to.
func withOuter(v *mil.Value, val Value) evalOption {
	return func(c *evalConfig) { c.outer = append(c.outer, v); c.outerVals = append(c.outerVals, val) }
}

// declaring gives the outputs declared types instead of the inferred ones.
func declaring(types ...mil.Type) evalOption { return func(c *evalConfig) { c.declared = types } }

// onlyKnownShapes says that the operation demands known shapes, so the law of unknown shapes does not hold.
func onlyKnownShapes() evalOption { return func(c *evalConfig) { c.onlyKnown = true } }

// evaluated are the operations that evalOp was asked for, by name.
var evaluated sync.Map

// evalOp evaluates one operation and returns its results, floats held as float32.
func evalOp(t *testing.T, o Opset, kind string, a args, opts ...evalOption) []Value {
	t.Helper()
	evaluated.Store(kind, true)
	vals, _, err := runOp(t, o, kind, a, opts)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return vals
}

// evalErr evaluates an operation that must fail, in the type rule or in the evaluation, and returns why.
func evalErr(t *testing.T, o Opset, kind string, a args, opts ...evalOption) string {
	t.Helper()
	_, _, err := runOp(t, o, kind, a, opts)
	if err == nil {
		t.Fatalf("%s %v: expected an error", kind, a)
	}
	return err.Error()
}

// wantErr checks that an operation fails with a message that has all the given parts.
func wantErr(t *testing.T, o Opset, kind string, a args, parts ...string) {
	t.Helper()
	msg := evalErr(t, o, kind, a)
	for _, p := range parts {
		if !strings.Contains(msg, p) {
			t.Errorf("error is %q, expected it to have %q", msg, p)
		}
	}
}

// inferOp returns the types of an operation's results, spelt as in a program.
func inferOp(t *testing.T, o Opset, kind string, a args, opts ...evalOption) []string {
	t.Helper()
	_, types, err := runOp(t, o, kind, a, opts)
	if err != nil {
		t.Fatalf("%v", err)
	}
	out := make([]string, len(types))
	for i := range types {
		out[i] = types[i].String()
	}
	return out
}

// tensorOf is a result that is a tensor.
func tensorOf(t *testing.T, v Value) *tensor.Tensor {
	t.Helper()
	x, ok := v.(*tensor.Tensor)
	if !ok {
		t.Fatalf("result is %T, expected a tensor", v)
	}
	return x
}

// wantFloats compares the elements of a result: |got - want| ≤ tol·max(1, |want|). NaN matches NaN.
func wantFloats(t *testing.T, v Value, tol float64, want ...float64) {
	t.Helper()
	got := tensorOf(t, v).Float64s()
	if len(got) != len(want) {
		t.Fatalf("got %d elements %v, expected %d: %v", len(got), got, len(want), want)
	}
	for i, w := range want {
		g := got[i]
		if g == w || math.IsNaN(g) && math.IsNaN(w) || math.Abs(g-w) <= tol*max(1, math.Abs(w)) {
			continue
		}
		t.Fatalf("element %d is %v, expected %v\n got %v\nwant %v", i, g, w, got, want)
	}
}

// wantInts compares the elements of an integer or boolean result.
func wantInts(t *testing.T, v Value, want ...int64) {
	t.Helper()
	x := tensorOf(t, v)
	if x.DType().IsFloat() {
		t.Fatalf("result is %v, expected integers", x)
	}
	if got := x.Int64s(); !slices.Equal(got, want) {
		t.Fatalf("got %v, expected %v", got, want)
	}
}

// wantBools compares the elements of a boolean result.
func wantBools(t *testing.T, v Value, want ...bool) {
	t.Helper()
	x := tensorOf(t, v)
	if x.DType() != tensor.Bool {
		t.Fatalf("result is %v, expected bool", x)
	}
	got := make([]bool, 0, len(want))
	for _, b := range x.Int64s() {
		got = append(got, b != 0)
	}
	if !slices.Equal(got, want) {
		t.Fatalf("got %v, expected %v", got, want)
	}
}

// wantStrings compares the elements of a result of strings.
func wantStrings(t *testing.T, v Value, want ...string) {
	t.Helper()
	if got := tensorOf(t, v).Strings(); !slices.Equal(got, want) {
		t.Fatalf("got %q, expected %q", got, want)
	}
}

// wantShape compares the shape of a result.
func wantShape(t *testing.T, v Value, want ...int) {
	t.Helper()
	if got := tensorOf(t, v).Shape(); !slices.Equal(got, want) {
		t.Fatalf("shape is %v, expected %v", got, want)
	}
}

// newBlock makes a nested block by hand.
func newBlock(inputs []*mil.Value, outputs []*mil.Value, body ...*mil.Operation) *mil.Block {
	return &mil.Block{Inputs: inputs, Operations: body, Outputs: outputs}
}

// newValue makes a value of a nested block or of a function.
func newValue(name string, typ mil.Type) *mil.Value { return &mil.Value{Name: name, Type: typ} }

// newOp makes an operation of a nested block. An argument is a *mil.Value, a *tensor.Tensor or a Go constant.
func newOp(o Opset, kind string, a args, outputs ...*mil.Value) *mil.Operation {
	op := &mil.Operation{Kind: kind, Outputs: outputs}
	for _, name := range paramOrder(o, kind, a) {
		op.Inputs = append(op.Inputs, mil.Input{Param: name, Args: newArgs(o, kind, name, a)})
	}
	for _, v := range outputs {
		v.Def = op
	}
	return op
}

func newArgs(o Opset, kind, param string, a args) []mil.Arg {
	switch v := a[param].(type) {
	case *mil.Value:
		return []mil.Arg{{Value: v}}
	case []*mil.Value:
		var out []mil.Arg
		for _, x := range v {
			out = append(out, mil.Arg{Value: x})
		}
		return out
	case []*tensor.Tensor:
		var out []mil.Arg
		for _, x := range v {
			out = append(out, mil.Arg{Const: mil.NewConst(x)})
		}
		return out
	}
	return []mil.Arg{{Const: constantFor(a[param], wantedType(o, kind, param, a))}}
}

// program is a function of one operation, and what to feed it.
type program struct {
	f      *mil.Function
	op     *mil.Operation
	inputs map[string]Value
}

// How arguments become part of a program.
type buildMode int

const (
	asGiven     buildMode = iota // tensors are inputs with their shapes
	shapeless                    // tensors are inputs whose lengths are all unknown
	allConstant                  // tensors are constants
)

func buildOp(o Opset, kind string, a args, cfg *evalConfig, mode buildMode) *program {
	p := &program{op: &mil.Operation{Kind: kind, Blocks: cfg.blocks}, inputs: map[string]Value{}}
	p.f = &mil.Function{Name: "main", Opset: o.String(), Body: &mil.Block{}}
	addInput := func(name string, typ mil.Type, val Value) mil.Arg {
		if mode == shapeless {
			typ = forgetLengths(typ)
		}
		v := &mil.Value{Name: name, Type: typ}
		p.f.Inputs = append(p.f.Inputs, v)
		p.inputs[name] = val
		return mil.Arg{Value: v}
	}
	for _, name := range paramOrder(o, kind, a) {
		in := mil.Input{Param: name}
		switch v := a[name].(type) {
		case *tensor.Tensor:
			if mode == allConstant || demandsConst(o, kind, name) {
				in.Args = []mil.Arg{{Const: mil.NewConst(v)}}
			} else {
				in.Args = []mil.Arg{addInput(name, mil.TypeOf(v), v)}
			}
		case []*tensor.Tensor:
			for i, x := range v {
				if mode == allConstant || demandsConst(o, kind, name) {
					in.Args = append(in.Args, mil.Arg{Const: mil.NewConst(x)})
				} else {
					in.Args = append(in.Args, addInput(fmt.Sprintf("%s_%d", name, i), mil.TypeOf(x), x))
				}
			}
		case []Value:
			for i, x := range v {
				in.Args = append(in.Args, addInput(fmt.Sprintf("%s_%d", name, i), typeOfValue(x), x))
			}
		case *List, *State:
			in.Args = []mil.Arg{addInput(name, typeOfValue(v), v)}
		default:
			in.Args = []mil.Arg{{Const: constantFor(v, wantedType(o, kind, name, a))}}
		}
		p.op.Inputs = append(p.op.Inputs, in)
	}
	for i, v := range cfg.outer {
		p.f.Inputs = append(p.f.Inputs, v)
		p.inputs[v.Name] = cfg.outerVals[i]
	}
	p.f.Body.Operations = []*mil.Operation{p.op}
	return p
}

// declare gives the operation outputs of the given types, which become those of the function.
func (p *program) declare(types []mil.Type) {
	p.op.Outputs = nil
	for i, typ := range types {
		p.op.Outputs = append(p.op.Outputs, &mil.Value{Name: fmt.Sprintf("out_%d", i), Type: typ, Def: p.op})
	}
	p.f.Body.Outputs = p.op.Outputs
}

// outputTypes applies the type rule alone, so that tests need not spell the types of results.
func (p *program) outputTypes(o Opset) ([]mil.Type, error) {
	in := &inferrer{f: p.f, opset: o, known: map[*mil.Value]argument{}}
	for _, v := range p.f.Inputs {
		in.known[v] = argument{typ: in.withSymbols(v.Type)}
	}
	c, err := bind(p.op, o, in)
	if err != nil {
		return nil, err
	}
	c.blocks = in
	return c.infer()
}

func runOp(t *testing.T, o Opset, kind string, a args, opts []evalOption) ([]Value, []mil.Type, error) {
	t.Helper()
	cfg := &evalConfig{}
	for _, opt := range opts {
		opt(cfg)
	}
	p := buildOp(o, kind, a, cfg, asGiven)
	types, err := p.outputTypes(o)
	if err != nil {
		return nil, nil, err
	}
	if cfg.declared != nil {
		types = cfg.declared
	}
	p.declare(types)
	if _, err := Infer(p.f); err != nil {
		return nil, nil, err
	}
	ev, err := NewEvaluator(p.f, cfg.numerics)
	if err != nil {
		return nil, nil, err
	}
	before := snapshot(p.inputs)
	vals, err := ev.Run(context.Background(), p.inputs)
	if err != nil {
		return nil, nil, err
	}
	for name, b := range before {
		if !bytes.Equal(b, p.inputs[name].(*tensor.Tensor).Bytes()) {
			t.Errorf("%s writes into its argument %s", kind, name)
		}
	}
	checkLaws(t, o, kind, a, cfg, types, vals)
	checkLowering(t, o, kind, a, cfg, types, vals)
	return vals, types, nil
}

// checkLaws holds an operation to what is true of all of them: its type rule accepts inputs of unknown
// lengths and then says nothing that the real result contradicts, constant arguments can be folded, and
// arguments that are a little off give an error or a result, never a panic.
func checkLaws(t *testing.T, o Opset, kind string, a args, cfg *evalConfig, types []mil.Type, vals []Value) {
	t.Helper()
	if !cfg.onlyKnown {
		p := buildOp(o, kind, a, cfg, shapeless)
		loose, err := p.outputTypes(o)
		if err != nil {
			t.Errorf("%s with inputs of unknown lengths: %v", kind, err)
			return
		}
		if len(loose) != len(types) {
			t.Fatalf("%s has %d outputs, with inputs of unknown lengths %d", kind, len(types), len(loose))
		}
		for i := range loose {
			if !mil.Compatible(loose[i], types[i]) {
				t.Errorf("%s gives %v, with inputs of unknown lengths %v", kind, types[i], loose[i])
			}
			if x, ok := vals[i].(*tensor.Tensor); ok && !mil.Compatible(loose[i], concrete(loose[i], x)) {
				t.Errorf("%s gives a result of shape %v, with inputs of unknown lengths %v", kind, x.Shape(), loose[i])
			}
		}
		p.declare(loose)
		if _, err := Infer(p.f); err != nil {
			t.Errorf("%s with inputs of unknown lengths: %v", kind, err)
		}
	}
	p := buildOp(o, kind, a, cfg, allConstant)
	p.declare(types)
	if _, err := Infer(p.f); err != nil {
		t.Errorf("%s with constant arguments: %v", kind, err)
	}
	if cfg.blocks == nil {
		checkMutations(t, o, kind, a)
	}
}

func snapshot(inputs map[string]Value) map[string][]byte {
	out := map[string][]byte{}
	for name, v := range inputs {
		if x, ok := v.(*tensor.Tensor); ok && x.DType() != tensor.String {
			out[name] = bytes.Clone(x.Bytes())
		}
	}
	return out
}

// forgetLengths makes every length of a type unknown.
func forgetLengths(typ mil.Type) mil.Type {
	switch t := typ.(type) {
	case *mil.TensorType:
		shape := make(tensor.Shape, len(t.Shape))
		for i := range shape {
			shape[i] = tensor.Unknown
		}
		return &mil.TensorType{DType: t.DType, Shape: shape}
	case *mil.ListType:
		return &mil.ListType{Elem: forgetLengths(t.Elem), Length: tensor.Unknown}
	}
	return typ // a state has a shape, always
}

func typeOfValue(v Value) mil.Type {
	switch v := v.(type) {
	case *tensor.Tensor:
		return mil.TypeOf(v)
	case *State:
		return &mil.StateType{Elem: v.Type()}
	case *List:
		if len(v.Items) == 0 {
			return &mil.ListType{Elem: mil.Tensor(tensor.Float32), Length: 0}
		}
		return &mil.ListType{Elem: mil.TypeOf(v.Items[0]), Length: tensor.Dim(len(v.Items))}
	}
	panic(fmt.Sprintf("no type for %T", v))
}

// paramOrder lists the arguments in the signature's order, unknown ones last.
func paramOrder(o Opset, kind string, a args) []string {
	var names, rest []string
	if d := Lookup(kind); d != nil && d.At(o) != nil {
		for _, p := range d.At(o).Params {
			if _, ok := a[p.Name]; ok {
				names = append(names, p.Name)
			}
		}
	}
	for name := range a {
		if !slices.Contains(names, name) {
			rest = append(rest, name)
		}
	}
	slices.Sort(rest)
	return append(names, rest...)
}

func param(o Opset, kind, name string) *Param {
	if d := Lookup(kind); d != nil && d.At(o) != nil {
		return d.At(o).Param(name)
	}
	return nil
}

func demandsConst(o Opset, kind, name string) bool {
	p := param(o, kind, name)
	return p != nil && p.Const
}

// wantedType is the element type that a Go number takes as an argument: that of its domain, if a tensor
// settles it, else the widest that the parameter allows.
func wantedType(o Opset, kind, name string, a args) tensor.DType {
	p := param(o, kind, name)
	if p == nil {
		return tensor.Invalid
	}
	if p.Domain != "" {
		for _, q := range Lookup(kind).At(o).Params {
			if q.Domain != p.Domain {
				continue
			}
			switch x := a[q.Name].(type) {
			case *tensor.Tensor:
				return x.DType()
			case *mil.Constant:
				return x.Tensor.DType()
			case []*tensor.Tensor:
				if len(x) > 0 {
					return x[0].DType()
				}
			case *mil.Value:
				if t, ok := x.Type.(*mil.TensorType); ok {
					return t.DType
				}
			}
		}
	}
	for _, d := range []tensor.DType{tensor.Float32, tensor.Int32} {
		if p.Types != AnyType && p.Types.Has(d) && !(d == tensor.Float32 && p.Types.Has(tensor.Int32)) {
			return d
		}
	}
	for _, d := range tensor.DTypes() {
		if p.Types != AnyType && p.Types.Has(d) && d.IsInteger() && !p.Types.Has(tensor.Int32) {
			return d
		}
	}
	return tensor.Invalid
}

// constantFor makes a constant of a Go value; want may be Invalid, for the type that Go's suggests.
func constantFor(v any, want tensor.DType) *mil.Constant {
	or := func(d tensor.DType) tensor.DType {
		if want == tensor.Invalid || !want.IsFloat() && d.IsFloat() {
			return d
		}
		return want
	}
	switch v := v.(type) {
	case *mil.Constant:
		return v
	case *tensor.Tensor:
		return mil.NewConst(v)
	case bool:
		return mil.ConstOf(v)
	case string:
		return mil.ConstOf(v)
	case int:
		return mil.NewConst(tensor.FromInt64s(or(tensor.Int32), []int64{int64(v)}))
	case float64:
		return mil.NewConst(floats(or(tensor.Float32), nil, []float64{v}))
	case float32:
		return mil.NewConst(floats(or(tensor.Float32), nil, []float64{float64(v)}))
	case []int:
		vals := make([]int64, len(v))
		for i := range v {
			vals[i] = int64(v[i])
		}
		return mil.NewConst(tensor.FromInt64s(or(tensor.Int32), vals, len(v)))
	case []float64:
		return mil.NewConst(floats(or(tensor.Float32), dims(len(v)), v))
	case []bool:
		return mil.NewConst(tensor.Of(v, len(v)))
	case []string:
		return mil.NewConst(tensor.Of(v, len(v)))
	}
	panic(fmt.Sprintf("no constant for %T", v))
}

// TestHarness keeps the helpers honest, on an operation that the core has.
func TestHarness(t *testing.T) {
	x := newValue("x", mil.Tensor(tensor.Float32, 2))
	yes, no := newBlock(nil, []*mil.Value{x}), newBlock(nil, []*mil.Value{x})
	got := evalOp(t, IOS15, "cond", args{"pred": bools(nil, true)}, withBlocks(yes, no), withOuter(x, f32(dims(2), 1, 2)))
	wantFloats(t, got[0], 0, 1, 2)
	if msg := evalErr(t, IOS15, "cond", args{}, withBlocks(yes, no)); !strings.Contains(msg, "pred is missing") {
		t.Error(msg)
	}
	wantErr(t, IOS15, "cnd", args{}, "unknown operation", "cond")
}
