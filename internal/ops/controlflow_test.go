package ops

import (
	"context"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// Programs of control flow are written here by hand. The types that most of them use:
var (
	anInt   = mil.Tensor(tensor.Int32)
	aBool   = mil.Tensor(tensor.Bool)
	aFloat  = mil.Tensor(tensor.Float32)
	aVector = mil.Tensor(tensor.Float32, tensor.Unknown)
)

// whileOp makes a loop over variables. test and body get the variables of their block; test gives the
// condition and body the next values, each with the operations that compute them.
func whileOp(vars []*mil.Value, types []mil.Type, name string,
	test func(in []*mil.Value) (*mil.Value, []*mil.Operation),
	body func(in []*mil.Value) ([]*mil.Value, []*mil.Operation),
) *mil.Operation {
	values := func(suffix string) []*mil.Value {
		out := make([]*mil.Value, len(types))
		for i, typ := range types {
			out[i] = newValue(name+suffix+string(rune('0'+i)), typ)
		}
		return out
	}
	op := newOp(IOS15, "while_loop", args{"loop_vars": vars}, values("_out")...)
	testIn, bodyIn := values("_test"), values("_body")
	more, testOps := test(testIn)
	next, bodyOps := body(bodyIn)
	op.Blocks = []*mil.Block{newBlock(testIn, []*mil.Value{more}, testOps...), newBlock(bodyIn, next, bodyOps...)}
	return op
}

// below is the test of a loop: while its first variable is less than a limit.
func below(limit any) func(in []*mil.Value) (*mil.Value, []*mil.Operation) {
	return func(in []*mil.Value) (*mil.Value, []*mil.Operation) {
		more := newValue("more", aBool)
		return more, []*mil.Operation{newOp(IOS15, "less", args{"x": in[0], "y": limit}, more)}
	}
}

// applied makes x op y, of the type of x.
func applied(kind, name string, x *mil.Value, y any) (*mil.Value, *mil.Operation) {
	out := newValue(name, x.Type)
	return out, newOp(IOS15, kind, args{"x": x, "y": y}, out)
}

func mainFunction(inputs, outputs []*mil.Value, body ...*mil.Operation) *mil.Function {
	return &mil.Function{Name: "main", Opset: "CoreML5", Inputs: inputs, Body: newBlock(nil, outputs, body...)}
}

// constOp is a const operation as a file has it: the value is an attribute.
func constOp(v *mil.Value, c *mil.Constant) *mil.Operation {
	op := &mil.Operation{Kind: "const", Outputs: []*mil.Value{v}}
	op.Attributes.Set("val", c)
	v.Def = op
	return op
}

// mustRun verifies and evaluates a function.
func mustRun(t *testing.T, f *mil.Function, inputs map[string]Value) []Value {
	t.Helper()
	vals, err := verifyAndRun(f, inputs)
	if err != nil {
		t.Fatal(err)
	}
	return vals
}

func verifyAndRun(f *mil.Function, inputs map[string]Value) ([]Value, error) {
	if err := Verify(&mil.Program{Functions: []*mil.Function{f}}); err != nil {
		return nil, err
	}
	f.Body.Walk(func(op *mil.Operation) { evaluated.Store(op.Kind, true) })
	ev, err := NewEvaluator(f, Virtual)
	if err != nil {
		return nil, err
	}
	return ev.Run(context.Background(), inputs)
}

func wantRunError(t *testing.T, f *mil.Function, inputs map[string]Value, parts ...string) {
	t.Helper()
	_, err := verifyAndRun(f, inputs)
	if err == nil {
		t.Fatalf("expected an error that has %q", parts)
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("error is %q, expected it to have %q", err, p)
		}
	}
}

