package ops

import (
	"testing"

	"github.com/espalier-ane/espalier/tensor"
)

func TestSlice(t *testing.T) {
	runMoves(t, []moveCase{
		{IOS15, "slice_by_index", args{"x": seqFrom(tensor.Float32, 0, 2, 3, 4), "begin": []int{1, 1, 1}, "end": []int{2, 3, 4}, "stride": []int{1, 1, 2}},
			results{result(dims(1, 2, 2), 17, 19, 21, 23)}},
		{IOS15, "slice_by_index", args{"x": seqFrom(tensor.Float32, 0, 2, 3, 4), "begin": []int{-3, -3, -3}, "end": []int{-1, -1, -1}},
			results{result(dims(1, 2, 2), 1, 2, 5, 6)}},
		{IOS15, "slice_by_index", args{"x": seqFrom(tensor.Float32, 0, 2, 3, 4), "begin": []int{0, 0, -3}, "end": []int{-1, -2, -2}},
			results{result(dims(1, 1, 1), 1)}},
		{IOS15, "slice_by_index", args{"x": seqFrom(tensor.Float32, 0, 2, 3, 4), "begin": []int{-1, -1, -1}, "end": []int{0, 1, -3}, "stride": []int{-2, -1, -3}},
			results{result(dims(1, 1, 1), 23)}},
		{IOS15, "slice_by_index", args{"x": seqFrom(tensor.Float32, 0, 2, 3, 4), "begin": []int{1, 1, 1}, "end": []int{2, 3, 4}, "stride": []int{1, 1, 2}, "begin_mask": []bool{true, false, true}},
			results{result(dims(2, 2, 2), 4, 6, 8, 10, 16, 18, 20, 22)}},
		{IOS15, "slice_by_index", args{"x": seqFrom(tensor.Float32, 0, 2, 3, 4), "begin": []int{1, 1, 1}, "end": []int{2, 3, 4}, "stride": []int{1, 1, 2}, "begin_mask": []bool{true, false, true}, "end_mask": []bool{true, true, false}},
			results{result(dims(2, 2, 2), 4, 6, 8, 10, 16, 18, 20, 22)}},
		{IOS15, "slice_by_index", args{"x": seqFrom(tensor.Float32, 0, 2, 3, 4), "begin": []int{1, 1, 1}, "end": []int{2, 3, 3}, "stride": []int{1, 1, 2}, "begin_mask": []bool{false, false, true}, "end_mask": []bool{true, false, false}, "squeeze_mask": []bool{false, true, false}},
			results{result(dims(1, 2), 16, 18)}},
		{IOS15, "slice_by_index", args{"x": seqFrom(tensor.Float32, 0, 2, 3, 4), "begin": []int{0, 0, 1}, "end": []int{0, 0, 0}, "begin_mask": []bool{true, true, false}, "end_mask": []bool{true, true, false}, "squeeze_mask": []bool{false, false, true}},
			results{result(dims(2, 3), 1, 5, 9, 13, 17, 21)}},
		{IOS15, "slice_by_index", args{"x": seqFrom(tensor.Float32, 0, 2, 3, 4), "begin": []int{1, 0, 0}, "end": []int{0, 0, 0}, "begin_mask": []bool{false, true, true}, "end_mask": []bool{false, true, true}, "squeeze_mask": []bool{true, false, false}},
			results{result(dims(3, 4), 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23)}},
		{IOS15, "slice_by_index", args{"x": seqFrom(tensor.Float32, 0, 6), "begin": []int{0}, "end": []int{0}, "stride": []int{-1}, "begin_mask": []bool{true}, "end_mask": []bool{true}},
			results{result(dims(6), 5, 4, 3, 2, 1, 0)}},
		{IOS15, "slice_by_index", args{"x": seqFrom(tensor.Int32, 0, 6), "begin": []int{3}, "end": []int{0}, "squeeze_mask": []bool{true}},
			results{result(nil, 3)}},
		{IOS15, "slice_by_index", args{"x": seqFrom(tensor.Float32, 0, 1, 3, 2), "begin": []int{-1, 0, 0}, "end": []int{-2, 0, 0}, "stride": []int{-1, 1, 1}, "begin_mask": []bool{false, true, true}, "end_mask": []bool{false, true, true}},
			results{result(dims(1, 3, 2), 0, 1, 2, 3, 4, 5)}},
		{IOS15, "slice_by_index", args{"x": seqFrom(tensor.Float32, 0, 6), "begin": []int{2}, "end": []int{100}, "stride": []int{3}},
			results{result(dims(2), 2, 5)}},
		{IOS15, "slice_by_index", args{"x": seqFrom(tensor.Float32, 0, 6), "begin": []int{2}, "end": []int{2}}, results{result(dims(0))}},
		{IOS17, "slice_by_index", args{"x": seqFrom(tensor.Int8, 0, 6), "begin": i16(dims(1), 4), "end": i16(dims(1), 6)}, results{result(dims(2), 4, 5)}},
		{IOS15, "slice_by_index", args{"x": bools(dims(3), true, false, true), "begin": []int{1}, "end": []int{3}}, results{result(dims(2), 0, 1)}},
		{IOS15, "slice_by_index", args{"x": f32(dims(1), 5), "begin": []int{0}, "end": []int{0}, "squeeze_mask": []bool{true}}, results{result(nil, 5)}},
		{IOS18, "slice_update", args{"x": seqFrom(tensor.Float32, 0, 3, 4), "update": f32(dims(2, 2), -1, -2, -3, -4), "begin": []int{0, 1}, "end": []int{2, 3}},
			results{result(dims(3, 4), 0, -1, -2, 3, 4, -3, -4, 7, 8, 9, 10, 11)}},
		{IOS18, "slice_update", args{"x": seqFrom(tensor.Float32, 0, 3, 4), "update": f32(dims(1, 2), -1, -2), "begin": []int{2, 0}, "end": []int{0, 4}, "stride": []int{1, 2}, "end_mask": []bool{true, false}},
			results{result(dims(3, 4), 0, 1, 2, 3, 4, 5, 6, 7, -1, 9, -2, 11)}},
		{IOS18, "slice_update", args{"x": seqFrom(tensor.Int32, 0, 2, 3), "update": i32(dims(2), -1, -2), "begin": []int{0, -1}, "end": []int{0, 0}, "begin_mask": []bool{true, false}, "end_mask": []bool{true, false}, "squeeze_mask": []bool{false, true}},
			results{result(dims(2, 3), 0, 1, -1, 3, 4, -2)}},
		{IOS18, "slice_update", args{"x": seqFrom(tensor.UInt8, 0, 6), "update": u8(dims(3), 9, 8, 7), "begin": []int{4}, "end": []int{0}, "stride": []int{-2}, "end_mask": []bool{true}},
			results{result(dims(6), 7, 1, 8, 3, 9, 5)}},
		{IOS18, "slice_update", args{"x": seqFrom(tensor.Int8, 0, 4), "update": i8(dims(4), 9, 8, 7, 6), "begin": i8(dims(1), 0), "end": i8(dims(1), 0), "stride": i8(dims(1), -1), "begin_mask": []bool{true}, "end_mask": []bool{true}},
			results{result(dims(4), 6, 7, 8, 9)}},
		{IOS15, "slice_by_size", args{"x": seqFrom(tensor.Int32, 0, 3, 4), "begin": []int{0, 1}, "size": []int{2, 2}},
			results{result(dims(2, 2), 1, 2, 5, 6)}},
		{IOS15, "slice_by_size", args{"x": seqFrom(tensor.Float32, 0, 3, 4), "begin": []int{1, 2}, "size": []int{-1, -1}},
			results{result(dims(2, 2), 6, 7, 10, 11)}},
		{IOS15, "slice_by_size", args{"x": seqFrom(tensor.Float32, 0, 3, 4), "begin": []int{-2, 1}, "size": []int{1, 3}},
			results{result(dims(1, 3), 5, 6, 7)}},
		{IOS15, "slice_by_size", args{"x": seqFrom(tensor.Float32, 0, 3, 2), "begin": []int{1, 0}, "size": []int{0, 2}}, results{result(dims(0, 2))}},
		{IOS17, "slice_by_size", args{"x": seqFrom(tensor.UInt16, 0, 6), "begin": i8(dims(1), 1), "size": i8(dims(1), 3)},
			results{result(dims(3), 1, 2, 3)}},
	})
}

