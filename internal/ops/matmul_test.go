package ops

import (
	"context"
	"testing"

	"github.com/espalier-ane/espalier/tensor"
)

// patterned makes small whole numbers without an order that could hide a mistake: element i is i·mul mod mod, less half
// of mod. Sums of their products are exact. Tests say where their expected values come from; "numpy" means a script
// over the same numbers that shares nothing with the code here.
func patterned(mul, mod int64, shape ...int) *tensor.Tensor {
	n, _ := tensor.Count(shape)
	vals := make([]int64, n)
	for i := range vals {
		vals[i] = int64(i)*mul%mod - mod/2
	}
	return tensor.FromFloat32s(tensor.Float32, tensor.FromInt64s(tensor.Int64, vals, n).Float32s(), shape...)
}

// xs and ws are the patterns of inputs and of weights.
func xs(shape ...int) *tensor.Tensor { return patterned(7, 11, shape...) }
func ws(shape ...int) *tensor.Tensor { return patterned(5, 7, shape...) }

// scaled divides by a number.
func scaled(t *tensor.Tensor, by float32) *tensor.Tensor {
	out := append([]float32{}, t.Float32s()...)
	for i := range out {
		out[i] /= by
	}
	return tensor.Of(out, t.Shape()...)
}

func converted(t *tensor.Tensor, d tensor.DType) *tensor.Tensor {
	out, err := t.Convert(d)
	if err != nil {
		panic(err)
	}
	return out
}

// Expected values: coremltools' value inference, numpy.matmul.
func TestMatmul(t *testing.T) {
	tests := []struct {
		name  string
		a     args
		shape []int
		want  []float64
	}{
		{"matrices", args{"x": xs(2, 3), "y": ws(3, 4)}, dims(2, 4), []float64{17, -8, 2, -2, -18, 11, 5, -22}},
		{"x transposed", args{"x": xs(3, 2), "y": ws(3, 4), "transpose_x": true}, dims(2, 4), []float64{11, -12, 0, 19, 3, 9, 1, -28}},
		{"y transposed", args{"x": xs(2, 3), "y": ws(4, 3), "transpose_y": true}, dims(2, 4), []float64{19, 14, -5, -10, -13, -10, -14, -11}},
		{"both transposed", args{"x": xs(3, 2), "y": ws(4, 3), "transpose_x": true, "transpose_y": true}, dims(2, 4), []float64{11, 5, 13, 7, 4, 8, -23, -19}},
		{"vectors", args{"x": xs(3), "y": ws(3)}, nil, []float64{19}},
		{"vector, matrices", args{"x": xs(3), "y": ws(2, 3, 2)}, dims(2, 2), []float64{9, -16, 13, 9}},
		{"matrices, vector", args{"x": xs(2, 2, 3), "y": ws(3)}, dims(2, 2), []float64{19, -13, -12, -11}},
		{"batches broadcast", args{"x": xs(2, 1, 2, 3), "y": ws(3, 3, 2)}, dims(2, 3, 2, 2),
			[]float64{9, -16, -24, 5, 13, 9, 3, -24, -11, 13, 2, 3, -24, 4, -24, 3, 4, -24, 5, -24, 4, 4, 6, 5}},
		{"batches by one matrix", args{"x": xs(2, 2, 3), "y": ws(3, 2)}, dims(2, 2, 2), []float64{9, -16, -24, 5, -24, 4, -24, 3}},
		{"one matrix by batches", args{"x": xs(2, 3), "y": ws(2, 3, 2)}, dims(2, 2, 2), []float64{9, -16, -24, 5, 13, 9, 3, -24}},
		{"nothing to sum", args{"x": xs(2, 0), "y": ws(0, 3)}, dims(2, 3), make([]float64, 6)},
		{"empty", args{"x": xs(2, 0, 3), "y": ws(3, 2)}, dims(2, 0, 2), nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := evalOp(t, IOS15, "matmul", tt.a)
			wantShape(t, got[0], tt.shape...)
			wantFloats(t, got[0], 0, tt.want...)
		})
	}
}

func TestMatmulInts(t *testing.T) {
	got := evalOp(t, IOS15, "matmul", args{"x": converted(xs(2, 3), tensor.Int32), "y": converted(ws(3, 2), tensor.Int32)})
	wantInts(t, got[0], 9, -16, -24, 5)
	// By hand: 65536·65536 is 2^32, which wraps to nothing; beyond 2^24 fp32 would not be exact.
	got = evalOp(t, IOS15, "matmul", args{"x": i32(dims(1, 2), 65536, 16777217), "y": i32(dims(2, 1), 65536, 1)})
	wantInts(t, got[0], 16777217)
}

