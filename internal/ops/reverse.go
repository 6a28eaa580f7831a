package ops

import (
	"fmt"
	"slices"

	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

var reverseOps = []Def{
	{
		Name: "reverse",
		Doc:  "the elements in reverse order on all axes or some",
		Versions: movedSince(IOS15, func(elem, _ TypeSet) []Param {
			return []Param{In("x", elem).As("T"), OptConst("axes", I32, nil)}
		}),
		Infer: func(c *Call) ([]mil.Type, error) {
			if _, err := c.axesOrAll("axes", c.Rank("x")); err != nil {
				return nil, err
			}
			return []mil.Type{c.Type("x")}, nil
		},
		Eval:  evalReverse,
		Lower: lowerReverse,
	},
	{
		Name: "reverse_sequence",
		Doc:  "the first lengths[i] elements of seq_axis in reverse order, for each place i of batch_axis",
		Versions: movedSince(IOS15, func(elem, index TypeSet) []Param {
			return []Param{In("x", elem).As("T"), In("lengths", index).As("U"),
				OptConst("seq_axis", I32, 0), OptConst("batch_axis", I32, 0)}
		}),
		Infer: inferReverseSequence,
		Eval:  evalReverseSequence,
		Lower: lowerReverseSequence,
	},
	{
		Name: "sliding_windows",
		Doc:  "the windows of size neighbours on an axis, stride apart, along a new axis after it",
		Versions: []Version{
			{Since: IOS15, Params: windowParams(Number)},
			{Since: IOS17, Params: windowParams(movable17)},
		},
		Infer: inferSlidingWindows,
		Eval:  evalSlidingWindows,
		Lower: lowerSlidingWindows,
	},
}

func windowParams(elem TypeSet) []Param {
	return []Param{In("x", elem).As("T"), Const("axis", I32), Const("size", I32), OptConst("stride", I32, 1)}
}

func evalReverse(c *Call) error {
	y := c.Tensor("x")
	axes, err := c.axesOrAll("axes", y.Rank())
	if err != nil {
		return err
	}
	for _, a := range axes {
		n := y.Shape()[a]
		if y, err = y.Slice(a, n-1, n, -1); err != nil {
			return err
		}
	}
	c.Return(0, y)
	return nil
}

func sequenceAxes(c *Call) (seq, batch int, err error) {
	rank := c.Rank("x")
	if seq, err = c.Axis("seq_axis", rank); err != nil {
		return 0, 0, err
	}
	if batch, err = c.Axis("batch_axis", rank); err != nil {
		return 0, 0, err
	}
	if seq == batch {
		return 0, 0, fmt.Errorf("seq_axis and batch_axis are both %d, expected different axes", seq)
	}
	return seq, batch, nil
}

func inferReverseSequence(c *Call) ([]mil.Type, error) {
	seq, batch, err := sequenceAxes(c)
	if err != nil {
		return nil, err
	}
	shape := c.Shape("x")
	if s := c.Shape("lengths"); len(s) != 1 || !s.Compatible(tensor.Shape{shape[batch]}) {
		return nil, fmt.Errorf("lengths has shape %v, expected [%v]: one for each place of batch_axis", s, shape[batch])
	}
	if c.Known("lengths") && shape[seq].Known() {
		for _, n := range c.Ints("lengths") {
			if n < 0 || tensor.Dim(n) > shape[seq] {
				return nil, fmt.Errorf("lengths has %d, expected 0 to %v, the length of seq_axis", n, shape[seq])
			}
		}
	}
	return []mil.Type{c.Type("x")}, nil
}

func evalReverseSequence(c *Call) error {
	seq, batch, err := sequenceAxes(c)
	if err != nil {
		return err
	}
	x := c.Tensor("x")
	out, err := c.cloned(x)
	if err != nil {
		return err
	}
	for i, n := range c.Ints("lengths") {
		if c.asked() {
			return nil
		}
		from, err := x.Slice(batch, i, 1, 1)
		if err != nil {
			return err
		}
		if from, err = from.Slice(seq, n-1, n, -1); err != nil {
			return err
		}
		to, err := out.Slice(batch, i, 1, 1)
		if err != nil {
			return err
		}
		if to, err = to.Slice(seq, 0, n, 1); err != nil {
			return err
		}
		if err := c.halt.copy(to, from); err != nil {
			return err
		}
	}
	c.Return(0, out)
	return nil
}

func inferSlidingWindows(c *Call) ([]mil.Type, error) {
	shape := c.Shape("x")
	axis, err := c.Axis("axis", len(shape))
	if err != nil {
		return nil, err
	}
	size, stride := c.Int("size"), c.Int("stride")
	if size < 1 || stride < 1 {
		return nil, fmt.Errorf("size is %d and stride %d, expected 1 or more", size, stride)
	}
	n := shape[axis]
	if n.Known() && n < tensor.Dim(size) {
		return nil, fmt.Errorf("size is %d, but axis %d has length %v", size, axis, n)
	}
	windows := tensor.Unknown
	switch {
	case n.Known():
		windows = (n-tensor.Dim(size))/tensor.Dim(stride) + 1
	case size == 1 && stride == 1:
		windows = n
	}
	out := slices.Clone(shape)
	out[axis] = windows
	return one(c.DType("x"), slices.Insert(out, axis+1, tensor.Dim(size)))
}

// evalSlidingWindows writes the first elements of all windows, then the second ones, and so on.
func evalSlidingWindows(c *Call) error {
	x := c.Tensor("x")
	axis, err := c.Axis("axis", x.Rank())
	if err != nil {
		return err
	}
	shape := c.OutShape(0)
	out := tensor.New(x.DType(), shape...)
	size := shape[axis+1]
	if out.Len() == 0 { // another axis is empty, and this one may be as long as a file likes
		size = 0
	}
	for i := range size {
		if c.asked() {
			return nil
		}
		to, err := out.Slice(axis+1, i, 1, 1)
		if err != nil {
			return err
		}
		from, err := x.Slice(axis, i, shape[axis], c.Int("stride"))
		if err != nil {
			return err
		}
		if from, err = from.Reshape(to.Shape()...); err != nil {
			return err
		}
		if err := c.halt.copy(to, from); err != nil {
			return err
		}
	}
	c.Return(0, out)
	return nil
}
