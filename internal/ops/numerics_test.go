package ops

import (
	"context"
	"math"
	"testing"

	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// runFunction verifies and runs a function of the newest opset, its values by name.
func runFunction(t *testing.T, n Numerics, inputs []*mil.Value, body *mil.Block, vals map[string]Value) []Value {
	t.Helper()
	f := &mil.Function{Name: "main", Opset: IOS18.String(), Inputs: inputs, Body: body}
	if _, err := Infer(f); err != nil {
		t.Fatal(err)
	}
	ev, err := NewEvaluator(f, n)
	if err != nil {
		t.Fatal(err)
	}
	out, err := ev.Run(context.Background(), vals)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestProfilesDiffer: where a stored value does not fit its declared type, virtual rounds it and fp32 does not.
func TestProfilesDiffer(t *testing.T) {
	inf := math.Inf(1)
	ones := make([]float64, 3000)
	for i := range ones {
		ones[i] = 1
	}
	for _, tt := range []struct {
		name          string
		kind          string
		args          args
		virtual, fp32 float64 // of the last element
	}{
		{"a step too small", "add", args{"x": f16(dims(1), 2048), "y": f16(dims(1), 1)}, 2048, 2049},
		{"ties go to even", "add", args{"x": f16(dims(1), 2050), "y": f16(dims(1), 1)}, 2052, 2051},
		{"overflow", "mul", args{"x": f16(dims(1), 65504), "y": f16(dims(1), 2)}, inf, 131008},
		{"negative overflow", "mul", args{"x": f16(dims(1), -65504), "y": f16(dims(1), 2)}, -inf, -131008},
		{"just below overflow", "add", args{"x": f16(dims(1), 65504), "y": f16(dims(1), 15)}, 65504, 65519},
		{"least subnormal", "mul", args{"x": f16(dims(1), math.Ldexp(1, -23)), "y": f16(dims(1), 0.5)}, math.Ldexp(1, -24), math.Ldexp(1, -24)},
		{"underflow", "mul", args{"x": f16(dims(1), math.Ldexp(1, -24)), "y": f16(dims(1), 0.5)}, 0, math.Ldexp(1, -25)},
		{"cast", "cast", args{"x": f32(dims(1), 2049), "dtype": "fp16"}, 2048, 2049},
		// Inside an operation sums are fp32: they do not stagnate, only what is stored is rounded.
		{"sum inside an operation", "reduce_sum", args{"x": f16(dims(3000), ones...), "axes": []int{0}}, 3000, 3000},
		{"running sum inside an operation", "cumsum", args{"x": f16(dims(2049), ones[:2049]...)}, 2048, 2049},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for n, want := range map[Numerics]float64{Virtual: tt.virtual, FP32: tt.fp32} {
				got := tensorOf(t, evalOp(t, IOS16, tt.kind, tt.args, under(n))[0]).Float64s()
				if g := got[len(got)-1]; g != want {
					t.Errorf("%v: got %v, expected %v", n, g, want)
				}
			}
		})
	}
}

// TestProfilesAgree: fp32 values, integers and booleans are the same under both.
func TestProfilesAgree(t *testing.T) {
	third := float64(float32(1) / 3)
	for _, tt := range []struct {
		name string
		kind string
		args args
		want []float64
	}{
		{"fp32 sum", "add", args{"x": f32(dims(1), 2048), "y": f32(dims(1), 1)}, []float64{2049}},
		{"fp32 product", "mul", args{"x": f32(dims(1), 65504), "y": f32(dims(1), 2)}, []float64{131008}},
		{"fp32 quotient", "real_div", args{"x": f32(dims(1), 1), "y": f32(dims(1), 3)}, []float64{third}},
		{"fp32 overflow", "mul", args{"x": f32(dims(1), 3e38), "y": f32(dims(1), 10)}, []float64{math.Inf(1)}},
		{"integers", "add", args{"x": i32(dims(2), 2048, math.MaxInt32), "y": i32(dims(2), 1, 1)}, []float64{2049, math.MinInt32}},
		{"fp16 to integers", "cast", args{"x": f16(dims(2), 2048, -1.5), "dtype": "int32"}, []float64{2048, -1}},
		{"comparison", "less", args{"x": f16(dims(1), 2048), "y": f16(dims(1), 2050)}, []float64{1}},
		{"fp16 values that need no rounding", "add", args{"x": f16(dims(2), 0.5, 1024), "y": f16(dims(2), 0.25, 1024)}, []float64{0.75, 2048}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, n := range []Numerics{Virtual, FP32} {
				wantFloats(t, evalOp(t, IOS16, tt.kind, tt.args, under(n))[0], 0, tt.want...)
			}
		})
	}
}

