package ops

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

var generateOps = []Def{
	{
		Name:     "fill",
		Doc:      "a tensor of a given shape, of one value",
		Versions: since(IOS15, In("shape", I32), OptConst("value", movable15, float32(0)).As("T")),
		Infer:    inferFill,
		Eval:     evalFill,
		Lower:    lowerFill,
	},
	{
		Name: "fill_like",
		Doc:  "a tensor of another one's shape, of one value",
		Versions: since(IOS16,
			In("ref_tensor", movable15).As("T"), OptConst("value", movable15, float32(0)).As("U")),
		Infer: func(c *Call) ([]mil.Type, error) {
			if err := c.oneElement("value"); err != nil {
				return nil, err
			}
			return one(c.DType("value"), c.Shape("ref_tensor"))
		},
		FromTypes: true, // but for value, which is constant
		Eval:      evalFill,
		Lower:     lowerFill,
	},
	{
		Name:     "range_1d",
		Doc:      "start, start+step, start+2·step … as long as they lie before end",
		Versions: since(IOS15, In("end", Number).As("T"), In("start", Number).As("T"), In("step", Number).As("T")),
		Infer:    inferRange,
		Eval:     evalRange,
		Lower:    lowerRange,
	},
	{
		Name: "one_hot",
		Doc:  "on_value where the place on a new axis is the index, off_value elsewhere",
		Versions: since(IOS15,
			In("indices", I32), In("one_hot_vector_size", I32), OptConst("axis", I32, -1),
			OptConst("on_value", movable15, 1).As("T"), OptConst("off_value", movable15, 0).As("T")),
		Infer: inferOneHot,
		Eval:  evalOneHot,
		Lower: lowerOneHot,
	},
	{
		Name:     "tile",
		Doc:      "a tensor repeated on each axis",
		Versions: since(IOS15, In("x", movable15).As("T"), In("reps", I32)),
		Infer:    inferTile,
		Eval:     evalTile,
		Lower:    lowerTile,
	},
}

func inferFill(c *Call) ([]mil.Type, error) {
	if err := c.oneElement("value"); err != nil {
		return nil, err
	}
	d := c.DType("value")
	rank, err := c.vectorLength("shape")
	switch {
	case err != nil:
		return nil, err
	case c.Known("shape"):
		shape := tensor.Shape{}
		for _, n := range c.Ints("shape") {
			if n < 0 {
				return nil, fmt.Errorf("shape %v has a length of %d", c.Ints("shape"), n)
			}
			shape = append(shape, tensor.Dim(n))
		}
		return one(d, shape)
	case rank.Known() && rank <= foldLimit:
		return one(d, unknownShape(int(rank)))
	}
	return unknownRank(d)
}

func evalFill(c *Call) error {
	v, err := c.Tensor("value").Reshape()
	if err != nil {
		return err
	}
	y, err := v.BroadcastTo(c.OutShape(0)...)
	if err != nil {
		return err
	}
	c.Return(0, y)
	return nil
}

func inferRange(c *Call) ([]mil.Type, error) {
	if err := c.oneElement("start", "end", "step"); err != nil {
		return nil, err
	}
	d := c.DType("start")
	if !c.Known("start") || !c.Known("end") || !c.Known("step") {
		return one(d, unknownShape(1))
	}
	n, err := rangeLength(c)
	if err != nil {
		return nil, err
	}
	return one(d, tensor.ShapeOf(n))
}

func rangeLength(c *Call) (int, error) {
	if !c.DType("start").IsFloat() {
		start, end, step := c.Int("start"), c.Int("end"), c.Int("step")
		switch {
		case step == 0:
			return 0, errors.New("step is 0")
		case step > 0:
			return max(0, (end-start+step-1)/step), nil
		}
		return max(0, (start-end-step-1)/-step), nil
	}
	start, end, step := c.Float("start"), c.Float("end"), c.Float("step")
	if step == 0 {
		return 0, errors.New("step is 0")
	}
	n := math.Ceil(float64((end - start) / step))
	if math.IsNaN(n) || n > maxLength {
		return 0, fmt.Errorf("the range from %v to %v by %v has no length that fits in memory", start, end, step)
	}
	return int(max(0, n)), nil
}

