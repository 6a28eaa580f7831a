package ops

import (
	"fmt"

	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// Arithmetic on lengths that may be unknown. A length that an operation leaves as it is keeps its symbol; one
// that is computed from an unknown one is unknown.

// maxLength is what tensor.Count allows: lengths that a file asks for must not wrap when they are multiplied.
const maxLength = 1 << 48

func tooLong(a tensor.Dim, sign string, b tensor.Dim) error {
	return fmt.Errorf("the length %v %s %v is beyond any memory", a, sign, b)
}

// addLength is the length d+n, for a count n that is not negative.
func addLength(d tensor.Dim, n int) (tensor.Dim, error) {
	switch {
	case n == 0:
		return d, nil
	case !d.Known():
		return tensor.Unknown, nil
	case n > maxLength || d > maxLength-tensor.Dim(n):
		return 0, tooLong(d, "+", tensor.Dim(n))
	}
	return d + tensor.Dim(n), nil
}

// productOf multiplies lengths. One unknown length among ones keeps its symbol.
func productOf(lengths ...tensor.Dim) (tensor.Dim, error) {
	p := tensor.Dim(1)
	for _, d := range lengths {
		switch {
		case d == 1:
		case p == 1:
			p = d
		case p == 0 || d == 0:
			p = 0
		case !p.Known() || !d.Known():
			p = tensor.Unknown
		case p > maxLength/d:
			return 0, tooLong(p, "·", d)
		default:
			p *= d
		}
	}
	return p, nil
}

// quotient is the length d/n, for n above 0; false if the division has a remainder.
func quotient(d tensor.Dim, n int) (tensor.Dim, bool) {
	switch {
	case n == 1:
		return d, true
	case !d.Known():
		return tensor.Unknown, true
	}
	return d / tensor.Dim(n), d%tensor.Dim(n) == 0
}

// meet is the length of an axis that two values share: what one of them knows. It is false if they contradict.
func meet(a, b tensor.Dim) (tensor.Dim, bool) {
	switch {
	case a == tensor.Unknown || b.Known() && !a.Known():
		return b, true
	case a.Known() && b.Known():
		return a, a == b
	}
	return a, true
}

// unknownShape is a shape of which only the rank is known.
func unknownShape(rank int) tensor.Shape {
	s := make(tensor.Shape, rank)
	for i := range s {
		s[i] = tensor.Unknown
	}
	return s
}

// unknownRank is the result of a type rule for an output whose shape has a number of axes that is computed.
func unknownRank(d tensor.DType) ([]mil.Type, error) {
	return []mil.Type{&mil.TensorType{DType: d, AnyRank: true}}, nil
}

// vectorLength is the number of elements of an argument that is a list of integers, such as a shape. A
// scalar counts as one element.
func (c *Call) vectorLength(name string) (tensor.Dim, error) {
	switch s := c.Shape(name); len(s) {
	case 0:
		return 1, nil
	case 1:
		return s[0], nil
	default:
		return 0, fmt.Errorf("%s has shape %v, expected a vector", name, s)
	}
}

// axisValues is the elements of an argument that has one for each of the n axes of x; nil if they are not known.
func (c *Call) axisValues(name string, n int) ([]int, error) {
	have, err := c.vectorLength(name)
	if err != nil {
		return nil, err
	}
	var vals []int
	if c.Known(name) {
		vals = c.Ints(name)
		have = tensor.Dim(len(vals))
	}
	if have.Known() && have != tensor.Dim(n) {
		return nil, fmt.Errorf("%s has %v elements, expected %d: one for each axis of x", name, have, n)
	}
	return vals, nil
}

// axesOrAll is the axes that an argument names, or every axis if it is left out.
func (c *Call) axesOrAll(name string, rank int) ([]int, error) {
	if c.Has(name) {
		return c.Axes(name, rank)
	}
	axes := make([]int, rank)
	for i := range axes {
		axes[i] = i
	}
	return axes, nil
}

// oneElement checks that an argument is a scalar, or an array of one element, which will do for one.
func (c *Call) oneElement(names ...string) error {
	for _, name := range names {
		for _, d := range c.Shape(name) {
			if d.Known() && d != 1 {
				return fmt.Errorf("%s has shape %v, expected a scalar", name, c.Shape(name))
			}
		}
	}
	return nil
}
