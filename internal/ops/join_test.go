package ops

import (
	"testing"

	"github.com/espalier-ane/espalier/tensor"
)

func TestJoin(t *testing.T) {
	runMoves(t, []moveCase{
		{IOS15, "concat", args{"values": []*tensor.Tensor{seqFrom(tensor.Float32, 0, 3, 2), seqFrom(tensor.Float32, 10, 3, 2)}, "axis": 0},
			results{result(dims(6, 2), 0, 1, 2, 3, 4, 5, 10, 11, 12, 13, 14, 15)}},
		{IOS15, "concat", args{"values": []*tensor.Tensor{seqFrom(tensor.Float32, 0, 3, 2), seqFrom(tensor.Float32, 10, 3, 2), f32(dims(3, 1), 0, 2, 4)}, "axis": -1},
			results{result(dims(3, 5), 0, 1, 10, 11, 0, 2, 3, 12, 13, 2, 4, 5, 14, 15, 4)}},
		{IOS15, "concat", args{"values": []*tensor.Tensor{seqFrom(tensor.Float32, 0, 3, 2), seqFrom(tensor.Float32, 10, 3, 2)}, "axis": 0, "interleave": true},
			results{result(dims(6, 2), 0, 1, 10, 11, 2, 3, 12, 13, 4, 5, 14, 15)}},
		{IOS15, "concat", args{"values": []*tensor.Tensor{seqFrom(tensor.Float32, 0, 3, 2), seqFrom(tensor.Float32, 10, 3, 2)}, "axis": 1, "interleave": true},
			results{result(dims(3, 4), 0, 10, 1, 11, 2, 12, 3, 13, 4, 14, 5, 15)}},
		{IOS15, "concat", args{"values": []*tensor.Tensor{i32(nil, 4), i32(nil, 5)}, "axis": 0}, results{result(dims(2), 4, 5)}},
		{IOS15, "concat", args{"values": []*tensor.Tensor{i32(nil, 4), i32(dims(2), 5, 6)}, "axis": 0}, results{result(dims(3), 4, 5, 6)}},
		{IOS15, "concat", args{"values": []*tensor.Tensor{bools(dims(2), true, false), bools(dims(1), true)}, "axis": 0},
			results{result(dims(3), 1, 0, 1)}},
		{IOS17, "concat", args{"values": []*tensor.Tensor{u16(dims(2), 1, 2), u16(dims(1), 3)}, "axis": 0}, results{result(dims(3), 1, 2, 3)}},
		{IOS15, "concat", args{"values": []*tensor.Tensor{f32(dims(0)), f32(dims(2), 1, 2)}, "axis": 0}, results{result(dims(2), 1, 2)}},
		{IOS15, "stack", args{"values": []*tensor.Tensor{seqFrom(tensor.Float32, 0, 3, 2), seqFrom(tensor.Float32, 10, 3, 2)}, "axis": 1},
			results{result(dims(3, 2, 2), 0, 1, 10, 11, 2, 3, 12, 13, 4, 5, 14, 15)}},
		{IOS15, "stack", args{"values": []*tensor.Tensor{seqFrom(tensor.Float32, 0, 3, 2), seqFrom(tensor.Float32, 10, 3, 2)}, "axis": -1},
			results{result(dims(3, 2, 2), 0, 10, 1, 11, 2, 12, 3, 13, 4, 14, 5, 15)}},
		{IOS15, "stack", args{"values": []*tensor.Tensor{i32(nil, 4), i32(nil, 5)}, "axis": 0}, results{result(dims(2), 4, 5)}},
		{IOS15, "split", args{"x": seqFrom(tensor.Float32, 0, 2, 6), "num_splits": 3, "axis": 1},
			results{result(dims(2, 2), 0, 1, 6, 7), result(dims(2, 2), 2, 3, 8, 9), result(dims(2, 2), 4, 5, 10, 11)}},
		{IOS15, "split", args{"x": seqFrom(tensor.Int32, 0, 2, 6), "split_sizes": []int{1, 5}, "axis": -1},
			results{result(dims(2, 1), 0, 6), result(dims(2, 5), 1, 2, 3, 4, 5, 7, 8, 9, 10, 11)}},
		{IOS15, "split", args{"x": seqFrom(tensor.Float32, 0, 4), "num_splits": 2, "split_sizes": []int{3, 1}, "axis": 0},
			results{result(dims(3), 0, 1, 2), result(dims(1), 3)}},
	})
}

