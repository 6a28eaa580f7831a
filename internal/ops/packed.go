package ops

import (
	"encoding/binary"
	"math/bits"

	"github.com/espalier-ane/espalier/tensor"
)

// Compressed weights are small integers, often several to a byte. What is here reads them a range at a time, so
// that nobody has to hold them all as int64.

// elementGrain is the least number of weights worth a goroutine.
const elementGrain = 1 << 14

// codes reads unsigned integers of up to 8 bits from a little-endian bit stream.
type codes struct {
	data []byte
	bits int
}

// codesOf reads the bit patterns of a tensor of at most 8 bits an element.
func codesOf(t *tensor.Tensor) codes { return codes{t.Bytes(), t.DType().Bits()} }

// unpack writes the elements from, from+1, … to dst.
func (c codes) unpack(dst []uint8, from int) {
	if c.bits == 8 {
		copy(dst, c.data[from:])
		return
	}
	mask := uint8(1<<c.bits - 1)
	bit := from * c.bits
	for i := range dst {
		v := uint16(c.data[bit/8])
		if bit%8+c.bits > 8 { // 3- and 6-bit elements may straddle two bytes
			v |= uint16(c.data[bit/8+1]) << 8
		}
		dst[i] = uint8(v>>(bit%8)) & mask
		bit += c.bits
	}
}

// fromCodes makes a tensor of bit patterns, one to a byte, of an element type of at most 8 bits.
func fromCodes(h *halt, d tensor.DType, vals []uint8, shape []int) (*tensor.Tensor, error) {
	if !d.SubByte() {
		return tensor.FromBytes(d, shape, vals)
	}
	n := d.Bits()
	size, _ := d.ByteLen(len(vals))
	data := make([]byte, size)
	// Eight elements fill whole bytes whatever their width, so goroutines never share one.
	h.For((len(vals)+7)/8, elementGrain/8, func(lo, hi int) {
		for i := lo * 8; i < min(hi*8, len(vals)); i++ {
			bit := i * n
			v := uint16(vals[i]) << (bit % 8)
			data[bit/8] |= uint8(v)
			if bit%8+n > 8 {
				data[bit/8+1] |= uint8(v >> 8)
			}
		}
	})
	return tensor.FromBytes(d, shape, data)
}

// numbers reads ranges of a tensor's elements as fp32: of floats, or of integers of at most 8 bits.
type numbers struct {
	floats []float32
	codes  codes
	value  []float32 // of each code
}

func numbersOf(t *tensor.Tensor) numbers {
	d := t.DType()
	if d.IsFloat() {
		return numbers{floats: t.Float32s()}
	}
	n := numbers{codes: codesOf(t), value: make([]float32, 1<<d.Bits())}
	for i := range n.value {
		n.value[i] = float32(i)
		if d.Kind() == tensor.KindInt && i >= len(n.value)/2 {
			n.value[i] = float32(i - len(n.value))
		}
	}
	return n
}

// read writes the elements from, from+1, … to dst.
func (n numbers) read(dst []float32, from int) {
	if n.value == nil {
		copy(dst, n.floats[from:])
		return
	}
	var buf [256]uint8
	for len(dst) > 0 {
		part := buf[:min(len(buf), len(dst))]
		n.codes.unpack(part, from)
		for i, c := range part {
			dst[i] = n.value[c]
		}
		dst, from = dst[len(part):], from+len(part)
	}
}

// bitmask says which elements of a sparse tensor are stored.
type bitmask struct {
	data   []byte
	before []int // set bits before every maskStep-th bit
}

// maskStep makes counting the bits before a position cost a few words at most.
const maskStep = 512

// newBitmask indexes the first n bits of a little-endian bit stream.
func newBitmask(data []byte, n int) *bitmask {
	m := &bitmask{data: data, before: make([]int, n/maskStep+1)}
	for i := 1; i < len(m.before); i++ {
		m.before[i] = m.before[i-1] + countBits(data, (i-1)*maskStep, i*maskStep)
	}
	return m
}

// rank is the number of set bits before bit i: where in the stored elements the i-th element stands.
func (m *bitmask) rank(i int) int {
	s := i / maskStep
	return m.before[s] + countBits(m.data, s*maskStep, i)
}

// count is the number of set bits in [lo, hi).
func (m *bitmask) count(lo, hi int) int {
	if hi-lo < maskStep {
		return countBits(m.data, lo, hi)
	}
	return m.rank(hi) - m.rank(lo)
}

// each calls f with the position of every set bit in [lo, hi), in order, and its rank.
func (m *bitmask) each(lo, hi int, f func(i, rank int)) {
	k := m.rank(lo)
	for i := lo; i < hi; {
		b := m.data[i/8] >> (i % 8)
		if b == 0 {
			i += 8 - i%8
			continue
		}
		i += bits.TrailingZeros8(b)
		if i >= hi {
			return
		}
		f(i, k)
		k++
		i++
	}
}

// countBits is the number of set bits in [lo, hi) of a little-endian bit stream.
func countBits(data []byte, lo, hi int) int {
	n := 0
	for ; lo < hi && lo%8 != 0; lo++ {
		n += int(data[lo/8]>>(lo%8)) & 1
	}
	for ; hi-lo >= 64; lo += 64 {
		n += bits.OnesCount64(binary.LittleEndian.Uint64(data[lo/8:]))
	}
	for ; hi-lo >= 8; lo += 8 {
		n += bits.OnesCount8(data[lo/8])
	}
	if lo < hi {
		n += bits.OnesCount8(data[lo/8] & (1<<(hi-lo) - 1))
	}
	return n
}