// TestSliceLength has lengths of slices of an axis whose own length is open.
func TestSliceLength(t *testing.T) {
	n := tensor.Symbol(0)
	for _, tt := range []struct {
		begin, end, stride int
		beginMask, endMask bool
		want               tensor.Dim
	}{
		{0, 0, 1, true, true, n},
		{0, 0, -1, true, true, n},
		{0, 0, 1, false, true, n},
		{-1, 0, -1, false, true, n},
		{0, 0, 2, true, true, tensor.Unknown},
		{-1, 0, 1, false, true, tensor.Unknown}, // none of an empty axis
		{0, 0, -1, false, true, tensor.Unknown},
		{3, 4, 1, false, false, tensor.Unknown}, // none of an axis of length 3
		{3, 3, 1, false, false, 0},
		{5, 3, 1, false, false, 0},
		{-3, -1, -2, false, false, 0},
		{-1, -2, -1, false, false, tensor.Unknown},
		{-3, -2, 1, false, false, tensor.Unknown},
		{1, -1, 1, false, false, tensor.Unknown},
		{0, 5, 1, true, false, tensor.Unknown},
	} {
		s := &slicing{begin: []int{tt.begin}, end: []int{tt.end}, stride: []int{tt.stride},
			beginMask: []bool{tt.beginMask}, endMask: []bool{tt.endMask}, squeezed: []bool{false}}
		if got, err := s.length(0, n); err != nil || got != tt.want {
			t.Errorf("%+v has length %v, %v, expected %v", *s, got, err, tt.want)
		}
	}
}

