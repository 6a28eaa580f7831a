package tensor

import "math"

// The small floating-point formats share one layout, sign | exponent | mantissa, and differ in widths, in
// bias and in what the largest exponent means. Decoding is exact; encoding rounds to nearest, ties to even.

// F16 converts a half to float32, exactly.
func F16(h uint16) float32 {
	sign := uint32(h&0x8000) << 16
	exp := uint32(h>>10) & 0x1f
	man := uint32(h) & 0x3ff
	switch exp {
	case 0: // zero or subnormal: man · 2^-24
		f := float32(man) * (1.0 / (1 << 24))
		return math.Float32frombits(math.Float32bits(f) | sign)
	case 0x1f: // infinity or NaN, payload kept
		return math.Float32frombits(sign | 0x7f800000 | man<<13)
	}
	return math.Float32frombits(sign | (exp+112)<<23 | man<<13)
}

// ToF16 rounds to the nearest half, ties to even; overflow gives infinity, NaN stays a quiet NaN with the
// top of its payload.
func ToF16(f float32) uint16 {
	b := math.Float32bits(f)
	sign := uint16(b>>16) & 0x8000
	b &= 0x7fffffff
	switch {
	case b > 0x7f800000:
		return sign | 0x7e00 | uint16(b>>13)&0x3ff
	case b >= 0x477ff000: // 65520 is the tie between 65504 and the next step, and goes up
		return sign | 0x7c00
	case b < 0x38800000: // below 2^-14: the float32 adder rounds at 2^-24, which is bit 0 of 0.5's mantissa
		r := math.Float32frombits(b) + 0.5
		return sign | uint16(math.Float32bits(r)-0x3f000000)
	}
	b += 0xfff + b>>13&1                     // round half to even on the 13 bits that go
	return sign | uint16((b-0x38000000)>>13) // rebias 127 → 15
}

// RoundF16 is ToF16 followed by F16.
func RoundF16(f float32) float32 { return F16(ToF16(f)) }

// BF16 converts a bfloat16 to float32, exactly.
func BF16(h uint16) float32 { return math.Float32frombits(uint32(h) << 16) }

// ToBF16 rounds to the nearest bfloat16, ties to even.
func ToBF16(f float32) uint16 {
	b := math.Float32bits(f)
	if b&0x7fffffff > 0x7f800000 {
		return uint16(b>>16) | 0x40
	}
	return uint16((b + 0x7fff + b>>16&1) >> 16)
}

// F8E4M3 converts an fp8 e4m3fn to float32: bias 7, no infinities, 0x7f and 0xff are NaN.
func F8E4M3(b uint8) float32 {
	exp, man := int(b>>3)&0xf, float64(b&7)
	var f float64
	switch {
	case exp == 0xf && b&7 == 7:
		f = math.NaN()
	case exp == 0:
		f = math.Ldexp(man, -9)
	default:
		f = math.Ldexp(8+man, exp-10)
	}
	if b&0x80 != 0 {
		f = math.Copysign(f, -1)
	}
	return float32(f)
}

// ToF8E4M3 rounds to the nearest fp8 e4m3fn, ties to even; what lies beyond 448 after rounding is NaN.
func ToF8E4M3(f float32) uint8 { return toF8(f, 3, 7, 0x7e, 0x7f) }

// F8E5M2 converts an fp8 e5m2 to float32: the upper byte of a half.
func F8E5M2(b uint8) float32 { return F16(uint16(b) << 8) }

// ToF8E5M2 rounds to the nearest fp8 e5m2, ties to even; overflow gives infinity.
func ToF8E5M2(f float32) uint8 {
	if f != f {
		return uint8(math.Float32bits(f)>>24)&0x80 | 0x7e
	}
	return toF8(f, 2, 15, 0x7b, 0x7c)
}

// toF8 rounds to an 8-bit format with man mantissa bits: largest is the code of the greatest finite value,
// over what replaces anything beyond it.
func toF8(f float32, man, bias int, largest, over uint8) uint8 {
	sign := uint8(math.Float32bits(f)>>24) & 0x80
	a := math.Abs(float64(f))
	if a != a || math.IsInf(a, 1) {
		return sign | over
	}
	if a == 0 {
		return sign
	}
	_, e := math.Frexp(a) // a = m·2^e, m in [0.5, 1)
	e = max(e-1, 1-bias)  // exponent of the leading bit, or of the subnormals
	q := math.RoundToEven(math.Ldexp(a, man-e))
	code := int(q) + (e+bias-1)<<man // a carry out of the mantissa moves into the exponent by itself
	if code > int(largest) {
		return sign | over
	}
	return sign | uint8(code)
}

// RoundToOdd rounds a value between two fp32 values to the one whose last bit is set. Rounding the result
// to a type of at most 22 significant bits then gives what rounding v itself would have given.
func RoundToOdd(v float64) float32 {
	f := float32(v)
	if float64(f) == v || v != v || math.IsInf(float64(f), 0) {
		return f
	}
	bits := math.Float32bits(f)
	if math.Abs(float64(f)) > math.Abs(v) {
		bits--
	}
	return math.Float32frombits(bits | 1)
}
