package strided

import (
	"math"

	"github.com/espalier-ane/espalier/internal/kernel/half"
	"github.com/espalier-ane/espalier/internal/kernel/vec"
	"github.com/espalier-ane/espalier/internal/units"
	"github.com/espalier-ane/espalier/td"
)

// The planar engine (h13 4.4): x = source 1·pre-scale, negated or not; y =
// source 2, negated or not; v = operator(x, y)·scale + bias. A reduction then
// takes v over the plane of each channel, and gives f(v·final + epsilon).

func (b *BoundUnit) bindPlanar(u *Unit) {
	p := newPlanar(u)
	planes, plane := u.Groups*u.In.C, u.In.D*u.In.H*u.In.W
	b.Steps, b.PerTile = float64(planes*plane), float64(plane)
	order := denseOrder
	if u.Gains == nil && !u.Reduces() {
		order = orderOf(u)
	}
	// A step takes elements lo to hi, of source 1, and returns what they become.
	var step func(w *Scratch, lo, hi int, x []float32) []float32
	switch {
	case u.Gains != nil:
		each := denseDims{u.Groups, units.Size{W: 1, H: 1, D: 1, C: u.In.C}}
		gains := func(b *Buffers) []float32 { return b.Source2[planes:] }
		b.add(newLoader(u.Source2, u.reading(2), each, (*Buffers).source2), newLoader(u.Gains, u.reading(2), each, gains))
		step = func(w *Scratch, lo, hi int, x []float32) []float32 {
			offset, gain, dst := w.Dense.Source2, gains(w.Dense), w.float[2*moveBlock:][:len(x)]
			for at := lo; at < hi; {
				c := at / plane
				n := min(hi, (c+1)*plane) - at
				p.gain(dst[at-lo:][:n], x[at-lo:][:n], offset[c], gain[c])
				at += n
			}
			return dst
		}
	case u.Source2 != nil:
		second := newMoverBy(u.Source2, u.reading(2), denseDims{u.Groups, u.In}, order)
		step = func(w *Scratch, lo, hi int, x []float32) []float32 {
			y, dst := w.float[moveBlock:][:len(x)], w.float[2*moveBlock:][:len(x)]
			second.read(w, y, lo)
			p.two(dst, x, y)
			return dst
		}
	default:
		step = func(w *Scratch, lo, hi int, x []float32) []float32 {
			dst := w.float[2*moveBlock:][:len(x)]
			p.one(dst, x)
			return dst
		}
	}
	pass := newPlanarPass(u, p, order)
	if u.Reduces() {
		b.bindReduction(u, planes, plane, pass, step)
	} else {
		b.bindElements(u, order, pass, step)
	}
}

// elementsScratch is the scratch of a step: of each source and of the result, some elements.
// A reduction has room for planes behind it.
var (
	elementsScratch  = Need{Float: 3 * moveBlock}
	reductionScratch = Need{Float: 5 * moveBlock}
)

// bindElements binds an operation that makes an element of the result of the same
// element of each source: some elements at a time, in an order of axes. What the step
// is given is its own. A pass, if there is one, is faster.
func (b *BoundUnit) bindElements(u *Unit, order [td.NumAxes]int, pass *planarPass, step func(w *Scratch, lo, hi int, x []float32) []float32) {
	from, to := u.source1By(order), u.resultBy(order)
	b.Over = true
	if to.pass != passNaN || !to.halves {
		pass = nil
	}
	b.add(&sweep{from.elements(), 1, func(w *Scratch, lo, hi int) {
		slowly := func(lo, hi int) {
			x := w.float[:hi-lo]
			from.read(w, x, lo)
			to.write(w, step(w, lo, hi, x), lo)
		}
		inBlocks(lo, hi, func(lo, hi int) {
			if pass != nil {
				pass.elements(w, to, lo, hi, slowly)
			} else {
				slowly(lo, hi)
			}
		})
	}, to.need().Max(elementsScratch)})
}

