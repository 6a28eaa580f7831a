package ops

import (
	"testing"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// TestLowerMoves shows which layers operations that move elements become. What these give is held to the
// evaluator by checkMoves.
func TestLowerMoves(t *testing.T) {
	x := seq(tensor.Float16, 2, 3, 4)
	image := seq(tensor.Float16, 4, 4, 4, 6)
	for _, tt := range []struct {
		name  string
		opset Opset
		kind  string
		args  args
		want  string
	}{
		{"an axis of length 1 moves nothing", IOS15, "expand_dims", args{"x": x, "axes": []int{1}}, "Reshape"},
		{"the same extents need no layer", IOS15, "expand_dims", args{"x": x, "axes": []int{0}}, ""},
		{"transpose", IOS15, "transpose", args{"x": x, "perm": []int{2, 0, 1}}, "Transpose"},
		{"shapes are known", IOS15, "shape", args{"x": x}, ""},
		{"a view for each axis that is cut", IOS15, "slice_by_index",
			args{"x": x, "begin": []int{1, 0, 3}, "end": []int{2, 3, 0}, "stride": []int{1, 1, -1}}, "InputView InputView"},
		{"a squeezed axis", IOS15, "slice_by_index",
			args{"x": x, "begin": []int{0, 1, 0}, "end": []int{2, 2, 4}, "squeeze_mask": []bool{false, true, false}}, "InputView Reshape"},
		{"a live begin", IOS15, "slice_by_size",
			args{"x": x, "begin": i32(dims(3), 1, 0, 2), "size": []int{1, 3, 2}}, "InputView InputView Concat DynamicSlice"},
		{"an update of neighbours", IOS18, "slice_update",
			args{"x": x, "update": seq(tensor.Float16, 1, 3, 2), "begin": []int{1, 0, 1}, "end": []int{2, 3, 3}}, "RingBufferWriter"},
		{"a live update", IOS18, "slice_update",
			args{"x": x, "update": seq(tensor.Float16, 2, 1, 4), "begin": i32(dims(3), 0, 1, 0), "end": i32(dims(3), 2, 2, 4)},
			"InputView RingBufferWriter"},
		{"an update of all", IOS18, "slice_update",
			args{"x": x, "update": x, "begin": []int{0, 0, 0}, "end": []int{2, 3, 4}}, ""},
		{"an update of each second element", IOS18, "slice_update",
			args{"x": x, "update": seq(tensor.Float16, 1, 3, 2), "begin": []int{1, 0, 0}, "end": []int{2, 3, 4}, "stride": []int{1, 1, 2}},
			"InputView Concat Gather RingBufferWriter"},
		{"stack", IOS15, "stack", args{"values": []*tensor.Tensor{x, x}, "axis": 1}, "Reshape Reshape Concat"},
		{"nothing is joined with nothing", IOS15, "concat", args{"values": []*tensor.Tensor{x, seq(tensor.Float16, 2, 0, 4)}, "axis": 1}, ""},
		{"parts are views", IOS15, "split", args{"x": x, "num_splits": 3, "axis": 1}, "InputView InputView InputView"},
		{"a repeated 1 is a broadcast", IOS15, "tile", args{"x": seq(tensor.Float16, 1, 3), "reps": []int{4, 1}}, "Broadcast"},
		{"tile", IOS15, "tile", args{"x": x, "reps": []int{1, 2, 1}}, "Tile"},
		{"pad", IOS15, "pad", args{"x": x, "pad": []int{1, 0, 2, 2}, "mode": "reflect"}, "Padding"},
		{"no pad", IOS15, "pad", args{"x": x, "pad": []int{0, 0}}, ""},
		{"sorted indices", IOS15, "argsort", args{"x": x}, "Sort"},
		{"narrow indices", IOS17, "topk", args{"x": x, "k": 2, "output_indices_dtype": "uint16"}, "TopK TypeCast"},
		{"blocks", IOS15, "depth_to_space", args{"x": image, "block_size": 2}, "ChannelToSpace"},
		{"blocks and crops", IOS15, "batch_to_space",
			args{"x": image, "block_shape": []int{2, 2}, "crops": fixed(i32(dims(2, 2), 1, 0, 0, 0))}, "BatchToSpace InputView"},
		{"reverse", IOS15, "reverse", args{"x": x, "axes": []int{1}}, "InputView"},
		{"windows", IOS15, "sliding_windows", args{"x": x, "axis": 2, "size": 2}, "Gather Reshape"},
		{"one known index is a view", IOS15, "gather", args{"x": x, "indices": fixed(scalarI32(1)), "axis": 1}, "InputView Reshape"},
		{"so are indices equally far apart", IOS15, "gather", args{"x": x, "indices": []int{2, 1, 0}, "axis": 1}, "InputView"},
		{"known indices", IOS15, "gather", args{"x": x, "indices": []int{2, 0, 0}, "axis": 1}, "Gather"},
		{"live indices", IOS15, "gather", args{"x": x, "indices": i32(dims(2, 2), 0, 1, 1, 0), "axis": 0}, "Reshape Gather Reshape"},
		{"an index for each element", IOS15, "gather_along_axis", args{"x": x, "indices": i32(dims(2, 3, 1), 3), "axis": 2}, "Gather"},
		{"known neighbours are written", IOS15, "scatter",
			args{"data": x, "indices": []int{1, 2}, "updates": seq(tensor.Float16, 2, 2, 4), "axis": 1, "mode": "update"}, "RingBufferWriter"},
		{"known places are spread", IOS15, "scatter",
			args{"data": x, "indices": []int{2, 0}, "updates": seq(tensor.Float16, 2, 2, 4), "axis": 1, "mode": "update"}, "Concat Gather"},
		{"and combined before", IOS15, "scatter",
			args{"data": x, "indices": []int{0}, "updates": seq(tensor.Float16, 2, 1, 4), "axis": 1, "mode": "add"},
			"InputView ElementWise RingBufferWriter"},
		{"the last update of a place stays", IOS15, "scatter",
			args{"data": x, "indices": []int{1, 0, 1}, "updates": seq(tensor.Float16, 2, 3, 4), "axis": 1, "mode": "update"}, "Concat Gather"},
		{"sums of the same place go in rounds", IOS15, "scatter",
			args{"data": x, "indices": []int{1, 2, 1}, "updates": seq(tensor.Float16, 2, 3, 4), "axis": 1, "mode": "add"},
			"InputView InputView ElementWise RingBufferWriter InputView InputView ElementWise RingBufferWriter"},
	} {
		t.Run(tt.name, func(t *testing.T) { wantKinds(t, lowerOp(t, tt.opset, tt.kind, tt.args), tt.want) })
	}
}

func TestMovesThatAreRefused(t *testing.T) {
	x := seq(tensor.Float16, 2, 3, 4)
	wantRefusal(t, IOS15, "slice_by_index", args{"x": x, "begin": i32(dims(3), 0, 0, 0), "end": i32(dims(3), 1, 1, 1)}, "only known when it runs")
	wantRefusal(t, IOS15, "pad", args{"x": x, "pad": i32(dims(6), 1)}, "only known when it runs")
	wantRefusal(t, IOS15, "reverse", args{"x": seq(tensor.Float16, 2, 0)}, "without elements")
	wantRefusal(t, IOS15, "transpose", args{"x": seq(tensor.Float16, 1, 1, 1, 1, 2, 2), "perm": []int{5, 4, 3, 2, 1, 0}}, "rank 6")
	wantRefusal(t, IOS17, "gather", args{"x": x, "indices": []int{0, 2}, "axis": 0}, "no place of 2")
	wantRefusal(t, IOS15, "scatter", args{"data": seq(tensor.Float32, 9), "indices": i32(dims(9), 0), "updates": seq(tensor.Float32, 9)}, "9 updates")
	wantRefusal(t, IOS15, "scatter", args{"data": seq(tensor.Float32, 3), "indices": make([]int, 9), "updates": seq(tensor.Float32, 9)}, "the same place")
}

// TestLowerStates shows that what a slice of a state is written to is the state itself.
func TestLowerStates(t *testing.T) {
	s := NewState(mil.Tensor(tensor.Float16, 2, 3))
	g := lowerOp(t, IOS18, "coreml_update_state", args{"state": s, "value": seq(tensor.Float16, 2, 3)})
	if got := g.States[0].After; got != g.Outputs[0] || got != g.Inputs[0] {
		t.Errorf("the state is %v after the update, expected the value\n%s", got, anec.Print(g))
	}
	g = lowerOp(t, IOS18, "read_state", args{"input": s})
	if g.Outputs[0] != g.States[0].Before {
		t.Errorf("reading gives %v, expected the state\n%s", g.Outputs[0], anec.Print(g))
	}
}
