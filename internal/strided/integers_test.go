package strided

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// Division rounds down also where an operand is infinite, as Python's // does.
func TestFloorDivAtTheEnds(t *testing.T) {
	inf := math.Inf(1)
	for _, tt := range []struct{ a, b, want float64 }{
		{5, inf, 0}, {5, -inf, -1}, {-5, inf, -1}, {-5, -inf, 0}, {0, -inf, 0},
		{inf, 2, inf}, {-inf, 2, -inf}, {1, 0, inf}, {-7, 2, -4}, {7, -2, -4}, {1, 0.1, 9},
	} {
		if got := floorDiv(tt.a, float64(float32(tt.b))); got != tt.want {
			t.Errorf("%v // %v is %v, want %v", tt.a, tt.b, got, tt.want)
		}
	}
}

// What reductions make of integers is exact where fp32 is not, and is truncated.
func TestReductionsOfIntegers(t *testing.T) {
	const big = 1<<24 + 1
	for _, tt := range []struct {
		kind td.ReductionKind
		x    []int32
		want int32
	}{
		{td.ReduceAvg, []int32{big, big}, big},
		{td.ReduceAvg, []int32{-3, -4}, -3},
		{td.ReduceAvg, []int32{math.MaxInt32, math.MaxInt32 - 1, math.MaxInt32}, math.MaxInt32 - 1},
		{td.ReduceL2, []int32{math.MaxInt32}, math.MaxInt32},
		{td.ReduceL2, []int32{2, 2}, 2},
		{td.ReduceLogSum, []int32{3, 5}, 2},
		{td.ReduceLogSum, []int32{0, 0}, 0},
		{td.ReduceSum, []int32{big, 1}, big + 1},
	} {
		var x []byte
		for _, v := range tt.x {
			x = binary.LittleEndian.AppendUint32(x, uint32(v))
		}
		y := make([]byte, 4)
		op := &Op{Params: &td.Reduction{Kind: tt.kind, Axes: td.AxesOf(td.AxisW)}, Operands: []Operand{
			dense(0, tensor.Int32, 1, 1, 1, 1, 1), dense(1, tensor.Int32, 1, 1, 1, 1, len(tt.x)),
		}}
		k, err := Bind(op)
		if err != nil {
			t.Fatal(err)
		}
		runAll(k, y, x)
		if got := int32(binary.LittleEndian.Uint32(y)); got != tt.want {
			t.Errorf("reduction %v of %v is %d, want %d", tt.kind, tt.x, got, tt.want)
		}
	}
}