func TestConst(t *testing.T) {
	vector, text, labels := newValue("vector", mil.Tensor(tensor.Float16, 2)), newValue("text", mil.Tensor(tensor.String)), newValue("labels", nil)
	list := labelList("a", "b")
	labels.Type = list.Type
	got := mustRun(t, mainFunction(nil, []*mil.Value{vector, text, labels},
		constOp(vector, mil.NewConst(f16(dims(2), 0.5, -2))), constOp(text, mil.ConstOf("hello")), constOp(labels, list)), nil)
	wantFloats(t, got[0], 0, 0.5, -2)
	wantStrings(t, got[1], "hello")
	if l, ok := got[2].(*List); !ok || len(l.Items) != 2 || l.Items[1].Strings()[0] != "b" {
		t.Errorf("the list is %v", got[2])
	}

	wrong := newValue("wrong", mil.Tensor(tensor.Float16, 3))
	wantRunError(t, mainFunction(nil, []*mil.Value{wrong}, constOp(wrong, mil.NewConst(f16(dims(2))))), nil,
		`const "wrong"`, "declared tensor<fp16, [3]>, but the operation gives tensor<fp16, [2]>")
	bare := newValue("bare", aFloat)
	wantRunError(t, mainFunction(nil, []*mil.Value{bare}, &mil.Operation{Kind: "const", Outputs: []*mil.Value{bare}}), nil, "parameter val is missing")
}

func TestCond(t *testing.T) {
	// Both blocks use values from outside; a const sits inside a block.
	flag, x, y := newValue("flag", aBool), newValue("x", aFloat), newValue("y", aFloat)
	two := newValue("two", aFloat)
	doubled, twice := applied("mul", "doubled", x, two)
	sum, add := applied("add", "sum", x, y)
	out, other := newValue("out", aFloat), newValue("other", aFloat)
	op := newOp(IOS15, "cond", args{"pred": flag}, out, other)
	op.Blocks = []*mil.Block{
		newBlock(nil, []*mil.Value{doubled, x}, constOp(two, mil.ConstOf(float32(2))), twice),
		newBlock(nil, []*mil.Value{sum, y}, add),
	}
	f := mainFunction([]*mil.Value{flag, x, y}, []*mil.Value{out, other}, op)
	for pred, want := range map[bool][2]float64{true: {10, 5}, false: {8, 3}} {
		got := mustRun(t, f, map[string]Value{"flag": bools(nil, pred), "x": scalarF32(5), "y": scalarF32(3)})
		wantFloats(t, got[0], 0, want[0])
		wantFloats(t, got[1], 0, want[1])
	}
}

// TestCondShapes has blocks whose results differ in length or in rank: the type leaves that open.
func TestCondShapes(t *testing.T) {
	flag, x, y, m := newValue("flag", aBool), newValue("x", mil.Tensor(tensor.Float32, 2)), newValue("y", mil.Tensor(tensor.Float32, 3)), newValue("m", mil.Tensor(tensor.Float32, 1, 1))
	for _, tc := range []struct {
		other    *mil.Value
		declared *mil.TensorType
		shape    []int
	}{
		{y, aVector, dims(3)},
		{m, &mil.TensorType{DType: tensor.Float32, AnyRank: true}, dims(1, 1)},
	} {
		out := newValue("out", tc.declared)
		op := newOp(IOS15, "cond", args{"pred": flag}, out)
		op.Blocks = []*mil.Block{newBlock(nil, []*mil.Value{x}), newBlock(nil, []*mil.Value{tc.other})}
		f := mainFunction([]*mil.Value{flag, x, y, m}, []*mil.Value{out}, op)
		in := map[string]Value{"flag": bools(nil, true), "x": f32(dims(2)), "y": f32(dims(3)), "m": f32(dims(1, 1))}
		wantShape(t, mustRun(t, f, in)[0], 2)
		in["flag"] = bools(nil, false)
		wantShape(t, mustRun(t, f, in)[0], tc.shape...)
	}
}

