package strided

import (
	"encoding/binary"
	"math"

	"github.com/espalier-ane/espalier/internal/kernel/half"
)

// Roundings that every element goes through, written such that no branch depends
// on what is in the last bits.

// toOdd rounds to a float32 that a later rounding to a narrower float takes to
// the number nearest to v itself: if v is no float32, it is the one of its two
// neighbours whose last bit is set, which keeps it off every tie.
func toOdd(v float64) float32 {
	const rest = 1<<29 - 1 // the bits that a float32 does not have
	b := math.Float64bits(v)
	if b>>52&0x7ff-897 >= 254 { // no normal float32, or the last
		return toOddSlowly(v)
	}
	odd := uint32((b&rest + rest) >> 29)
	return math.Float32frombits(uint32(b>>32)&(1<<31) | uint32(b&^(1<<63)>>29-896<<23) | odd)
}

func toOddSlowly(v float64) float32 {
	f := float32(v)
	if float64(f) == v || v != v {
		return f
	}
	b := math.Float32bits(f)
	if b&1 == 1 {
		return f
	}
	if math.Abs(float64(f)) > math.Abs(v) {
		return math.Float32frombits(b - 1)
	}
	return math.Float32frombits(b + 1)
}

// storeHalves is half.Bits of dense elements, with no branch that depends on
// which of them are 0, since after a ReLU nobody can foretell it. A number is
// added whose last bit has the place of the last bit of the fp16, so that the
// sum is rounded there:
//
//	number    1.0000000000000000000000|
//	value                 1.mmmmmmmmmm|rrrrrrrrrrrrr
//
// Below 2^-14, the number and with it the last bit stay where they are.
func storeHalves(dst []byte, src []float32) {
	const exponent, least, end = 0x7f800000, 0x38800000, 0x47800000 // the bits of an exponent, of 2^-14, of 2^16
	dst = dst[:2*len(src)]
	for i, v := range src {
		b := math.Float32bits(v)
		magnitude := b &^ (1 << 31)
		if magnitude >= end {
			binary.LittleEndian.PutUint16(dst[2*i:], half.Bits(v))
			continue
		}
		number := math.Float32frombits(max(magnitude&exponent, least) + 13<<23)
		sum := math.Float32bits(number + math.Float32frombits(magnitude))
		half := (sum+2<<23)>>13&0x7c00 + sum&0xfff // the first bit of the value carries into the exponent
		binary.LittleEndian.PutUint16(dst[2*i:], uint16(b>>16&0x8000|half))
	}
}
