package strided

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/espalier-ane/espalier/internal/kernel/gemm"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// A storedAs is a way to store weights.
type storedAs struct {
	typ           tensor.DType
	scales, zeros int // blocks along the row, of which each has one; 0: none
	zero          tensor.DType
	tables        int  // along the rows, each for as many; 0: none
	other         bool // such weights are decoded beforehand
}

// weightsOf are rows of weights that are stored so, and what decodes them.
func weightsOf(s storedAs, rows, cols int) *Op {
	p, y := new(td.DeQuant), dense(0, tensor.Float16, 1, 1, 1, rows, cols)
	op := &Op{Params: p, Operands: []Operand{y, dense(1, s.typ, 1, 1, 1, rows, cols)}}
	none := Operand{}
	if s.scales > 0 {
		op.Operands = append(op.Operands, dense(2, tensor.Float16, 1, 1, 1, rows, s.scales))
	} else {
		op.Operands = append(op.Operands, none)
	}
	if s.zeros > 0 {
		op.Operands = append(op.Operands, dense(3, s.zero, 1, 1, 1, rows, s.zeros))
	} else {
		op.Operands = append(op.Operands, none)
	}
	if s.tables > 0 {
		p.Blocks = [td.NumAxes]int{1, 1, 1, s.tables, 1}
		op.Operands = append(op.Operands, dense(4, tensor.Float16, 1, 1, s.tables, 1<<s.typ.Bits(), 1))
	}
	return op
}

// memoryOf has random codes and small numbers.
func memoryOf(op *Op, count int) [][]byte {
	r := rand.New(rand.NewPCG(3, 9))
	memory := make([][]byte, count)
	for i, o := range op.Operands {
		if !o.Present() {
			continue
		}
		m := make([]byte, (elements(o.Dims)*max(o.Type.Bits(), 1)+7)/8)
		for j := range m {
			m[j] = byte(r.Uint32())
		}
		if o.Type == tensor.Float16 && i > 0 {
			for j := 0; j < len(m); j += 2 {
				putFloat(tensor.Float16, m[j:], float32(r.NormFloat64()/16))
			}
		}
		memory[o.Memory] = m
	}
	return memory
}

// Weights that are decoded as they are used give the bits of those that were decoded
// before, however they are stored and whichever way they lie.
func TestCoded(t *testing.T) {
	codedAlways = true
	t.Cleanup(func() { codedAlways = false })
	const rows, cols = 96, 512
	for _, s := range []storedAs{
		{typ: tensor.Int8, scales: 1},
		{typ: tensor.UInt8, scales: 1, zeros: 1, zero: tensor.UInt8},
		{typ: tensor.Int8, scales: 1, zeros: 1, zero: tensor.Int8},
		{typ: tensor.Int8, scales: 4, zeros: 2, zero: tensor.Int8},
		{typ: tensor.Int4, scales: 1},
		{typ: tensor.Int4, scales: 16},
		{typ: tensor.UInt4, scales: 8, zeros: 8, zero: tensor.UInt4},
		{typ: tensor.UInt4, scales: 4, zeros: 1, zero: tensor.UInt4},
		{typ: tensor.UInt1, tables: 1},
		{typ: tensor.UInt2, tables: 1},
		{typ: tensor.UInt3, tables: 2},
		{typ: tensor.UInt4, tables: 96},
		{typ: tensor.UInt6, tables: 3},
		{typ: tensor.UInt8, tables: 1},
		{typ: tensor.Int8, scales: 16, other: true},
		{typ: tensor.UInt4, scales: 8, zeros: 8, zero: tensor.Float16, other: true},
	} {
		for _, transposed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%+v %t", s, transposed), func(t *testing.T) { testCoded(t, s, rows, cols, transposed) })
		}
	}
}

