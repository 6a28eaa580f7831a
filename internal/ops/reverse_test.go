package ops

import (
	"fmt"
	"testing"

	"github.com/espalier-ane/espalier/tensor"
)

func TestReverse(t *testing.T) {
	runMoves(t, []moveCase{
		{IOS15, "reverse", args{"x": seqFrom(tensor.Float32, 0, 2, 3)}, results{result(dims(2, 3), 5, 4, 3, 2, 1, 0)}},
		{IOS15, "reverse", args{"x": seqFrom(tensor.Float32, 0, 2, 3), "axes": []int{-1}}, results{result(dims(2, 3), 2, 1, 0, 5, 4, 3)}},
		{IOS17, "reverse", args{"x": seqFrom(tensor.UInt16, 0, 2, 3), "axes": []int{0}}, results{result(dims(2, 3), 3, 4, 5, 0, 1, 2)}},
		{IOS15, "reverse_sequence", args{"x": seqFrom(tensor.Float32, 0, 3, 4), "lengths": i32(dims(3), 0, 2, 4), "seq_axis": 1, "batch_axis": 0},
			results{result(dims(3, 4), 0, 1, 2, 3, 5, 4, 6, 7, 11, 10, 9, 8)}},
		{IOS17, "reverse_sequence", args{"x": i8(dims(4, 3), 0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11), "lengths": i16(dims(3), 0, 2, 4), "seq_axis": 0, "batch_axis": 1},
			results{result(dims(4, 3), 0, 5, 11, 1, 4, 10, 2, 6, 9, 3, 7, 8)}},
		{IOS15, "sliding_windows", args{"x": seqFrom(tensor.Float32, 0, 6), "axis": 0, "size": 3, "stride": 2},
			results{result(dims(2, 3), 0, 1, 2, 2, 3, 4)}},
		{IOS15, "sliding_windows", args{"x": seqFrom(tensor.Float32, 0, 2, 3, 2), "axis": -2, "size": 2},
			results{result(dims(2, 2, 2, 2), 0, 1, 2, 3, 2, 3, 4, 5, 6, 7, 8, 9, 8, 9, 10, 11)}},
		{IOS17, "sliding_windows", args{"x": seqFrom(tensor.Int8, 0, 4), "axis": 0, "size": 2}, results{result(dims(3, 2), 0, 1, 1, 2, 2, 3)}},
	})
}

func TestReverseErrors(t *testing.T) {
	x := seq(tensor.Float32, 2, 3)
	wantErr(t, IOS15, "reverse", args{"x": x, "axes": []int{2}}, "axes is 2")
	wantErr(t, IOS15, "reverse_sequence", args{"x": x, "lengths": i32(dims(2))}, "both 0")
	wantErr(t, IOS15, "reverse_sequence", args{"x": x, "lengths": i32(dims(3)), "seq_axis": 1}, "lengths has shape [3], expected [2]")
	for _, n := range []int64{-1, 4} {
		wantErr(t, IOS15, "reverse_sequence", args{"x": x, "lengths": i32(dims(2), 0, n), "seq_axis": 1}, fmt.Sprintf("lengths has %d, expected 0 to 3", n))
	}
	wantErr(t, IOS15, "sliding_windows", args{"x": x, "axis": 1, "size": 4}, "size is 4", "length 3")
	wantErr(t, IOS15, "sliding_windows", args{"x": x, "axis": 1, "size": 1, "stride": 0}, "stride 0")
	wantErr(t, IOS15, "sliding_windows", args{"x": x, "axis": 2, "size": 1}, "axis is 2")
}
