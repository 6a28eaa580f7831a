package strided

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/espalier-ane/espalier/internal/kernel/gemm"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// Products of codes give the bits of products of what they stand for: convolutions and
// matrices, by every row, with weights that a thread keeps whole and ones that it does
// not, as a view of what was decoded. With an infinity among the numbers of a palette
// too.
func TestCodedProducts(t *testing.T) {
	codedAlways = true
	t.Cleanup(func() { codedAlways = false })
	for _, s := range []storedAs{
		{typ: tensor.Int8, scales: 1},
		{typ: tensor.UInt8, scales: 1, zeros: 1, zero: tensor.UInt8},
		{typ: tensor.Int8, scales: 4},
		{typ: tensor.Int4, scales: 2},
		{typ: tensor.UInt4, tables: 1},
		{typ: tensor.UInt3, tables: 2},
		{typ: tensor.UInt6, tables: 1},
		{typ: tensor.UInt6, tables: 40},
		{typ: tensor.UInt8, tables: 5},
		{typ: tensor.Int8},
	} {
		for _, infinite := range []bool{false, true} {
			if infinite && s.tables == 0 {
				continue
			}
			t.Run(fmt.Sprintf("%+v %t", s, infinite), func(t *testing.T) {
				for _, row := range gemm.Usable() {
					testCodedProducts(t, s, row, infinite)
				}
			})
		}
	}
}

func testCodedProducts(t *testing.T, s storedAs, row *gemm.Row, infinite bool) {
	const lines, n = 40, 288
	origin := weightsOf(s, lines, n)
	if s.scales+s.tables == 0 { // integers as they are
		origin = &Op{Params: &td.Copy{}, Operands: []Operand{dense(0, tensor.Float16, 1, 1, 1, lines, n), dense(1, s.typ, 1, 1, 1, lines, n)}}
	}
	memory := memoryOf(origin, 7)
	if infinite {
		memory[4][0], memory[4][1] = 0, 0x7c
	}
	d, err := Bind(origin)
	if err != nil {
		t.Fatal(err)
	}
	w := NewScratch(d.Need())
	w.Memory = memory
	tiles, _ := d.Tiles()
	d.Run(w, 0, tiles)

	weights := func(dims ...int) Operand { return dense(0, tensor.Float16, dims...) } // a view
	conv := func(kernel int) *td.Convolution {
		p := &td.Convolution{Groups: 1}
		p.Kernel, p.Stride, p.Dilation = [3]int{1, kernel, kernel}, [3]int{1, 1, 1}, [3]int{1, 1, 1}
		return p
	}
	for _, tt := range []struct {
		what string
		op   *Op
	}{
		{"1×1", &Op{Params: conv(1), Operands: []Operand{dense(5, tensor.Float16, 1, 1, lines, 13, 11), dense(6, tensor.Float16, 1, 1, n, 13, 11), weights(lines, 1, n, 1, 1)}}},
		{"3×3", &Op{Params: conv(3), Operands: []Operand{dense(5, tensor.Float16, 2, 1, lines, 5, 5), dense(6, tensor.Float16, 2, 1, n/9, 7, 7), weights(lines, 1, n/9, 3, 3)}}},
		{"transposed", &Op{Params: &td.MatMul{TransposeZ: true}, Operands: []Operand{dense(5, tensor.Float16, 1, 1, 1, 140, lines), dense(6, tensor.Float16, 1, 1, 1, 140, n), weights(1, 1, 1, lines, n)}}},
		{"plain", &Op{Params: &td.MatMul{}, Operands: []Operand{dense(5, tensor.Float16, 1, 1, 1, 9, n), dense(6, tensor.Float16, 1, 1, 1, 9, lines), weights(1, 1, 1, lines, n)}}},
	} {
		var want []byte
		for _, known := range []bool{false, true} {
			op := *tt.op
			op.Gemm, op.Packs = row, new(Packs)
			op.Operands = append([]Operand(nil), tt.op.Operands...)
			op.Operands[2].Constant = true
			switch {
			case known && s.scales+s.tables == 0:
				op.Operands[2] = dense(1, s.typ, op.Operands[2].Dims[:]...)
				op.Operands[2].Constant = true
			case known:
				op.Operands[2].Origin = origin
			}
			k, err := Bind(&op)
			if err != nil {
				t.Fatal(err)
			}
			w := NewScratch(k.Need())
			w.Memory = append([][]byte(nil), memory...)
			w.Memory[5] = make([]byte, 2*elements(op.Operands[0].Dims))
			w.Memory[6] = memoryOf(&Op{Operands: []Operand{{}, op.Operands[1]}}, 7)[6]
			w.Packed = op.Packs.New(make([]byte, op.Packs.Room()))
			for i := range w.Packed {
				op.Packs.Fill(w.Packed, i, w.Memory, nil)
			}
			reads := ReadsOrigin(k)
			narrow := tt.what == "plain" && row.B.Lines*s.typ.Bits()%8 != 0 // lines of a panel do not begin with a byte
			if known && reads == narrow {
				t.Errorf("%s, %s: the codes are read: %t", row.Name, tt.what, reads)
			}
			if reads {
				w.Memory[0] = nil // nobody looks there
			}
			tiles, _ := k.Tiles()
			k.Run(w, 0, tiles)
			if want == nil {
				want = w.Memory[5]
			}
			if !bytes.Equal(w.Memory[5], want) {
				t.Errorf("%s, %s: other bits", row.Name, tt.what)
			}
		}
	}
}
