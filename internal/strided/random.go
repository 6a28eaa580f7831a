package strided

import (
	"math/bits"

	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// random makes numbers that depend on their places alone.
type random struct {
	rowsOf
	sink      *sink
	typ       tensor.DType // for which the numbers are made
	low, high float32
	seed      uint32
	space     [td.NumAxes]int
}

func bindRandom(op *Op) (Kernel, error) {
	p := op.Params.(*td.RandomGenerator)
	k := &random{sink: newSink(op), typ: op.Operands[0].Type, low: p.Low, high: p.High, seed: p.Seed, space: op.Operands[0].Dims}
	merge(&k.space, allAxes, k.sink.arrays()...)
	// Along W, numbers that follow each other are of one block.
	k.rowsOf = newRows(k.space, axisW)
	return k, nil
}

func (k *random) Need() Need { return k.sink.need().Max(Need{Float: chunk}) }

func (k *random) Run(w *Scratch, lo, hi int) {
	width := float64(k.high) - float64(k.low)
	fraction, unit := 24, 0x1p-24
	if k.typ == tensor.Float16 {
		fraction, unit = 11, 0x1p-11
	}
	for t := lo; t < hi; t++ {
		i, n := k.tile(t)
		v := w.float[:n]
		number := uint64(0) // of the first element, in logical order
		for a, d := range k.space {
			number = number*uint64(d) + uint64(i[a])
		}
		var block [4]uint32
		for j := range v {
			if j == 0 || number%4 == 0 {
				block = philoxBlock(k.seed, number/4)
			}
			u := float64(block[number%4]>>(32-fraction)) * unit
			r := castFloat(k.typ, k.low+float32(u*width))
			if r >= k.high {
				r = k.low
			}
			v[j] = r
			number++
		}
		k.sink.put(w, v, i, k.axis)
	}
}

// philoxBlock is Philox4x32-10 (Salmon et al., 2011) of a counter of 64 bits
// under the key {key, 0}: in each round two words of the counter are multiplied
// by constants, and the halves of the products, mixed with the other words and
// the key, are the next counter. The key moves on by constants.
func philoxBlock(key uint32, counter uint64) [4]uint32 {
	const (
		multiplier0, multiplier2 = 0xD2511F53, 0xCD9E8D57
		step0, step1             = 0x9E3779B9, 0xBB67AE85
	)
	x0, x1, x2, x3 := uint32(counter), uint32(counter>>32), uint32(0), uint32(0)
	k0, k1 := key, uint32(0)
	for range 10 {
		high0, low0 := bits.Mul32(multiplier0, x0)
		high2, low2 := bits.Mul32(multiplier2, x2)
		x0, x1, x2, x3 = high2^x1^k0, low2, high0^x3^k1, low0
		k0, k1 = k0+step0, k1+step1
	}
	return [4]uint32{x0, x1, x2, x3}
}
