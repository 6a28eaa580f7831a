package td

import (
	"math"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/tensor"
)

// A refusal is an operation that does not hold, and a part of what is said.
type refusal struct {
	params   Params
	operands []Operand
	want     string
}

func checkRefusals(t *testing.T, refusals []refusal) {
	t.Helper()
	for _, r := range refusals {
		op := &Op{Params: r.params, Operands: r.operands}
		if err := op.Validate(); err == nil || !strings.Contains(err.Error(), r.want) {
			t.Errorf("%v %+v: %v, want %q", op.Class(), r.params, err, r.want)
		}
	}
}

func quantSamples() []*Op {
	x, q := dense(tensor.Float16, 2, 1, 8, 7, 9), dense(tensor.Int8, 2, 1, 8, 7, 9)
	scale, zero := dense(tensor.Float16, 1, 1, 8, 1, 1), dense(tensor.Int8, 1, 1, 8, 1, 1)
	return []*Op{
		{Params: &ElementWise{Kind: EWSelect}, Operands: []Operand{x, dense(tensor.Bool, 1, 1, 1, 1, 9), x, scale}},
		{Params: &Quant{}, Operands: []Operand{q, x, scale, zero}},
		{Params: &DeQuant{}, Operands: []Operand{x, q, scale, {}, {}, {}, x}, Epilogue: []MicroOp{{Code: MicroEW, Function: uint8(EWAdd), Source: FromOperand(6)}}},
		{
			Params: &DeQuant{Blocks: [5]int{2, 1, 4, 1, 3}, VectorAxis: AxisH},
			Operands: []Operand{
				dense(tensor.Float32, 2, 1, 8, 6, 9), dense(tensor.UInt3, 2, 1, 8, 2, 9), dense(tensor.Float16, 1, 1, 2, 3, 1), dense(tensor.Int8, 2, 1, 1, 1, 1),
				dense(tensor.Float16, 1, 1, 24, 5, 3),
			},
		},
		{
			Params:   &DeQuant{Blocks: [5]int{1, 1, 1, 1, 1}},
			Operands: []Operand{x, dense(tensor.UInt6, 1, 1, 1, 1, 77), {}, {}, dense(tensor.UInt8, 1, 1, 1, 40, 1), dense(tensor.UInt1, 2, 1, 8, 7, 9)},
		},
		{Params: &ScaledElementWise{Kind: ScaledSumSquare, Scale: -0.5}, Operands: []Operand{x, x, scale}},
		{Params: &RandomGenerator{Low: -1, High: 2.5, Seed: math.MaxUint32}, Operands: []Operand{x}},
		{
			Params:   &RingBufferWriter{Offset: [5]int{1, 0, 2, 0, 9}, Circular: AxesOf(AxisW), Live: [5]int{0, 0, 2, 1, 0}},
			Operands: []Operand{x, x, dense(tensor.Float16, 1, 1, 8, 2, 4), dense(tensor.Int32, 1, 1, 1, 1, 2)},
		},
	}
}

