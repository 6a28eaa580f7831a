package ops

import (
	"math"
	"testing"

	"github.com/espalier-ane/espalier/tensor"
)

func TestGenerate(t *testing.T) {
	runMoves(t, []moveCase{
		{IOS15, "fill", args{"shape": []int{2, 3}, "value": 4.5}, results{result(dims(2, 3), 4.5, 4.5, 4.5, 4.5, 4.5, 4.5)}},
		{IOS15, "fill", args{"shape": []int{2}}, results{result(dims(2), 0, 0)}},
		{IOS15, "fill", args{"shape": i32(dims(1), 2), "value": i32(nil, 7)}, results{result(dims(2), 7, 7)}},
		{IOS15, "fill", args{"shape": i32(dims(2), 1, 2), "value": bools(nil, true)}, results{result(dims(1, 2), 1, 1)}},
		{IOS15, "fill", args{"shape": i32(dims(2), 0, 2)}, results{result(dims(0, 2))}},
		{IOS16, "fill_like", args{"ref_tensor": seqFrom(tensor.Int32, 1, 2, 2), "value": f16(nil, 1.5)}, results{result(dims(2, 2), 1.5, 1.5, 1.5, 1.5)}},
		{IOS16, "fill_like", args{"ref_tensor": f32(dims(2), 1, 2)}, results{result(dims(2), 0, 0)}},
		{IOS15, "range_1d", args{"start": i32(nil, 5), "end": i32(nil, 15), "step": i32(nil, 3)}, results{result(dims(4), 5, 8, 11, 14)}},
		{IOS15, "range_1d", args{"start": i32(nil, 5), "end": i32(nil, -3), "step": i32(nil, -2)}, results{result(dims(4), 5, 3, 1, -1)}},
		{IOS15, "range_1d", args{"start": i32(nil, 5), "end": i32(nil, 5), "step": i32(nil, 1)}, results{result(dims(0))}},
		{IOS15, "range_1d", args{"start": i32(nil, 5), "end": i32(nil, 1), "step": i32(nil, 1)}, results{result(dims(0))}},
		{IOS15, "range_1d", args{"start": f32(nil, 0.5), "end": f32(nil, 2), "step": f32(nil, 0.25)},
			results{result(dims(6), 0.5, 0.75, 1, 1.25, 1.5, 1.75)}},
		{IOS15, "range_1d", args{"start": f32(nil, 0), "end": f32(nil, 7), "step": f32(nil, 0.75)},
			results{result(dims(10), 0, 0.75, 1.5, 2.25, 3, 3.75, 4.5, 5.25, 6, 6.75)}},
		{IOS15, "range_1d", args{"start": f16(nil, 3), "end": f16(nil, 1), "step": f16(nil, -0.5)}, results{result(dims(4), 3, 2.5, 2, 1.5)}},
		{IOS15, "one_hot", args{"indices": i32(dims(3), 1, 0, 3), "one_hot_vector_size": 4},
			results{result(dims(3, 4), 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1)}},
		{IOS15, "one_hot", args{"indices": i32(dims(3), 1, 0, 3), "one_hot_vector_size": 4, "axis": 0, "on_value": f16(nil, 5), "off_value": f16(nil, -1)},
			results{result(dims(4, 3), -1, 5, -1, 5, -1, -1, -1, -1, -1, -1, -1, 5)}},
		{IOS15, "one_hot", args{"indices": i32(dims(2, 2), 2, 0, 1, 1), "one_hot_vector_size": 3, "axis": -2},
			results{result(dims(2, 3, 2), 0, 1, 0, 0, 1, 0, 0, 0, 1, 1, 0, 0)}},
		{IOS15, "one_hot", args{"indices": i32(dims(3), 2, -1, 3), "one_hot_vector_size": 3, "on_value": i32(nil, 5)},
			results{result(dims(3, 3), 0, 0, 5, 0, 0, 0, 0, 0, 0)}},
		{IOS15, "one_hot", args{"indices": i32(nil, 1), "one_hot_vector_size": i32(nil, 2), "on_value": bools(nil, true), "off_value": bools(nil, false)},
			results{result(dims(2), 0, 1)}},
		{IOS15, "tile", args{"x": seqFrom(tensor.Float32, 1, 2, 3), "reps": []int{2, 2}},
			results{result(dims(4, 6), 1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6, 1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6)}},
		{IOS15, "tile", args{"x": seqFrom(tensor.Float32, 1, 2, 3), "reps": i32(dims(2), 1, 3)},
			results{result(dims(2, 9), 1, 2, 3, 1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6, 4, 5, 6)}},
		{IOS15, "tile", args{"x": bools(dims(2, 1), true, false), "reps": []int{1, 2}}, results{result(dims(2, 2), 1, 1, 0, 0)}},
	})
}

