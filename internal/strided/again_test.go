package strided

import (
	"bytes"
	"testing"

	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// What a scratch keeps of operands is gone when they are others: by the number of the
// task, and without one at every call. With the same number it is kept, tile by tile.
func TestOperandsChange(t *testing.T) {
	half := func(base int, dims ...int) Operand { return dense(base, tensor.Float16, dims...) }
	for name, op := range map[string]func() *Op{
		"1×1 convolution":         func() *Op { return benchConv(1, 24, 70, 12, 1, 1, 0, true) },
		"3×3 convolution":         func() *Op { return benchConv(1, 8, 70, 12, 3, 1, 1, true) },
		"transformed":             func() *Op { return benchConv(1, 32, 70, 28, 3, 1, 1, true) },
		"strided":                 func() *Op { return benchConv(1, 8, 70, 13, 3, 2, 1, true) },
		"channelwise":             func() *Op { return benchConv(12, 12, 12, 12, 3, 1, 1, true) },
		"live weights":            func() *Op { return benchConv(1, 8, 70, 12, 3, 1, 1, false) },
		"matrix product":          func() *Op { return benchMatMul(70, 40, 300, true) },
		"live matrix product":     func() *Op { return benchMatMul(70, 40, 300, false) },
		"product of few rows":     func() *Op { return benchMatMul(2, 40, 300, true) },
		"attention":               func() *Op { return attentionOf(half, 1, 300, 40, 16) },
		"attention by tiles":      func() *Op { return attentionOf(half, 2, 300, 300, 64) },
		"attention, one position": func() *Op { return attentionOf(half, 3, 1, 40, 16) },
	} {
		t.Run(name, func(t *testing.T) {
			bound := op()
			b := bindDense(t, bound)
			fresh := func() []byte {
				other := *b
				other.w = NewScratch(b.kernel.Need())
				other.w.Memory, other.w.Packed = b.w.Memory, b.w.Packed
				clear(b.w.Memory[0])
				other.run()
				return bytes.Clone(b.w.Memory[0])
			}
			var before []byte
			for run, task := range []uint64{0, 0, 3, 5, 5, 9} {
				if run != 4 { // the second time of task 5 is the same
					for _, o := range bound.Operands[1:] {
						if !o.Constant {
							change(b.w.Memory[o.Memory], run)
						}
					}
				}
				want := fresh()
				clear(b.w.Memory[0])
				b.w.Begin(task)
				for tile := range b.tiles { // a call for each
					b.kernel.Run(b.w, tile, tile+1)
				}
				if !bytes.Equal(b.w.Memory[0], want) {
					t.Fatalf("run %d, of task %d: not what a fresh scratch gives", run, task)
				}
				if run != 4 && bytes.Equal(want, before) {
					t.Fatalf("run %d: another x gives the same", run)
				}
				before = want
			}
		})
	}
}

// change makes other fp16 numbers, between 2^-13 and 2 in magnitude.
func change(numbers []byte, run int) {
	for i := range numbers {
		if numbers[i] ^= byte(37*run + 11*i); i%2 == 1 {
			numbers[i] = numbers[i]&^0x40 | 0x10
		}
	}
}

func attentionOf(half func(int, ...int) Operand, heads, positions, keys, width int) *Op {
	return &Op{Params: &td.Attention{Scale: 0.125}, Operands: []Operand{
		half(0, 1, 1, heads, positions, width), half(1, 1, 1, heads, positions, width),
		half(2, 1, 1, heads, keys, width), half(3, 1, 1, heads, keys, width),
	}}
}
