package fit

import (
	"fmt"
	"math"

	"github.com/espalier-ane/espalier/tensor"
)

// A Basis is the curve of a table as two linear layers and a rectifier between
// them:
//
//	u = Scale*x + Offset
//	h = min(max(Weights*u + Biases, 0), 1)       one for each segment
//	y = Out·h + Bias
//
// A unit h goes from 0 to 1 along its segment, away from u = 0, and stays there:
//
//	                   ____1
//	h    0 _________../           Out is how much the curve rises along the segment
//	       u = 0     |  |
//
// So only one unit is between 0 and 1 at a time, all others are 0 or 1, and the
// sum of their rises is a knot. What a unit has in its segment is u less a number
// between u/2 and 2u, which fp16 holds exactly. A rise is the difference of two
// fp16 numbers, for which fp16 may have too few bits: then there is a second unit
// for the rest, which fp16 always holds. Rectifiers without the limit of 1 would go
// on rising, and their sums, of numbers much larger than the curve, would cancel.
type Basis struct {
	Scale, Offset   float64
	Weights, Biases []float64
	Out             []float64
	Bias            float64

	Error   Error   // against the function, as Result.Rounded
	Differs int     // of how many fp16 numbers the result is another than the table's
	Most    float64 // by how much, at most
}

// Basis makes layers of the curve, for chips that take no table of one's own. It
// is an error if fp16 does not hold the rise of a segment.
func (r *Result) Basis() (*Basis, error) {
	g, t := &r.grid, &r.Table
	knot := func(i int) float64 { return float64(tensor.F16(t.Knots[i])) }
	b := &Basis{Scale: r.Scale, Offset: r.Offset, Bias: knot(g.zero)}
	perUnit := math.Ldexp(1, g.log2)
	for i := g.zero; i < segments; i++ {
		b.add(perUnit, float64(g.zero-i), knot(i+1)-knot(i))
	}
	if r.Options.Right == Line {
		b.tail(g.u(segments), float64(tensor.F16(t.Right.Slope)))
	}
	for i := g.zero; i > 0; i-- {
		b.add(-perUnit, float64(i-g.zero), knot(i-1)-knot(i))
	}
	if r.Options.Left == Line {
		b.tail(g.u(0), float64(tensor.F16(t.Left.Slope)))
	}
	if len(b.Out) == 0 { // a layer has channels, also one that makes a constant
		b.Weights, b.Biases, b.Out = []float64{1}, []float64{0}, []float64{0}
	}
	for i, w := range b.Out {
		if math.Abs(w) > maxHalf {
			return nil, fmt.Errorf("the curve changes by %v along a segment, near %v, and fp16 holds numbers up to %v", math.Abs(w), (-b.Biases[i]/b.Weights[i]-b.Offset)/b.Scale, maxHalf)
		}
	}
	var err error
	if b.Error, err = r.measure(b.At); err != nil {
		return nil, err
	}
	for h := range 1 << 16 {
		x := float64(tensor.F16(uint16(h)))
		if x != x || math.IsInf(x, 0) {
			continue
		}
		if d := math.Abs(b.At(x) - r.At(x)); d > 0 && !math.IsInf(d, 0) { // far out, a line is infinite, a basis is not
			b.Differs++
			b.Most = max(b.Most, d)
		}
	}
	return b, nil
}

// add adds the unit of a segment, and one for what fp16 does not hold of its rise.
func (b *Basis) add(weight, bias, rise float64) {
	for range 2 {
		if rise == 0 {
			return
		}
		w := rise
		if math.Abs(rise) <= maxHalf {
			w = rounded(rise)
		}
		b.Weights, b.Biases, b.Out = append(b.Weights, weight), append(b.Biases, bias), append(b.Out, w)
		rise -= w
	}
}

// tail adds units for a line of a slope from u = from on, away from 0. Each is as
// long as it is far from 0, so that fp16 holds u less where it begins, up to a
// length of 2^14: one over it is the least weight that chips do not take for 0.
func (b *Basis) tail(from, slope float64) {
	for at := from; math.Abs(at) < maxHalf; {
		length := math.Copysign(min(math.Abs(at), 1<<14), from)
		if math.Abs(slope*(at+length)) > maxHalf {
			return // the curve leaves fp16
		}
		b.add(1/length, -at/length, slope*length)
		at += length
	}
}

// At is what the layers make of x on target virtual: sums in fp32, the bias last,
// and the result of each layer rounded to fp16.
func (b *Basis) At(x float64) float64 {
	u, sum := argument(b.Scale, b.Offset, x), float32(0)
	for i, w := range b.Weights {
		h := min(max(w*u+b.Biases[i], 0), 1)
		if h > 0 && h < 1 { // what is rounded is the same for the others
			h = rounded(h)
		}
		sum = float32(float64(sum) + b.Out[i]*h)
	}
	return rounded(float64(sum + float32(b.Bias)))
}
