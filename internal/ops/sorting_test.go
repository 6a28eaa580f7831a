package ops

import (
	"math"
	"testing"

	"github.com/espalier-ane/espalier/tensor"
)

func TestSort(t *testing.T) {
	runMoves(t, []moveCase{
		{IOS15, "argsort", args{"x": f32(dims(2, 3), 3, 1, 2, 5, 4, 6)}, results{result(dims(2, 3), 0, 2, 1, 2, 0, 1)}},
		{IOS15, "argsort", args{"x": f32(dims(2, 3), 3, 1, 2, 5, 4, 6), "axis": 0, "ascending": true}, results{result(dims(2, 3), 0, 0, 0, 1, 1, 1)}},
		{IOS15, "argsort", args{"x": i32(dims(3), 3, -7, 2), "ascending": true}, results{result(dims(3), 1, 2, 0)}},
		{IOS15, "argsort", args{"x": f32(dims(4), 1, 2, 1, 2)}, results{result(dims(4), 1, 3, 0, 2)}},
		{IOS15, "argsort", args{"x": f32(dims(3), math.NaN(), 2, 1)}, results{result(dims(3), 1, 2, 0)}},
		{IOS15, "topk", args{"x": f32(dims(2, 3), 3, 1, 2, 5, 4, 6), "k": 2}, results{result(dims(2, 2), 3, 2, 6, 5), result(dims(2, 2), 0, 2, 2, 0)}},
		{IOS15, "topk", args{"x": f32(dims(2, 3), 3, 1, 2, 5, 4, 6), "k": 1, "axis": 0, "ascending": true},
			results{result(dims(1, 3), 3, 1, 2), result(dims(1, 3), 0, 0, 0)}},
		{IOS16, "topk", args{"x": i32(dims(3), 3, 1, 2), "k": 2, "return_indices": false}, results{result(dims(2), 3, 2)}},
		{IOS17, "topk", args{"x": u8(dims(3), 7, 250, 3), "k": i8(nil, 2), "output_indices_dtype": "uint16"},
			results{result(dims(2), 250, 7), result(dims(2), 1, 0)}},
		{IOS17, "topk", args{"x": i16(dims(3), 3, 1, 2), "k": -1, "ascending": true}, results{result(dims(3), 1, 2, 3), result(dims(3), 1, 2, 0)}},
		{IOS15, "topk", args{"x": f32(dims(4), 1, 2, 1, 2), "k": 2}, results{result(dims(2), 2, 2), result(dims(2), 1, 3)}},
	})
}

func TestSortErrors(t *testing.T) {
	x := seq(tensor.Float32, 2, 3)
	wantErr(t, IOS15, "argsort", args{"x": x, "axis": 2}, "axis is 2")
	wantErr(t, IOS15, "argsort", args{"x": scalarF32(1)}, "rank 0")
	wantErr(t, IOS15, "topk", args{"x": x, "k": 4}, "k is 4", "length 3")
	wantErr(t, IOS16, "topk", args{"x": x, "k": -1}, "k is -1")
	wantErr(t, IOS17, "topk", args{"x": x, "k": -2}, "k is -2")
	wantErr(t, IOS15, "topk", args{"x": x, "sort": true}, "unknown parameter")
	wantErr(t, IOS17, "topk", args{"x": x, "output_indices_dtype": "int8"}, "int32 or uint16")
	wantErr(t, IOS17, "topk", args{"x": x, "return_indices": false, "output_indices_dtype": "int32"}, "return_indices is false")
}
