package tensor

import (
	"math"
	"math/rand/v2"
	"testing"
)

// format describes a small floating-point format by its definition, so that the tests need none of the code
// that they test.
type format struct {
	name       string
	bits       int
	man, bias  int
	finiteTop  bool // the largest exponent holds finite values: only all ones is NaN
	decode     func(uint16) float32
	encode     func(float32) uint16
	signBit    uint16
	codes      int
	overflowTo uint16
}

var formats = []format{
	{name: "fp16", bits: 16, man: 10, bias: 15, decode: F16, encode: ToF16, signBit: 0x8000, codes: 1 << 16, overflowTo: 0x7c00},
	{name: "bf16", bits: 16, man: 7, bias: 127, decode: BF16, encode: ToBF16, signBit: 0x8000, codes: 1 << 16, overflowTo: 0x7f80},
	{name: "e4m3", bits: 8, man: 3, bias: 7, finiteTop: true, signBit: 0x80, codes: 1 << 8, overflowTo: 0x7f,
		decode: func(b uint16) float32 { return F8E4M3(uint8(b)) }, encode: func(f float32) uint16 { return uint16(ToF8E4M3(f)) }},
	{name: "e5m2", bits: 8, man: 2, bias: 15, signBit: 0x80, codes: 1 << 8, overflowTo: 0x7c,
		decode: func(b uint16) float32 { return F8E5M2(uint8(b)) }, encode: func(f float32) uint16 { return uint16(ToF8E5M2(f)) }},
}

// value is what a code means, from the definition of the format.
func (f format) value(code uint16) float64 {
	sign := 1.0
	if code&f.signBit != 0 {
		sign = -1
	}
	code &^= f.signBit
	exp, man := int(code>>f.man), float64(code&(1<<f.man-1))
	top := int(f.signBit-1) >> f.man
	switch {
	case f.finiteTop && code == f.signBit-1, !f.finiteTop && exp == top && man != 0:
		return math.NaN()
	case !f.finiteTop && exp == top:
		return sign * math.Inf(1)
	case exp == 0:
		return sign * math.Ldexp(man, 1-f.bias-f.man)
	}
	return sign * math.Ldexp(man+float64(int(1)<<f.man), exp-f.bias-f.man)
}

func TestEveryCodeDecodesToItsDefinition(t *testing.T) {
	for _, f := range formats {
		for c := 0; c < f.codes; c++ {
			want, got := f.value(uint16(c)), float64(f.decode(uint16(c)))
			if math.IsNaN(want) != math.IsNaN(got) || !math.IsNaN(want) && (want != got || math.Signbit(want) != math.Signbit(got)) {
				t.Fatalf("%s %#x decodes to %v, expected %v", f.name, c, got, want)
			}
		}
	}
}

func TestEveryCodeSurvivesEncoding(t *testing.T) {
	for _, f := range formats {
		for c := 0; c < f.codes; c++ {
			v := f.decode(uint16(c))
			got := f.encode(v)
			if v != v {
				if back := f.decode(got); back == back {
					t.Fatalf("%s NaN %#x becomes %v", f.name, c, back)
				}
				continue
			}
			if got != uint16(c) {
				t.Fatalf("%s %#x (%v) encodes to %#x", f.name, c, v, got)
			}
		}
	}
}

// Between two neighbours the halfway point goes to the even code, and the floats next to it to their side.
func TestRoundingIsToNearestEven(t *testing.T) {
	for _, f := range formats {
		for c := uint16(0); c < f.overflowTo-1; c++ {
			a, b := f.value(c), f.value(c+1)
			if math.IsInf(b, 0) || math.IsNaN(b) {
				break
			}
			half := float32((a + b) / 2)
			if float64(half) != (a+b)/2 {
				continue // bf16 subnormals: the midpoint is not a float32
			}
			even := c
			if c&1 == 1 {
				even = c + 1
			}
			for _, tc := range []struct {
				v    float32
				want uint16
			}{{half, even}, {math.Nextafter32(half, 0), c}, {math.Nextafter32(half, math.MaxFloat32), c + 1}} {
				if got := f.encode(tc.v); got != tc.want {
					t.Fatalf("%s: %v between %v and %v encodes to %#x, expected %#x", f.name, tc.v, a, b, got, tc.want)
				}
				if got := f.encode(-tc.v); got != tc.want|f.signBit {
					t.Fatalf("%s: %v encodes to %#x, expected %#x", f.name, -tc.v, got, tc.want|f.signBit)
				}
			}
		}
	}
}

func TestOverflow(t *testing.T) {
	for _, tc := range []struct {
		name string
		got  uint16
		want uint16
	}{
		{"largest half", ToF16(65504), 0x7bff},
		{"below the tie", ToF16(65519.996), 0x7bff},
		{"the tie goes to infinity", ToF16(65520), 0x7c00},
		{"half infinity", ToF16(float32(math.Inf(-1))), 0xfc00},
		{"smallest subnormal", ToF16(1.0 / (1 << 24)), 1},
		{"half of it is a tie with zero", ToF16(1.0 / (1 << 25)), 0},
		{"bf16 overflow", ToBF16(math.MaxFloat32), 0x7f80},
		{"largest e4m3", uint16(ToF8E4M3(448)), 0x7e},
		{"e4m3 tie rounds to even, within range", uint16(ToF8E4M3(464)), 0x7e},
		{"e4m3 has no infinity", uint16(ToF8E4M3(465)), 0x7f},
		{"e5m2 overflow", uint16(ToF8E5M2(61440)), 0x7c},
		{"largest e5m2", uint16(ToF8E5M2(57344)), 0x7b},
	} {
		if tc.got != tc.want {
			t.Errorf("%s: %#x, expected %#x", tc.name, tc.got, tc.want)
		}
	}
}

// A float64 must round to a half once, not by way of float32.
func TestFloat64ToHalfRoundsOnce(t *testing.T) {
	tie := 1 + math.Ldexp(1, -11) // between 1 and 1+2^-10
	for _, tc := range []struct {
		v    float64
		want uint16
	}{
		{tie, 0x3c00}, {tie + math.Ldexp(1, -40), 0x3c01}, {tie - math.Ldexp(1, -40), 0x3c00},
		{-tie - math.Ldexp(1, -40), 0xbc01}, {1e-300, 0}, {1e300, 0x7c00},
	} {
		h, err := Scalar(tc.v).Convert(Float16)
		if err != nil {
			t.Fatal(err)
		}
		if got := Data[uint16](h)[0]; got != tc.want {
			t.Errorf("%v becomes %#x, expected %#x", tc.v, got, tc.want)
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 100000 {
		v := math.Ldexp(r.Float64()+1, r.IntN(40)-28)
		h, _ := Scalar(v).Convert(Float16)
		got := Data[uint16](h)[0]
		for _, near := range []uint16{got - 1, got + 1} {
			if got > 0 && got < 0x7c00 && near < 0x7c00 && math.Abs(formats[0].value(near)-v) < math.Abs(formats[0].value(got)-v) {
				t.Fatalf("%v becomes %v, but %v is nearer", v, formats[0].value(got), formats[0].value(near))
			}
		}
	}
}
