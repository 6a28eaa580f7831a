package strided

import (
	"encoding/binary"
	"math"
	"testing"
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
		kind uint8
		x    []int32
		want int32
	}{
		{3, []int32{big, big}, big},
		{3, []int32{-3, -4}, -3},
		{3, []int32{math.MaxInt32, math.MaxInt32 - 1, math.MaxInt32}, math.MaxInt32 - 1},
		{67, []int32{math.MaxInt32}, math.MaxInt32},
		{67, []int32{2, 2}, 2},
		{68, []int32{3, 5}, 2},
		{68, []int32{0, 0}, 0},
		{0, []int32{big, 1}, big + 1},
	} {
		var x []byte
		for _, v := range tt.x {
			x = binary.LittleEndian.AppendUint32(x, uint32(v))
		}
		y := make([]byte, 4)
		dims := [NumAxes]int{1, 1, 1, 1, len(tt.x)}
		op := &Op{Class: classReduction, Params: Params{Kind: tt.kind, Axes: 1 << axisW}, Operands: []Operand{
			{Type: I32, Interleave: 1, Dims: [NumAxes]int{1, 1, 1, 1, 1}},
			{Type: I32, Interleave: 1, Dims: dims, Strides: [NumAxes]int{0, 0, 0, 0, 4}, Base: 1},
		}}
		k, err := Bind(op)
		if err != nil {
			t.Fatal(err)
		}
		runAll(k, y, x)
		if got := int32(binary.LittleEndian.Uint32(y)); got != tt.want {
			t.Errorf("reduction %s of %v is %d, want %d", reducers[tt.kind].name, tt.x, got, tt.want)
		}
	}
}
