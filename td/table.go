package td

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/espalier-ane/espalier/tensor"
)

// TableBytes is the size of a stored activation table: 43 halfwords and zeros.
const TableBytes = 128

// NumKnots is the number of knots of an activation table.
const NumKnots = 33

// A Table is an activation function as the array evaluates it: a line through
// 33 knots, after its argument was reduced to the range of the knots (h13 3.5).
// Numbers are fp16 bits, as stored.
type Table struct {
	XLow, XHigh uint16 // limits of the argument
	YLow, YHigh uint16 // the result at and beyond them
	Knots       [NumKnots]uint16
	Left, Right Tail // beyond the knots, inside the limits

	SpacingLog2 uint16 // knots are 2^-SpacingLog2 apart
	Mode        uint16 // low four bits the TableForm, high four bits the TableSign
}

// A Tail is a line, as fp16 bits.
type Tail struct{ Slope, Intercept uint16 }

// TableForm is how an argument is reduced to a position among the knots.
type TableForm uint8

// The forms of table. FormFraction and FormInteger are likely: the recorded
// floor is FormInteger(x) less 1 where FormFraction(x) is negative, and its
// section has the recorded hash. A position p counts knots from 0; k is SpacingLog2.
const (
	FormOrigin     TableForm = 0  // p = x·2^k, right tail beyond
	FormCentred    TableForm = 1  // p = x·2^k + 16, tails on both sides
	FormFraction   TableForm = 3  // x less its integer part; no knots
	FormInteger    TableForm = 4  // the integer part of x; no knots
	FormSqrt       TableForm = 5  // x = m·4^e, m in [1/2,2): p = m·2^k, knot·2^e
	FormRSqrt      TableForm = 6  // the same, knot·2^-e
	FormReciprocal TableForm = 7  // x = m·2^e, m in [1/2,1): p = m·2^k - 32, knot·2^-e
	FormLog2       TableForm = 9  // the same, knot + e
	FormExp2       TableForm = 10 // n = floor x: p = (x-n)·2^k, knot·2^n
)

// TableSign is what happens to the sign of an argument.
type TableSign uint8

// The treatments of sign.
const (
	SignPlain    TableSign = 0
	SignOdd      TableSign = 6    // works on |x|, then restores the sign
	SignPositive TableSign = 0x0c // a negative argument gives +0; reported for the device, likely
)

// Form returns how the table reduces its argument.
func (t *Table) Form() TableForm { return TableForm(t.Mode & 15) }

// Sign returns what the table does with the sign of its argument.
func (t *Table) Sign() TableSign { return TableSign(t.Mode >> 4 & 15) }

// halfwords points to the 43 halfwords in the order in which they are stored.
func (t *Table) halfwords() []*uint16 {
	h := []*uint16{&t.XLow, &t.XHigh, &t.YLow, &t.YHigh}
	for i := range t.Knots {
		h = append(h, &t.Knots[i])
	}
	return append(h, &t.Left.Slope, &t.Left.Intercept, &t.Right.Slope, &t.Right.Intercept, &t.SpacingLog2, &t.Mode)
}

// DecodeTable reads a stored table, the first TableBytes bytes of b.
func DecodeTable(b []byte) (*Table, error) {
	if len(b) < TableBytes {
		return nil, formatError(len(b), "an activation table has %d bytes, here are %d", TableBytes, len(b))
	}
	t := new(Table)
	h := t.halfwords()
	for i, p := range h {
		*p = binary.LittleEndian.Uint16(b[2*i:])
	}
	for i := 2 * len(h); i < TableBytes; i++ {
		if b[i] != 0 {
			return nil, formatError(i, "want zeros after an activation table, got %#x", b[i])
		}
	}
	return t, nil
}

// Encode returns the table as stored.
func (t *Table) Encode() []byte {
	b := make([]byte, 0, TableBytes)
	for _, p := range t.halfwords() {
		b = binary.LittleEndian.AppendUint16(b, *p)
	}
	return b[:TableBytes]
}

