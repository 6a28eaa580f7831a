package strided

import (
	"math"

	"github.com/espalier-ane/espalier/internal/kernel/half"
	"github.com/espalier-ane/espalier/internal/units"
)

// The planar engine (h13 4.4): x = source 1·pre-scale, negated or not; y =
// source 2, negated or not; v = operator(x, y)·scale + bias. A reduction then
// takes v over the plane of each channel, and gives f(v·final + epsilon).

func (b *BoundUnit) bindPlanar(u *Unit) {
	p := newPlanar(u)
	planes, plane := u.Groups*u.In.C, u.In.D*u.In.H*u.In.W
	b.Steps, b.PerTile = float64(planes*plane), float64(plane)
	to := (*Buffers).result
	if u.Reduces() {
		to = (*Buffers).source1 // reduced from there
	}
	switch {
	case u.Gains != nil:
		each := denseDims{u.Groups, units.Size{W: 1, H: 1, D: 1, C: u.In.C}}
		gains := func(b *Buffers) []float32 { return b.Source2[planes:] }
		b.add(newLoader(u.Source2, u.reading(2), each, (*Buffers).source2), newLoader(u.Gains, u.reading(2), each, gains))
		b.add(&sweep{planes, plane, func(w *Scratch, lo, hi int) {
			p.gain(to(w.Dense), w.Dense.Source1, w.Dense.Source2, gains(w.Dense), plane, lo, hi)
		}})
	case u.Source2 != nil:
		b.add(newLoader(u.Source2, u.reading(2), denseDims{u.Groups, u.In}, (*Buffers).source2))
		b.add(&sweep{planes * plane, 1, func(w *Scratch, lo, hi int) {
			p.two(to(w.Dense)[lo:hi], w.Dense.Source1[lo:hi], w.Dense.Source2[lo:hi])
		}})
	default:
		b.add(&sweep{planes * plane, 1, func(w *Scratch, lo, hi int) {
			p.one(to(w.Dense)[lo:hi], w.Dense.Source1[lo:hi])
		}})
	}
	if u.Reduces() {
		r := newPlaneReduction(u)
		b.add(&sweep{planes, plane, func(w *Scratch, lo, hi int) {
			for i := lo; i < hi; i++ {
				w.Dense.Result[i] = r.reduce(w.Dense.Source1[i*plane:][:plane])
			}
		}})
	}
}

// planar is what the planar engine does to each element.
type planar struct {
	preScale         float32 // of source 1
	negate1, negate2 bool
	operator         uint32
	scale, bias      float32 // of the result of the operator
	abs, relu        bool    // of the result

	toZero bool // +0 where IEEE arithmetic answers NaN to numbers
}

func newPlanar(u *Unit) *planar {
	return &planar{
		preScale: half.Float(u.PreScale), negate1: u.Negate1, negate2: u.Negate2, operator: u.Operator,
		scale: half.Float(u.Scale), bias: half.Float(u.Bias), abs: u.Condition == units.ConditionAbs, relu: u.ReLU,
		toZero: u.Rules != nil && u.Rules.IndeterminateToZero,
	}
}

// one computes elements from one source. The one operator that it has is the
// square.
func (p *planar) one(dst, x []float32) {
	for i, v := range x {
		v = p.first(v)
		if p.operator == units.PlanarSquare {
			v *= v
		}
		dst[i] = p.finish(v)
	}
}

// two computes elements from two sources.
func (p *planar) two(dst, x, y []float32) {
	if p.isOperator() {
		p.operate(dst, x, y)
		return
	}
	for i, a := range x {
		b := y[i]
		if p.negate2 {
			b = -b
		}
		dst[i] = p.finish(p.combine(p.first(a), b))
	}
}

