package ops

import (
	"fmt"

	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// Functions of one element are computed in fp64 and rounded once, so that fp32 results are within a unit in the
// last place. An fp16 result is rounded a second time when it is stored; to make that come out as if
// there had been one rounding, the first one goes to odd.

// pointwise applies a function to every element of x and hands over the first output.
func pointwise(c *Call, f func(float64) float64) error {
	in, narrow := c.Floats("x"), narrowing(c.Out(0).DType)
	out := make([]float32, len(in))
	c.For(len(in), 1<<12, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			out[i] = narrow(f(float64(in[i])))
		}
	})
	c.ReturnFloats(0, out)
	return nil
}

// pointwiseByChannel is pointwise for functions that depend on the element's place on axis 1.
func pointwiseByChannel(c *Call, f func(channel int, x float64) float64) error {
	in, narrow := c.Floats("x"), narrowing(c.Out(0).DType)
	out := make([]float32, len(in))
	shape := c.OutShape(0)
	channels, inner := shape[1], lengthOf(shape[2:])
	c.forRows(len(in), inner, func(lo, hi int) {
		for row := lo; row < hi; row++ {
			for i := row * inner; i < (row+1)*inner; i++ {
				out[i] = narrow(f(row%channels, float64(in[i])))
			}
		}
	})
	c.ReturnFloats(0, out)
	return nil
}

// narrowing rounds fp64 to the fp32 in which values of a type are held.
func narrowing(d tensor.DType) func(float64) float32 {
	if d == tensor.Float16 {
		return tensor.RoundToOdd
	}
	return func(v float64) float32 { return float32(v) }
}

// lengthOf is the number of elements of a concrete shape.
func lengthOf(dims []int) int {
	n := 1
	for _, d := range dims {
		n *= d
	}
	return n
}

// checkScalars refuses arguments that are not one number.
func checkScalars(c *Call, params ...string) error {
	for _, p := range params {
		if !c.Has(p) {
			continue
		}
		if n, ok := c.Shape(p).Count(); !ok || n != 1 {
			return fmt.Errorf("parameter %s is %v, expected a scalar", p, c.Type(p))
		}
	}
	return nil
}

// checkChannels refuses arguments that do not have one number for each channel of x, axis 1.
func checkChannels(c *Call, params ...string) error {
	x := c.Shape("x")
	if len(x) < 2 {
		return fmt.Errorf("x is %v, expected a tensor with channels on axis 1", c.Type("x"))
	}
	for _, p := range params {
		if !c.Has(p) {
			continue
		}
		if s := c.Shape(p); !s.Compatible(tensor.Shape{x[1]}) {
			return fmt.Errorf("parameter %s is %v, expected %v: one number for each channel of x, %v",
				p, c.Type(p), mil.Tensor(c.DType(p), x[1]), c.Type("x"))
		}
	}
	return nil
}

// likeX is the type rule of operations that keep the type of x, after a check of the other arguments.
func likeX(check func(*Call) error) InferFunc {
	return func(c *Call) ([]mil.Type, error) {
		if err := check(c); err != nil {
			return nil, err
		}
		return []mil.Type{c.Type("x")}, nil
	}
}

// untiedSince17 makes the signatures of the many operations whose parameters had the element type of x at
// first (domain T), and one of their own from iOS17 on (domain U).
func untiedSince17(params ...Param) []Version {
	later := make([]Param, len(params))
	copy(later, params)
	for i := range later {
		if later[i].Domain == "T" && later[i].Name != "x" {
			later[i].Domain = "U"
		}
	}
	return []Version{{Since: IOS15, Params: params}, {Since: IOS17, Params: later}}
}