// TestStoredSumsStagnate: a loop that adds 1 to an fp16 variable never gets beyond 2048, for 2048 + 1 rounds
// to 2048. Under fp32 it counts on. An fp32 variable beside it counts under both.
func TestStoredSumsStagnate(t *testing.T) {
	half, single, count := mil.Tensor(tensor.Float16, 1), mil.Tensor(tensor.Float32, 1), mil.Tensor(tensor.Int32)
	x, y := newValue("x", half), newValue("y", single)
	vars := func(suffix string) []*mil.Value {
		return []*mil.Value{newValue("i"+suffix, count), newValue("sum"+suffix, half), newValue("wide"+suffix, single)}
	}
	in, in2, next, out := vars("_test"), vars("_body"), vars("_next"), vars("")
	more := newValue("more", mil.Tensor(tensor.Bool))
	loop := &mil.Operation{
		Kind:    "while_loop",
		Outputs: out,
		Inputs:  []mil.Input{{Param: "loop_vars", Args: []mil.Arg{{Const: mil.ConstOf(int32(0))}, {Value: x}, {Value: y}}}},
		Blocks: []*mil.Block{
			newBlock(in, []*mil.Value{more}, newOp(IOS18, "less", args{"x": in[0], "y": scalarI32(3000)}, more)),
			newBlock(in2, next,
				newOp(IOS18, "add", args{"x": in2[0], "y": scalarI32(1)}, next[0]),
				newOp(IOS18, "add", args{"x": in2[1], "y": scalarF16(1)}, next[1]),
				newOp(IOS18, "add", args{"x": in2[2], "y": scalarF32(1)}, next[2])),
		},
	}
	for _, v := range out {
		v.Def = loop
	}
	for n, want := range map[Numerics]float64{Virtual: 2048, FP32: 3000} {
		got := runFunction(t, n, []*mil.Value{x, y}, newBlock(nil, out, loop), map[string]Value{"x": f16(dims(1), 0), "y": f32(dims(1), 0)})
		wantInts(t, got[0], 3000)
		wantFloats(t, got[1], 0, want)
		wantFloats(t, got[2], 0, 3000)
	}
}

// TestInputsAreStored: an input given wider than it is declared is rounded like any other value.
func TestInputsAreStored(t *testing.T) {
	x := newValue("x", mil.Tensor(tensor.Float16, 1))
	for n, want := range map[Numerics]float64{Virtual: 2048, FP32: 2049} {
		got := runFunction(t, n, []*mil.Value{x}, newBlock(nil, []*mil.Value{x}), map[string]Value{"x": f32(dims(1), 2049)})
		wantFloats(t, got[0], 0, want)
	}
}

func TestParseNumerics(t *testing.T) {
	for _, n := range []Numerics{Virtual, FP32} {
		if got, err := ParseNumerics(n.String()); err != nil || got != n {
			t.Errorf("ParseNumerics(%q) = %v, %v", n, got, err)
		}
	}
	if _, err := ParseNumerics("h13"); err == nil {
		t.Error("h13 is no profile of the evaluator")
	}
}