// Func returns the function that the table stands for. It does not round its
// result. A NaN gives NaN. Tables of unknown forms are an error.
func (t *Table) Func() (func(float32) float32, error) {
	c := curve{
		xlow: tensor.F16(t.XLow), xhigh: tensor.F16(t.XHigh),
		ylow: tensor.F16(t.YLow), yhigh: tensor.F16(t.YHigh),
		left:  [2]float32{tensor.F16(t.Left.Slope), tensor.F16(t.Left.Intercept)},
		right: [2]float32{tensor.F16(t.Right.Slope), tensor.F16(t.Right.Intercept)},
	}
	if t.SpacingLog2 > 100 {
		return nil, fmt.Errorf("td: activation table: knots 2^-%d apart", t.SpacingLog2)
	}
	c.perUnit = float32(math.Ldexp(1, int(t.SpacingLog2)))
	for i, k := range t.Knots {
		c.knots[i] = tensor.F16(k)
	}
	positive, ok := map[TableForm]func(*curve, float32) float32{
		FormOrigin:     (*curve).origin,
		FormCentred:    (*curve).centred,
		FormFraction:   func(_ *curve, x float32) float32 { return x - trunc(x) },
		FormInteger:    func(_ *curve, x float32) float32 { return trunc(x) },
		FormSqrt:       (*curve).sqrt,
		FormRSqrt:      (*curve).rsqrt,
		FormReciprocal: (*curve).reciprocal,
		FormLog2:       (*curve).log2,
		FormExp2:       (*curve).exp2,
	}[t.Form()]
	if !ok || t.Mode > 0xff {
		return nil, fmt.Errorf("td: activation table: form %d (mode %#x) is not known", t.Form(), t.Mode)
	}
	within := func(x float32) float32 {
		switch {
		case x <= c.xlow:
			return c.ylow
		case x >= c.xhigh:
			return c.yhigh
		case x != x:
			return x
		}
		return positive(&c, x)
	}
	switch t.Sign() {
	case SignPlain:
		return within, nil
	case SignOdd:
		return func(x float32) float32 {
			if math.Signbit(float64(x)) {
				return -within(-x)
			}
			return within(x)
		}, nil
	case SignPositive:
		return func(x float32) float32 {
			if x < 0 {
				return 0
			}
			return within(x)
		}, nil
	}
	return nil, fmt.Errorf("td: activation table: sign treatment %d (mode %#x) is not known", t.Sign(), t.Mode)
}

// curve is a table made ready to evaluate.
type curve struct {
	xlow, xhigh, ylow, yhigh float32
	perUnit                  float32 // knots per unit of the argument
	knots                    [NumKnots]float32
	left, right              [2]float32 // slope, intercept
}

// at interpolates at position p, from 0 to 32.
func (c *curve) at(p float32) float32 {
	i := min(max(int(p), 0), NumKnots-2)
	rise := float32((c.knots[i+1] - c.knots[i]) * (p - float32(i)))
	return c.knots[i] + rise
}

// Products are converted before they are added to, so that no machine fuses the
// two.

func line(l [2]float32, x float32) float32 { return float32(l[0]*x) + l[1] }

func (c *curve) origin(x float32) float32 {
	p := x * c.perUnit
	if p > NumKnots-1 {
		return line(c.right, x)
	}
	return c.at(p)
}

func (c *curve) centred(x float32) float32 {
	p := float32(x*c.perUnit) + (NumKnots-1)/2
	switch {
	case p < 0:
		return line(c.left, x)
	case p > NumKnots-1:
		return line(c.right, x)
	}
	return c.at(p)
}

func (c *curve) exp2(x float32) float32 {
	n := math.Floor(float64(x))
	return float32(math.Ldexp(float64(c.at((x-float32(n))*c.perUnit)), int(n)))
}

func trunc(x float32) float32 { return float32(math.Trunc(float64(x))) }

// split returns m and e with x = m·2^e, m in [1/2,1).
func split(x float32) (float32, int) {
	m, e := math.Frexp(float64(x))
	return float32(m), e
}

func (c *curve) reciprocal(x float32) float32 {
	m, e := split(x)
	return float32(math.Ldexp(float64(c.at(float32(m*c.perUnit)-(NumKnots-1))), -e))
}

func (c *curve) log2(x float32) float32 {
	m, e := split(x)
	return c.at(float32(m*c.perUnit)-(NumKnots-1)) + float32(e)
}

// splitSqrt returns m and e with x = m·4^e, m in [1/2,2).
func splitSqrt(x float32) (float32, int) {
	m, e := split(x)
	if e%2 != 0 {
		return 2 * m, (e - 1) / 2
	}
	return m, e / 2
}

func (c *curve) sqrt(x float32) float32 {
	m, e := splitSqrt(x)
	return float32(math.Ldexp(float64(c.at(m*c.perUnit)), e))
}

func (c *curve) rsqrt(x float32) float32 {
	m, e := splitSqrt(x)
	return float32(math.Ldexp(float64(c.at(m*c.perUnit)), -e))
}
