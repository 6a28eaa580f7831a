package decode

import (
	"encoding/binary"
	"math"

	"github.com/espalier-ane/espalier/internal/kernel/half"
)

// Lines8 are lines of codes of 8 bits, each with a factor and a zero of its own, as of
// a Scale.
type Lines8 struct {
	Dst     []byte
	Line    int // bytes from the numbers of a line to those of the next
	Codes   []byte
	Apart   int // bytes from a line of codes to the next
	N       int // codes of a line
	Signed  bool
	Factors []float32 // as many as there are lines
	Zeros   []float32
}

// Write writes the numbers, those of a line side by side.
func (l *Lines8) Write() {
	if !l.check(2 * l.N) {
		return
	}
	if l.fast(0, 0) {
		return
	}
	for i := range l.Factors {
		s := Scale{Signed: l.Signed, Zero: l.Zeros[i], Factor: l.Factors[i]}
		s.Bytes8(l.Dst[i*l.Line:], l.Codes[i*l.Apart:][:l.N])
	}
}

// Split writes each number as the sum of two of bf16, 32 of a line at a time: the high
// parts side by side, and the low ones so many bytes after them. From 32 to the next it
// is a group; the last is filled up with 0. All numbers must be finite: see Finite.
func (l *Lines8) Split(group, second int) {
	groups := (l.N + 31) / 32
	if min(group, second) < 0 {
		panic("bug: groups that go backwards")
	}
	if !l.check((groups-1)*group + second + 64) {
		return
	}
	if l.fast(group, second) {
		return
	}
	for i := range l.Factors {
		s := Scale{Signed: l.Signed, Zero: l.Zeros[i], Factor: l.Factors[i]}
		for j := range 32 * groups {
			var x float32
			if j < l.N {
				x = half.Float(s.number(int(l.Codes[i*l.Apart+j]), 8))
			}
			b := math.Float32bits(x)
			high := (b + 0x7fff + b>>16&1) & 0xffff0000
			low := math.Float32bits(x - math.Float32frombits(high))
			to := l.Dst[i*l.Line+j/32*group+j%32*2:]
			binary.LittleEndian.PutUint16(to, uint16(high>>16))
			binary.LittleEndian.PutUint16(to[second:], uint16(low>>16))
		}
	}
}

// Finite reports whether all numbers of codes of 8 bits with such factors are.
func Finite(factors []float32) bool {
	for _, f := range factors {
		if !(f < 128 && f > -128) { // and differences of codes are below 512
			return false
		}
	}
	return true
}

// check panics if lines leave their memory, and reports whether there is something to
// do. The numbers of a line take so many bytes.
func (l *Lines8) check(bytes int) bool {
	lines := len(l.Factors)
	if len(l.Zeros) != lines || min(l.Line, l.Apart, l.N) < 0 {
		panic("bug: lines of codes that are none")
	}
	if lines == 0 || l.N == 0 {
		return false
	}
	_ = l.Dst[(lines-1)*l.Line+bytes-1]
	_ = l.Codes[(lines-1)*l.Apart+l.N-1]
	return true
}
