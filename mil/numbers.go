package mil

import (
	"errors"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/espalier-ane/espalier/tensor"
)

// maxNumber bounds the length of a number's text: the exact value of every float64 fits.
const maxNumber = 1100

// integer reads an integer literal and returns its bits; negative numbers are sign-extended.
func (p *parser) integer(d tensor.DType) uint64 {
	at := p.tok
	if at.kind != tokNumber {
		p.expected("a number of type " + d.String())
		return 0
	}
	text := string(p.text(at))
	p.advance()
	digits, base := strings.TrimLeft(text, "+-"), 10
	if hex, ok := strings.CutPrefix(strings.ToLower(digits), "0x"); ok {
		digits, base = hex, 16
	}
	n, err := strconv.ParseUint(digits, base, 64)
	if errors.Is(err, strconv.ErrSyntax) {
		p.fail(at, "expected a number of type %v, found %q", d, text)
		return 0
	}
	lo, hi := d.IntRange()
	negative := text[0] == '-'
	if err != nil || !negative && n > hi || negative && n > -uint64(lo) {
		p.fail(at, "%s is out of the range of %v, which is %d to %d", text, d, lo, hi)
		return 0
	}
	if negative {
		return -n
	}
	return n
}

// floatFormats describes the binary layouts: sign | exponent | mantissa.
var floatFormats = map[tensor.DType]struct {
	bits, mantissa int
	infinity       uint64 // all ones in the exponent; 0 if the format has no infinities
	nan            uint64 // the one that is written as nan
}{
	tensor.Float64:      {64, 52, 0x7ff << 52, 0x7ff8 << 48},
	tensor.Float32:      {32, 23, 0x7f800000, 0x7fc00000},
	tensor.Float16:      {16, 10, 0x7c00, 0x7e00},
	tensor.BFloat16:     {16, 7, 0x7f80, 0x7fc0},
	tensor.Float8E5M2:   {8, 2, 0x7c, 0x7e},
	tensor.Float8E4M3FN: {8, 3, 0, 0x7f},
}

// float reads a floating-point literal, decimal or hexadecimal, or inf or nan, and returns its bits: the nearest
// value of the type, ties to even.
func (p *parser) float(d tensor.DType) uint64 {
	at := p.tok
	if at.kind != tokNumber && at.kind != tokName {
		p.expected("a number of type " + d.String())
		return 0
	}
	text := string(p.text(at))
	p.advance()
	format := floatFormats[d]
	sign := uint64(0)
	if text[0] == '-' {
		sign = 1 << (format.bits - 1)
	}
	switch strings.ToLower(strings.TrimLeft(text, "+-")) {
	case "inf", "infinity":
		if format.infinity == 0 {
			p.fail(at, "%v has no infinities", d)
		}
		return sign | format.infinity
	case "nan":
		return sign | p.nan(at, d)
	}
	if len(text) > maxNumber {
		p.fail(at, "a number with %d characters is too long", len(text))
		return 0
	}
	bits, err := parseFloat(text, d)
	switch {
	case at.kind != tokNumber || errors.Is(err, strconv.ErrSyntax):
		p.fail(at, "expected a number of type %v, found %q", d, text)
	case err != nil:
		p.fail(at, "%s is out of the range of %v", text, d)
	}
	return bits
}

// nan reads what may follow "nan": the mantissa in parentheses, as C's strtod takes it. Without it the
// mantissa is that of the default NaN.
func (p *parser) nan(at token, d tensor.DType) uint64 {
	format := floatFormats[d]
	if !p.is('(') {
		return format.nan
	}
	p.advance()
	text := string(p.text(p.tok))
	mantissa, err := strconv.ParseUint(text, 0, format.mantissa)
	if p.tok.kind != tokNumber || err != nil || mantissa == 0 || d == tensor.Float8E4M3FN {
		p.fail(p.tok, "expected the mantissa of a NaN of type %v, found %q", d, text)
		return 0
	}
	p.advance()
	p.expect(')', "after the mantissa of a NaN")
	return format.infinity | mantissa
}

