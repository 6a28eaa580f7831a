package ops

import (
	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// A live begin need not point into its axis, and the slice has its declared shape all the same. One rule holds on every unit, as
// it does for indices: along an axis, the slice is a window of the declared length that starts at begin, from the end if that
// is negative, whatever end is.
//
//	x = a b c d, a window of 3      begin  1: b c d    begin  2: c d 0    begin -5: 0 a b    begin 9: 0 0 0
//
// Where it leaves the axis it reads zeros, and swallows what is written. A window as long as the axis is all of it, wherever it
// begins: compilers know the length, and not the beginning. What the program has as constants, and axes whose length is not
// declared, are sliced as in Python; a window of constants that leaves the axis is an error.

// An axisRun is what a slice takes along an axis: count elements from first on, step apart. It may leave the axis.
type axisRun struct{ first, count, step int }

// windowStart is where a window of so many of n elements begins.
func windowStart(begin, length, n int) int {
	switch {
	case length == n:
		return 0
	case begin < 0:
		return begin + n
	}
	return begin
}

// setWindows gives a slice whose begin is live, when it runs, windows of the lengths that it is declared to have, without
// squeezed axes.
func (s *slicing) setWindows(c *Call, lengths tensor.Shape) {
	if c.ctx == nil || isLiteral(c.Op.Input("begin")) {
		return
	}
	s.windows = unknownShape(len(s.stride))
	for i := range s.windows {
		length := tensor.Dim(1)
		if !s.squeezed[i] {
			if len(lengths) == 0 {
				return // not of this rank, which is said elsewhere
			}
			length, lengths = lengths[0], lengths[1:]
		}
		if !s.beginMask[i] && (s.stride[i] == 1 || s.squeezed[i]) {
			s.windows[i] = length
		}
	}
}

// isLiteral reports whether an argument stands in the program.
func isLiteral(args []mil.Arg) bool {
	return len(args) == 1 && (args[0].Const != nil || args[0].Value.Const() != nil)
}

// declaredShape is the shape that the program says the first result has.
func declaredShape(c *Call) tensor.Shape {
	if len(c.Op.Outputs) == 0 {
		return nil
	}
	if t, ok := c.Op.Outputs[0].Type.(*mil.TensorType); ok && !t.AnyRank {
		return t.Shape
	}
	return nil
}

// onAxes is what runs take of x, as a view, without what leaves its axes, and the same part of y, which has the lengths of the
// runs.
func onAxes(x, y *tensor.Tensor, spans []axisRun) (ofX, ofY *tensor.Tensor, err error) {
	for i, s := range spans {
		before, count := 0, s.count
		if s.step == 1 {
			before = min(max(0, -s.first), s.count)
			count = max(0, min(s.count, x.Shape()[i]-s.first)-before)
		}
		first := s.first + before
		if count == 0 {
			first, before = 0, 0
		}
		if x, err = x.Slice(i, first, count, s.step); err != nil {
			return nil, nil, err
		}
		if y, err = y.Slice(i, before, count, 1); err != nil {
			return nil, nil, err
		}
	}
	return x, y, nil
}

// take is what runs take of x: a view where they stay on its axes.
func (c *Call) take(x *tensor.Tensor, spans []axisRun) (*tensor.Tensor, error) {
	var lengths []int
	leaves := false
	for i, s := range spans {
		lengths = append(lengths, s.count)
		leaves = leaves || s.step == 1 && s.count > 0 && (s.first < 0 || s.first+s.count > x.Shape()[i])
	}
	if !leaves {
		for i, s := range spans {
			var err error
			if x, err = x.Slice(i, s.first, s.count, s.step); err != nil {
				return nil, err
			}
		}
		return x, nil
	}
	y := tensor.New(x.DType(), lengths...)
	from, to, err := onAxes(x, y, spans)
	if err != nil {
		return nil, err
	}
	return y, c.halt.copy(to, from)
}
