// Package half converts between fp16 numbers and float32.
//
// It is the portable form of the conversions, and knows no memory layout. What
// package tensor has of them is the yardstick, and stands apart.
package half

import "math"

// floats has the value of every fp16 number. Inner loops read it instead of
// taking a number apart.
var floats = func() *[1 << 16]float32 {
	var t [1 << 16]float32
	for h := range t {
		t[h] = expand(uint16(h))
	}
	return &t
}()

func expand(h uint16) float32 {
	sign := uint32(h&0x8000) << 16
	exponent, fraction := uint32(h>>10&0x1f), uint32(h&0x3ff)
	switch exponent {
	case 0: // subnormal: a count of 2^-24
		return math.Float32frombits(sign | math.Float32bits(float32(fraction)*0x1p-24))
	case 0x1f:
		if fraction != 0 {
			fraction |= 0x200 // a NaN is quiet once it was touched, as in the processor
		}
		return math.Float32frombits(sign | 0x7f800000 | fraction<<13)
	}
	return math.Float32frombits(sign | (exponent+127-15)<<23 | fraction<<13)
}

// Float returns the value of an fp16 number.
func Float(h uint16) float32 { return floats[h] }

// Numbers at the ends of fp16.
const (
	Max         = 65504   // the largest finite one
	LeastNormal = 0x1p-14 // below it are the subnormal ones
)

// Bits of fp16 numbers.
const (
	Inf = 0x7c00
	NaN = 0x7e00

	sign = 0x8000
)

// Bits rounds to the nearest fp16 number, ties to the even one.
func Bits(f float32) uint16 {
	b := math.Float32bits(f)
	s := uint16(b >> 16 & sign)
	b &= 0x7fffffff
	switch {
	case b >= 0x47800000: // from 2^16 on
		return s | tooLarge(b)
	case b < 0x38800000: // below 2^-14: an addition puts the last bit at 2^-24 and rounds there
		return s | uint16(math.Float32bits(math.Float32frombits(b)+0.5)-math.Float32bits(0.5))
	}
	b += 0xfff + b>>13&1 // a carry goes on into the exponent, up to infinity
	return s | uint16((b-(127-15)<<23)>>13)
}

// BitsAway rounds to the nearest fp16 number, ties away from zero.
func BitsAway(f float32) uint16 {
	b := math.Float32bits(f)
	s := uint16(b >> 16 & sign)
	b &= 0x7fffffff
	switch {
	case b >= 0x47800000:
		return s | tooLarge(b)
	case b < 0x38800000:
		return s | uint16(math.Round(float64(math.Float32frombits(b))*0x1p24))
	}
	b += 0x1000
	return s | uint16((b-(127-15)<<23)>>13)
}

// tooLarge returns the fp16 number for a float32 of which the magnitude's bits
// are at least those of 2^16.
func tooLarge(magnitude uint32) uint16 {
	if magnitude > 0x7f800000 {
		return NaN
	}
	return Inf
}

// Round is the fp16 number that is nearest, ties to the even one.
func Round(f float32) float32 { return floats[Bits(f)] }

// RoundAway is the fp16 number that is nearest, ties away from zero.
func RoundAway(f float32) float32 { return floats[BitsAway(f)] }