func TestCondErrors(t *testing.T) {
	flag, x, i := newValue("flag", aBool), newValue("x", aFloat), newValue("i", anInt)
	in := map[string]Value{"flag": bools(nil, true), "x": scalarF32(1), "i": scalarI32(1)}
	program := func(blocks ...*mil.Block) *mil.Function {
		out := newValue("out", aFloat)
		op := newOp(IOS15, "cond", args{"pred": flag}, out)
		op.Blocks = blocks
		return mainFunction([]*mil.Value{flag, x, i}, []*mil.Value{out}, op)
	}
	xs := newBlock(nil, []*mil.Value{x})
	wantRunError(t, program(xs), in, `cond "out"`, "expected 2 nested blocks, found 1")
	wantRunError(t, program(xs, xs, xs), in, "expected 2 nested blocks, found 3")
	wantRunError(t, program(xs, newBlock(nil, []*mil.Value{x, x})), in, "the blocks give 1 and 2 values")
	wantRunError(t, program(xs, newBlock(nil, []*mil.Value{i})), in, "output 0: the types fp32 and int32 differ")
	wantRunError(t, program(xs, newBlock([]*mil.Value{newValue("extra", aFloat)}, []*mil.Value{x})), in, "a nested block has 1 inputs, expected 0")
	wantRunError(t, program(newBlock(nil, []*mil.Value{i}), newBlock(nil, []*mil.Value{i})), in, `value "out" is declared fp32, but the operation gives int32`)
	// A value of one block does not reach the other.
	local, add := applied("add", "local", x, x)
	wantRunError(t, program(newBlock(nil, []*mil.Value{local}, add), newBlock(nil, []*mil.Value{newValue("local", aFloat)})), in, "used before it is defined")
}

// TestWhilePower is coremltools' unit test "power": a squared until it has been so b times.
func TestWhilePower(t *testing.T) {
	a, b := newValue("a", mil.Tensor(tensor.Float32, 1)), newValue("b", mil.Tensor(tensor.Float32, 1))
	loop := whileOp([]*mil.Value{b, a}, []mil.Type{b.Type, a.Type}, "power",
		func(in []*mil.Value) (*mil.Value, []*mil.Operation) { // while b > 0: a condition of shape [1]
			more := newValue("more", mil.Tensor(tensor.Bool, 1))
			return more, []*mil.Operation{newOp(IOS15, "greater", args{"x": in[0], "y": 0.0}, more)}
		},
		func(in []*mil.Value) ([]*mil.Value, []*mil.Operation) {
			left, sub := applied("sub", "left", in[0], 1.0)
			square, mul := applied("mul", "square", in[1], in[1])
			return []*mil.Value{left, square}, []*mil.Operation{sub, mul}
		})
	got := mustRun(t, mainFunction([]*mil.Value{a, b}, loop.Outputs, loop), map[string]Value{"a": f32(dims(1), 2), "b": f32(dims(1), 3)})
	wantFloats(t, got[0], 0, 0)
	wantFloats(t, got[1], 0, 256)
	got = mustRun(t, mainFunction([]*mil.Value{a, b}, loop.Outputs, loop), map[string]Value{"a": f32(dims(1), 2), "b": f32(dims(1), 0)})
	wantFloats(t, got[1], 0, 2) // no iteration at all
}

// TestWhileNested sums i·j for i < 4 and j < i, plus an offset from outside in every inner iteration: by hand
// 0 + 0 + (0+2) + (0+3+6) + 6·100.
func TestWhileNested(t *testing.T) {
	zero, offset := newValue("zero", anInt), newValue("offset", anInt)
	loop := whileOp([]*mil.Value{zero, zero}, []mil.Type{anInt, anInt}, "outer", below(4),
		func(outer []*mil.Value) ([]*mil.Value, []*mil.Operation) {
			inner := whileOp([]*mil.Value{zero, outer[1]}, []mil.Type{anInt, anInt}, "inner",
				below(outer[0]), // captured from the block around
				func(in []*mil.Value) ([]*mil.Value, []*mil.Operation) {
					product, mul := applied("mul", "product", outer[0], in[0])
					plus, addOffset := applied("add", "plus", product, offset) // and from the function
					sum, addSum := applied("add", "sum", in[1], plus)
					j, step := applied("add", "j", in[0], 1)
					return []*mil.Value{j, sum}, []*mil.Operation{mul, addOffset, addSum, step}
				})
			i, step := applied("add", "i", outer[0], 1)
			return []*mil.Value{i, inner.Outputs[1]}, []*mil.Operation{inner, step}
		})
	f := mainFunction([]*mil.Value{zero, offset}, loop.Outputs, loop)
	got := mustRun(t, f, map[string]Value{"zero": scalarI32(0), "offset": scalarI32(100)})
	wantInts(t, got[0], 4)
	wantInts(t, got[1], 611)
}

