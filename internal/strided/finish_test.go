package strided

import (
	"bytes"
	"testing"

	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// Rows of a tile that are put together have the bits that each has by itself, however
// they and the operands of the epilogue lie.
func TestPutTileIsPut(t *testing.T) {
	const rows = 45
	for _, cols := range []int{1, 24, 64, 300} {
		for _, apart := range []int{cols, cols + 5} { // in the tile, and in the residual
			residual := dense(4, tensor.Float16, 1, 1, 1, rows, apart)
			residual.Dims[axisW] = cols
			lanes := dense(5, tensor.Float16, 1, 1, 1, 1, 1)
			lanes.Interleave, lanes.Dims, lanes.Strides[axisC] = 4, [td.NumAxes]int{1, 1, 3, 1, 1}, 0
			op := &Op{Params: &td.MatMul{}, Operands: []Operand{
				dense(0, tensor.Float16, 1, 1, 3, rows, cols), dense(1, tensor.Float16, 1, 1, 1, rows, 8), dense(2, tensor.Float16, 1, 1, 1, 8, cols),
				dense(3, tensor.Float16, 1, 1, 1, 1, cols), residual, lanes,
			}}
			for i := 3; i < len(op.Operands); i++ {
				op.Epilogue = append(op.Epilogue, td.MicroOp{Code: td.MicroEW, Function: uint8(td.EWAdd), Source: td.FromOperand(i)})
			}
			op.Epilogue = append(op.Epilogue, activation(td.FuncSigmoid, 0, 0), td.MicroOp{Code: td.MicroEW, Function: uint8(td.EWMult), Source: td.FromStep(0)})
			s := newSink(op)
			w := NewScratch(s.need())
			w.Memory = make([][]byte, len(op.Operands))
			for i := range w.Memory {
				w.Memory[i] = make([]byte, 3*2*rows*(cols+5))
				for j := range w.Memory[i] {
					w.Memory[i][j] = byte(j*j>>3+i) & 0x3f
				}
			}
			tile := make([]float32, rows*apart)
			fill := func() {
				for j := range tile {
					tile[j] = float32(j%77)/16 - 2
				}
			}
			at := index{axisC: 1}
			fill()
			for r := range rows {
				i := at
				i[axisH] = r
				s.put(w, tile[r*apart:][:cols], i, axisW)
			}
			want := bytes.Clone(w.Memory[0])
			clear(w.Memory[0][2*rows*cols:][:2*rows*cols])
			fill()
			s.putTile(w, tile, apart, rows, cols, nil, at, axisH)
			if !bytes.Equal(w.Memory[0], want) {
				t.Errorf("%d columns, %d apart: other bits than row by row", cols, apart)
			}
			fill()
			for c := range 3 { // whose lanes lie side by side
				s.put(w, tile[c*apart:][:cols], index{axisC: c}, axisW)
			}
			copy(want, w.Memory[0])
			clear(w.Memory[0][:2*cols])
			clear(w.Memory[0][2*rows*cols:][:2*cols])
			fill()
			s.putTile(w, tile, apart, 3, cols, nil, index{}, axisC)
			if !bytes.Equal(w.Memory[0], want) {
				t.Errorf("%d columns, %d apart: other bits than channel by channel", cols, apart)
			}
		}
	}
}