func evalRange(c *Call) error {
	n := c.OutLen(0)
	if !c.DType("start").IsFloat() {
		start, step := c.Int("start"), c.Int("step")
		vals := make([]int64, n)
		for lo, hi := range c.pieces(n) {
			for i := lo; i < hi; i++ {
				vals[i] = int64(start + i*step)
			}
		}
		c.ReturnInts(0, vals)
		return nil
	}
	start, step := c.Float("start"), c.Float("step")
	vals := make([]float32, n)
	for lo, hi := range c.pieces(n) {
		for i := lo; i < hi; i++ {
			vals[i] = start + float32(float32(i)*step)
		}
	}
	c.ReturnFloats(0, vals)
	return nil
}

func inferOneHot(c *Call) ([]mil.Type, error) {
	if err := c.oneElement("one_hot_vector_size", "on_value", "off_value"); err != nil {
		return nil, err
	}
	shape := c.Shape("indices")
	axis, err := c.Axis("axis", len(shape)+1)
	if err != nil {
		return nil, err
	}
	size := tensor.Unknown
	if c.Known("one_hot_vector_size") {
		n := c.Int("one_hot_vector_size")
		if n < 0 {
			return nil, fmt.Errorf("one_hot_vector_size is %d", n)
		}
		size = tensor.Dim(n)
	}
	// A default has no element type of its own: the other value settles it.
	d := c.DType("on_value")
	if len(c.Op.Input("on_value")) == 0 {
		d = c.DType("off_value")
	}
	return one(d, slices.Insert(slices.Clone(shape), axis, size))
}

func evalOneHot(c *Call) error {
	shape := c.OutShape(0)
	axis, err := c.Axis("axis", len(shape))
	if err != nil {
		return err
	}
	inner, _ := tensor.Count(shape[axis+1:])
	indices := c.Int64s("indices")
	if c.Out(0).DType.IsFloat() {
		c.ReturnFloats(0, oneHot(indices, shape[axis], inner, c.Float("on_value"), c.Float("off_value")))
	} else {
		c.ReturnInts(0, oneHot(indices, shape[axis], inner, int64(c.Int("on_value")), int64(c.Int("off_value"))))
	}
	return nil
}

// oneHot spreads each index over size places, inner elements apart. An index outside them gives off alone.
func oneHot[T any](indices []int64, size, inner int, on, off T) []T {
	out := slices.Repeat([]T{off}, len(indices)*size)
	for i, v := range indices {
		if v >= 0 && v < int64(size) {
			out[(i/inner*size+int(v))*inner+i%inner] = on
		}
	}
	return out
}

func inferTile(c *Call) ([]mil.Type, error) {
	shape := c.Shape("x")
	reps, err := c.axisValues("reps", len(shape))
	if err != nil {
		return nil, err
	}
	out := unknownShape(len(shape))
	for i, r := range reps {
		if r < 1 {
			return nil, fmt.Errorf("reps %v has %d on axis %d, expected 1 or more", reps, r, i)
		}
		if out[i], err = productOf(shape[i], tensor.Dim(r)); err != nil {
			return nil, err
		}
	}
	return one(c.DType("x"), out)
}

// evalTile gives each axis one before it, of length 1, and repeats that.
func evalTile(c *Call) error {
	x := c.Tensor("x")
	var apart, repeated []int
	for i, r := range c.Ints("reps") {
		apart = append(apart, 1, x.Shape()[i])
		repeated = append(repeated, r, x.Shape()[i])
	}
	y, err := x.Reshape(apart...)
	if err != nil {
		return err
	}
	if y, err = y.BroadcastTo(repeated...); err != nil {
		return err
	}
	if y, err = c.dense(y); err != nil {
		return err
	}
	if y, err = y.Reshape(c.OutShape(0)...); err != nil {
		return err
	}
	c.Return(0, y)
	return nil
}
