package ops

import (
	"context"
	"errors"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// freedAfter lists the names of the values that an operation is the last to need.
func freedAfter(ev *Evaluator, op *mil.Operation) []string {
	var names []string
	for _, v := range ev.uses[op] {
		names = append(names, v.Name)
	}
	slices.Sort(names)
	return names
}

func wantFreed(t *testing.T, ev *Evaluator, op *mil.Operation, want ...string) {
	t.Helper()
	if got := freedAfter(ev, op); !slices.Equal(got, want) {
		t.Errorf("after %s %q: freed %v, expected %v", op.Kind, op.Name(), got, want)
	}
}

// TestLiveness: a value is let go after its last use, a use in a nested block counting as one of the operation
// around it, and never while the block's outputs need it.
func TestLiveness(t *testing.T) {
	typ := mil.Tensor(tensor.Float32, 1)
	val := func(name string) *mil.Value { return newValue(name, typ) }
	x, flag := val("x"), newValue("flag", mil.Tensor(tensor.Bool))
	a, b, unused, chosen, inner, result := val("a"), val("b"), val("unused"), val("chosen"), val("inner"), val("result")

	makeA := newOp(IOS18, "add", args{"x": x, "y": x}, a)
	makeB := newOp(IOS18, "mul", args{"x": a, "y": x}, b)
	makeUnused := newOp(IOS18, "mul", args{"x": b, "y": b}, unused)
	makeInner := newOp(IOS18, "add", args{"x": a, "y": a}, inner)
	choose := &mil.Operation{
		Kind: "cond", Outputs: []*mil.Value{chosen},
		Inputs: []mil.Input{{Param: "pred", Args: []mil.Arg{{Value: flag}}}},
		Blocks: []*mil.Block{newBlock(nil, []*mil.Value{inner}, makeInner), newBlock(nil, []*mil.Value{b})},
	}
	chosen.Def = choose
	finish := newOp(IOS18, "add", args{"x": chosen, "y": x}, result)
	f := &mil.Function{
		Name: "main", Opset: "ios18", Inputs: []*mil.Value{x, flag},
		Body: newBlock(nil, []*mil.Value{result, chosen}, makeA, makeB, makeUnused, choose, finish),
	}
	if _, err := Infer(f); err != nil {
		t.Fatal(err)
	}
	ev, err := NewEvaluator(f, Virtual)
	if err != nil {
		t.Fatal(err)
	}
	wantFreed(t, ev, makeA)
	wantFreed(t, ev, makeB)
	wantFreed(t, ev, makeUnused, "unused")
	wantFreed(t, ev, makeInner) // an output of its block
	wantFreed(t, ev, choose, "a", "b")
	wantFreed(t, ev, finish) // both are outputs
	for cond, want := range map[bool][]float64{true: {15, 12}, false: {21, 18}} {
		got, err := ev.Run(context.Background(), map[string]Value{"x": f32(dims(1), 3), "flag": tensor.Scalar(cond)})
		if err != nil {
			t.Fatal(err)
		}
		wantFloats(t, got[0], 0, want[0])
		wantFloats(t, got[1], 0, want[1])
	}
}

// counting makes a loop over (i, x): i + 1 and body(x), while i is less than iterations.
func counting(iterations int64, x *mil.Value, body func(in, out *mil.Value) *mil.Operation) *mil.Operation {
	count := mil.Tensor(tensor.Int32)
	vars := func(suffix string) []*mil.Value {
		return []*mil.Value{newValue("i_"+suffix, count), newValue("x_"+suffix, x.Type)}
	}
	test, in, next, out := vars("test"), vars("body"), vars("next"), vars("out")
	more := newValue("more", mil.Tensor(tensor.Bool))
	op := &mil.Operation{
		Kind:    "while_loop",
		Outputs: out,
		Inputs:  []mil.Input{{Param: "loop_vars", Args: []mil.Arg{{Const: mil.ConstOf(int32(0))}, {Value: x}}}},
		Blocks: []*mil.Block{
			newBlock(test, []*mil.Value{more}, newOp(IOS18, "less", args{"x": test[0], "y": scalarI32(iterations)}, more)),
			newBlock(in, next, newOp(IOS18, "add", args{"x": in[0], "y": scalarI32(1)}, next[0]), body(in[1], next[1])),
		},
	}
	for _, v := range out {
		v.Def = op
	}
	return op
}

// TestConcurrentRuns: one evaluator serves many callers, each with inputs and loop variables of its own; the
// weights are decompressed for all of them.
func TestConcurrentRuns(t *testing.T) {
	x := newValue("x", mil.Tensor(tensor.Float32, 4))
	w := newValue("w", mil.Tensor(tensor.Float32, 4))
	y := newValue("y", mil.Tensor(tensor.Float32, 4))
	weights := newOp(IOS18, "constexpr_blockwise_shift_scale", args{"data": i8(dims(4), 1, 2, 3, 4), "scale": f32(dims(1), 0.5)}, w)
	loop := counting(50, y, func(in, out *mil.Value) *mil.Operation {
		return newOp(IOS18, "add", args{"x": in, "y": w}, out)
	})
	f := &mil.Function{
		Name: "main", Opset: "ios18", Inputs: []*mil.Value{x},
		Body: newBlock(nil, loop.Outputs[1:], weights, newOp(IOS18, "mul", args{"x": x, "y": w}, y), loop),
	}
	if _, err := Infer(f); err != nil {
		t.Fatal(err)
	}
	ev, err := NewEvaluator(f, Virtual)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for iteration := range 4 {
				v := float64(10*g + iteration)
				got, err := ev.Run(context.Background(), map[string]Value{"x": f32(dims(4), v)})
				if err != nil {
					t.Error(err)
					return
				}
				for i, h := range got[0].(*tensor.Tensor).Float64s() {
					if want := (v + 50) * float64(i+1) / 2; h != want {
						t.Errorf("caller %d: element %d is %v, expected %v", g, i, h, want)
					}
				}
			}
		})
	}
	wg.Wait()
}

