package strided

import (
	"math"

	"github.com/espalier-ane/espalier/internal/kernel/half"
	"github.com/espalier-ane/espalier/internal/kernel/vec"
	"github.com/espalier-ane/espalier/td"
)

// An Activation is a function that is given by knots. It may change between runs.
type Activation struct {
	F     func(float32) float32
	Curve *vec.Curve // the same for many elements at once; nil: there is none
}

func (a *Activation) apply(v []float32) {
	if a.Curve != nil {
		a.Curve.Apply(v)
		return
	}
	for i, x := range v {
		v[i] = a.F(x)
	}
}

// bindNeuronCustom is the function of the table that an operation carries.
func bindNeuronCustom(op *Op) (Kernel, error) {
	table := &op.Params.(*td.NeuronCustom).Table
	f, err := table.Func()
	if err != nil {
		return nil, err
	}
	a := &Activation{F: f, Curve: CurveOf(table)}
	return bindRowwise(op, 1, func(_ *sink, x, _, _ []float32) { a.apply(x) })
}

// CurveOf is a table as lines between knots, or as powers of two of them, nil if
// it is anything else or has numbers that are not finite.
func CurveOf(t *td.Table) *vec.Curve {
	form := t.Form()
	if t.Sign() != td.SignPlain || t.Mode > 0xff || form != td.FormCentred && form != td.FormExp2 {
		return nil
	}
	c := &vec.Curve{
		Low: half.Float(t.XLow), High: half.Float(t.XHigh), AtLow: half.Float(t.YLow), AtHigh: half.Float(t.YHigh),
		PerUnit:   float32(math.Ldexp(1, int(t.SpacingLog2))),
		LeftSlope: half.Float(t.Left.Slope), LeftAt0: half.Float(t.Left.Intercept),
		RightSlope: half.Float(t.Right.Slope), RightAt0: half.Float(t.Right.Intercept),
		Powers: form == td.FormExp2,
	}
	var knots [td.NumKnots]float32
	for i, k := range t.Knots {
		knots[i] = half.Float(k)
	}
	c.Set(&knots)
	const widest = 20 // positions that are whole numbers of 32 bits
	finite := allFinite(knots[:]) && allFinite([]float32{c.LeftSlope, c.LeftAt0, c.RightSlope, c.RightAt0})
	if !finite || c.Low != c.Low || c.High != c.High || t.SpacingLog2 > 100 || c.Powers && t.SpacingLog2 > widest {
		return nil
	}
	return c
}
