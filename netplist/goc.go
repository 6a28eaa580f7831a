package netplist

import (
	"reflect"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// A GOC unit adds before it multiplies, (x + bias)*scale, where the layer is x*scale + bias: the real list of 34*x + 67 has 34 and
// 1.9707. So the layer's bias is the product of both, for numbers and for constants alike, and a quotient is written. Where that is
// not exact in fp16, a key of ours has the layer's own: EspalierBias, a number; EspalierBiasOffset, a constant beside the unit's.

func (r *paramReader) goc(p *anec.GOC) {
	half := func(key string, to *float32) {
		r.t.key(key, func(x any) *Error { return setBits(reflect.ValueOf(to).Elem(), x) })
	}
	half("ScaleScalar", &p.Scale)
	half("BiasScalar", &p.Bias)
	r.t.key(ours+"Scale", func(x any) *Error { return setPlain(reflect.ValueOf(&p.Scale).Elem(), x) })
}

func (w *paramWriter) goc(p *anec.GOC, scale *anec.Constant) {
	if p.Scale != 1 {
		w.setBits("ScaleScalar", "Scale", p.Scale)
	}
	if p.Bias == 0 {
		return
	}
	by := p.Scale
	if scale != nil { // one number for all channels cannot undo many
		by = 0
	}
	bits := tensor.ToF16(p.Bias / by)
	if by == 0 {
		bits = 0
	}
	w.set("BiasScalar", int64(bits))
	if tensor.F16(bits)*by != p.Bias {
		w.setOurs("Bias", float64(p.Bias))
	}
}

// bias makes the layer's bias of the unit's. scale and bias are constants of the unit, or nil.
func (r *paramReader) bias(p *anec.GOC, scale, bias, exact *anec.Constant) *anec.Constant {
	known := r.t.key(ours+"Bias", func(x any) *Error { return setPlain(reflect.ValueOf(&p.Bias).Elem(), x) })
	switch {
	case exact != nil:
		return exact
	case bias != nil && scale == nil && p.Scale == 1:
		return bias
	case bias != nil:
		return product(bias, scale, p.Scale)
	case known || p.Bias == 0:
		return nil
	case scale != nil:
		number := anec.ConstantOf(tensor.Of([]float32{p.Bias}, 1, 1, 1, 1, 1))
		p.Bias = 0
		return product(number, scale, 1)
	}
	p.Bias *= p.Scale
	return nil
}

// counts is how many numbers a constant has; 0 if there is none.
func counts(c *anec.Constant) int {
	if c == nil {
		return 0
	}
	return c.Dims[td.AxisC]
}

// numbers are those of a constant for n channels, or of one number for all.
func numbers(c *anec.Constant, otherwise float32, n int) []float32 {
	out := make([]float32, n)
	var have []float32
	if c != nil {
		have = c.Stored.Float32s()
	}
	for i := range out {
		switch {
		case len(have) == 1:
			out[i] = have[0]
		case i < len(have):
			out[i] = have[i]
		default:
			out[i] = otherwise
		}
	}
	return out
}

// product is exact: it is of fp32, and the factors mostly of fp16.
func product(a, b *anec.Constant, by float32) *anec.Constant {
	n := a.Dims[td.AxisC]
	if b != nil {
		n = max(n, b.Dims[td.AxisC])
	}
	x, y := numbers(a, 0, n), numbers(b, by, n)
	for i := range x {
		x[i] *= y[i]
	}
	return anec.ConstantOf(tensor.Of(x, 1, 1, n, 1, 1))
}

// quotient is what a unit has for a layer's bias, and whether product makes that of it again.
func quotient(bias, scale *anec.Constant, by float32) (q *anec.Constant, exact bool) {
	if scale == nil && by == 1 {
		return bias, true
	}
	n := bias.Dims[td.AxisC]
	x, y := numbers(bias, 0, n), numbers(scale, by, n)
	for i := range x {
		if y[i] != 0 {
			x[i] = tensor.RoundF16(x[i] / y[i])
		} else {
			x[i] = 0
		}
	}
	q = anec.ConstantOf(tensor.FromFloat32s(tensor.Float16, x, 1, 1, n, 1, 1))
	again := product(q, scale, by)
	if again.Dims != bias.Dims || bias.DType != tensor.Float32 {
		return q, false
	}
	for i, f := range again.Stored.Float32s() {
		if f != numbers(bias, 0, n)[i] {
			return q, false
		}
	}
	return q, true
}
