package gemm

import (
	"math"

	"github.com/espalier-ane/espalier/internal/kernel/decode"
	"github.com/espalier-ane/espalier/internal/kernel/half"
)

// A Palette is the numbers that codes of up to 6 bits stand for, each as the sum of two
// bf16 numbers.
type Palette struct {
	Bits      int
	High, Low decode.Table
	Splits    bool // all numbers are such sums; otherwise it is of no use
}

// Set makes the palette of fp16 numbers.
func (p *Palette) Set(table *decode.Table, bits int) {
	p.Bits, p.Splits = bits, true
	for i, h := range table[:1<<bits] {
		high, low, ok := split(half.Float(h))
		p.High[i], p.Low[i] = uint16(math.Float32bits(high)>>16), uint16(math.Float32bits(low)>>16)
		p.Splits = p.Splits && ok
	}
}

// split makes two bf16 numbers of a number, and reports whether it is their sum.
func split(x float32) (high, low float32, ok bool) {
	b := math.Float32bits(x)
	high = math.Float32frombits((b + 0x7fff + b>>16&1) & 0xffff0000)
	low = x - high
	return high, low, low-low == 0 && math.Float32bits(low)&0xffff == 0
}
