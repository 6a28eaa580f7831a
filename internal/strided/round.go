package strided

import "math"

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
