package half

import (
	"encoding/binary"
	"math"
)

// Floats converts fp16 numbers, which lie side by side, little endian.
func Floats(dst []float32, src []byte) {
	src = src[:2*len(dst)]
	if n := floatsFast(dst, src); n > 0 {
		dst, src = dst[n:], src[2*n:]
	}
	goFloats(dst, src)
}

// Put rounds numbers to the nearest fp16 ones, ties to the even one, and writes
// them side by side, little endian.
func Put(dst []byte, src []float32) {
	dst = dst[:2*len(src)]
	if n := putFast(dst, src); n > 0 {
		dst, src = dst[2*n:], src[n:]
	}
	goPut(dst, src)
}

// Narrow is Put of fp32 numbers that lie side by side, little endian. Of a NaN, the
// first bits stay, and it is quiet.
func Narrow(dst, src []byte) {
	dst = dst[:len(src)/2]
	if n := narrowFast(dst, src); n > 0 {
		dst, src = dst[2*n:], src[4*n:]
	}
	for ; len(src) >= 4; dst, src = dst[2:], src[4:] {
		b := binary.LittleEndian.Uint32(src)
		h := Bits(math.Float32frombits(b))
		if h&^sign == NaN {
			h = uint16(b>>16&sign) | NaN | uint16(b>>13&0x3ff)
		}
		binary.LittleEndian.PutUint16(dst, h)
	}
}

// RoundAll rounds numbers in place to the nearest fp16 ones, ties to the even
// one.
func RoundAll(v []float32) {
	if n := roundFast(v); n > 0 {
		v = v[n:]
	}
	for i, x := range v {
		v[i] = Round(x)
	}
}

// RoundAllAway rounds numbers in place to the nearest fp16 ones, ties away from
// zero.
func RoundAllAway(v []float32) {
	v = v[awayFast(v):]
	for i, x := range v {
		v[i] = RoundAway(x)
	}
}

func goFloats(dst []float32, src []byte) {
	for len(dst) >= 4 {
		b, d := binary.LittleEndian.Uint64(src), (*[4]float32)(dst)
		d[0] = Float(uint16(b))
		d[1] = Float(uint16(b >> 16))
		d[2] = Float(uint16(b >> 32))
		d[3] = Float(uint16(b >> 48))
		dst, src = dst[4:], src[8:]
	}
	for i := range dst {
		dst[i] = Float(binary.LittleEndian.Uint16(src[2*i:]))
	}
}

// goPut is Bits of all elements, with no branch that depends on which of them are
// 0, since after a ReLU nobody can foretell it. A number is added whose last bit
// has the place of the last bit of the fp16, so that the sum is rounded there:
//
//	number    1.0000000000000000000000|
//	value                 1.mmmmmmmmmm|rrrrrrrrrrrrr
//
// Below 2^-14, the number and with it the last bit stay where they are.
func goPut(dst []byte, src []float32) {
	const exponent, least, end = 0x7f800000, 0x38800000, 0x47800000 // the bits of an exponent, of 2^-14, of 2^16
	for i, v := range src {
		b := math.Float32bits(v)
		magnitude := b &^ (1 << 31)
		if magnitude >= end {
			binary.LittleEndian.PutUint16(dst[2*i:], Bits(v))
			continue
		}
		number := math.Float32frombits(max(magnitude&exponent, least) + 13<<23)
		sum := math.Float32bits(number + math.Float32frombits(magnitude))
		half := (sum+2<<23)>>13&0x7c00 + sum&0xfff // the first bit of the value carries into the exponent
		binary.LittleEndian.PutUint16(dst[2*i:], uint16(b>>16&0x8000|half))
	}
}