// gain computes (x + offset)·gain, for channels of plane elements, each of which
// has one offset and one gain.
func (p *planar) gain(dst, x, offset, gain []float32, plane, lo, hi int) {
	for c := lo; c < hi; c++ {
		o, g := offset[c], gain[c]
		if p.negate2 {
			o = -o
		}
		for i := c * plane; i < (c+1)*plane; i++ {
			a := p.first(x[i])
			v := orZeroIf(p.toZero, a+o, a, o)
			dst[i] = p.finish(orZeroIf(p.toZero, float32(v*g), v, g))
		}
	}
}

// isOperator reports whether there is nothing but the operator, and that is one
// of those that are frequent.
func (p *planar) isOperator() bool {
	return p.preScale == 1 && p.scale == 1 && p.bias == 0 && !p.negate1 && !p.abs && !p.relu && p.operator <= units.PlanarMinimum
}

// operate is two where isOperator holds.
func (p *planar) operate(dst, x, y []float32) {
	y, dst = y[:len(x)], dst[:len(x)]
	sign := float32(1)
	if p.negate2 {
		sign = -1
	}
	for i, a := range x {
		b := y[i] * sign
		var v float32
		switch p.operator {
		case units.PlanarAdd:
			v = a + b
		case units.PlanarMultiply:
			v = a * b
		case units.PlanarMaximum:
			v = max(a, b)
		case units.PlanarMinimum:
			v = min(a, b)
		}
		if v != v && p.toZero {
			v = orZero(v, a, b)
		}
		dst[i] = v + 0 // scale and bias have done that: no negative zero
	}
}

func (p *planar) first(x float32) float32 {
	x = orZeroIf(p.toZero, x*p.preScale, x, p.preScale)
	if p.negate1 {
		x = -x
	}
	return x
}

func (p *planar) combine(a, b float32) float32 {
	switch p.operator {
	case units.PlanarAdd:
		return orZeroIf(p.toZero, a+b, a, b)
	case units.PlanarMultiply:
		return orZeroIf(p.toZero, a*b, a, b)
	case units.PlanarMaximum:
		return max(a, b)
	case units.PlanarMinimum:
		return min(a, b)
	default:
		s := orZeroIf(p.toZero, a+b, a, b)
		return s * s
	}
}

func (p *planar) finish(v float32) float32 {
	// The conversion keeps the compiler from fusing the two: a machine that
	// could would round once less than others.
	s := orZeroIf(p.toZero, float32(v*p.scale), v, p.scale)
	v = orZeroIf(p.toZero, s+p.bias, s, p.bias)
	if p.abs {
		v = float32(math.Abs(float64(v)))
	}
	if p.relu && v <= 0 {
		v = 0
	}
	return v
}

// planeReduction is a reduction of planes: f(r·scale + epsilon).
type planeReduction struct {
	largest        bool // not the sum
	scale, epsilon float32
	final          uint32
	toZero         bool
}

func newPlaneReduction(u *Unit) *planeReduction {
	return &planeReduction{
		largest: u.Reduction == units.ReduceMaximum, scale: u.FinalScale, epsilon: half.Float(u.Epsilon), final: u.Final,
		toZero: u.Rules != nil && u.Rules.IndeterminateToZero,
	}
}

// reduce takes the elements of a plane one after the other.
func (r *planeReduction) reduce(plane []float32) float32 {
	if r.largest {
		v := -infinity
		for _, x := range plane {
			v = max(v, x)
		}
		return r.finish(v)
	}
	var v float32
	for _, x := range plane {
		s := v + x
		if r.toZero {
			s = orZero(s, v, x)
		}
		v = s
	}
	return r.finish(v)
}

func (r *planeReduction) finish(v float32) float32 {
	given := v == v
	v = float32(v*r.scale) + r.epsilon
	switch r.final {
	case units.FinalReciprocal:
		v = 1 / v
	case units.FinalRSqrt:
		v = float32(1 / math.Sqrt(float64(v)))
	}
	if v != v && given && r.toZero {
		return 0
	}
	return v
}