func TestGenerateErrors(t *testing.T) {
	wantErr(t, IOS15, "fill", args{"shape": []int{2, -1}, "value": 1.0}, "a length of -1")
	wantErr(t, IOS15, "fill", args{"shape": i32(dims(2), 2, -1)}, "a length of -1")
	wantErr(t, IOS15, "fill", args{"shape": i32(dims(4), 1<<30)}, "does not fit in memory")
	wantErr(t, IOS15, "fill", args{"shape": []int{2}, "value": f32(dims(2), 1, 2)}, "value has shape [2], expected a scalar")
	for _, scalar := range []func(float64) *tensor.Tensor{scalarF32, scalarF16, func(v float64) *tensor.Tensor { return scalarI32(int64(v)) }} {
		wantErr(t, IOS15, "range_1d", args{"start": scalar(0), "end": scalar(3), "step": scalar(0)}, "step is 0")
	}
	wantErr(t, IOS15, "range_1d", args{"start": scalarF32(0), "end": scalarF32(3e38), "step": scalarF32(1e-38)}, "no length")
	wantErr(t, IOS15, "range_1d", args{"start": scalarF32(0), "end": scalarF32(math.NaN()), "step": scalarF32(1)}, "no length")
	wantErr(t, IOS15, "range_1d", args{"start": scalarF32(0), "end": scalarI32(3), "step": scalarF32(1)}, "element type of end")
	wantErr(t, IOS15, "one_hot", args{"indices": i32(dims(1), 1), "one_hot_vector_size": -1}, "one_hot_vector_size is -1")
	wantErr(t, IOS15, "one_hot", args{"indices": i32(dims(1), 1), "one_hot_vector_size": 2, "axis": 2}, "axis is 2")
	wantErr(t, IOS15, "one_hot", args{"indices": i32(dims(1), 1), "one_hot_vector_size": 2, "on_value": scalarF32(1), "off_value": scalarI32(0)}, "off_value", "element type of on_value")
	wantErr(t, IOS15, "tile", args{"x": seq(tensor.Float32, 2), "reps": []int{0}}, "0 on axis 0")
	wantErr(t, IOS15, "tile", args{"x": seq(tensor.Float32, 2), "reps": []int{1, 2}}, "reps has 2 elements, expected 1")
	wantErr(t, IOS15, "tile", args{"x": seq(tensor.Float32, 2, 2), "reps": []int{1 << 30, 1 << 30}}, "does not fit in memory")
}

// TestOneHotDefaults takes the element type of the value that is given: a default has none of its own.
func TestOneHotDefaults(t *testing.T) {
	for _, given := range []string{"on_value", "off_value"} {
		got := inferOp(t, IOS15, "one_hot", args{"indices": i32(dims(2)), "one_hot_vector_size": 3, given: scalarF16(1)})
		if got[0] != "tensor<fp16, [2, 3]>" {
			t.Errorf("with %s of fp16 the result is %s", given, got[0])
		}
	}
}

func TestPad(t *testing.T) {
	runMoves(t, []moveCase{
		{IOS15, "pad", args{"x": seqFrom(tensor.Float32, 0, 2, 3), "pad": []int{1, 0, 0, 2}, "mode": "constant", "constant_val": f32(nil, 9)},
			results{result(dims(3, 5), 9, 9, 9, 9, 9, 0, 1, 2, 9, 9, 3, 4, 5, 9, 9)}},
		{IOS15, "pad", args{"x": seqFrom(tensor.Float32, 0, 2, 3), "pad": []int{1, 2}}, results{result(dims(2, 6), 0, 0, 1, 2, 0, 0, 0, 3, 4, 5, 0, 0)}},
		{IOS15, "pad", args{"x": seqFrom(tensor.Float32, 0, 2, 3), "pad": []int{1, 1, 2, 2}, "mode": "reflect"},
			results{result(dims(4, 7), 5, 4, 3, 4, 5, 4, 3, 2, 1, 0, 1, 2, 1, 0, 5, 4, 3, 4, 5, 4, 3, 2, 1, 0, 1, 2, 1, 0)}},
		{IOS15, "pad", args{"x": seqFrom(tensor.Float32, 0, 2, 3), "pad": i32(dims(4), 2, 0, 1, 3), "mode": "replicate"},
			results{result(dims(4, 7), 0, 0, 1, 2, 2, 2, 2, 0, 0, 1, 2, 2, 2, 2, 0, 0, 1, 2, 2, 2, 2, 3, 3, 4, 5, 5, 5, 5)}},
		{IOS15, "pad", args{"x": seqFrom(tensor.Float16, 0, 2, 2, 3), "pad": []int{0, 1, 0, 1}, "mode": "reflect"},
			results{result(dims(2, 3, 4), 0, 1, 2, 1, 3, 4, 5, 4, 0, 1, 2, 1, 6, 7, 8, 7, 9, 10, 11, 10, 6, 7, 8, 7)}},
		{IOS15, "pad", args{"x": f32(dims(2), 1, 2), "pad": []int{0, 0}, "mode": "reflect"}, results{result(dims(2), 1, 2)}},
	})
}

func TestPadErrors(t *testing.T) {
	x := seq(tensor.Float32, 2, 3)
	wantErr(t, IOS15, "pad", args{"x": x, "pad": []int{1, 1}, "mode": "edge"}, "mode is \"edge\"")
	wantErr(t, IOS15, "pad", args{"x": x, "pad": []int{1}}, "pad has 1 elements")
	wantErr(t, IOS15, "pad", args{"x": x, "pad": []int{0, 0, 0, 0, 0, 0}}, "pad has 6 elements")
	wantErr(t, IOS15, "pad", args{"x": x, "pad": []int{0, -1}}, "axis 1", "expected no negative")
	wantErr(t, IOS15, "pad", args{"x": x, "pad": i32(dims(2), 0, 1)}, "pad has 2 elements, expected 4 if it is not constant")
	wantErr(t, IOS15, "pad", args{"x": x, "pad": []int{2, 0, 0, 0}, "mode": "reflect"}, "axis 0", "up to 1")
	wantErr(t, IOS15, "pad", args{"x": x, "pad": i32(dims(4), 0, 0, 0, 3), "mode": "reflect"}, "axis 1", "up to 2")
	wantErr(t, IOS15, "pad", args{"x": f32(dims(0)), "pad": []int{1, 0}, "mode": "replicate"}, "no edge")
}