// TestWhileSwaps exchanges two variables in every iteration: the next values are taken all at once.
func TestWhileSwaps(t *testing.T) {
	zero, a, b := newValue("zero", anInt), newValue("a", aFloat), newValue("b", aFloat)
	loop := whileOp([]*mil.Value{zero, a, b}, []mil.Type{anInt, aFloat, aFloat}, "swap", below(3),
		func(in []*mil.Value) ([]*mil.Value, []*mil.Operation) {
			i, step := applied("add", "i", in[0], 1)
			return []*mil.Value{i, in[2], in[1]}, []*mil.Operation{step}
		})
	got := mustRun(t, mainFunction([]*mil.Value{zero, a, b}, loop.Outputs, loop),
		map[string]Value{"zero": scalarI32(0), "a": scalarF32(1), "b": scalarF32(2)})
	wantFloats(t, got[1], 0, 2)
	wantFloats(t, got[2], 0, 1)
}

// TestWhileGrows has a variable that is longer after each iteration, and a cond inside the loop.
func TestWhileGrows(t *testing.T) {
	zero, x := newValue("zero", anInt), newValue("x", mil.Tensor(tensor.Float32, 1))
	loop := whileOp([]*mil.Value{zero, x}, []mil.Type{anInt, aVector}, "grow", below(4),
		func(in []*mil.Value) ([]*mil.Value, []*mil.Operation) {
			early, longer := newValue("early", aBool), newValue("longer", aVector)
			test := newOp(IOS15, "less", args{"x": in[0], "y": 2}, early)
			negative, neg := applied("mul", "negative", x, -1.0)
			choose := newOp(IOS15, "cond", args{"pred": early}, newValue("chosen", mil.Tensor(tensor.Float32, 1)))
			choose.Blocks = []*mil.Block{newBlock(nil, []*mil.Value{x}), newBlock(nil, []*mil.Value{negative}, neg)}
			join := newOp(IOS15, "concat", args{"values": []*mil.Value{in[1], choose.Outputs[0]}, "axis": 0}, longer)
			i, step := applied("add", "i", in[0], 1)
			return []*mil.Value{i, longer}, []*mil.Operation{test, choose, join, step}
		})
	f := mainFunction([]*mil.Value{zero, x}, loop.Outputs, loop)
	got := mustRun(t, f, map[string]Value{"zero": scalarI32(0), "x": f32(dims(1), 7)})
	wantFloats(t, got[1], 0, 7, 7, 7, -7, -7)
}

