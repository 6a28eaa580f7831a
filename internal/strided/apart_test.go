package strided

import (
	"bytes"
	"encoding/binary"
	"math"
	"testing"

	"github.com/espalier-ane/espalier/internal/kernel/half"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// Fp16 numbers that lie apart are read and written as one by one, and nothing between
// them is touched.
func TestHalvesApart(t *testing.T) {
	for _, n := range []int{0, 1, 3, 4, 63, 64, 65, 131} {
		for _, stride := range []int{4, 6, 1030, -8} {
			span := max(stride, -stride)
			memory := make([]byte, n*span+2)
			off := 0
			if stride < 0 {
				off = max(n-1, 0) * span
			}
			want := make([]float32, n)
			for i := range want {
				h := uint16(i*509 + 31) // all kinds of numbers
				binary.LittleEndian.PutUint16(memory[off+i*stride:], h)
				want[i] = half.Float(h)
			}
			got := make([]float32, n)
			loadFloats(got, tensor.Float16, memory, off, stride)
			for i, x := range want {
				if math.Float32bits(got[i]) != math.Float32bits(x) && x == x {
					t.Fatalf("element %d of %d, %d bytes apart, is %g, expected %g", i, n, stride, got[i], x)
				}
			}
			written, one := make([]byte, len(memory)), make([]byte, len(memory))
			storeFloats(tensor.Float16, written, off, stride, want)
			for i, x := range want {
				putFloat(tensor.Float16, one[off+i*stride:], x)
			}
			if !bytes.Equal(written, one) {
				t.Fatalf("%d elements, %d bytes apart, are not written as one by one", n, stride)
			}
		}
	}
}

// A layer normalization of rows whose numbers lie apart has the bits of one whose
// numbers lie side by side.
func TestRowsApart(t *testing.T) {
	const rows, cols = 37, 50
	op := func() *Op {
		return &Op{Operands: []Operand{
			dense(0, tensor.Float16, 1, 1, 1, rows, cols), dense(1, tensor.Float16, 1, 1, 1, rows, cols),
			dense(2, tensor.Float16, 1, 1, 1, 1, cols), dense(3, tensor.Float16, 1, 1, 1, 1, cols),
		}, Params: &td.LayerNorm{Axes: 1 << axisW, Epsilon: 1e-5}}
	}
	near, far := op(), op()
	far.Operands[1].Strides[axisH], far.Operands[1].Strides[axisW] = 2, 2*rows
	a, b := bindDense(t, near), bindDense(t, far)
	if _, ok := b.kernel.(standardRows); !ok {
		t.Fatalf("it is done by %T", b.kernel)
	}
	for r := range rows {
		for c := range cols {
			copy(b.w.Memory[1][2*(c*rows+r):][:2], a.w.Memory[1][2*(r*cols+c):])
		}
	}
	a.run()
	b.run()
	if !bytes.Equal(a.w.Memory[0], b.w.Memory[0]) {
		t.Error("the results differ")
	}
}

// A function after a product and a sum, over a tile at once, has the bits of the same
// steps row by row.
func TestFunctionOfTiles(t *testing.T) {
	for _, f := range []td.Function{td.FuncGELU, td.FuncSwish, td.FuncTanh} {
		for _, broadcast := range []bool{false, true} {
			op := benchMatMul(45, 40, 70, false)
			other := dense(3, tensor.Float16, 1, 1, 1, 45, 70)
			if broadcast {
				other = dense(3, tensor.Float16, 1, 1, 1, 1, 70)
			}
			op.Operands = append(op.Operands, other)
			op.Epilogue = []td.MicroOp{
				{Code: td.MicroEW, Function: uint8(td.EWAdd), Source: td.FromOperand(3)}, activation(f, 1, 0),
			}
			b := bindDense(t, op)
			k := b.kernel.(*matmul)
			if !k.sink.fast.is || k.sink.fast.function == nil {
				t.Fatalf("%v is not done over a tile", f)
			}
			b.run()
			got := bytes.Clone(b.w.Memory[0])
			k.sink.fast.is = false
			b.run()
			if !bytes.Equal(got, b.w.Memory[0]) {
				t.Errorf("%v, broadcast %v: the results differ", f, broadcast)
			}
		}
	}
}
