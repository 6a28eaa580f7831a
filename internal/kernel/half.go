package kernel

import (
	"encoding/binary"
	"math"
)

// halves has the value of every fp16 number. Inner loops read it instead of
// taking a number apart.
var halves = func() *[1 << 16]float32 {
	var t [1 << 16]float32
	for h := range t {
		t[h] = expandHalf(uint16(h))
	}
	return &t
}()

func expandHalf(h uint16) float32 {
	sign := uint32(h&0x8000) << 16
	exponent, fraction := uint32(h>>10&0x1f), uint32(h&0x3ff)
	switch exponent {
	case 0: // subnormal: a count of 2^-24
		return math.Float32frombits(sign | math.Float32bits(float32(fraction)*0x1p-24))
	case 0x1f:
		return math.Float32frombits(sign | 0x7f800000 | fraction<<13)
	}
	return math.Float32frombits(sign | (exponent+127-15)<<23 | fraction<<13)
}

// FromHalf returns the value of an fp16 number.
func FromHalf(h uint16) float32 { return halves[h] }

// MaxHalf is the largest finite fp16 number.
const MaxHalf = 65504

const (
	halfInf  = 0x7c00
	halfNaN  = 0x7e00
	halfSign = 0x8000
)

// ToHalf rounds to the nearest fp16 number, ties to the even one.
func ToHalf(f float32) uint16 {
	b := math.Float32bits(f)
	sign := uint16(b >> 16 & halfSign)
	b &= 0x7fffffff
	switch {
	case b >= 0x47800000: // from 2^16 on
		return sign | tooLarge(b)
	case b < 0x38800000: // below 2^-14: an addition puts the last bit at 2^-24 and rounds there
		return sign | uint16(math.Float32bits(math.Float32frombits(b)+0.5)-math.Float32bits(0.5))
	}
	b += 0xfff + b>>13&1 // a carry goes on into the exponent, up to infinity
	return sign | uint16((b-(127-15)<<23)>>13)
}

// toHalfAway rounds to the nearest fp16 number, ties away from zero.
func toHalfAway(f float32) uint16 {
	b := math.Float32bits(f)
	sign := uint16(b >> 16 & halfSign)
	b &= 0x7fffffff
	switch {
	case b >= 0x47800000:
		return sign | tooLarge(b)
	case b < 0x38800000:
		return sign | uint16(math.Round(float64(math.Float32frombits(b))*0x1p24))
	}
	b += 0x1000
	return sign | uint16((b-(127-15)<<23)>>13)
}

// tooLarge returns the fp16 number for a float32 of which the magnitude's bits
// are at least those of 2^16.
func tooLarge(magnitude uint32) uint16 {
	if magnitude > 0x7f800000 {
		return halfNaN
	}
	return halfInf
}

func getHalf(b []byte) uint16    { return binary.LittleEndian.Uint16(b) }
func putHalf(b []byte, h uint16) { binary.LittleEndian.PutUint16(b, h) }

// isSubnormal reports whether the number is below the normal ones, or zero.
func isSubnormal(h uint16) bool { return h&halfInf == 0 }