func testCoded(t *testing.T, s storedAs, rows, cols int, transposed bool) {
	origin := weightsOf(s, rows, cols)
	memory := memoryOf(origin, 7)
	d, err := Bind(origin)
	if err != nil {
		t.Fatal(err)
	}
	w := NewScratch(d.Need())
	w.Memory = memory
	tiles, _ := d.Tiles()
	d.Run(w, 0, tiles)

	lines, inner := cols, rows
	if transposed {
		lines, inner = rows, cols
	}
	for _, few := range []int{1, 3} {
		var want []byte
		for _, known := range []bool{false, true} {
			z := origin.Operands[0]
			if known {
				z.Origin = origin
			}
			op := &Op{Gemm: gemm.Rows()[0], Params: &td.MatMul{TransposeZ: transposed}, Operands: []Operand{
				dense(5, tensor.Float16, 1, 1, 1, few, lines), dense(6, tensor.Float16, 1, 1, 1, few, inner), z,
			}}
			k, err := Bind(op)
			if err != nil {
				t.Fatal(err)
			}
			blocks := s.scales > 4 && !transposed // of strips, too short
			if is := ReadsOrigin(k); is != (known && !s.other && !blocks) && !(s.scales > 4 && !transposed) {
				t.Errorf("the codes are read: %t", is)
			}
			w := NewScratch(k.Need())
			w.Memory = append([][]byte(nil), memory...)
			w.Memory[5] = make([]byte, 2*few*lines)
			w.Memory[6] = memoryOf(&Op{Operands: []Operand{{}, op.Operands[1]}}, 7)[6]
			if ReadsOrigin(k) {
				w.Memory[0] = nil // nobody looks there
			}
			tiles, _ := k.Tiles()
			k.Run(w, 0, tiles)
			if want == nil {
				want = w.Memory[5]
			}
			if !bytes.Equal(w.Memory[5], want) {
				t.Errorf("%d rows have other bits", few)
			}
		}
	}
}

// BenchmarkCoded reads 50256 lines of 768 weights.
func BenchmarkCoded(b *testing.B) {
	const rows, cols = 50256, 768
	for _, bb := range []struct {
		name string
		as   storedAs
	}{
		{"int8", storedAs{typ: tensor.Int8, scales: 1}},
		{"int8 with zeros", storedAs{typ: tensor.Int8, scales: 1, zeros: 1, zero: tensor.Int8}},
		{"int4 in blocks of 32", storedAs{typ: tensor.Int4, scales: 24}},
		{"int4 in blocks of 32, with zeros", storedAs{typ: tensor.UInt4, scales: 24, zeros: 24, zero: tensor.UInt4}},
		{"palette of 1", storedAs{typ: tensor.UInt1, tables: 1}},
		{"palette of 2", storedAs{typ: tensor.UInt2, tables: 1}},
		{"palette of 3", storedAs{typ: tensor.UInt3, tables: 1}},
		{"palette of 4", storedAs{typ: tensor.UInt4, tables: 1}},
		{"palette of 6", storedAs{typ: tensor.UInt6, tables: 1}},
		{"palette of 8", storedAs{typ: tensor.UInt8, tables: 1}},
	} {
		b.Run(bb.name, func(b *testing.B) {
			origin := weightsOf(bb.as, rows, cols)
			z := origin.Operands[0]
			z.Origin = origin
			op := &Op{Params: &td.MatMul{TransposeZ: true}, Operands: []Operand{
				dense(5, tensor.Float16, 1, 1, 1, 1, rows), dense(6, tensor.Float16, 1, 1, 1, 1, cols), z,
			}}
			k, err := Bind(op)
			if err != nil {
				b.Fatal(err)
			}
			if !ReadsOrigin(k) {
				b.Skip("decoded before")
			}
			w := NewScratch(k.Need())
			w.Memory = memoryOf(origin, 7)
			w.Memory[5], w.Memory[6] = make([]byte, 2*rows), make([]byte, 2*cols)
			tiles, _ := k.Tiles()
			b.SetBytes(int64(len(w.Memory[1])))
			for b.Loop() {
				k.Run(w, 0, tiles)
			}
		})
	}
}
