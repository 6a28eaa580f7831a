//go:build amd64

package decode

import "github.com/espalier-ane/espalier/internal/kernel/isa"

// halves: there is arithmetic on fp16 numbers.
var halves = avx512 && isa.HaveFP16()

// lines8 is what the machine code is told.
type lines8 struct {
	dst, codes     *byte
	factors, zeros *float32
	lines          int
	steps          int    // whole ones of a line, of 16 or of 32 codes
	tail           uint64 // mask of the codes of another; 0: there is none
	line, apart    int
	group, second  int
}

// fast writes fp16 numbers, or, with groups, the two parts of each.
func (l *Lines8) fast(group, second int) bool {
	if !avx512 {
		return false
	}
	kind, step := linesFloats, 16
	if halves && (second == 0 || normal(l.Factors)) {
		kind, step = linesHalves, 32
	}
	if second > 0 {
		kind, step = kind|linesSplit, 32
	}
	if l.Signed {
		kind |= linesSigned
	}
	m := lines8{steps: l.N / step, tail: 1<<(l.N%step) - 1, line: l.Line, apart: l.Apart, group: group, second: second}
	some := max(1, most/l.N)
	for at := 0; at < len(l.Factors); at += some {
		m.dst, m.codes, m.factors, m.zeros = &l.Dst[at*l.Line], &l.Codes[at*l.Apart], &l.Factors[at], &l.Zeros[at]
		m.lines = min(some, len(l.Factors)-at)
		callLines8(&m, kind)
	}
	return true
}

// The ways to do it: with floats or fp16 numbers, of numbers or their parts, of codes
// that are signed or not.
const (
	linesFloats = 0
	linesHalves = 1
	linesSplit  = 2
	linesSigned = 4
)

// normal reports whether numbers with such factors are not subnormal: any is a multiple
// of its factor.
func normal(factors []float32) bool {
	for _, f := range factors {
		if f > -0x1p-14 && f < 0x1p-14 && f != 0 {
			return false
		}
	}
	return true
}

//go:noinline
func callLines8(m *lines8, kind int) {
	switch kind {
	case linesFloats:
		linesUnsignedAVX512(m)
	case linesFloats | linesSigned:
		linesSignedAVX512(m)
	case linesFloats | linesSplit:
		splitUnsignedAVX512(m)
	case linesFloats | linesSplit | linesSigned:
		splitSignedAVX512(m)
	case linesHalves:
		linesUnsignedHalves(m)
	case linesHalves | linesSigned:
		linesSignedHalves(m)
	case linesHalves | linesSplit:
		splitUnsignedHalves(m)
	case linesHalves | linesSplit | linesSigned:
		splitSignedHalves(m)
	}
}

// roundings and lows are what is added to a number to round it to seven bits, and what
// is left of it then, by its last four bits: where the last three are 0, nothing is.
// A number lies between two of seven bits, eight steps apart, and four is the middle:
//
//	…0 000   …0 100   …1 000   …1 100   …10 000
//	  │ down    │ down  │ down    │ up up  │
//
//lint:ignore U1000 machine code reads them
var roundings, lows = func() (r, l [32]uint16) {
	parts := [5]uint16{1: 102 << 7, 2: 103 << 7, 3: 103<<7 | 0x40, 4: 104 << 7} // of 1 to 4 steps, of exponent 0
	for i := range r {
		odd, rest := uint16(i)>>3&1, i&7
		r[i] = 3 + odd
		if rest+int(r[i]) < 8 {
			l[i] = parts[rest]
		} else {
			l[i] = parts[8-rest] | 0x8000
		}
	}
	return r, l
}()

//go:noescape
func linesSignedAVX512(m *lines8)

//go:noescape
func linesUnsignedAVX512(m *lines8)

//go:noescape
func splitSignedAVX512(m *lines8)

//go:noescape
func splitUnsignedAVX512(m *lines8)

//go:noescape
func linesSignedHalves(m *lines8)

//go:noescape
func linesUnsignedHalves(m *lines8)

//go:noescape
func splitSignedHalves(m *lines8)

//go:noescape
func splitUnsignedHalves(m *lines8)
