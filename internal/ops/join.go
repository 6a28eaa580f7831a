package ops

import (
	"errors"
	"fmt"
	"slices"

	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

var joinOps = []Def{
	{
		Name: "concat",
		Doc:  "tensors side by side on an axis, or interleaved on it; scalars count as vectors of one",
		Versions: since(IOS15,
			Many("values", AnyType), Const("axis", I32), OptConst("interleave", B, false)),
		Infer: inferConcat,
		Eval:  evalConcat,
		Lower: lowerConcat,
	},
	{
		Name:     "stack",
		Doc:      "tensors of one shape along a new axis",
		Versions: since(IOS15, Many("values", AnyType), Const("axis", I32)),
		Infer:    inferStack,
		Eval:     evalStack,
		Lower:    lowerStack,
	},
	{
		Name: "split",
		Doc:  "a tensor cut on an axis into equal parts or parts of given lengths",
		Versions: since(IOS15,
			In("x", movable15).As("T"), OptConst("num_splits", I32, nil), OptConst("split_sizes", I32, nil), Const("axis", I32)),
		Infer: inferSplit,
		Eval:  evalSplit,
		Lower: lowerSplit,
	},
}

// joined is the types of the tensors that concat or stack joins: as many axes and the same element type each.
// Scalars become vectors of one element if asked.
func joined(c *Call, liftScalars bool) (tensor.DType, []tensor.Shape, error) {
	if c.Count("values") == 0 {
		return 0, nil, errors.New("there are no values to join")
	}
	var d tensor.DType
	shapes := make([]tensor.Shape, c.Count("values"))
	for i := range shapes {
		t := c.TypeAt("values", i)
		shapes[i] = t.Shape
		if liftScalars && len(t.Shape) == 0 {
			shapes[i] = tensor.Shape{1}
		}
		if i == 0 {
			d = t.DType
		}
		if t.DType != d {
			return 0, nil, fmt.Errorf("values[%d] is %v, but values[0] has element type %v", i, t, d)
		}
		if len(shapes[i]) != len(shapes[0]) {
			return 0, nil, fmt.Errorf("values[%d] has %d axes, but values[0] has %d", i, len(shapes[i]), len(shapes[0]))
		}
	}
	return d, shapes, nil
}

// sharedShape is the shape that all of some shapes have, but for one axis that is left out, if not negative.
func sharedShape(shapes []tensor.Shape, but int) (tensor.Shape, error) {
	out := slices.Clone(shapes[0])
	for i, s := range shapes {
		for a := range out {
			if a == but {
				continue
			}
			d, ok := meet(out[a], s[a])
			if !ok {
				return nil, fmt.Errorf("values[%d] has shape %v, which differs from that of the values before it on axis %d: expected %v", i, s, a, out[a])
			}
			out[a] = d
		}
	}
	return out, nil
}

func inferConcat(c *Call) ([]mil.Type, error) {
	d, shapes, err := joined(c, true)
	if err != nil {
		return nil, err
	}
	axis, err := c.Axis("axis", len(shapes[0]))
	if err != nil {
		return nil, err
	}
	but := axis
	if c.Bool("interleave") {
		but = -1
	}
	out, err := sharedShape(shapes, but)
	if err != nil {
		return nil, err
	}
	if out[axis], err = sumOfLengths(shapes, axis); err != nil {
		return nil, err
	}
	return one(d, out)
}

func sumOfLengths(shapes []tensor.Shape, axis int) (tensor.Dim, error) {
	sum := tensor.Dim(0)
	for _, s := range shapes {
		switch {
		case sum == 0:
			sum = s[axis]
		case s[axis] == 0:
		case !sum.Known() || !s[axis].Known():
			return tensor.Unknown, nil
		default:
			var err error
			if sum, err = addLength(sum, int(s[axis])); err != nil {
				return 0, err
			}
		}
	}
	return sum, nil
}

func evalConcat(c *Call) error {
	shape, n := c.OutShape(0), c.Count("values")
	axis, err := c.Axis("axis", len(shape))
	if err != nil {
		return err
	}
	out := tensor.New(c.TensorAt("values", 0).DType(), shape...)
	begin := 0
	for i := range n {
		v := c.TensorAt("values", i)
		if v.Rank() == 0 {
			if v, err = v.Reshape(1); err != nil {
				return err
			}
		}
		count, step := v.Shape()[axis], 1
		first := begin
		if c.Bool("interleave") {
			first, step = i, n
		}
		part, err := out.Slice(axis, first, count, step)
		if err != nil {
			return err
		}
		if err := c.halt.copy(part, v); err != nil {
			return err
		}
		begin += count
	}
	c.Return(0, out)
	return nil
}

func inferStack(c *Call) ([]mil.Type, error) {
	d, shapes, err := joined(c, false)
	if err != nil {
		return nil, err
	}
	axis, err := c.Axis("axis", len(shapes[0])+1)
	if err != nil {
		return nil, err
	}
	out, err := sharedShape(shapes, -1)
	if err != nil {
		return nil, err
	}
	return one(d, slices.Insert(out, axis, tensor.Dim(len(shapes))))
}

func evalStack(c *Call) error {
	shape := c.OutShape(0)
	axis, err := c.Axis("axis", len(shape))
	if err != nil {
		return err
	}
	out := tensor.New(c.TensorAt("values", 0).DType(), shape...)
	for i := range c.Count("values") {
		part, err := out.Slice(axis, i, 1, 1)
		if err != nil {
			return err
		}
		v, err := c.TensorAt("values", i).Reshape(part.Shape()...)
		if err != nil {
			return err
		}
		if err := c.halt.copy(part, v); err != nil {
			return err
		}
	}
	c.Return(0, out)
	return nil
}

func inferSplit(c *Call) ([]mil.Type, error) {
	shape := c.Shape("x")
	axis, err := c.Axis("axis", len(shape))
	if err != nil {
		return nil, err
	}
	sizes, err := splitSizes(c, shape[axis])
	if err != nil {
		return nil, err
	}
	types := make([]mil.Type, len(sizes))
	for i, n := range sizes {
		part := slices.Clone(shape)
		part[axis] = n
		types[i] = &mil.TensorType{DType: c.DType("x"), Shape: part}
	}
	return types, nil
}

// splitSizes is the lengths of the parts of an axis of length n.
func splitSizes(c *Call, n tensor.Dim) ([]tensor.Dim, error) {
	parts := -1
	if c.Has("num_splits") {
		parts = c.Int("num_splits")
		// A program has an output for each part: a number beyond that asks for memory in vain.
		if most := max(len(c.Op.Outputs), foldLimit); parts < 1 || parts > most {
			return nil, fmt.Errorf("num_splits is %d, expected 1 to %d", parts, most)
		}
	}
	if !c.Has("split_sizes") {
		if parts < 0 {
			return nil, errors.New("one of num_splits and split_sizes must be given")
		}
		size, ok := quotient(n, parts)
		if !ok {
			return nil, fmt.Errorf("num_splits is %d, which does not divide the length %v of the axis", parts, n)
		}
		return slices.Repeat([]tensor.Dim{size}, parts), nil
	}
	given := c.Ints("split_sizes")
	if parts >= 0 && parts != len(given) {
		return nil, fmt.Errorf("num_splits is %d, but split_sizes has %d elements", parts, len(given))
	}
	sizes, sum := make([]tensor.Dim, len(given)), tensor.Dim(0)
	for i, v := range given {
		if v < 0 {
			return nil, fmt.Errorf("split_sizes %v has a length of %d", given, v)
		}
		sizes[i] = tensor.Dim(v)
		sum += sizes[i]
	}
	if n.Known() && sum != n {
		return nil, fmt.Errorf("split_sizes %v add up to %v, expected %v, the length of the axis", given, sum, n)
	}
	return sizes, nil
}

func evalSplit(c *Call) error {
	x := c.Tensor("x")
	axis, err := c.Axis("axis", x.Rank())
	if err != nil {
		return err
	}
	begin := 0
	for i := range c.outs {
		n := c.OutShape(i)[axis]
		part, err := x.Slice(axis, begin, n, 1)
		if err != nil {
			return err
		}
		c.Return(i, part)
		begin += n
	}
	return nil
}
