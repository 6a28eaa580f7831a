package td

import (
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/tensor"
)

func rankingSamples() []*Op {
	x, y := dense(tensor.Float16, 2, 1, 8, 7, 9), dense(tensor.Float16, 2, 1, 8, 3, 9)
	window := UnitWindow
	window.Kernel[1], window.Stride[1] = 3, 2
	return []*Op{
		{Params: &ArgMinMax{Mode: SpatialArgMax, Window: window}, Operands: []Operand{dense(tensor.Int32, 2, 1, 8, 3, 9), x}},
		{Params: &ArgMinMax{Mode: ChannelArgMin}, Operands: []Operand{dense(tensor.UInt16, 2, 1, 1, 7, 9), x}},
		{Params: &GlobalArgMinMax{Type: Min, Axis: AxisW}, Operands: []Operand{dense(tensor.Int32, 2, 1, 8, 7, 1), x}},
		{Params: &Sort{Direction: Descending, Sorting: Sorting{Axis: AxisC}}, Operands: []Operand{x, {}, x}},
		{Params: &Sort{Direction: Ascending, Sorting: Sorting{Axis: AxisC, Results: ResultIndices}}, Operands: []Operand{dense(tensor.Int32, 2, 1, 8, 7, 9), {}, x}},
		{
			Params:   &TopK{Type: Max, K: 3, Sorting: Sorting{Axis: AxisH, VectorAxis: AxisC, NumKeys: 2, Keys: [MaxSortKeys]int{5, 2}, Results: ResultBoth}},
			Operands: []Operand{y, dense(tensor.Int32, 2, 1, 1, 3, 9), x, y},
			Epilogue: []MicroOp{{Code: MicroEW, Function: uint8(EWAdd), Source: FromOperand(3)}},
		},
	}
}

func TestRankingErrors(t *testing.T) {
	x := dense(tensor.Float16, 2, 1, 8, 7, 200)
	i32 := func(dims ...int) Operand { return dense(tensor.Int32, dims...) }
	for _, tt := range []struct {
		params   Params
		operands []Operand
		want     string
	}{
		{&ArgMinMax{}, []Operand{x, x}, "mode 0 is not known"},
		{&ArgMinMax{Mode: ChannelArgMax}, []Operand{i32(2, 1, 8, 7, 200), x}, "y has 8 along C, want 1"},
		{&ArgMinMax{Mode: SpatialArgMax}, []Operand{x, x}, "want 1 or more"},
		{&ArgMinMax{Mode: SpatialArgMax, Window: UnitWindow}, []Operand{i32(2, 1, 3, 7, 200), x}, "y has 2 and 3 along N and C, x 2 and 8"},
		{&GlobalArgMinMax{Axis: AxisW}, []Operand{x, x}, "extreme 0 is not known"},
		{&GlobalArgMinMax{Type: Max, Axis: 5}, []Operand{x, x}, "5 is no axis"},
		{&GlobalArgMinMax{Type: Max, Axis: AxisW}, []Operand{i32(2, 1, 8, 7, 1), i32(2, 1, 8, 7, 0)}, "x has nothing along W"},
		{&GlobalArgMinMax{Type: Max, Axis: AxisW}, []Operand{dense(tensor.Int8, 2, 1, 8, 7, 1), x}, "y is int8, which does not hold indices to 199"},
		{&GlobalArgMinMax{Type: Max, Axis: AxisH}, []Operand{dense(tensor.Bool, 2, 1, 8, 1, 200), x}, "y is bool, which does not hold indices to 6"},
		{&Sort{}, []Operand{x, {}, x}, "direction 0 is not known"},
		{&Sort{Direction: Ascending, Sorting: Sorting{Results: 2}}, []Operand{x, {}, x}, "results 2 is not known"},
		{&Sort{Direction: Ascending}, []Operand{x, x}, "want 3 to 8 operands"},
		{&Sort{Direction: Ascending}, []Operand{{}, x, x}, "y is not there"},
		{&Sort{Direction: Ascending}, []Operand{x, i32(2, 1, 8, 7, 200), x}, "Values are wanted, indices have an operand: true"},
		{&Sort{Direction: Ascending, Sorting: Sorting{Results: ResultBoth}}, []Operand{x, {}, x}, "Both are wanted, indices have an operand: false"},
		{&Sort{Direction: Ascending, Sorting: Sorting{Results: ResultBoth}}, []Operand{x, i32(2, 1, 8, 7, 1), x}, "indices has extents [2 1 8 7 1], want [2 1 8 7 200]"},
		{&Sort{Direction: Ascending, Sorting: Sorting{Axis: AxisW, Results: ResultIndices}}, []Operand{dense(tensor.Int8, 2, 1, 8, 7, 200), {}, x}, "y is int8, which"},
		{&Sort{Direction: Ascending, Sorting: Sorting{NumKeys: 9}}, []Operand{x, {}, x}, "9 keys: want 8 or less"},
		{&Sort{Direction: Ascending, Sorting: Sorting{NumKeys: 1}}, []Operand{x, {}, x}, "vectors along N, which is sorted"},
		{&Sort{Direction: Ascending, Sorting: Sorting{VectorAxis: AxisC, NumKeys: 1, Keys: [8]int{8}}}, []Operand{x, {}, x}, "key 0 is 8 of 8 along C"},
		{&Sort{Direction: Ascending, Sorting: Sorting{VectorAxis: AxisC, NumKeys: 1, Keys: [8]int{3, 1}}}, []Operand{x, {}, x}, "key 1 of 1 is 1, want 0"},
		{&Sort{Direction: Ascending, Sorting: Sorting{VectorAxis: AxisC, NumKeys: 1, Results: ResultBoth}}, []Operand{x, i32(2, 1, 8, 7, 200), x}, "indices has extents [2 1 8 7 200], want [2 1 1 7 200]"},
		{&TopK{}, []Operand{x, {}, x}, "extreme 0 is not known"},
		{&TopK{Type: Min, K: 9, Sorting: Sorting{Axis: AxisC}}, []Operand{x, {}, x}, "the first 9 of 8 along C"},
		{&TopK{Type: Min, K: 3, Sorting: Sorting{Axis: AxisC}}, []Operand{x, {}, x}, "y has extents [2 1 8 7 200], want [2 1 3 7 200]"},
	} {
		err := (&Op{Params: tt.params, Operands: tt.operands}).Validate()
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: got %v, want %q", tt.params, err, tt.want)
		}
	}
	// The epilogue cannot read a result.
	op := rankingSamples()[5]
	op.Epilogue[0].Source = FromOperand(1)
	if err := op.Validate(); err == nil || !strings.Contains(err.Error(), "cannot be read") {
		t.Errorf("got %v", err)
	}
}
