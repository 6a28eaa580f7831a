package ops

import (
	"math"
	"testing"

	"github.com/espalier-ane/espalier/tensor"
)

// The expected values of quantize are those of coremltools' value inference, those of dequantize were computed
// by hand.
func TestQuantize(t *testing.T) {
	x := f32(dims(2, 4), -1.3, 0.5, 1.5, 2.5, 100, -200, 3.75, 0)
	got := evalOp(t, IOS17, "quantize", args{"input": x, "scale": f32(dims(2), 0.5, 1), "zero_point": i8(dims(2), 1, -2), "axis": 0, "output_dtype": "int8"})
	wantInts(t, got[0], -2, 2, 4, 6, 98, -128, 2, -2)
	got = evalOp(t, IOS17, "quantize", args{"input": x, "scale": scalarF32(1), "zero_point": u8(nil, 5), "output_dtype": "uint8"})
	wantInts(t, got[0], 4, 5, 7, 7, 105, 0, 9, 5)
	got = evalOp(t, IOS17, "quantize", args{"input": x, "scale": scalarF32(1), "output_dtype": "int8"})
	wantInts(t, got[0], -1, 0, 2, 2, 100, -128, 4, 0)
	// What has no quotient still has a result.
	got = evalOp(t, IOS18, "quantize", args{
		"input": f16(dims(5), math.Inf(1), math.Inf(-1), math.NaN(), 1, 0), "scale": f16(dims(5), 1, 1, 1, 0, 0), "axis": -1, "output_dtype": "int8",
	})
	wantInts(t, got[0], 127, -128, 0, 127, 0)
	got = evalOp(t, IOS17, "quantize", args{"input": scalarF32(3), "scale": scalarF32(2), "output_dtype": "int8"})
	wantInts(t, got[0], 2)
	wantShape(t, got[0])
}

func TestDequantize(t *testing.T) {
	x := i8(dims(2, 3), -128, 0, 127, 1, 2, 3)
	got := evalOp(t, IOS17, "dequantize", args{"input": x, "scale": f16(dims(3), 0.5, 0.25, 2), "zero_point": i8(dims(3), 1, -2, 0), "axis": -1})
	wantFloats(t, got[0], 0, -64.5, 0.5, 254, 0, 1, 6)
	got = evalOp(t, IOS17, "dequantize", args{"input": u8(dims(3), 0, 7, 255), "scale": scalarF32(0.5), "zero_point": u8(nil, 7)})
	wantFloats(t, got[0], 0, -3.5, 0, 124)
	got = evalOp(t, IOS17, "dequantize", args{"input": x, "scale": f32(dims(2), 1, 10), "axis": 0})
	wantFloats(t, got[0], 0, -128, 0, 127, 10, 20, 30)
}

func TestQuantizeErrors(t *testing.T) {
	x := f32(dims(2, 3))
	for _, tt := range []struct {
		kind string
		args args
		want string
	}{
		{"quantize", args{"input": x, "scale": scalarF32(1), "output_dtype": "int4"}, `output_dtype is "int4", expected "int8" or "uint8"`},
		{"quantize", args{"input": x, "scale": scalarF32(0), "output_dtype": "int8"}, "scale is 0"},
		{"quantize", args{"input": x, "scale": scalarF32(1), "zero_point": u8(nil), "output_dtype": "int8"}, "zero_point is uint8, but output_dtype is int8"},
		{"quantize", args{"input": x, "scale": f32(dims(3), 1), "output_dtype": "int8"}, "scale is a vector, but there is no axis"},
		{"quantize", args{"input": x, "scale": f32(dims(3), 1), "axis": 0, "output_dtype": "int8"}, "scale has length 3, expected the length of the data's axis, 2"},
		{"quantize", args{"input": x, "scale": f32(dims(3), 1), "axis": 5, "output_dtype": "int8"}, "axis is 5"},
		{"quantize", args{"input": x, "scale": f16(dims(3), 1), "axis": 1, "output_dtype": "int8"}, "must have the element type of input"},
		{"dequantize", args{"input": i8(dims(2, 3)), "scale": f32(dims(3), 1), "zero_point": i8(nil), "axis": 1}, "zero_point has rank 0, expected that of scale, 1"},
		{"dequantize", args{"input": i8(dims(2, 3)), "scale": f32(dims(1, 3), 1), "axis": 1}, "scale is tensor<fp32, [1, 3]>, expected a scalar or a vector"},
		{"dequantize", args{"input": i8(dims(2, 3)), "scale": f32(nil, 1), "zero_point": u8(nil)}, "must have the element type of input, int8"},
	} {
		wantErr(t, IOS17, tt.kind, tt.args, tt.want)
	}
	// The length of the axis may be known only when the program runs.
	types := inferOp(t, IOS17, "dequantize", args{"input": ints(tensor.Int8, dims(2, 3), nil), "scale": f32(dims(3), 1), "axis": 1})
	if types[0] != "tensor<fp32, [2, 3]>" {
		t.Error(types)
	}
}