func TestSliceErrors(t *testing.T) {
	x := seq(tensor.Float32, 2, 3)
	wantErr(t, IOS15, "slice_by_index", args{"x": x, "begin": []int{0}, "end": []int{1, 1}}, "begin has 1 elements, expected 2")
	wantErr(t, IOS15, "slice_by_index", args{"x": x, "begin": []int{0, 0}, "end": []int{1, 1}, "stride": []int{1, 0}}, "stride [1 0] has a 0")
	wantErr(t, IOS15, "slice_by_index", args{"x": x, "begin": []int{0, 0}, "end": []int{1, 1}, "end_mask": []bool{true}}, "end_mask has 1 elements, expected 2")
	for _, begin := range [][]int{{0, 3}, {0, -4}} {
		wantErr(t, IOS15, "slice_by_index", args{"x": x, "begin": begin, "end": []int{1, 1}, "squeeze_mask": []bool{false, true}}, "outside axis 1", "length 3")
	}
	wantErr(t, IOS15, "slice_by_size", args{"x": x, "begin": []int{0, 2}, "size": []int{1, 2}}, "axis 1", "2 elements from 2 on exceed the length 3")
	wantErr(t, IOS15, "slice_by_size", args{"x": x, "begin": []int{0, 4}, "size": []int{1, -1}}, "begin is 4, expected -3 to 3")
	wantErr(t, IOS15, "slice_by_size", args{"x": x, "begin": []int{0, 0}, "size": []int{1, -2}}, "-2 on axis 1")
	update := args{"x": x, "update": f32(dims(2, 2)), "begin": []int{0, 0}, "end": []int{2, 3}}
	wantErr(t, IOS18, "slice_update", update, "update has shape [2, 2], expected [2, 3]")
	update["update"] = scalarF32(1)
	wantErr(t, IOS18, "slice_update", update, "update is a scalar")
	update["update"] = i32(dims(2, 3))
	wantErr(t, IOS18, "slice_update", update, "element type of x")
	wantErr(t, IOS17, "slice_update", update, "comes with iOS18")
}
