//go:build amd64

package decode

import (
	"unsafe"

	"github.com/espalier-ane/espalier/internal/kernel/isa"
)

var (
	avx2   = isa.Have().Has(isa.AVX2)
	avx512 = isa.Have().Has(isa.AVX512)
)

// fastBits are the widths of codes that there is machine code for.
var fastBits = func() int {
	switch {
	case avx512:
		return 1<<1 | 1<<2 | 1<<3 | 1<<4 | 1<<6 | 1<<8
	case avx2:
		return 1 << 4
	}
	return 0
}()

// A spread is how 32 codes are moved out of their bytes, eight to a lane of a
// register, and each into 16 bits:
//
//	bytes    0 1 2 3 4 5 | 6 7 8 9 10 11 | …     eight codes of six bits each
//	words    0…6       … | 6…13        … | …     moved to the lane
//	pairs    01 01 12 23 34 34 45 5.     | …     the two bytes that hold the code
//	shifted, and the bits above it cleared
type spread struct {
	words [32]uint16
	pairs [64]byte
	shift [32]uint16
	bytes uint64 // mask of the bytes that 32 codes take
	mask  uint64
}

var spreads = func() (all [8]spread) {
	for bits := 1; bits < 8; bits++ {
		s := &all[bits]
		s.bytes, s.mask = 1<<(4*bits)-1, 1<<bits-1
		for i := range 32 {
			lane, j := i/8, i%8
			s.words[i] = uint16(lane*bits/2 + j)
			from := lane*bits%2 + j*bits/8 // in the lane
			s.pairs[2*i], s.pairs[2*i+1] = byte(from), byte(from+1)
			s.shift[i] = uint16(j * bits % 8)
		}
	}
	return all
}()

// look is what the machine code is told.
type look struct {
	dst, codes *byte
	table      *Table
	n          int // codes, a multiple of 32
	step       int // bytes of 32 codes
	spread     *spread
}

func lookFast(dst, codes []byte, bits int, table *Table, n int) (done int) {
	if !avx512 && !(avx2 && bits == 4) {
		return 0
	}
	l := look{table: table, step: 4 * bits, spread: &spreads[bits&7]}
	for end := n &^ 31; done < end; done += l.n {
		l.dst, l.codes, l.n = &dst[2*done], &codes[done/8*bits], min(most, end-done)
		callLook(&l, bits)
	}
	return done
}

// Machine code is called by functions of their own, so that the scheduler can stop
// a loop over rows.
//
//go:noinline
func callLook(l *look, bits int) {
	switch {
	case !avx512:
		look4AVX2(l)
	case bits == 8:
		look8AVX512(l)
	case bits == 6:
		look6AVX512(l)
	default:
		lookAVX512(l)
	}
}

// scaling is what the machine code is told.
type scaling struct {
	dst, codes   *byte
	n            int // codes, a multiple of 16
	zero, factor float32
}

func scaleFast(dst, codes []byte, s *Scale) (done int) {
	if !avx2 {
		return 0
	}
	c := scaling{zero: s.Zero, factor: s.Factor}
	for end := len(codes) &^ 15; done < end; done += c.n {
		c.dst, c.codes, c.n = &dst[2*done], &codes[done], min(most, end-done)
		callScale(&c, s.Signed)
	}
	return done
}

//go:noinline
func callScale(c *scaling, signed bool) {
	switch {
	case avx512 && signed:
		signedAVX512(c)
	case avx512:
		unsignedAVX512(c)
	case signed:
		signedAVX2(c)
	default:
		unsignedAVX2(c)
	}
}

var (
	codes16  = [16]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}
	signed16 = [16]byte{0, 1, 2, 3, 4, 5, 6, 7, 0xf8, 0xf9, 0xfa, 0xfb, 0xfc, 0xfd, 0xfe, 0xff}
)

func table4Fast(t *Table, s *Scale) bool {
	if !avx2 {
		return false
	}
	from := &codes16
	if s.Signed {
		from = &signed16
	}
	c := scaling{dst: t.bytes(), codes: &from[0], n: 16, zero: s.Zero, factor: s.Factor}
	callScale(&c, true)
	return true
}

// blocks is what the machine code is told.
type blocks struct {
	dst, codes, factors *byte
	zeros               *float32
	zeroStep            int // bytes, 0 if there is one for all
	n                   int
	groups              int          // of 32 codes, in a block
	values              *[16]float32 // of the codes
}

var values4 = func() (all [2][16]float32) {
	for c := range 16 {
		all[0][c], all[1][c] = float32(codes16[c]), float32(int8(signed16[c]))
	}
	return all
}()

var noZero float32

func blocks4Fast(dst, codes []byte, signed bool, block int, factors []byte, zeros []float32) bool {
	if !avx512 {
		return false
	}
	b := blocks{zeros: &noZero, groups: block / 32, values: &values4[0]}
	if signed {
		b.values = &values4[1]
	}
	n := len(factors) / 2
	for at := 0; at < n; at += b.n {
		b.n = min(n-at, max(1, most/block))
		b.dst, b.codes, b.factors = &dst[2*at*block], &codes[at*block/2], &factors[2*at]
		if zeros != nil {
			b.zeros, b.zeroStep = &zeros[at], 4
		}
		callBlocks(&b)
	}
	return true
}

//go:noinline
func callBlocks(b *blocks) { blocks4AVX512(b) }

// lookTwice is what the machine code is told.
type lookTwice struct {
	dst, codes          *byte
	first, last         *Table
	step                int // bytes of 32 codes
	spread              *spread
	lines, groups       int
	group, second, line int
	apart               int
}

func lookTwiceFast(t *Twice) bool {
	if !avx512 {
		return false
	}
	l := lookTwice{
		first: t.First, last: t.Last, step: 4 * t.Bits, spread: &spreads[t.Bits&7], groups: t.Groups,
		group: t.Group, second: t.Second, line: t.Line, apart: t.Apart,
	}
	some := max(1, most/32/t.Groups)
	for at := 0; at < t.Lines; at += some {
		l.dst, l.codes, l.lines = &t.Dst[at*t.Line], &t.Codes[at*t.Apart], min(some, t.Lines-at)
		callLookTwice(&l)
	}
	return true
}

//go:noinline
func callLookTwice(l *lookTwice) { lookTwiceAVX512(l) }

//go:noescape
func lookTwiceAVX512(l *lookTwice)

//go:noescape
func blocks4AVX512(b *blocks)

//go:noescape
func lookAVX512(l *look)

//go:noescape
func look6AVX512(l *look)

//go:noescape
func look8AVX512(l *look)

//go:noescape
func look4AVX2(l *look)

//go:noescape
func signedAVX512(c *scaling)

//go:noescape
func unsignedAVX512(c *scaling)

//go:noescape
func signedAVX2(c *scaling)

//go:noescape
func unsignedAVX2(c *scaling)

// bytes is where a table lies: numbers are little endian, as this machine has them.
func (t *Table) bytes() *byte { return (*byte)(unsafe.Pointer(t)) }
