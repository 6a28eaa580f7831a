package strided

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/espalier-ane/espalier/internal/kernel/gemm"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// A row has the same bits alone, among a few, among many and in a batch, for each
// micro-kernel, whichever way the matrix lies.
func TestFewRowsAmongOthers(t *testing.T) { forRows(t, fewRowsAmongOthers) }

func fewRowsAmongOthers(t *testing.T, row *gemm.Row) {
	for _, z := range []struct {
		cols, inner          int
		transposed, constant bool
	}{{70, 300, false, false}, {70, 300, true, false}, {370, 720, true, true}} { // the last in panels
		lies := dense(2, tensor.Float16, 1, 1, 1, z.inner, z.cols)
		if z.transposed {
			lies = dense(2, tensor.Float16, 1, 1, 1, z.cols, z.inner)
		}
		lies.Constant = z.constant
		var all []byte
		var few *bound
		shapes := [][2]int{{12, 1}, {1, 1}, {1, 2}, {1, 3}, {1, 4}, {4, 3}, {3, 4}, {1, 12}}
		if !row.Exact && !row.Fused { // an order of its own, for many
			shapes = shapes[:7]
		}
		for _, shape := range shapes {
			op := &Op{Gemm: row, Params: &td.MatMul{TransposeZ: z.transposed}, Operands: []Operand{
				dense(0, tensor.Float16, shape[0], 1, 1, shape[1], z.cols), dense(1, tensor.Float16, shape[0], 1, 1, shape[1], z.inner), lies,
			}}
			b := bindDense(t, op)
			if few == nil { // the first has all rows
				few = b
			}
			copy(b.w.Memory[1], few.w.Memory[1])
			b.w.Memory[2] = few.w.Memory[2]
			for i := range b.w.Packed {
				op.Packs.Fill(b.w.Packed, i, b.w.Memory, nil)
			}
			b.run()
			if all == nil {
				all = b.w.Memory[0]
			}
			k, is := b.kernel.(*fewRows)
			if is != (shape[1] <= maxFew && hasFew(row)) {
				t.Errorf("%d rows, %d times: taken as few is %t", shape[1], shape[0], is)
			}
			if is && k.packed.there != (z.constant && k.row.Side == row.ForFloats().B.Lines) {
				t.Errorf("%d rows, %d times: in panels is %t", shape[1], shape[0], k.packed.there)
			}
			if got := b.w.Memory[0]; !bytes.Equal(got, all[:len(got)]) {
				t.Errorf("%v: %d rows, %d times, have other bits than twelve", z, shape[1], shape[0])
			}
		}
	}
}

// So has a place of a picture.
func TestOnePlaceAmongOthers(t *testing.T) {
	forRows(t, func(t *testing.T, row *gemm.Row) {
		const in, out = 300, 40
		var all *bound
		if !row.Exact && !row.Fused {
			t.Skip("this row adds up in an order of its own: few rows follow the one that it leaves floats to")
		}
		for _, places := range []int{9, 1} {
			op := benchConv(1, in, out, 1, 1, 1, 0, false)
			op.Gemm = row
			op.Operands[0], op.Operands[1] = dense(0, tensor.Float16, 2, 1, out, 1, places), dense(1, tensor.Float16, 2, 1, in, 1, places)
			op.Operands = append(op.Operands, dense(3, tensor.Float16, 1, 1, out, 1, 1))
			b := bindDense(t, op)
			if all == nil {
				all = b
			}
			for i := range 2 * in {
				copy(b.w.Memory[1][2*places*i:][:2], all.w.Memory[1][2*9*i:])
			}
			copy(b.w.Memory[2], all.w.Memory[2])
			copy(b.w.Memory[3], all.w.Memory[3])
			b.run()
			if _, is := b.kernel.(*fewRows); is != (places == 1 && hasFew(row)) {
				t.Errorf("%d places: taken as one is %t", places, is)
			}
			for i := range 2 * out {
				if got, want := b.w.Memory[0][2*places*i:][:2], all.w.Memory[0][2*9*i:][:2]; !bytes.Equal(got, want) {
					t.Fatalf("%d places: element %d is % x, want % x", places, i, got, want)
				}
			}
		}
	})
}

// Nothing is packed of what is read as it lies, and all ways of cutting a product
// into tiles give the same.
func TestFewRowsTiles(t *testing.T) {
	for _, cols := range []int{1, 31, 33, 1000} {
		op := benchMatMul(3, 40, cols, true)
		op.Gemm = gemm.Rows()[0]
		b := bindDense(t, op)
		if len(b.w.Packed) != 0 {
			t.Errorf("%d operands are packed", len(b.w.Packed))
		}
		b.run()
		want := bytes.Clone(b.w.Memory[0])
		clear(b.w.Memory[0])
		for i := range b.tiles {
			b.kernel.Run(b.w, b.tiles-1-i, b.tiles-i)
		}
		if !bytes.Equal(b.w.Memory[0], want) {
			t.Errorf("%d columns: tile by tile there is another result", cols)
		}
	}
}

// BenchmarkFewRows reads a matrix of 77 MB.
func BenchmarkFewRows(b *testing.B) {
	for _, rows := range []int{1, 2, 4} {
		for _, transposed := range []bool{true, false} {
			b.Run(fmt.Sprintf("%d rows, transposed %t", rows, transposed), func(b *testing.B) {
				op := benchMatMul(rows, 768, 50256, true)
				if !transposed {
					op.Params = &td.MatMul{}
					op.Operands[2] = dense(2, tensor.Float16, 1, 1, 1, 768, 50256)
				}
				k := bindDense(b, op)
				b.SetBytes(2 * 768 * 50256)
				for b.Loop() {
					k.run()
				}
			})
		}
	}
}

// hasFew reports whether there is a micro-kernel that adds up a few rows as this one
// does many.
func hasFew(row *gemm.Row) bool {
	few, _ := fewRow(row)
	return few != nil
}
