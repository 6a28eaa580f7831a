package compiler

import (
	"fmt"
	"math"
	"testing"

	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// What a masked position holds, and what the mask has there. The weight of a position whose score is -inf is 0, and 0 times a NaN or
// an infinity is a NaN: so is what comes out, on the host and on the engine, as one operation and written out. A row of which every
// position is masked is NaN as well.
func TestSpecialNumbersInAttention(t *testing.T) {
	const rows, positions, width = 5, 7, 8
	inf := float32(math.Inf(1))
	masked := func(i, j int) bool { return j > i || i == 4 } // the last row wholly
	for _, form := range []string{"operation", "written out", "truths"} {
		for _, hidden := range []float32{-inf, -1e4, -65504} {
			for _, special := range specials {
				for _, where := range []string{"query", "key", "value", "mask"} {
					name := fmt.Sprintf("%s, mask %v, %v in %s", form, hidden, special, where)
					b := mil.NewBuilder("main", "CoreML8")
					q, k, v := b.Input("query", half(1, 1, rows, width)), b.Input("key", half(1, 1, positions, width)), b.Input("value", half(1, 1, positions, width))
					inputs := map[string]*tensor.Tensor{
						"query": ramped(rows, width), "key": ramped(positions, width), "value": ramped(positions, width),
					}
					mask := make([]float32, rows*positions)
					truths := make([]int64, len(mask))
					for i := range mask {
						truths[i] = 1
						if masked(i/positions, i%positions) {
							mask[i], truths[i] = hidden, 0
						}
					}
					if where == "mask" {
						mask[1] = special
					} else {
						tensor.Data[uint16](inputs[where])[(inputs[where].Shape()[2]-2)*width+3] = tensor.ToF16(special)
					}
					var y *mil.Value
					if form == "truths" {
						inputs["mask"] = tensor.FromInt64s(tensor.Bool, truths, 1, 1, rows, positions)
						m := b.Input("mask", mil.Tensor(tensor.Bool, 1, 1, rows, positions))
						y = b.Op("scaled_dot_product_attention", "y", half(1, 1, rows, width), mil.Args{"query": q, "key": k, "value": v, "attn_mask": m})
					} else {
						inputs["mask"] = tensor.FromFloat32s(tensor.Float16, mask, 1, 1, rows, positions)
						m := b.Input("mask", half(1, 1, rows, positions))
						if form == "operation" {
							y = b.Op("scaled_dot_product_attention", "y", half(1, 1, rows, width), mil.Args{"query": q, "key": k, "value": v, "attn_mask": m})
						} else {
							scores := half(1, 1, rows, positions)
							s := b.Op("matmul", "s", scores, mil.Args{"x": q, "y": k, "transpose_y": true})
							s = b.Op("mul", "scaled", scores, mil.Args{"x": s, "y": mil.F16(0.25)})
							s = b.Op("add", "hidden", scores, mil.Args{"x": s, "y": m})
							s = b.Op("softmax", "weights", scores, mil.Args{"x": s, "axis": int32(-1)})
							y = b.Op("matmul", "y", half(1, 1, rows, width), mil.Args{"x": s, "y": v})
						}
					}
					b.Return(y)
					p, err := b.Program()
					if err != nil {
						t.Fatal(err)
					}
					for _, target := range []string{"virtual", "h13", "h16"} {
						if err := sameClasses(t.Context(), p, lookup(t, target), inputs, nil); err != nil {
							t.Errorf("%s: %s: %v", target, name, err)
						}
					}
				}
			}
		}
	}
}

func ramped(rows, width int) *tensor.Tensor {
	vals := make([]float32, rows*width)
	for i := range vals {
		vals[i] = float32(i*5%13-6) / 8
	}
	return tensor.FromFloat32s(tensor.Float16, vals, 1, 1, rows, width)
}