func TestQuantRefusals(t *testing.T) {
	x, q := dense(tensor.Float16, 2, 1, 8, 7, 9), dense(tensor.Int8, 2, 1, 8, 7, 9)
	scale, wrong := dense(tensor.Float16, 1, 1, 8, 1, 1), dense(tensor.Float16, 1, 1, 3, 1, 1)
	table, mask, ones := dense(tensor.Float16, 1, 1, 1, 4, 1), dense(tensor.UInt1, 2, 1, 8, 7, 9), [5]int{1, 1, 1, 1, 1}
	window, start := dense(tensor.Float16, 2, 1, 8, 7, 4), dense(tensor.Int32, 1, 1, 1, 1, 2)
	checkRefusals(t, []refusal{
		{&ElementWise{Kind: EWSelect}, []Operand{x, x, x}, "no third source"},
		{&ElementWise{Kind: EWSelect}, []Operand{x, x}, "Select has z: false"},
		{&ElementWise{Kind: EWSelect}, []Operand{x, x, x, wrong}, "other has 3 along C"},
		{&Quant{}, []Operand{x, x, scale}, "y is of fp16, want integers"},
		{&Quant{}, []Operand{q, q, scale}, "x is of int8, want floats"},
		{&Quant{}, []Operand{q, x, q}, "scale is of int8, want floats"},
		{&Quant{}, []Operand{q, x, wrong}, "scale has 3 along C"},
		{&Quant{}, []Operand{q, scale, scale}, "x has extents"},
		{&DeQuant{}, []Operand{x, q, q}, "scale is of int8, want floats"},
		{&DeQuant{}, []Operand{x, q, scale, wrong}, "zero has 3 along C, want what divides 8"},
		{&DeQuant{}, []Operand{x, q, {}, scale}, "scale is not"},
		{&DeQuant{}, []Operand{x, dense(tensor.Int8, 2, 1, 8, 7, 3), scale}, "x has extents"},
		{&DeQuant{Blocks: [5]int{1, 1, 1, 1, 1}}, []Operand{x, q}, "of no table"},
		{&DeQuant{VectorAxis: 1}, []Operand{x, q}, "of no table"},
		{&DeQuant{Blocks: ones}, []Operand{x, x, {}, {}, table}, "x is of fp16, want integers"},
		{&DeQuant{Blocks: ones, VectorAxis: 5}, []Operand{x, q, {}, {}, table}, "5 is no axis"},
		{&DeQuant{Blocks: [5]int{1, 1, 3, 1, 1}}, []Operand{x, q, {}, {}, table}, "grid has 3 along C"},
		{&DeQuant{}, []Operand{x, q, {}, {}, table}, "grid has 0 along N"},
		{&DeQuant{Blocks: [5]int{2, 1, 8, 7, 9}}, []Operand{x, q, {}, {}, table}, "want 1, 1, 1008"},
		{&DeQuant{Blocks: ones}, []Operand{x, q, {}, {}, dense(tensor.Float16, 1, 1, 1, 0, 1)}, "table has extents"},
		{&DeQuant{Blocks: ones, VectorAxis: AxisC}, []Operand{x, q, {}, {}, dense(tensor.Float16, 1, 1, 1, 4, 3)}, "entries of 3 elements do not fit blocks of 8 along C"},
		{&DeQuant{Blocks: ones, VectorAxis: AxisC}, []Operand{x, q, {}, {}, dense(tensor.Float16, 1, 1, 1, 4, 2)}, "x has extents"},
		{&DeQuant{Blocks: ones, VectorAxis: AxisC}, []Operand{x, q, {}, {}, dense(tensor.Float16, 1, 1, 1, 4, 2), mask}, "want 1 where there is a mask"},
		{&DeQuant{}, []Operand{x, dense(tensor.Int8, 1, 1, 1, 1, 9), {}, {}, {}, q}, "mask is of int8"},
		{&DeQuant{}, []Operand{x, dense(tensor.Int8, 1, 1, 1, 1, 9), {}, {}, {}, dense(tensor.Bool, 1, 1, 1, 1, 9)}, "mask has extents"},
		{&DeQuant{}, []Operand{x, dense(tensor.Int8, 1, 1, 1, 9, 1), {}, {}, {}, mask}, "one axis, for there is a mask"},
		{&ScaledElementWise{Kind: 6}, []Operand{x, x, x}, "scaled elementwise kind 6 is not known"},
		{&ScaledElementWise{Kind: ScaledAdd}, []Operand{x, x, wrong}, "z has 3 along C"},
		{&RandomGenerator{Low: 1, High: 1}, []Operand{x}, "from 1 to 1"},
		{&RandomGenerator{Low: float32(math.NaN()), High: 1}, []Operand{x}, "from NaN"},
		{&RandomGenerator{High: float32(math.Inf(1))}, []Operand{x}, "from 0 to +Inf"},
		{&RingBufferWriter{}, []Operand{x, x, q}, "want one type"},
		{&RingBufferWriter{}, []Operand{x, window, window}, "state has extents"},
		{&RingBufferWriter{}, []Operand{window, window, x}, "leave the state"},
		{&RingBufferWriter{Offset: [5]int{4: 6}}, []Operand{x, x, window}, "4 elements from 6 on along W leave the state, which has 9"},
		{&RingBufferWriter{Offset: [5]int{4: 10}, Circular: AxesOf(AxisW)}, []Operand{x, x, window}, "leave the state"},
		{&RingBufferWriter{Live: [5]int{4: 3}}, []Operand{x, x, window, start}, "number 3 of start along W: it has 2"},
		{&RingBufferWriter{Live: [5]int{4: 1}}, []Operand{x, x, window}, "number 1 of start along W: it has 0"},
		{&RingBufferWriter{}, []Operand{x, x, window, scale}, "want integers along W"},
	})
	step := []MicroOp{{Code: MicroScaleBias, A: 1}}
	for _, op := range []*Op{
		{Params: &Quant{}, Operands: []Operand{q, x, scale}, Epilogue: step},
		{Params: &RingBufferWriter{}, Operands: []Operand{x, x, window}, Epilogue: step},
	} {
		if err := op.Validate(); err == nil || !strings.Contains(err.Error(), "stored as they are") {
			t.Errorf("%v with an epilogue: %v", op.Class(), err)
		}
	}
	op := &Op{Params: &Copy{}, Operands: []Operand{x, x}, Epilogue: []MicroOp{{Code: MicroEW, Function: uint8(EWSelect)}}}
	if err := op.Validate(); err == nil || !strings.Contains(err.Error(), "three values") {
		t.Errorf("select in an epilogue: %v", err)
	}
}