// TestConcatOfAnyType joins element types that no arithmetic takes.
func TestConcatOfAnyType(t *testing.T) {
	wantStrings(t, evalOp(t, IOS15, "concat", args{"values": []*tensor.Tensor{strs(dims(2), "a", "b"), strs(dims(1), "c")}, "axis": 0})[0], "a", "b", "c")
	nibbles := []*tensor.Tensor{ints(tensor.Int4, dims(3), []int64{-8, 0, 7}), ints(tensor.Int4, dims(3), []int64{1, 2, 3})}
	wantInts(t, evalOp(t, IOS18, "concat", args{"values": nibbles, "axis": 0, "interleave": true})[0], -8, 1, 0, 2, 7, 3)
	wantInts(t, evalOp(t, IOS18, "stack", args{"values": nibbles, "axis": 1})[0], -8, 1, 0, 2, 7, 3)
}

func TestJoinErrors(t *testing.T) {
	a, b := seq(tensor.Float32, 2, 3), seq(tensor.Float32, 2, 2)
	wantErr(t, IOS15, "concat", args{"values": []*tensor.Tensor{a, b}, "axis": 0}, "values[1] has shape [2, 2]", "axis 1", "expected 3")
	wantErr(t, IOS15, "concat", args{"values": []*tensor.Tensor{a, b}, "axis": 1, "interleave": true}, "values[1] has shape [2, 2]")
	wantErr(t, IOS15, "concat", args{"values": []*tensor.Tensor{a, b}, "axis": 2}, "axis is 2")
	wantErr(t, IOS15, "concat", args{"values": []*tensor.Tensor{a, seq(tensor.Float32, 2)}, "axis": 0}, "values[1] has 1 axes", "2")
	wantErr(t, IOS15, "concat", args{"values": []*tensor.Tensor{a, seq(tensor.Int32, 2, 3)}, "axis": 0}, "int32", "fp32")
	wantErr(t, IOS15, "concat", args{"values": &List{}, "axis": 0}, "parameter values is list", "expected a tensor")
	wantErr(t, IOS15, "stack", args{"values": []*tensor.Tensor{a, b}, "axis": 0}, "values[1] has shape [2, 2]")
	wantErr(t, IOS15, "stack", args{"values": []*tensor.Tensor{a, a}, "axis": 3}, "axis is 3")
	wantErr(t, IOS15, "split", args{"x": a, "axis": 1}, "num_splits", "split_sizes")
	wantErr(t, IOS15, "split", args{"x": a, "axis": 1, "num_splits": 2}, "num_splits is 2", "length 3")
	wantErr(t, IOS15, "split", args{"x": a, "axis": 1, "num_splits": 0}, "num_splits is 0")
	wantErr(t, IOS15, "split", args{"x": a, "axis": 1, "num_splits": 1 << 30}, "num_splits is 1073741824")
	wantErr(t, IOS15, "split", args{"x": a, "axis": 1, "split_sizes": []int{1, 1}}, "add up to 2, expected 3")
	wantErr(t, IOS15, "split", args{"x": a, "axis": 1, "split_sizes": []int{4, -1}}, "a length of -1")
	wantErr(t, IOS15, "split", args{"x": a, "axis": 1, "num_splits": 3, "split_sizes": []int{1, 2}}, "num_splits is 3", "2 elements")
}