// TestWhileList is coremltools' unit test of a list that a loop writes: [1, 2]·i in iteration i.
func TestWhileList(t *testing.T) {
	elem := mil.Tensor(tensor.Float32, 2)
	list := &mil.ListType{Elem: elem, Length: 1}
	zero, iterations, update := newValue("zero", anInt), newValue("iterations", anInt), newValue("update", elem)
	made := newValue("made", list)
	loop := whileOp([]*mil.Value{zero, made}, []mil.Type{anInt, list}, "fill", below(iterations),
		func(in []*mil.Value) ([]*mil.Value, []*mil.Operation) {
			count, element, wrote := newValue("count", aFloat), newValue("element", elem), newValue("wrote", list)
			i, step := applied("add", "i", in[0], 1)
			return []*mil.Value{i, wrote}, []*mil.Operation{
				newOp(IOS15, "cast", args{"x": in[0], "dtype": "fp32"}, count),
				newOp(IOS15, "mul", args{"x": update, "y": count}, element),
				newOp(IOS15, "list_write", args{"ls": in[1], "index": in[0], "value": element}, wrote),
				step,
			}
		})
	length, indices, all := newValue("length", anInt), newValue("indices", mil.Tensor(tensor.Int32, tensor.Unknown)), newValue("all", mil.Tensor(tensor.Float32, tensor.Unknown, 2))
	f := mainFunction([]*mil.Value{zero, iterations, update}, []*mil.Value{all},
		newOp(IOS15, "make_list", args{"init_length": 1, "elem_shape": []*tensor.Tensor{scalarI32(2)}}, made),
		loop,
		newOp(IOS15, "list_length", args{"ls": loop.Outputs[1]}, length),
		newOp(IOS15, "range_1d", args{"start": 0, "end": length, "step": 1}, indices),
		newOp(IOS15, "list_gather", args{"ls": loop.Outputs[1], "indices": indices}, all))
	got := mustRun(t, f, map[string]Value{"zero": scalarI32(0), "iterations": scalarI32(3), "update": f32(dims(2), 1, 2)})
	wantShape(t, got[0], 3, 2)
	wantFloats(t, got[0], 0, 0, 0, 1, 2, 2, 4)
}

func TestWhileErrors(t *testing.T) {
	zero, x := newValue("zero", anInt), newValue("x", mil.Tensor(tensor.Float32, 2))
	in := map[string]Value{"zero": scalarI32(0), "x": f32(dims(2), 1, 2)}
	count := func(in []*mil.Value) ([]*mil.Value, []*mil.Operation) {
		i, step := applied("add", "i", in[0], 1)
		return append([]*mil.Value{i}, in[1:]...), []*mil.Operation{step}
	}
	program := func(edit func(op *mil.Operation)) *mil.Function {
		loop := whileOp([]*mil.Value{zero, x}, []mil.Type{anInt, x.Type}, "loop", below(2), count)
		edit(loop)
		return mainFunction([]*mil.Value{zero, x}, loop.Outputs, loop)
	}
	for _, tc := range []struct {
		name string
		edit func(op *mil.Operation)
		want string
	}{
		{"no blocks", func(op *mil.Operation) { op.Blocks = nil }, "expected 2 nested blocks, found 0"},
		{"one block", func(op *mil.Operation) { op.Blocks = op.Blocks[:1] }, "expected 2 nested blocks, found 1"},
		{"no variables", func(op *mil.Operation) { op.Inputs = nil }, "parameter loop_vars is missing"},
		{"a block input too few", func(op *mil.Operation) { op.Blocks[0].Inputs = op.Blocks[0].Inputs[:1] }, "a nested block has 1 inputs, expected 2"},
		{"a value too few", func(op *mil.Operation) { op.Blocks[1].Outputs = op.Blocks[1].Outputs[:1] }, "the loop has 2 variables, but its body gives 1 values"},
		{"a condition that is a number", func(op *mil.Operation) { op.Blocks[0].Outputs = op.Blocks[0].Inputs[:1] }, "the first block must give one bool"},
		{"two conditions", func(op *mil.Operation) {
			more := op.Blocks[0].Outputs[0]
			op.Blocks[0].Outputs = []*mil.Value{more, more}
		}, "the first block must give one bool"},
		{"variables that change type", func(op *mil.Operation) {
			op.Blocks[1].Outputs = []*mil.Value{op.Blocks[1].Inputs[1], op.Blocks[1].Inputs[1]}
		}, "loop variable 0: the types int32 and tensor<fp32, [2]> differ"},
		{"a block input of another type", func(op *mil.Operation) {
			op.Blocks[0].Inputs[1].Type = mil.Tensor(tensor.Float32, 3)
		}, "is declared tensor<fp32, [3]>, but is given tensor<fp32, [2]>"},
		{"results that are declared otherwise", func(op *mil.Operation) { op.Outputs[1].Type = aFloat }, "is declared fp32, but the operation gives tensor<fp32, [2]>"},
	} {
		t.Run(tc.name, func(t *testing.T) { wantRunError(t, program(tc.edit), in, `while_loop "loop_out0"`, tc.want) })
	}
}

