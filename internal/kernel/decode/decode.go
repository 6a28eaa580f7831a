// Package decode makes fp16 numbers of compressed weights: of codes of a few bits
// each, by a table or by a scale. Codes lie one after the other from a byte on, the
// lowest bits first; numbers are written side by side, little endian.
//
// The plain Go says what is written, machine code writes the same bits. The package
// knows nothing of operands or blocks.
package decode

import (
	"encoding/binary"

	"github.com/espalier-ane/espalier/internal/kernel/half"
)

// A Table has the fp16 number for each code.
type Table [256]uint16

// most is how many codes go into one call of machine code, which cannot be preempted.
const most = 1 << 14

// Bytes is the size of n codes.
func Bytes(n, bits int) int { return (n*bits + 7) / 8 }

// Look writes what the table has for n codes, of 1, 2, 3, 4, 6 or 8 bits.
func Look(dst, codes []byte, bits int, table *Table, n int) {
	dst, codes = dst[:2*n], codes[:Bytes(n, bits)]
	for at := lookFast(dst, codes, bits, table, n); at < n; at++ {
		binary.LittleEndian.PutUint16(dst[2*at:], table[Code(codes, at, bits)])
	}
}

// LookIsFast reports whether there is machine code for codes of so many bits, such
// that they may be decoded again and again. With 8 bits there is some for Blocks4
// too, with 4 for a Scale.
func LookIsFast(bits int) bool { return fastBits>>bits&1 != 0 }

// Code is the one with number i.
func Code(codes []byte, i, bits int) uint8 {
	at := i * bits
	v := uint16(codes[at/8])
	if at%8+bits > 8 {
		v |= uint16(codes[at/8+1]) << 8
	}
	return uint8(v>>(at%8)) & uint8(1<<bits-1)
}

// A Scale is how a number is made of a code of 4 or 8 bits: (code - Zero)·Factor,
// rounded once. The zero is a whole number below 2^9, and the factor an fp16 number,
// so that the product is exact before.
type Scale struct {
	Signed       bool // codes are
	Zero, Factor float32
}

// Bytes8 writes the numbers for codes of 8 bits.
func (s *Scale) Bytes8(dst, codes []byte) {
	dst = dst[:2*len(codes)]
	for at := scaleFast(dst, codes, s); at < len(codes); at++ {
		binary.LittleEndian.PutUint16(dst[2*at:], s.number(int(codes[at]), 8))
	}
}

// Table4 makes the table for codes of 4 bits.
func (s *Scale) Table4(t *Table) {
	if table4Fast(t, s) {
		return
	}
	for c := range 16 {
		t[c] = s.number(c, 4)
	}
}

// Blocks4 writes the numbers for codes of 4 bits in blocks of so many, a multiple of
// 32, each with a factor of its own, an fp16 number, and a zero. No zeros are all 0.
// The factors lie side by side.
func Blocks4(dst, codes []byte, signed bool, block int, factors []byte, zeros []float32) {
	n := len(factors) / 2
	if block <= 0 || block%32 != 0 || zeros != nil && len(zeros) != n {
		panic("bug: blocks of codes that are none")
	}
	dst, codes = dst[:2*n*block], codes[:n*block/2]
	if blocks4Fast(dst, codes, signed, block, factors, zeros) {
		return
	}
	for i := range n {
		s := Scale{Signed: signed, Factor: half.Float(binary.LittleEndian.Uint16(factors[2*i:]))}
		if zeros != nil {
			s.Zero = zeros[i]
		}
		var t Table
		s.Table4(&t)
		Look(dst[2*i*block:], codes[i*block/2:], 4, &t, block)
	}
}

func (s *Scale) number(code, bits int) uint16 {
	if s.Signed && code>>(bits-1) != 0 {
		code -= 1 << bits
	}
	return half.Bits((float32(code) - s.Zero) * s.Factor)
}