// TestCancel: a loop without end stops when its caller gives up, be it of one with nothing in its blocks.
func TestCancel(t *testing.T) {
	yes := newValue("yes", mil.Tensor(tensor.Bool))
	x := newValue("x", mil.Tensor(tensor.Float32, 2))
	in, out := newValue("in", x.Type), newValue("out", x.Type)
	idle := &mil.Operation{
		Kind: "while_loop", Outputs: []*mil.Value{out},
		Inputs: []mil.Input{{Param: "loop_vars", Args: []mil.Arg{{Value: x}}}},
		Blocks: []*mil.Block{
			newBlock([]*mil.Value{newValue("in_test", x.Type)}, []*mil.Value{yes}),
			newBlock([]*mil.Value{in}, []*mil.Value{in}),
		},
	}
	out.Def = idle
	busy := counting(math.MaxInt32, x, func(in, out *mil.Value) *mil.Operation {
		return newOp(IOS18, "mul", args{"x": in, "y": in}, out)
	})
	for name, op := range map[string]*mil.Operation{"idle": idle, "busy": busy} {
		t.Run(name, func(t *testing.T) {
			f := &mil.Function{Name: "main", Opset: "ios18", Inputs: []*mil.Value{x, yes}, Body: newBlock(nil, op.Outputs, op)}
			if _, err := Infer(f); err != nil {
				t.Fatal(err)
			}
			ev, err := NewEvaluator(f, Virtual)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
			defer cancel()
			start := time.Now()
			_, err = ev.Run(ctx, map[string]Value{"x": f32(dims(2), 1, 0.5), "yes": tensor.Scalar(true)})
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("error is %v", err)
			}
			if d := time.Since(start); d > 30*time.Second {
				t.Errorf("it took %v to stop", d)
			}
		})
	}
}

