package mil

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/espalier-ane/espalier/tensor"
)

// TestFloatTexts writes every value of the narrow types and reads it back, NaN payloads included.
func TestFloatTexts(t *testing.T) {
	for d, format := range floatFormats {
		step := uint64(1)
		if format.bits > 16 {
			step = 1<<(format.bits-16) - 12345
		}
		for bits := uint64(0); ; bits += step {
			text := appendFloat(nil, d, bits)
			p := &parser{scanner: scanner{src: text, line: 1}}
			p.tok, p.ahead = p.scan(), p.scan()
			back := p.float(d)
			if p.err != nil || back != bits || p.tok.kind != tokEOF {
				t.Fatalf("%v 0x%x is written as %s and read as 0x%x: %v", d, bits, text, back, p.err)
			}
			last := uint64(1)<<(format.bits-1)<<1 - 1
			if bits >= last-step+1 && bits+step > last || bits+step < bits {
				break
			}
		}
	}
}

func TestHexadecimalFloats(t *testing.T) {
	for text, v := range map[string]float32{
		"0x1.197998p-40": 1e-12, "0x1p-1": 0.5, "0x0p+0": 0, "-0x1.388p+13": -10000, "0x1p-100": 0x1p-100, "0x1p+10": 1024,
	} {
		if got := string(appendFloat(nil, tensor.Float32, uint64(math.Float32bits(v)))); got != text {
			t.Errorf("%v is written as %s, want %s", v, got, text)
		}
	}
}

// TestHalfRounding reads decimal numbers close to the middle between two halves, where rounding by way of another
// type goes wrong. The oracle compares with the two halves exactly.
func TestHalfRounding(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		h := uint16(rnd.IntN(0x7bff)) // and h+1, its greater neighbour
		lo, hi := tensor.F16(h), tensor.F16(h+1)
		middle := new(big.Rat).SetFloat64((float64(lo) + float64(hi)) / 2)
		tiny := new(big.Rat).SetFrac64(1, 1<<62) // far beyond what a float64 tells from the middle
		tiny.Mul(tiny, tiny)
		above := new(big.Rat).Add(middle, tiny)
		below := new(big.Rat).Sub(middle, tiny)
		for _, test := range []struct {
			number *big.Rat
			want   uint16
		}{
			{middle, h + h&1},
			{above, h + 1},
			{below, h},
			{new(big.Rat).Neg(middle), (h + h&1) | 0x8000},
			{new(big.Rat).Neg(above), (h + 1) | 0x8000},
		} {
			text := test.number.FloatString(150) // exact
			bits, err := parseFloat(text, tensor.Float16)
			if err != nil || uint16(bits) != test.want {
				t.Fatalf("%s is read as 0x%04x, want 0x%04x: %v", text, bits, test.want, err)
			}
		}
	}
	if bits, _ := parseFloat("65519.99999999999999999999999999999999", tensor.Float16); bits != 0x7bff {
		t.Errorf("just below the overflow: 0x%04x", bits)
	}
	if bits, _ := parseFloat("1e-400", tensor.Float16); bits != 0 {
		t.Errorf("underflow: 0x%04x", bits)
	}
}