// parseFloat rounds a number to the nearest value of a type, once: by way of another type it would be
// rounded twice, which is not the same.
func parseFloat(text string, d tensor.DType) (uint64, error) {
	if len(text) > 2 && strings.Contains(text[:3], "0x") && !strings.ContainsAny(text, "pP") {
		text += "p0" // C's hexadecimal floats need no exponent, Go's do
	}
	switch d {
	case tensor.Float64:
		v, err := strconv.ParseFloat(text, 64)
		return math.Float64bits(v), err
	case tensor.Float32:
		v, err := strconv.ParseFloat(text, 32)
		return uint64(math.Float32bits(float32(v))), err
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, err
	}
	f := toOdd(awayFromTie(text, v))
	var bits uint64
	switch d {
	case tensor.Float16:
		bits = uint64(tensor.ToF16(f))
	case tensor.BFloat16:
		bits = uint64(tensor.ToBF16(f))
	case tensor.Float8E5M2:
		bits = uint64(tensor.ToF8E5M2(f))
	case tensor.Float8E4M3FN:
		bits = uint64(tensor.ToF8E4M3(f))
	}
	overflow := floatFormats[d].infinity
	if overflow == 0 {
		overflow = floatFormats[d].nan
	}
	if bits&(1<<(floatFormats[d].bits-1)-1) == overflow {
		return 0, strconv.ErrRange
	}
	return bits, nil
}

// awayFromTie moves v, the float64 next to a number, by the least possible amount towards the number, if v
// could lie half way between two values of a narrower type while the number does not.
func awayFromTie(text string, v float64) float64 {
	const below = 1<<29 - 1 // the bits that float32 has not; a tie of a narrower type has none of them
	if math.Float64bits(v)&below != 0 || v == 0 {
		return v
	}
	exact, ok := new(big.Rat).SetString(text)
	if !ok {
		return v
	}
	switch exact.Cmp(new(big.Rat).SetFloat64(v)) {
	case -1:
		return math.Nextafter(v, math.Inf(-1))
	case 1:
		return math.Nextafter(v, math.Inf(1))
	}
	return v
}

// toOdd rounds to float32 such that rounding the result to a narrower type gives what rounding v would
// give: what is not exact becomes the neighbour with an odd mantissa, which is never a tie.
func toOdd(v float64) float32 {
	f := float32(v)
	if float64(f) == v || math.IsInf(float64(f), 0) {
		return f
	}
	bits := math.Float32bits(f)
	if math.Abs(float64(f)) > math.Abs(v) {
		bits--
	}
	return math.Float32frombits(bits | 1)
}

// appendFloat writes the element with the given bits as C's hexadecimal floats: "0x1.8p-3", which is exact.
func appendFloat(out []byte, d tensor.DType, bits uint64) []byte {
	format := floatFormats[d]
	magnitude := bits & (1<<(format.bits-1) - 1)
	if bits != magnitude {
		out = append(out, '-')
	}
	switch {
	case magnitude == format.nan:
		return append(out, "nan"...)
	case magnitude == format.infinity && magnitude != 0:
		return append(out, "inf"...)
	case magnitude > format.infinity && format.infinity != 0:
		out = append(out, "nan(0x"...)
		out = strconv.AppendUint(out, magnitude&^format.infinity, 16)
		return append(out, ')')
	}
	var v float64
	switch d {
	case tensor.Float64:
		v = math.Float64frombits(magnitude)
	case tensor.Float32:
		v = float64(math.Float32frombits(uint32(magnitude)))
	case tensor.Float16:
		v = float64(tensor.F16(uint16(magnitude)))
	case tensor.BFloat16:
		v = float64(tensor.BF16(uint16(magnitude)))
	case tensor.Float8E5M2:
		v = float64(tensor.F8E5M2(uint8(magnitude)))
	case tensor.Float8E4M3FN:
		v = float64(tensor.F8E4M3(uint8(magnitude)))
	}
	out = strconv.AppendFloat(out, v, 'x', -1, 64)
	// Go writes at least two digits of exponent, C as few as it takes.
	if n := len(out); out[n-2] == '0' && (out[n-3] == '+' || out[n-3] == '-') {
		out[n-2] = out[n-1]
		out = out[:n-1]
	}
	return out
}