// bindReduction binds a reduction of planes, whose elements a step makes.
func (b *BoundUnit) bindReduction(u *Unit, planes, plane int, pass *planarPass, step func(w *Scratch, lo, hi int, x []float32) []float32) {
	from, r := u.source1(), newPlaneReduction(u)
	b.First = true
	b.add(&sweep{planes, plane, func(w *Scratch, lo, hi int) {
		for lo < hi { // some planes at a time, so that they are at hand
			n := min(hi-lo, max(reducedAtOnce, moveBlock/max(plane, 1)))
			first, some := lo*plane, w.float[elementsScratch.Float:]
			if n*plane > len(some) {
				some = w.Dense.Source1[first:]
			}
			slowly := func(from2, to int) {
				x := w.float[:to-from2]
				from.read(w, x, from2)
				copy(some[from2-first:to-first], step(w, from2, to, x))
			}
			inBlocks(first, first+n*plane, func(from2, to int) {
				if pass != nil {
					pass.floats(w, some[from2-first:to-first], from2, to, slowly)
				} else {
					slowly(from2, to)
				}
			})
			r.planes(w.Dense.Result[lo:lo+n], some[:n*plane], plane)
			lo += n
		}
	}, from.need().Max(reductionScratch)}, newStorer(u))
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

// What follows computes all elements step by step, by machine code. If none of the
// results is NaN, none was on the way, and rules have nothing to change; otherwise
// elements are computed again, one by one. dst is neither source.

// one computes elements from one source. The one operator that it has is the
// square.
func (p *planar) one(dst, x []float32) {
	p.firsts(dst, x)
	if p.operator == units.PlanarSquare {
		vec.Mul(dst, dst, dst)
	}
	if p.finishes(dst) {
		return
	}
	for i, v := range x {
		v = p.first(v)
		if p.operator == units.PlanarSquare {
			v *= v
		}
		dst[i] = p.finish(v)
	}
}

// two computes elements from two sources. It may negate the second.
func (p *planar) two(dst, x, y []float32) {
	if p.negate2 {
		negate(y)
	}
	a := x
	if p.preScale != 1 || p.negate1 {
		p.firsts(dst, x)
		a = dst
	}
	switch p.operator {
	case units.PlanarAdd:
		vec.Add(dst, a, y)
	case units.PlanarMultiply:
		vec.Mul(dst, a, y)
	case units.PlanarMaximum:
		vec.Max(dst, a, y)
	case units.PlanarMinimum:
		vec.Min(dst, a, y)
	default:
		vec.Add(dst, a, y)
		vec.Mul(dst, dst, dst)
	}
	if p.finishes(dst) {
		return
	}
	for i, a := range x {
		dst[i] = p.finish(p.combine(p.first(a), y[i]))
	}
}

// gain computes (x + offset)·gain.
func (p *planar) gain(dst, x []float32, offset, gain float32) {
	if p.negate2 {
		offset = -offset
	}
	p.firsts(dst, x)
	vec.Plus(dst, offset)
	times(dst, gain)
	if p.finishes(dst) {
		return
	}
	for i, a := range x {
		a = p.first(a)
		v := orZeroIf(p.toZero, a+offset, a, offset)
		dst[i] = p.finish(orZeroIf(p.toZero, float32(v*gain), v, gain))
	}
}

// firsts is first of all elements.
func (p *planar) firsts(dst, x []float32) {
	copy(dst, x)
	times(dst, p.preScale)
	if p.negate1 {
		negate(dst)
	}
}

// finishes is finish of all elements, and reports whether none is NaN.
func (p *planar) finishes(v []float32) bool {
	times(v, p.scale)
	vec.Plus(v, p.bias)
	if p.abs {
		for i, x := range v {
			v[i] = math.Float32frombits(math.Float32bits(x) &^ (1 << 31))
		}
	}
	if p.relu {
		relu(v)
	}
	return !vec.HasNaN(v)
}

// times multiplies elements by a number.
func times(v []float32, s float32) {
	if s == 1 {
		return
	}
	for i := range v {
		v[i] *= s
	}
}

func negate(v []float32) {
	for i, x := range v {
		v[i] = -x
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
	positive       bool // the epsilon is not -0: of a zero, the sign is of no matter
	scale, epsilon float32
	final          uint32
	toZero         bool
}

func newPlaneReduction(u *Unit) *planeReduction {
	return &planeReduction{
		largest: u.Reduction == units.ReduceMaximum, positive: !math.Signbit(float64(half.Float(u.Epsilon))), scale: u.FinalScale, epsilon: half.Float(u.Epsilon), final: u.Final,
		toZero: u.Rules != nil && u.Rules.IndeterminateToZero,
	}
}

// reducedAtOnce is how many planes are added up side by side.
const reducedAtOnce = 8

// planes reduces planes.
func (r *planeReduction) planes(dst, v []float32, plane int) {
	for !r.largest && len(dst) >= reducedAtOnce {
		var sums [reducedAtOnce]float32
		sumPlanes(&sums, v, plane)
		for i, s := range sums {
			if s != s { // with NaN on the way, rules may have something to say
				dst[i] = r.reduce(v[i*plane:][:plane])
			} else {
				dst[i] = r.finish(s)
			}
		}
		dst, v = dst[reducedAtOnce:], v[reducedAtOnce*plane:]
	}
	for i := range dst {
		if r.largest && r.positive {
			dst[i] = r.finish(vec.MaxOf(v[i*plane:][:plane]))
		} else {
			dst[i] = r.reduce(v[i*plane:][:plane])
		}
	}
}

// sumPlanes adds up the elements of planes, of each plane one after the other.
func sumPlanes(sums *[reducedAtOnce]float32, v []float32, plane int) {
	a, b, c, d := v[:plane], v[plane:][:plane], v[2*plane:][:plane], v[3*plane:][:plane]
	e, f, g, h := v[4*plane:][:plane], v[5*plane:][:plane], v[6*plane:][:plane], v[7*plane:][:plane]
	var s0, s1, s2, s3, s4, s5, s6, s7 float32
	for i := range a {
		s0 += a[i]
		s1 += b[i]
		s2 += c[i]
		s3 += d[i]
		s4 += e[i]
		s5 += f[i]
		s6 += g[i]
		s7 += h[i]
	}
	*sums = [reducedAtOnce]float32{s0, s1, s2, s3, s4, s5, s6, s7}
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
