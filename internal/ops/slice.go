package ops

import (
	"errors"
	"fmt"
	"slices"

	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

var sliceOps = []Def{
	{
		Name: "slice_by_index",
		Doc:  "x[begin:end:stride] on each axis, as in Python; squeezed axes are indexed by begin",
		Versions: movedSince(IOS15, func(elem, index TypeSet) []Param {
			return append([]Param{In("x", elem).As("T")}, sliceParams(index)...)
		}),
		Infer: func(c *Call) ([]mil.Type, error) {
			s, err := slicingOf(c)
			if err != nil {
				return nil, err
			}
			s.setWindows(c, declaredShape(c))
			shape, err := s.shape(c.Shape("x"))
			if err != nil {
				return nil, err
			}
			return one(c.DType("x"), shape)
		},
		Eval:  evalSliceByIndex,
		Views: true,
		Lower: lowerSliceByIndex,
	},
	{
		Name: "slice_update",
		Doc:  "x with a slice, given as for slice_by_index, replaced by update",
		Versions: since(IOS18, append([]Param{
			In("x", movable17).As("T"), In("update", movable17).As("T")}, sliceParams(index17)...)...),
		Infer: inferSliceUpdate,
		Eval:  evalSliceUpdate,
		Lower: lowerSliceUpdate,
	},
	{
		Name: "slice_by_size",
		Doc:  "size elements from begin on each axis; a size of -1 goes to the end",
		Versions: movedSince(IOS15, func(elem, index TypeSet) []Param {
			return []Param{In("x", elem).As("T"), In("begin", index).As("U"), In("size", index).As("U")}
		}),
		Infer: inferSliceBySize,
		Eval:  evalSliceBySize,
		Views: true,
		Lower: lowerSliceBySize,
	},
}

func sliceParams(index TypeSet) []Param {
	return []Param{
		In("begin", index).As("U"), In("end", index).As("U"), OptConst("stride", index, nil).As("U"),
		OptConst("begin_mask", B, nil), OptConst("end_mask", B, nil), OptConst("squeeze_mask", B, nil),
	}
}

// slicing is a Python slice of each axis. begin and end are nil if they are not known.
type slicing struct {
	begin, end, stride           []int
	beginMask, endMask, squeezed []bool
	windows                      tensor.Shape // see setWindows; nil, or Unknown along an axis: as in Python
}

func slicingOf(c *Call) (*slicing, error) {
	rank := c.Rank("x")
	s := &slicing{stride: make([]int, rank)}
	var err error
	if s.begin, err = c.axisValues("begin", rank); err != nil {
		return nil, err
	}
	if s.end, err = c.axisValues("end", rank); err != nil {
		return nil, err
	}
	if !c.Has("stride") {
		for i := range s.stride {
			s.stride[i] = 1
		}
	} else if s.stride, err = c.axisValues("stride", rank); err != nil {
		return nil, err
	}
	if slices.Contains(s.stride, 0) {
		return nil, fmt.Errorf("stride %v has a 0", s.stride)
	}
	for _, m := range []struct {
		name string
		mask *[]bool
	}{{"begin_mask", &s.beginMask}, {"end_mask", &s.endMask}, {"squeeze_mask", &s.squeezed}} {
		*m.mask = make([]bool, rank)
		if !c.Has(m.name) {
			continue
		}
		vals, err := c.axisValues(m.name, rank)
		if err != nil {
			return nil, err
		}
		for i, v := range vals {
			(*m.mask)[i] = v != 0
		}
	}
	return s, nil
}

// clampIndex is an index of a Python slice, counted from the end if negative, moved into [lo, hi].
func clampIndex(i, n, lo, hi int) int {
	if i < 0 {
		i += n
	}
	return min(max(i, lo), hi)
}

// span is the indices that the slice takes on an axis of length n: count of them from first on.
func (s *slicing) span(axis, n int) (first, count, step int, err error) {
	if s.windows != nil && s.windows[axis].Known() {
		count = int(s.windows[axis])
		return windowStart(s.begin[axis], count, n), count, 1, nil
	}
	if s.squeezed[axis] {
		return s.index(axis, n)
	}
	step = s.stride[axis]
	lo, hi := 0, n // where begin and end may lie
	first, last := lo, hi
	if step < 0 {
		lo, hi = -1, n-1
		first, last = hi, lo
	}
	if !s.beginMask[axis] {
		first = clampIndex(s.begin[axis], n, lo, hi)
	}
	if !s.endMask[axis] {
		last = clampIndex(s.end[axis], n, lo, hi)
	}
	if step > 0 {
		count = max(0, last-first+step-1) / step
	} else {
		count = max(0, first-last-step-1) / -step
	}
	return first, count, step, nil
}

// index is the one index that is left of a squeezed axis.
func (s *slicing) index(axis, n int) (first, count, step int, err error) {
	if !s.beginMask[axis] {
		first = s.begin[axis]
	}
	at := first
	if at < 0 {
		at += n
	}
	if at < 0 || at >= n {
		return 0, 0, 0, fmt.Errorf("index %d lies outside axis %d, which has length %d", first, axis, n)
	}
	return at, 1, 1, nil
}

// length is how many indices the slice takes on an axis, as far as that is known.
func (s *slicing) length(axis int, n tensor.Dim) (tensor.Dim, error) {
	step := s.stride[axis]
	beginKnown, endKnown := s.begin != nil || s.beginMask[axis], s.end != nil || s.endMask[axis]
	switch {
	case s.squeezed[axis] && !(beginKnown && n.Known()):
		return 1, nil
	case s.squeezed[axis], beginKnown && endKnown && n.Known():
		_, count, _, err := s.span(axis, int(n))
		return tensor.Dim(count), err
	case !beginKnown || !endKnown:
		return tensor.Unknown, nil
	}
	// The bounds are known, and the length that they are clamped to is not. coremltools takes them to lie on the axis
	// and declares a length of 1 where they are one step apart; that holds only if they do.
	fromStart := s.beginMask[axis] || step > 0 && s.begin[axis] == 0 || step < 0 && s.begin[axis] == -1
	switch {
	case fromStart && s.endMask[axis] && (step == 1 || step == -1):
		return n, nil
	case !s.beginMask[axis] && !s.endMask[axis] && (s.begin[axis] < 0) == (s.end[axis] < 0) && (s.end[axis]-s.begin[axis])*step <= 0:
		return 0, nil
	}
	return tensor.Unknown, nil
}

// shape is the shape of the slice of a tensor of shape x.
func (s *slicing) shape(x tensor.Shape) (tensor.Shape, error) {
	out := tensor.Shape{}
	for i, n := range x {
		d, err := s.length(i, n)
		if err != nil {
			return nil, err
		}
		if !s.squeezed[i] {
			out = append(out, d)
		}
	}
	return out, nil
}

// spans are what the slice takes of an array of a shape. Squeezed axes have length 1.
func (s *slicing) spans(shape []int) (all []axisRun, err error) {
	for i, n := range shape {
		first, count, step, err := s.span(i, n)
		if err != nil {
			return nil, err
		}
		all = append(all, axisRun{first, count, step})
	}
	return all, nil
}

func evalSliceByIndex(c *Call) error {
	s, err := slicingOf(c)
	if err != nil {
		return err
	}
	s.setWindows(c, declaredShape(c))
	x := c.Tensor("x")
	spans, err := s.spans(x.Shape())
	if err != nil {
		return err
	}
	y, err := c.take(x, spans)
	if err != nil {
		return err
	}
	if slices.Contains(s.squeezed, true) {
		if y, err = y.Reshape(c.OutShape(0)...); err != nil {
			return err
		}
	}
	c.Return(0, y)
	return nil
}

func inferSliceUpdate(c *Call) ([]mil.Type, error) {
	s, err := slicingOf(c)
	if err != nil {
		return nil, err
	}
	s.setWindows(c, c.Shape("update"))
	shape, err := s.shape(c.Shape("x"))
	if err != nil {
		return nil, err
	}
	update := c.Shape("update")
	if len(update) == 0 {
		return nil, errors.New("update is a scalar, expected a tensor of the slice's shape")
	}
	if !shape.Compatible(update) {
		return nil, fmt.Errorf("update has shape %v, expected %v, that of the slice", update, shape)
	}
	return []mil.Type{c.Type("x")}, nil
}

func evalSliceUpdate(c *Call) error {
	s, err := slicingOf(c)
	if err != nil {
		return err
	}
	out := c.Tensor("x")
	if !c.inPlace {
		if out, err = c.cloned(out); err != nil {
			return err
		}
	}
	s.setWindows(c, c.Shape("update"))
	spans, err := s.spans(out.Shape())
	if err != nil {
		return err
	}
	lengths := make([]int, len(spans))
	for i := range spans {
		lengths[i] = spans[i].count
	}
	update, err := c.Tensor("update").Reshape(lengths...)
	if err != nil {
		return err
	}
	to, from, err := onAxes(out, update, spans)
	if err != nil {
		return err
	}
	if err := c.halt.copy(to, from); err != nil {
		return err
	}
	c.Return(0, out)
	return nil
}

func inferSliceBySize(c *Call) ([]mil.Type, error) {
	shape := c.Shape("x")
	begin, err := c.axisValues("begin", len(shape))
	if err != nil {
		return nil, err
	}
	size, err := c.axisValues("size", len(shape))
	if err != nil {
		return nil, err
	}
	out := unknownShape(len(shape))
	for i, n := range shape {
		if size != nil && size[i] >= 0 {
			out[i] = tensor.Dim(size[i])
		}
		if size != nil && size[i] < -1 {
			return nil, fmt.Errorf("size %v has %d on axis %d, expected a length, or -1 for all that follows", size, size[i], i)
		}
		if begin == nil || c.ctx != nil && size[i] >= 0 { // when it runs, what leaves the axis is zero
			continue
		}
		rest, err := lengthFrom(begin[i], n)
		if err != nil {
			return nil, fmt.Errorf("axis %d: %w", i, err)
		}
		if size != nil && size[i] == -1 {
			out[i] = rest
		}
		if n.Known() && out[i] > rest {
			return nil, fmt.Errorf("axis %d: %v elements from %d on exceed the length %v", i, out[i], begin[i], n)
		}
	}
	return one(c.DType("x"), out)
}

// lengthFrom is how many of n elements there are from an index on, which counts from the end if negative.
func lengthFrom(begin int, n tensor.Dim) (tensor.Dim, error) {
	switch {
	case n.Known() && (begin < -int(n) || begin > int(n)):
		return 0, fmt.Errorf("begin is %d, expected -%v to %v", begin, n, n)
	case begin < 0:
		return tensor.Dim(-begin), nil
	case begin == 0:
		return n, nil
	case n.Known():
		return n - tensor.Dim(begin), nil
	}
	return tensor.Unknown, nil
}

func evalSliceBySize(c *Call) error {
	x := c.Tensor("x")
	begin := c.Ints("begin")
	spans := make([]axisRun, x.Rank())
	for i, count := range c.OutShape(0) {
		spans[i] = axisRun{windowStart(begin[i], count, x.Shape()[i]), count, 1}
	}
	y, err := c.take(x, spans)
	if err != nil {
		return err
	}
	c.Return(0, y)
	return nil
}
