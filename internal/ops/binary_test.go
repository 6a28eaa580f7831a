package ops

import (
	"math"
	"testing"
)

// Expected values are those that coremltools' value inference, NumPy, computes.
func TestArithmetic(t *testing.T) {
	x, y := f32(dims(7), 7, -7, 7, -7, 1, 0, 5.5), f32(dims(7), 3, 3, -3, -3, 0.1, 2, 0)
	xi, yi := i32(dims(7), 7, -7, 7, -7, 6, 0, -1), i32(dims(7), 3, 3, -3, -3, 2, 2, -1)
	tests := []struct {
		kind   string
		floats []float64
		ints   []int64
	}{
		{"add", []float64{10, -4, 4, -10, 1.10000002, 2, 5.5}, []int64{10, -4, 4, -10, 8, 2, -2}},
		{"sub", []float64{4, -10, 10, -4, 0.899999976, -2, 5.5}, []int64{4, -10, 10, -4, 4, -2, 0}},
		{"mul", []float64{21, -21, -21, 21, 0.100000001, 0, 0}, []int64{21, -21, -21, 21, 12, 0, 1}},
		{"real_div", []float64{2.33333325, -2.33333325, -2.33333325, 2.33333325, 10, 0, inf}, []int64{2, -2, -2, 2, 3, 0, 1}},
		{"floor_div", []float64{2, -3, -3, 2, 9, 0, inf}, []int64{2, -3, -3, 2, 3, 0, 1}},
		{"mod", []float64{1, 2, -2, -1, 0.0999999866, 0, nan}, []int64{1, 2, -2, -1, 0, 0, 0}},
		// NumPy refuses negative powers of integers: by hand.
		{"pow", []float64{343, -343, 0.002915452, -0.002915452, 1, 0, 1}, []int64{343, -343, 0, 0, 36, 0, -1}},
		{"maximum", []float64{7, 3, 7, -3, 1, 2, 5.5}, []int64{7, 3, 7, -3, 6, 2, -1}},
		{"minimum", []float64{3, -7, -3, -7, 0.100000001, 0, 0}, []int64{3, -7, -3, -7, 2, 0, -1}},
	}
	for _, tt := range tests {
		t.Run(tt.kind, func(t *testing.T) {
			wantFloats(t, evalOp(t, IOS15, tt.kind, args{"x": x, "y": y})[0], 1e-7, tt.floats...)
			wantInts(t, evalOp(t, IOS15, tt.kind, args{"x": xi, "y": yi})[0], tt.ints...)
		})
	}
}

func TestComparisons(t *testing.T) {
	// by hand: pairs that are less, equal, greater, and not ordered
	x, y := f16(dims(4), 1, 2, 3, nan), f16(dims(4), 2, 2, 2, 2)
	tests := []struct {
		kind string
		want []bool
	}{
		{"equal", []bool{false, true, false, false}},
		{"not_equal", []bool{true, false, true, true}},
		{"less", []bool{true, false, false, false}},
		{"less_equal", []bool{true, true, false, false}},
		{"greater", []bool{false, false, true, false}},
		{"greater_equal", []bool{false, true, true, false}},
	}
	for _, tt := range tests {
		t.Run(tt.kind, func(t *testing.T) {
			wantBools(t, evalOp(t, IOS15, tt.kind, args{"x": x, "y": y})[0], tt.want...)
			got := evalOp(t, IOS15, tt.kind, args{"x": i32(dims(3), 1, 2, 3), "y": 2})
			wantBools(t, got[0], tt.want[:3]...)
		})
	}
}

func TestLogical(t *testing.T) {
	x, y := bools(dims(4), false, false, true, true), bools(dims(4), false, true, false, true)
	for kind, want := range map[string][]bool{
		"logical_and": {false, false, false, true},
		"logical_or":  {false, true, true, true},
		"logical_xor": {false, true, true, false},
	} {
		wantBools(t, evalOp(t, IOS15, kind, args{"x": x, "y": y})[0], want...)
	}
}

// Expected shapes and values by NumPy's rule.
func TestBroadcast(t *testing.T) {
	row, col := f32(dims(3), 1, 2, 3), f32(dims(2, 1), 10, 20)
	got := evalOp(t, IOS15, "add", args{"x": row, "y": col})
	wantShape(t, got[0], 2, 3)
	wantFloats(t, got[0], 0, 11, 12, 13, 21, 22, 23)
	got = evalOp(t, IOS15, "sub", args{"x": f32(dims(2, 1, 2), 1, 2, 3, 4), "y": f32(dims(1, 3, 1), 0, 10, 20)})
	wantShape(t, got[0], 2, 3, 2)
	wantFloats(t, got[0], 0, 1, 2, -9, -8, -19, -18, 3, 4, -7, -6, -17, -16)
	got = evalOp(t, IOS15, "mul", args{"x": scalarF32(2), "y": scalarF32(3)})
	wantShape(t, got[0])
	wantFloats(t, got[0], 0, 6)
	wantShape(t, evalOp(t, IOS15, "mul", args{"x": f32(dims(0, 1)), "y": f32(dims(1, 4))})[0], 0, 4)
	wantShape(t, evalOp(t, IOS15, "mul", args{"x": f32(dims(2, 0)), "y": scalarF32(1)})[0], 2, 0)
	wantErr(t, IOS15, "add", args{"x": row, "y": f32(dims(2))}, "[3] and [2] do not broadcast: axis -1 has lengths 3 and 2")
	wantErr(t, IOS15, "logical_and", args{"x": bools(dims(3)), "y": bools(dims(2))}, "do not broadcast")
	wantErr(t, IOS15, "add", args{"x": row, "y": fixed(f16(dims(3)))}, "y is tensor<fp16, [3]>, but must have the element type of x, fp32")
	wantErr(t, IOS15, "logical_and", args{"x": row, "y": row}, "expected bool")
}

func TestArithmeticEdges(t *testing.T) {
	i := func(kind string, x, y, want int64) {
		t.Helper()
		wantInts(t, evalOp(t, IOS15, kind, args{"x": scalarI32(x), "y": scalarI32(y)})[0], want)
	}
	i("add", math.MaxInt32, 1, math.MinInt32)
	i("mul", 1<<30, 4, 0)
	i("real_div", 5, 0, 0)
	i("floor_div", 5, 0, 0)
	i("floor_div", math.MinInt32, -1, math.MinInt32)
	i("mod", 5, 0, 0)
	i("pow", 3, 40, 689956897) // 3^40 mod 2^32
	i("pow", 0, 0, 1)
	f := func(kind string, x, y, want float64) {
		t.Helper()
		wantFloats(t, evalOp(t, IOS15, kind, args{"x": scalarF32(x), "y": scalarF32(y)})[0], 0, want)
	}
	f("maximum", nan, 1, nan)
	f("minimum", 1, nan, nan)
	f("mod", 5, -inf, -inf)
	f("mod", -5, inf, inf)
	f("floor_div", 1, -inf, -1)
	f("floor_div", -0.5, 1, -1)
	f("pow", -8, 1.0/3, nan)
	f("pow", 0, 0, 1)
	// fp16: the sum is rounded when it is stored.
	got := evalOp(t, IOS15, "add", args{"x": f16(dims(2), 2048, 65504), "y": f16(dims(2), 1, 65504)})
	wantFloats(t, got[0], 0, 2048, inf)
	got = evalOp(t, IOS15, "add", args{"x": f16(dims(2), 2048, 65504), "y": f16(dims(2), 1, 65504)}, under(FP32))
	wantFloats(t, got[0], 0, 2049, 131008)
}
