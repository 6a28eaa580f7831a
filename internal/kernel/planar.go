package kernel

import "math"

// The planar engine: element by element, over dense arrays.

var planarRows = []Row{
	{"planar-one", true, "one source: scale and bias"},
	{"planar-two", true, "two sources: add, multiply, maximum, minimum or square of the sum, then scale and bias"},
	{"planar-gain", true, "one source: an offset and a gain of each channel"},
}

// PlanarOp is what the planar engine does with two sources.
type PlanarOp uint8

// The operators, as the register numbers them.
const (
	Add PlanarOp = iota
	Multiply
	Maximum
	Minimum
	SquareSum
)

// Planar is what the planar engine does to each element.
type Planar struct {
	PreScale         float32 // of source 1
	Negate1, Negate2 bool
	Op               PlanarOp
	Scale, Bias      float32 // of the result of Op
	Abs, ReLU        bool    // of the result

	IndeterminateToZero bool // +0 where IEEE arithmetic answers NaN to numbers
}

// PlanarOne computes the elements of the tile from one source. The one operator
// that it has is the square.
func PlanarOne(dst, x []float32, p *Planar, lo, hi int) {
	for i := lo; i < hi; i++ {
		v := p.first(x[i])
		if p.Op == SquareSum {
			v *= v
		}
		dst[i] = p.finish(v)
	}
}

// PlanarTwo computes the elements of the tile from two sources.
func PlanarTwo(dst, x, y []float32, p *Planar, lo, hi int) {
	if p.isOperator() {
		p.operate(dst[lo:hi], x[lo:hi], y[lo:hi])
		return
	}
	for i := lo; i < hi; i++ {
		a, b := p.first(x[i]), y[i]
		if p.Negate2 {
			b = -b
		}
		dst[i] = p.finish(p.combine(a, b))
	}
}

// PlanarGain computes (x + offset)·gain. The tile counts channels; a channel has
// plane elements, and one offset and one gain.
func PlanarGain(dst, x, offset, gain []float32, plane int, p *Planar, lo, hi int) {
	for c := lo; c < hi; c++ {
		o, g := offset[c], gain[c]
		if p.Negate2 {
			o = -o
		}
		for i := c * plane; i < (c+1)*plane; i++ {
			a := p.first(x[i])
			v := p.settle(a+o, a, o)
			dst[i] = p.finish(p.settle(float32(v*g), v, g))
		}
	}
}

// isOperator reports whether there is nothing but the operator, and that is one
// of those that are frequent.
func (p *Planar) isOperator() bool {
	return p.PreScale == 1 && p.Scale == 1 && p.Bias == 0 && !p.Negate1 && !p.Abs && !p.ReLU && p.Op <= Minimum
}

// operate is PlanarTwo where isOperator holds.
func (p *Planar) operate(dst, x, y []float32) {
	y, dst = y[:len(x)], dst[:len(x)]
	sign := float32(1)
	if p.Negate2 {
		sign = -1
	}
	for i, a := range x {
		b := y[i] * sign
		var v float32
		switch p.Op {
		case Add:
			v = a + b
		case Multiply:
			v = a * b
		case Maximum:
			v = max(a, b)
		case Minimum:
			v = min(a, b)
		}
		if v != v && p.IndeterminateToZero {
			v = orZero(v, a, b)
		}
		dst[i] = v + 0 // scale and bias have done that: no negative zero
	}
}

func (p *Planar) first(x float32) float32 {
	x = p.settle(x*p.PreScale, x, p.PreScale)
	if p.Negate1 {
		x = -x
	}
	return x
}

func (p *Planar) combine(a, b float32) float32 {
	switch p.Op {
	case Add:
		return p.settle(a+b, a, b)
	case Multiply:
		return p.settle(a*b, a, b)
	case Maximum:
		return max(a, b)
	case Minimum:
		return min(a, b)
	default:
		s := p.settle(a+b, a, b)
		return s * s
	}
}

func (p *Planar) finish(v float32) float32 {
	// The conversion keeps the compiler from fusing the two: a machine that
	// could would round once less than others.
	s := p.settle(float32(v*p.Scale), v, p.Scale)
	v = p.settle(s+p.Bias, s, p.Bias)
	if p.Abs {
		v = float32(math.Abs(float64(v)))
	}
	if p.ReLU && v <= 0 {
		v = 0
	}
	return v
}

func (p *Planar) settle(v, a, b float32) float32 {
	if p.IndeterminateToZero {
		return orZero(v, a, b)
	}
	return v
}
