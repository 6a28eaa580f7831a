package strided

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/espalier-ane/espalier/internal/kernel/gemm"
	"github.com/espalier-ane/espalier/internal/kernel/half"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// The bits of an element depend on its own two lines, not on what lies beside
// them: an infinity in one line, which panels of bf16 do not hold, changes no
// other.
func TestLinesDoNotMeet(t *testing.T) { forRows(t, linesDoNotMeet) }

func linesDoNotMeet(t *testing.T, row *gemm.Row) {
	const rows, cols, n = 70, 75, 300
	r := rand.New(rand.NewPCG(11, 12))
	random := func(count int) []byte {
		b := make([]byte, 2*count)
		for i := range count {
			binary.LittleEndian.PutUint16(b[2*i:], half.Bits(float32(r.NormFloat64())))
		}
		return b
	}
	x, z := random(rows*n), random(n*cols)
	for _, constant := range []bool{false, true} {
		compute := func(row *gemm.Row, x, z []byte) []byte {
			memory := [][]byte{make([]byte, 2*rows*cols), x, z}
			weights := dense(2, tensor.Float16, 1, 1, 1, n, cols)
			weights.Constant = constant
			op := &Op{Params: &td.MatMul{}, Packs: new(Packs), Gemm: row, Operands: []Operand{
				dense(0, tensor.Float16, 1, 1, 1, rows, cols), dense(1, tensor.Float16, 1, 1, 1, rows, n), weights,
			}}
			k, err := Bind(op)
			if err != nil {
				t.Fatal(err)
			}
			w := NewScratch(k.Need())
			w.Memory, w.Packed = memory, op.Packs.New(make([]byte, op.Packs.Room()))
			for i := range w.Packed {
				op.Packs.Fill(w.Packed, i, memory, nil)
			}
			tiles, _ := k.Tiles()
			k.Run(w, 0, tiles)
			return memory[0]
		}
		plain := compute(row, x, z)
		badX, badZ := bytes.Clone(x), bytes.Clone(z)
		binary.LittleEndian.PutUint16(badX[2*(5*n+7):], 0x7c00)       // line 5
		binary.LittleEndian.PutUint16(badZ[2*(100*cols+40):], 0x7c00) // line 40
		mixed, want := compute(row, badX, badZ), compute(gemm.Rows()[0], badX, badZ)
		changed := 0
		for i := range rows * cols {
			a, b := binary.LittleEndian.Uint16(plain[2*i:]), binary.LittleEndian.Uint16(mixed[2*i:])
			if i/cols == 5 || i%cols == 40 {
				if a != b {
					changed++
				}
				if w := binary.LittleEndian.Uint16(want[2*i:]); b != w && !(isNaN(b) && isNaN(w)) {
					t.Fatalf("constant %t: with an infinity, the element at %d, %d is %#x, expected %#x", constant, i/cols, i%cols, b, w)
				}
				continue
			}
			if a != b {
				t.Fatalf("constant %t: the element at %d, %d is %#x, and %#x beside an infinity", constant, i/cols, i%cols, a, b)
			}
		}
		if changed != rows+cols-1 {
			t.Fatalf("constant %t: an infinity changes %d elements, expected %d", constant, changed, rows+cols-1)
		}
	}
}

func isNaN(h uint16) bool { return h&0x7fff > half.Inf }

// A bias is the same whether it is constant or not, also where a channel has one place.
func TestLiveBias(t *testing.T) {
	for _, tt := range []struct {
		side, kernel int
		x            tensor.DType
	}{{3, 3, tensor.Float16}, {5, 3, tensor.Float16}, {1, 1, tensor.Float16}, {1, 1, tensor.Int8}, {4, 1, tensor.Int8}} {
		var bits [2][]byte
		for i, constant := range []bool{true, false} {
			op := benchConv(1, 6, 40, tt.side, tt.kernel, 1, 0, true)
			op.Operands[1].Operand = td.Dense(0, 0, tt.x, op.Operands[1].Dims)
			bias := dense(3, tensor.Float16, 1, 1, 40, 1, 1)
			bias.Constant = constant
			op.Operands = append(op.Operands, bias)
			b := bindDense(t, op)
			for i := range b.w.Memory[1] {
				if tt.x == tensor.Int8 {
					b.w.Memory[1][i] = byte(i)
				}
			}
			b.run()
			bits[i] = b.w.Memory[0]
		}
		if !bytes.Equal(bits[0], bits[1]) {
			t.Errorf("%+v: a live bias gives other bits", tt)
		}
	}
}
