package fit

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// A Domain is the arguments that a fit is for, ends and all.
type Domain struct {
	Min float64 `json:"min"`
	Max float64 `json:"max"`
}

// An End is what a fit does beyond an end of its domain.
type End uint8

// The ends.
const (
	Hold End = iota // the value at the end
	Line            // the line between the last two knots, on and on
)

func (e End) String() string { return [...]string{"hold", "line"}[e] }

// Options say how to fit. The zero Options are good for a function that is flat
// at both ends.
type Options struct{ Left, Right End }

// A Result is a function as a table.
//
// The knots of a table lie a power of two apart and around 0, or from 0 on. Where
// the domain does not, the argument of the table is Scale*x + Offset, rounded to
// fp16, for which there is a layer before that of the table.
type Result struct {
	Domain  Domain
	Options Options

	Scale, Offset float64  // of the argument; 1 and 0: it is x
	Table         td.Table // as the engine has it

	Knots       [td.NumKnots]float64 // before they were rounded to fp16
	First, Last int                  // the knots at the ends of the domain; those beyond are as the Options say

	Fitted  Error // of lines through Knots, with no rounding
	Rounded Error // of what the engine computes: fp16 arguments, knots and results

	function func(float64) float64
	grid     grid
	table    func(float32) float32 // that Table stands for
}

// An Error is how far a curve is from the function, inside of the domain.
type Error struct {
	Max float64 `json:"max"` // the greatest
	At  float64 `json:"at"`  // where
	RMS float64 `json:"rms"` // the root of the mean square, every part of the domain weighing as much as it is long
}

// perSegment is how many samples between two knots are fitted to.
const perSegment = 64

// Table fits lines between 33 knots to a function: those of which the sum of the
// squares of the errors is least. The function must be finite, and of a size that
// fp16 has, in all of the domain.
func Table(f func(float64) float64, d Domain, o Options) (*Result, error) {
	g, err := place(d, o)
	if err != nil {
		return nil, err
	}
	samples := make([]point, (g.last-g.first)*perSegment+1)
	for i := range samples {
		x := d.Min + (d.Max-d.Min)*float64(i)/float64(len(samples)-1)
		samples[i] = point{x, f(x)}
		if err := samples[i].check(); err != nil {
			return nil, err
		}
	}
	r := &Result{
		Domain: d, Options: o, Scale: g.scale, Offset: g.offset, First: g.first, Last: g.last, function: f, grid: g,
	}
	r.solve(samples)
	if err := r.round(); err != nil {
		return nil, err
	}
	for _, s := range samples {
		r.Fitted.add(s.x, r.line(s.x)-s.y, 1)
	}
	r.Fitted.finish(float64(len(samples)))
	r.Rounded, err = r.measure(r.At)
	return r, err
}

// Through is the function that runs through values at even distances from one end
// of a domain to the other in straight lines.
func Through(values []float64, d Domain) func(float64) float64 {
	last := float64(len(values) - 1)
	return func(x float64) float64 {
		p := min(max((x-d.Min)/(d.Max-d.Min)*last, 0), last)
		i := min(int(p), len(values)-2)
		return values[i] + (values[i+1]-values[i])*(p-float64(i))
	}
}

// A point is a function at an argument.
type point struct{ x, y float64 }

func (p point) check() error {
	if math.IsNaN(p.y) || math.Abs(p.y) > maxHalf {
		return fmt.Errorf("the function is %v at %v: fp16 holds numbers up to %v; choose another domain", p.y, p.x, maxHalf)
	}
	return nil
}

// maxHalf is the greatest fp16 number.
const maxHalf = 65504.0

// half rounds to fp16 once. By way of float32 it would be twice.
func half(v float64) uint16 { return tensor.ToF16(tensor.RoundToOdd(v)) }

func rounded(v float64) float64 { return float64(tensor.F16(half(v))) }

// round makes the table of the knots.
func (r *Result) round() error {
	g, t := &r.grid, &r.Table
	*t = td.Table{SpacingLog2: uint16(g.log2), Mode: uint16(g.form)}
	unit := r.unit()
	for i, y := range r.Knots {
		if math.Abs(y) > maxHalf {
			return fmt.Errorf("knot %d, at %v, would be %v, which fp16 does not hold", i, g.x(i), y)
		}
		t.Knots[i] = half(math.RoundToEven(y/unit) * unit)
	}
	knot := func(i int) float64 { return float64(tensor.F16(t.Knots[i])) }
	end := func(e End, i, beside int, x, y *uint16, tail *td.Tail) {
		*x, *y = half(g.u(i)), t.Knots[i]
		if e == Hold {
			return
		}
		// The argument is rounded to fp16, and so are both numbers of the line: it meets the knot within one unit.
		slope := rounded((r.Knots[i] - r.Knots[beside]) / (g.u(i) - g.u(beside)))
		tail.Slope, tail.Intercept = half(slope), half(knot(i)-slope*g.u(i))
		far := math.Inf(i - beside)
		if *x = half(far); slope == 0 {
			*y = tail.Intercept
		} else {
			*y = half(far * slope)
		}
	}
	last := td.NumKnots - 1
	if r.Options.Left == Hold {
		end(Hold, r.First, 0, &t.XLow, &t.YLow, &t.Left)
	} else {
		end(Line, 0, 1, &t.XLow, &t.YLow, &t.Left)
	}
	if r.Options.Right == Hold {
		end(Hold, r.Last, 0, &t.XHigh, &t.YHigh, &t.Right)
	} else {
		end(Line, last, last-1, &t.XHigh, &t.YHigh, &t.Right)
	}
	var err error
	r.table, err = t.Func()
	return err
}

// unit is what knots are multiples of: 2^-24 of the greatest of them, which is less
// than fp16 has but for knots that are next to 0. A basis then adds them up in fp32
// with nothing lost.
func (r *Result) unit() float64 {
	most := 0x1p-24
	for _, y := range r.Knots {
		most = max(most, math.Abs(y), math.Abs(y-r.Knots[r.grid.zero]))
	}
	_, exponent := math.Frexp(most)
	return math.Ldexp(1, exponent-24)
}

// At is the fit at x, as the engine computes it: x, the argument of the table and
// the result are rounded to fp16.
func (r *Result) At(x float64) float64 {
	return rounded(float64(r.table(float32(argument(r.Scale, r.Offset, x)))))
}

// argument is what a layer before the table makes of x: a product and a sum in
// fp32, of which the product is exact, rounded to fp16.
func argument(scale, offset, x float64) float64 {
	return rounded(float64(float32(rounded(x)*scale + offset)))
}

// Halfwords is the table as it is stored, in 64 numbers of 16 bits: what a layer
// NeuronCustom has as its constant.
func (r *Result) Halfwords() []uint16 {
	stored := r.Table.Encode()
	words := make([]uint16, len(stored)/2)
	for i := range words {
		words[i] = binary.LittleEndian.Uint16(stored[2*i:])
	}
	return words
}

// X is where a knot lies.
func (r *Result) X(knot int) float64 { return r.grid.x(knot) }

// line is the fit before anything is rounded.
func (r *Result) line(x float64) float64 {
	i, t := r.grid.segment(x)
	return r.Knots[i] + (r.Knots[i+1]-r.Knots[i])*t
}