// TestMemoryLimit: a shape asks for more than there is, and gets an error instead of an allocation.
func TestMemoryLimit(t *testing.T) {
	for name, shape := range map[string]*tensor.Tensor{
		"large":    i32(dims(3), 1<<20, 1<<20, 1<<4),
		"overflow": i32(dims(3), math.MaxInt32, math.MaxInt32, math.MaxInt32),
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			msg := evalErr(t, IOS18, "fill", args{"shape": shape, "value": scalarF32(1)})
			runtime.ReadMemStats(&after)
			if n := after.TotalAlloc - before.TotalAlloc; n > 1<<24 {
				t.Errorf("%d bytes were allocated", n)
			}
			if name == "large" && !strings.Contains(msg, "does not fit in memory") {
				t.Errorf("error is %q", msg)
			}
			if !strings.Contains(msg, "fill") {
				t.Errorf("error is %q, which does not name the operation", msg)
			}
		})
	}
}

// TestDeterminism: results depend on the inputs alone, not on how many processors compute them.
func TestDeterminism(t *testing.T) {
	wave := func(shape ...int) *tensor.Tensor {
		n, _ := tensor.Count(shape)
		vals := make([]float64, n)
		for i := range vals {
			vals[i] = math.Sin(float64(i) * 0.37)
		}
		return f32(shape, vals...)
	}
	cases := map[string]args{
		"matmul":     {"x": wave(67, 131), "y": wave(131, 190)},
		"reduce_sum": {"x": wave(7, 70001), "axes": []int{1}},
		"softmax":    {"x": wave(50, 1001), "axis": 1},
		"conv":       {"x": wave(2, 6, 33, 31), "weight": wave(10, 6, 3, 3)},
		"lstm": {
			"x": wave(9, 3, 40), "initial_h": wave(3, 50), "initial_c": wave(3, 50), "weight_ih": wave(200, 40), "weight_hh": wave(200, 50),
			"output_sequence": true,
		},
		"constexpr_blockwise_shift_scale": {"data": sevens(tensor.UInt4, 16, 0, 96, 1024), "scale": wave(96, 32)},
	}
	for kind, a := range cases {
		t.Run(kind, func(t *testing.T) {
			run := func(procs int) []Value {
				defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
				return evalOp(t, IOS18, kind, a)
			}
			alone, together := run(1), run(2)
			for i := range alone {
				if !slices.Equal(tensorOf(t, alone[i]).Bytes(), tensorOf(t, together[i]).Bytes()) {
					t.Errorf("output %d differs", i)
				}
			}
		})
	}
}

// TestErrorsNameTheOperation: an error says which function and operation failed, the innermost one in a block.
func TestErrorsNameTheOperation(t *testing.T) {
	x := newValue("x", mil.Tensor(tensor.Float32, 2))
	loop := counting(3, x, func(in, out *mil.Value) *mil.Operation {
		op := newOp(IOS18, "add", args{"x": in, "y": f32(dims(3))}, out)
		op.Pos.Line, op.Pos.Column = 7, 2
		return op
	})
	f := &mil.Function{Name: "main", Opset: "ios18", Inputs: []*mil.Value{x}, Body: newBlock(nil, loop.Outputs, loop)}
	_, err := Infer(f)
	var named *Error
	if !errors.As(err, &named) || named.Op.Kind != "add" || named.Function != "main" {
		t.Fatalf("error is %v", err)
	}
	if msg := err.Error(); !strings.HasPrefix(msg, `function main: add "x_next" (line 7:2): `) {
		t.Errorf("error is %q", msg)
	}
}

func TestMissingInput(t *testing.T) {
	x := newValue("x", mil.Tensor(tensor.Float32, 2))
	f := &mil.Function{Name: "main", Opset: "ios18", Inputs: []*mil.Value{x}, Body: newBlock(nil, []*mil.Value{x})}
	ev, err := NewEvaluator(f, Virtual)
	if err != nil {
		t.Fatal(err)
	}
	for want, vals := range map[string]map[string]Value{
		`input "x" is missing`:                              nil,
		`input "x": the result has shape [3], expected [2]`: {"x": f32(dims(3))},
	} {
		if _, err := ev.Run(context.Background(), vals); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error is %v, expected %q", err, want)
		}
	}
}
