package engine_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/espalier-ane/espalier/internal/engine"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// rankedSample has equal elements, and of floats NaN, infinities and zeros of
// both signs.
func rankedSample(seed uint64, d tensor.DType, shape ...int) *tensor.Tensor {
	r := newRand(seed)
	n, _ := tensor.Count(shape)
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(r.IntN(5) - 2)
		if d.IsFloat() {
			switch r.IntN(10) {
			case 0:
				v[i] = float32(math.NaN())
			case 1:
				v[i] = float32(math.Inf(1 - 2*r.IntN(2)))
			}
		}
	}
	return tensor.FromFloat32s(d, v, shape...)
}

// The shape of the tests below: rank 4, which has its axes at N, C, H and W.
var (
	rankedShape = []int{2, 7, 5, 9}
	rankedAxes  = []td.Axis{td.AxisN, td.AxisC, td.AxisH, td.AxisW}
)

func rankedDims(shape []int) [td.NumAxes]int {
	return [td.NumAxes]int{shape[0], 1, shape[1], shape[2], shape[3]}
}

func TestRankingOps(t *testing.T) {
	for axis := range rankedShape {
		for _, d := range []tensor.DType{tensor.Float32, tensor.Int32} {
			for _, ascending := range []bool{false, true} {
				x := rankedSample(uint64(axis), d, rankedShape...)
				dims, along := rankedDims(rankedShape), rankedAxes[axis]
				source := td.Operand{Type: d, Dims: dims}
				operand := func(d tensor.DType, n int) td.Operand {
					o := td.Operand{Type: d, Dims: dims}
					o.Dims[along] = n
					return o
				}
				typed := func(d tensor.DType, n int) string {
					shape := append([]int(nil), rankedShape...)
					shape[axis] = n
					return fmt.Sprintf("tensor<%v, [%d, %d, %d, %d]>", d, shape[0], shape[1], shape[2], shape[3])
				}
				extreme, name := td.Max, "reduce_argmax"
				if ascending {
					extreme, name = td.Min, "reduce_argmin"
				}

				text := fmt.Sprintf("%s(x = x, axis = int32(%d), keep_dims = bool(true))", name, axis)
				want := evaluateMIL(t, x, typed(tensor.Int32, 1)+" y", "y", text)
				got := engine.RunOperation(t, &td.Op{Params: &td.GlobalArgMinMax{Type: extreme, Axis: along},
					Operands: []td.Operand{operand(tensor.Int32, 1), source}}, x)
				nearMIL(t, text, got[0], want[0], 0)
				if along == td.AxisC {
					mode := td.ChannelArgMax
					if ascending {
						mode = td.ChannelArgMin
					}
					got := engine.RunOperation(t, &td.Op{Params: &td.ArgMinMax{Mode: mode},
						Operands: []td.Operand{operand(tensor.Int32, 1), source}}, x)
					nearMIL(t, "channels as "+text, got[0], want[0], 0)
				}

				n := rankedShape[axis]
				direction := td.Descending
				if ascending {
					direction = td.Ascending
				}
				text = fmt.Sprintf("argsort(x = x, axis = int32(%d), ascending = bool(%t))", axis, ascending)
				want = evaluateMIL(t, x, typed(tensor.Int32, n)+" y", "y", text)
				got = engine.RunOperation(t, &td.Op{Params: &td.Sort{Direction: direction, Sorting: td.Sorting{Axis: along, Results: td.ResultIndices}},
					Operands: []td.Operand{operand(tensor.Int32, n), {}, source}}, x)
				nearMIL(t, text, got[0], want[0], 0)

				for _, k := range []int{1, 2, n} {
					text = fmt.Sprintf("topk(x = x, k = int32(%d), axis = int32(%d), ascending = bool(%t), output_indices_dtype = string(\"uint16\"))", k, axis, ascending)
					want = evaluateMIL(t, x, typed(d, k)+" y, "+typed(tensor.UInt16, k)+" z", "y, z", text)
					got = engine.RunOperation(t, &td.Op{Params: &td.TopK{Type: extreme, K: k, Sorting: td.Sorting{Axis: along, Results: td.ResultBoth}},
						Operands: []td.Operand{operand(d, k), operand(tensor.UInt16, k), source}}, x)
					nearMIL(t, text, got[0], want[0], 0)
					nearMIL(t, text+", indices", got[1], want[1], 0)
				}
			}
		}
	}
}
