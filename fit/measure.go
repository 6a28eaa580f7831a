package fit

import (
	"math"

	"github.com/espalier-ane/espalier/tensor"
)

// measure compares a curve with the function at every fp16 number of the domain.
// In the mean, one that has no other near it weighs more.
func (r *Result) measure(curve func(float64) float64) (Error, error) {
	var e Error
	total := 0.0
	args := r.arguments()
	for i, x := range args {
		p := point{x, r.function(x)}
		if err := p.check(); err != nil {
			return e, err
		}
		weight := (args[min(i+1, len(args)-1)] - args[max(i-1, 0)]) / 2
		e.add(x, curve(x)-p.y, weight)
		total += weight
	}
	e.finish(total)
	return e, nil
}

// arguments are the fp16 numbers of the domain, in order.
func (r *Result) arguments() []float64 {
	var args []float64
	for h := int(0xfbff); h > 0x8000; h-- { // below 0, the greatest size first
		args = append(args, float64(tensor.F16(uint16(h))))
	}
	for h := range 0x7c00 {
		args = append(args, float64(tensor.F16(uint16(h))))
	}
	first, last := 0, len(args)
	for first < last && args[first] < r.Domain.Min {
		first++
	}
	for first < last && args[last-1] > r.Domain.Max {
		last--
	}
	return args[first:last]
}

// add takes an error in; until finish, RMS is the sum of the squares.
func (e *Error) add(x, difference, weight float64) {
	if d := math.Abs(difference); d > e.Max {
		e.Max, e.At = d, x
	}
	e.RMS += weight * difference * difference
}

func (e *Error) finish(total float64) {
	if total > 0 {
		e.RMS = math.Sqrt(e.RMS / total)
	}
}