// TestNestedErrors fails in a block of a block, in the type rule and at run time: the message names the
// operation that fails, not those around it.
func TestNestedErrors(t *testing.T) {
	zero, x := newValue("zero", anInt), newValue("x", mil.Tensor(tensor.Float32, 2))
	in := map[string]Value{"zero": scalarI32(0), "x": f32(dims(2), 1, 2)}
	program := func(inner func(i *mil.Value) (*mil.Value, *mil.Operation)) *mil.Function {
		loop := whileOp([]*mil.Value{zero, x}, []mil.Type{anInt, x.Type}, "loop", below(5),
			func(in []*mil.Value) ([]*mil.Value, []*mil.Operation) {
				always := newValue("always", aBool)
				result, op := inner(in[0])
				choose := newOp(IOS15, "cond", args{"pred": always}, newValue("chosen", x.Type))
				choose.Blocks = []*mil.Block{newBlock(nil, []*mil.Value{result}, op), newBlock(nil, []*mil.Value{in[1]})}
				i, step := applied("add", "i", in[0], 1)
				return []*mil.Value{i, choose.Outputs[0]}, []*mil.Operation{constOp(always, mil.ConstOf(true)), choose, step}
			})
		return mainFunction([]*mil.Value{zero, x}, loop.Outputs, loop)
	}
	wantRunError(t, program(func(*mil.Value) (*mil.Value, *mil.Operation) {
		out := newValue("deep", x.Type)
		return out, newOp(IOS15, "add", args{"x": x, "y": f32(dims(3))}, out)
	}), in, `function main: add "deep": `)
	wantRunError(t, program(func(*mil.Value) (*mil.Value, *mil.Operation) {
		out := newValue("deep", x.Type)
		return out, newOp(IOS15, "tile", args{"x": x, "reps": []int{1, 1}}, out)
	}), in, `function main: tile "deep": `)
	late := program(func(i *mil.Value) (*mil.Value, *mil.Operation) { // only the third iteration fails
		out := newValue("deep", x.Type)
		return out, newOp(IOS17, "scatter", args{"data": x, "indices": i, "updates": 1.0, "validate_indices": true}, out)
	})
	late.Opset = "CoreML7"
	wantRunError(t, late, in, `function main: scatter "deep": indices has 2 at element 0, expected 0 to 1`)
}

// TestStateInBlocks writes a state in a loop: iterations see what the ones before wrote.
func TestStateInBlocks(t *testing.T) {
	zero, total := newValue("zero", anInt), newValue("total", &mil.StateType{Elem: aFloat})
	loop := whileOp([]*mil.Value{zero}, []mil.Type{anInt}, "loop", below(3),
		func(in []*mil.Value) ([]*mil.Value, []*mil.Operation) {
			now := newValue("now", aFloat)
			more, add := applied("add", "sum", now, 1.5)
			i, step := applied("add", "i", in[0], 1)
			return []*mil.Value{i}, []*mil.Operation{
				newOp(IOS18, "read_state", args{"input": total}, now), add,
				newOp(IOS18, "write_state", args{"input": total, "data": more}), step,
			}
		})
	f := mainFunction([]*mil.Value{zero, total}, loop.Outputs, loop)
	f.Opset = "CoreML8"
	s := NewState(aFloat)
	mustRun(t, f, map[string]Value{"zero": scalarI32(0), "total": s})
	wantFloats(t, s.Read(), 0, 4.5)
}