// From iOS17 on a constant may have another type, and the result has that of the other factor. Expected values: by hand.
func TestMatmulMixed(t *testing.T) {
	tests := []struct {
		name string
		a    args
		want string
	}{
		{"y constant", args{"x": i32(dims(1, 2), 3, 4), "y": fixed(f16(dims(2, 1), 2, 0.5))}, "tensor<int32, [1, 1]>"},
		{"x constant", args{"x": fixed(f16(dims(1, 2), 3, 4)), "y": f32(dims(2, 1), 2, 0.5)}, "tensor<fp32, [1, 1]>"},
	}
	for _, tt := range tests {
		p := buildOp(IOS17, "matmul", tt.a, &evalConfig{}, asGiven)
		types, err := p.outputTypes(IOS17)
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		if d := types[0].String(); d != tt.want {
			t.Errorf("%s: the type is %s, expected %s", tt.name, d, tt.want)
		}
		p.declare(types)
		ev, err := NewEvaluator(p.f, Virtual)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ev.Run(context.Background(), p.inputs)
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		wantFloats(t, got[0], 0, 8)
	}
	wantErr(t, IOS17, "matmul", args{"x": f32(dims(1, 2)), "y": f16(dims(2, 1))}, "fp32", "fp16", "only where one of the two is constant")
	wantErr(t, IOS15, "matmul", args{"x": f32(dims(1, 2)), "y": f16(dims(2, 1))}, "must have the element type of x")
}

func TestMatmulErrors(t *testing.T) {
	wantErr(t, IOS15, "matmul", args{"x": xs(2, 3), "y": ws(2, 3)}, "do not multiply", "3 and 2")
	wantErr(t, IOS15, "matmul", args{"x": xs(2, 2, 3), "y": ws(3, 3, 2)}, "batches", "2 and 3")
	wantErr(t, IOS15, "matmul", args{"x": xs(3), "y": ws(3, 2), "transpose_x": true}, "transpose_x is true, but x has rank 1")
	wantErr(t, IOS15, "matmul", args{"x": scalarF32(1), "y": ws(3)}, "x is a scalar")
}

// Expected values: coremltools' value inference, numpy.
func TestLinear(t *testing.T) {
	tests := []struct {
		name  string
		a     args
		shape []int
		want  []float64
	}{
		{"bias", args{"x": xs(2, 3), "weight": ws(4, 3), "bias": []float64{1, 2, 3, 4}}, dims(2, 4), []float64{20, 16, -2, -6, -12, -8, -11, -7}},
		{"vector", args{"x": xs(3), "weight": ws(4, 3)}, dims(4), []float64{19, 14, -5, -10}},
		{"rank 4", args{"x": xs(1, 2, 2, 3), "weight": ws(2, 3), "bias": []float64{1, 2}}, dims(1, 2, 2, 2), []float64{20, 16, -12, -8, -11, -10, -10, -12}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := evalOp(t, IOS15, "linear", tt.a)
			wantShape(t, got[0], tt.shape...)
			wantFloats(t, got[0], 0, tt.want...)
		})
	}
	got := evalOp(t, IOS15, "linear", args{"x": converted(xs(2, 3), tensor.Int32), "weight": converted(ws(2, 3), tensor.Int32), "bias": i32(dims(2), 100, 200)})
	wantInts(t, got[0], 119, 214, 87, 190)
	// Weights of another type, by hand: 2·3 + 1.
	got = evalOp(t, IOS17, "linear", args{"x": f16(dims(1, 1), 2), "weight": i32(dims(1, 1), 3), "bias": i32(dims(1), 1)})
	wantFloats(t, got[0], 0, 7)
	got = evalOp(t, IOS17, "linear", args{"x": i32(dims(1, 1), 3), "weight": f16(dims(1, 1), 1.5)})
	wantInts(t, got[0], 4)

	wantErr(t, IOS15, "linear", args{"x": xs(2, 3), "weight": ws(4, 2)}, "weight is for 2 inputs", "has 3")
	wantErr(t, IOS15, "linear", args{"x": xs(2, 3), "weight": ws(4, 3), "bias": []float64{1}}, "bias has shape [1], expected [4]")
	wantErr(t, IOS15, "linear", args{"x": xs(2, 3), "weight": ws(3)}, "weight has shape [3], expected [outputs, inputs]")
	wantErr(t, IOS15, "linear", args{"x": scalarF32(1), "weight": ws(1, 1)}, "x is a scalar")
}
