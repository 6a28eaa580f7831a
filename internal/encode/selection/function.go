package selection

import (
	"math"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/internal/units"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// Functions of one operand, and powers, in as many tasks as they take.

// function is a function of t.
func (c *chain) function(t operand, a *anec.Activation, to *units.Surface) (operand, *diag.Reason) {
	f, why := functionOf(a)
	if why == nil {
		return c.pass(t, &f, to), nil
	}
	switch a.Function {
	case td.FuncAbs:
		return c.one(t, to, func(o *units.Op) { o.Condition = 1 }), nil
	case td.FuncSquare:
		return c.two(td.EWMult, t, t, t, to, nil)
	case td.FuncFloor:
		return c.roundedOff(t, td.EWSub, td.LessThanZeroTable(), to)
	case td.FuncCeil:
		return c.roundedOff(t, td.EWAdd, whereAbove.table(), to)
	case td.FuncInt, td.FuncTrunc:
		return c.byTable(t, td.IntegerTable(), to), nil
	case td.FuncFrac:
		return c.byTable(t, td.FractionTable(), to), nil
	case td.FuncSign:
		return c.byTable(t, SignTable(units.One|signBit, 0, units.One), to), nil
	case td.FuncErf:
		return c.byTable(t, erfTable(), to), nil
	}
	if s, ok := signFunctions[a.Function]; ok {
		return c.byTable(t, s.table(), to), nil
	}
	return c.composed(t, a, to, why)
}

// composed is a function that is made of those with a table:
//
//	log(x + a)      log2(x + a)·ln 2
//	x·sigmoid(a·x)  swish, and the sigmoid form of gelu with a of 1.702
//	a·tanh(b·x)
//	x/(1 + |x|)     softsign
//	elu             relu(x) + a·(exp(min(x, 0)) - 1)
//	softplus        a·(relu(b·x) + log(1 + exp(-|b·x|)))
//
// Of any other, why says that it has no table.
func (c *chain) composed(t operand, a *anec.Activation, to *units.Surface, why *diag.Reason) (operand, *diag.Reason) {
	half := tensor.ToF16
	plus := func(x operand, n float32) operand {
		if n == 0 {
			return x
		}
		return c.one(x, nil, func(o *units.Op) { o.Bias = half(n) })
	}
	times := func(x operand, n float32, to *units.Surface) operand {
		return c.one(x, to, func(o *units.Op) { o.Scale = half(n) })
	}
	table := func(x operand, t *td.Table, scale float32) operand {
		return c.pass(x, &function{nonLinear: units.Table, table: t, post: half(scale)}, nil)
	}
	switch a.Function {
	case td.FuncLog:
		return c.byTable(table(plus(t, a.A), td.Log2Table(), 1), naturalTable(), to), nil
	case td.FuncSwish:
		return c.two(td.EWMult, t, table(t, td.SigmoidTable(), a.A), t, to, nil)
	case td.FuncGELUSigmoidApproximation:
		return c.two(td.EWMult, t, table(t, td.SigmoidTable(), 1.702), t, to, nil)
	case td.FuncScaledTanh:
		return times(table(t, td.TanhTable(), a.B), a.A, to), nil
	case td.FuncSoftsign:
		magnitude := c.one(t, nil, func(o *units.Op) { o.Condition = 1 })
		return c.two(td.EWMult, t, table(plus(magnitude, 1), td.ReciprocalTable(), 1), t, to, nil)
	case td.FuncELU:
		power := table(table(t, td.MinTable(0), 1), td.Exp2Table(), math.Log2E)
		below := c.one(power, nil, func(o *units.Op) { o.Scale, o.Bias = half(a.A), half(-a.A) })
		return c.two(td.EWAdd, below, t, t, to, func(o *units.Op) { o.ReLU2 = true })
	case td.FuncSoftplus:
		if a.B != 1 {
			t = times(t, a.B, nil)
		}
		magnitude := c.one(t, nil, func(o *units.Op) { o.Condition = 1 })
		logarithm := table(plus(table(magnitude, td.Exp2Table(), -math.Log2E), 1), td.Log2Table(), 1)
		above := td.MaxTable(0)
		above.YHigh = 0 // so that +inf gives 0, as it was measured
		return c.two(td.EWAdd, times(logarithm, math.Ln2, nil), c.byTable(t, above, nil), t, to, func(o *units.Op) { o.Scale = half(a.A) })
	}
	return t, why
}

// naturalTable makes natural logarithms of those to base 2. That of 0 was measured as -45440: it is what -2^16, in the place
// of -inf, times fp16's ln 2 comes to.
func naturalTable() *td.Table {
	ln2 := tensor.ToF16(math.Ln2)
	t := td.LeakyReLUTable(ln2)
	t.Right.Slope, t.YLow = ln2, tensor.ToF16(-0x1p16*tensor.F16(ln2))
	return t
}

// roundedOff is the integer part and the carry that a table makes of the fraction:
//
//	x ─ fraction ─ carry ─┐
//	x ─ integer ───────── ± ─ y
func (c *chain) roundedOff(t operand, carry td.EWKind, of *td.Table, to *units.Surface) (operand, *diag.Reason) {
	fraction := c.byTable(t, td.FractionTable(), nil)
	carried := c.byTable(fraction, of, nil)
	integer := c.byTable(t, td.IntegerTable(), nil)
	return c.two(carry, integer, carried, t, to, nil)
}

// exponential is x^z = exp2(z*log2 x), where the operands broadcast.
func (c *chain) exponential(x, z, like operand) (operand, *diag.Reason) {
	logarithm := c.byTable(x, td.Log2Table(), nil)
	return c.two(td.EWMult, logarithm, z, like, nil, nil)
}

// log2Half is the logarithm of v to the base 2, in fp16.
func log2Half(v float32) float32 { return tensor.RoundF16(float32(math.Log2(float64(v)))) }

// powerOf is x to a constant power: by products where it is a small whole number, by a table where there is one, else
// exp2(power*log2 x).
func (c *chain) powerOf(x operand, power float32, to *units.Surface) (operand, *diag.Reason) {
	table := func(t *td.Table) (operand, *diag.Reason) { return c.byTable(x, t, to), nil }
	switch power {
	case 1:
		return c.pass(x, nil, to), nil
	case 2:
		return c.two(td.EWMult, x, x, x, to, nil)
	case 3, 4:
		square, why := c.two(td.EWMult, x, x, x, nil, nil)
		if why != nil {
			return x, why
		}
		if power == 3 {
			return c.two(td.EWMult, x, square, x, to, nil)
		}
		return c.two(td.EWMult, square, square, x, to, nil)
	case 0.5:
		return table(td.SqrtTable())
	case -0.5:
		return table(td.RSqrtTable())
	case -1:
		return table(td.ReciprocalTable())
	}
	if power == float32(math.Trunc(float64(power))) || tensor.ToF16(power)&0x7fff == 0 {
		// The logarithm of a negative number is no number, but a whole power of it is one.
		return x, diag.Decline(diag.NativeFunction, "a whole power is made of products, and a power by a table has a fraction that fp16 holds").Measure("1 to 4, -1", power)
	}
	logarithm := c.byTable(x, td.Log2Table(), nil)
	return c.pass(logarithm, &function{nonLinear: units.Table, table: td.Exp2Table(), post: tensor.ToF16(power)}, to), nil
}

// prelu is a function that is x above 0 and x times a number for each channel below: the greater of the two, or the lesser.
func (c *chain) prelu(x operand, slopes []float32, to *units.Surface, edit func(*units.Op)) *diag.Reason {
	kind := td.EWMax
	var most, least float32 = -1, 2
	for _, s := range slopes {
		most, least = max(most, s), min(least, s)
	}
	switch {
	case most <= 1:
	case least >= 1:
		kind = td.EWMin
	default:
		return diag.Decline(diag.NativeFunction, "prelu has slopes below and above 1, of which neither the greater nor the lesser is the function").Measure(1, span{least, most})
	}
	sloped, why := c.gains(x, slopes, nil, nil, nil)
	if why != nil {
		return why
	}
	_, why = c.two(kind, x, sloped, x, to, edit)
	return why
}

// erfTable is the error function in the form of tanh's table: odd, exact at the knots, 1 from 4 on.
func erfTable() *td.Table {
	t := *td.TanhTable()
	for i := range t.Knots {
		t.Knots[i] = tensor.ToF16(float32(math.Erf(float64(i) / 8)))
	}
	return &t
}

// A signFunction is what a comparison with 0 gives.
type signFunction struct{ below, at, above uint16 }

func (s signFunction) table() *td.Table { return SignTable(s.below, s.at, s.above) }

var (
	whereZero      = signFunction{0, units.One, 0}
	whereNotZero   = signFunction{units.One, 0, units.One} // it makes a bool of a number
	whereBelow     = signFunction{units.One, 0, 0}
	whereBelowOrAt = signFunction{units.One, units.One, 0}
	whereAbove     = signFunction{0, 0, units.One}
	whereAboveOrAt = signFunction{0, units.One, units.One}
)

var signFunctions = map[td.Function]signFunction{
	td.FuncDirac:                whereZero,
	td.FuncEqualZero:            whereZero,
	td.FuncNotEqualZero:         whereNotZero,
	td.FuncLessThanZero:         whereBelow,
	td.FuncLessThanEqualZero:    whereBelowOrAt,
	td.FuncGreaterThanEqualZero: whereAboveOrAt,
	td.FuncGreaterThanZero:      whereAbove,
}

// SignTable is the table that gives three numbers, below 0, at 0 and above: as the recorded comparison, selection and
// negation have it (oracles, less_bool_rr_1x64x1x1, select_rrb_1x64x1x1, logical_not_1x1x64x64), whose last knot is 0.
func SignTable(below, at, above uint16) *td.Table {
	const tiny, allTail, centred = 1, 64, uint16(td.FormCentred)
	t := &td.Table{
		XLow: tiny | signBit, XHigh: tiny, YLow: below, YHigh: above,
		Left: td.Tail{Intercept: below}, Right: td.Tail{Intercept: above},
		SpacingLog2: allTail, Mode: centred,
	}
	for i := range t.Knots[:td.NumKnots-1] {
		t.Knots[i] = at
	}
	return t
}
