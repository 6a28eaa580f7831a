package strided

import (
	"testing"

	"github.com/espalier-ane/espalier/internal/kernel/gemm"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// What is packed: constants, once for each way of reading them, and not if that
// took far more memory than they have.
func TestPacks(t *testing.T) { forRows(t, packsOf) }

func packsOf(t *testing.T, row *gemm.Row) {
	constant := func(o Operand) Operand {
		o.Constant = true
		return o
	}
	weights := constant(dense(2, tensor.Float16, 1, 1, 1, 40, 30))
	repeated := weights
	repeated.Strides = [td.NumAxes]int64{}
	huge := constant(dense(2, tensor.Float16, 1, 1, 1, 1<<14, 1<<14))
	for _, tt := range []struct {
		what       string
		operands   []Operand
		transposed bool // the second
		packed     int
	}{
		{"a constant", []Operand{weights}, false, 1},
		{"the same twice", []Operand{weights, weights}, false, 1},
		{"the same, transposed", []Operand{constant(dense(2, tensor.Float16, 1, 1, 1, 30, 30)), constant(dense(2, tensor.Float16, 1, 1, 1, 30, 30))}, true, 2},
		{"others at another place", []Operand{weights, constant(dense(3, tensor.Float16, 1, 1, 1, 40, 30))}, false, 2},
		{"no constant", []Operand{dense(2, tensor.Float16, 1, 1, 1, 40, 30)}, false, 0},
		{"one element that is repeated", []Operand{repeated}, false, 0},
		{"more than there is room for", []Operand{huge, weights}, false, 1},
	} {
		packs := new(Packs)
		for i, z := range tt.operands {
			p := &td.MatMul{TransposeZ: i == 1 && tt.transposed}
			n, cols := z.Dims[axisH], z.Dims[axisW]
			if p.TransposeZ {
				n, cols = cols, n
			}
			_, err := Bind(&Op{Params: p, Packs: packs, Gemm: row, Operands: []Operand{
				dense(0, tensor.Float16, 1, 1, 1, 5, cols), dense(1, tensor.Float16, 1, 1, 1, 5, n), z,
			}})
			if err != nil {
				t.Fatal(err)
			}
		}
		if got := len(packs.New(make([]byte, packs.Room()))); got != tt.packed {
			t.Errorf("%s: %d operands are packed, want %d", tt.what, got, tt.packed)
		}
	}
}

// Small packs leave fp16 numbers where they lie, and give the bits of the others.
func TestSmallPacks(t *testing.T) { forRows(t, smallPacks) }

func smallPacks(t *testing.T, row *gemm.Row) {
	row = row.ForFloats()
	const rows, cols, n = 20, 96, 512
	var bits [2][]byte
	for i, small := range []bool{false, true} {
		weights := dense(2, tensor.Float16, 1, 1, 1, n, cols)
		weights.Constant = true
		op := &Op{Params: &td.MatMul{}, Gemm: row, Operands: []Operand{
			dense(0, tensor.Float16, 1, 1, 1, rows, cols), dense(1, tensor.Float16, 1, 1, 1, rows, n), weights,
		}}
		b := bindPacked(t, op, &Packs{Small: small})
		b.run()
		bits[i] = b.w.Memory[0]
		if got := op.Packs.Bytes(); small != (got == 0) || got > 4*(n+8)*(cols+32) {
			t.Errorf("small %t: %d bytes for %d weights", small, got, n*cols)
		}
	}
	if string(bits[0]) != string(bits[1]) {
		t.Error("small packs give other bits")
	}
}

// A large matrix for a few rows is left where it lies, too, with the same bits.
func TestSmallPacksFewRows(t *testing.T) { forRows(t, smallPacksFewRows) }

func smallPacksFewRows(t *testing.T, row *gemm.Row) {
	if !hasFew(row) {
		t.Skip("there is no kernel for a few rows")
	}
	const rows, cols, n = 2, 320, 1024
	var bits [2][]byte
	for i, small := range []bool{false, true} {
		weights := dense(2, tensor.Float16, 1, 1, 1, cols, n)
		weights.Constant = true
		op := &Op{Params: &td.MatMul{TransposeZ: true}, Gemm: row, Operands: []Operand{
			dense(0, tensor.Float16, 1, 1, 1, rows, cols), dense(1, tensor.Float16, 1, 1, 1, rows, n), weights,
		}}
		b := bindPacked(t, op, &Packs{Small: small})
		if _, is := b.kernel.(*fewRows); !is {
			t.Fatalf("%T, not a few rows", b.kernel)
		}
		b.run()
		bits[i] = b.w.Memory[0]
		if got := op.Packs.Bytes(); small && got != 0 {
			t.Errorf("%d bytes for %d weights that stay where they lie", got, n*cols)
		}
	}
	if string(bits[0]) != string(bits[1]) {
		t.Error("small packs give other bits")
	}
}
