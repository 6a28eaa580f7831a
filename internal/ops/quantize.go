package ops

import (
	"errors"
	"fmt"
	"math"

	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

var quantizeOps = []Def{
	{
		Name: "quantize",
		Doc:  "affine quantization to 8 bits: clip(round(input / scale) + zero_point), per tensor or along an axis",
		Versions: since(IOS17,
			In("input", Float).As("SrcT"),
			OptConst("zero_point", I8|U8, nil).As("DstT"),
			Const("scale", Float).As("SrcT"),
			OptConst("axis", I32, nil),
			Const("output_dtype", Str)),
		Infer: inferQuantize,
		Eval:  evalQuantize,
		Lower: lowerQuantize,
	},
	{
		Name: "dequantize",
		Doc:  "the inverse of quantize: scale·(input - zero_point), per tensor or along an axis",
		Versions: since(IOS17,
			In("input", I8|U8).As("SrcT"),
			OptConst("zero_point", I8|U8, nil).As("SrcT"),
			Const("scale", Float).As("DstT"),
			OptConst("axis", I32, nil)),
		Infer: func(c *Call) ([]mil.Type, error) {
			if _, err := quantizedAxis(c); err != nil {
				return nil, err
			}
			return one(c.DType("scale"), c.Shape("input"))
		},
		Eval:  evalDequantize,
		Lower: lowerDequantize,
	},
}

func inferQuantize(c *Call) ([]mil.Type, error) {
	d, err := tensor.ParseDType(c.Str("output_dtype"))
	if err != nil || d != tensor.Int8 && d != tensor.UInt8 {
		return nil, fmt.Errorf("output_dtype is %q, expected \"int8\" or \"uint8\"", c.Str("output_dtype"))
	}
	if c.Has("zero_point") && c.DType("zero_point") != d {
		return nil, fmt.Errorf("zero_point is %v, but output_dtype is %v", c.DType("zero_point"), d)
	}
	if c.Known("scale") && allZero(c.Floats("scale")) {
		return nil, errors.New("scale is 0")
	}
	if _, err := quantizedAxis(c); err != nil {
		return nil, err
	}
	return one(d, c.Shape("input"))
}

func allZero(vals []float32) bool {
	for _, v := range vals {
		if v != 0 {
			return false
		}
	}
	return len(vals) > 0
}

// quantizedAxis is the axis along which scale and zero_point vary; -1 if they are scalars.
func quantizedAxis(c *Call) (int, error) {
	if c.Has("zero_point") && c.Rank("zero_point") != c.Rank("scale") {
		return 0, fmt.Errorf("zero_point has rank %d, expected that of scale, %d", c.Rank("zero_point"), c.Rank("scale"))
	}
	if c.Rank("scale") == 0 {
		return -1, nil // an axis would not matter
	}
	if !c.Has("axis") {
		return 0, errors.New("scale is a vector, but there is no axis")
	}
	axis, err := c.Axis("axis", c.Rank("input"))
	if err != nil {
		return 0, err
	}
	if err := checkScalarOrVector(c, "scale", c.Shape("input")[axis]); err != nil {
		return 0, err
	}
	if c.Has("zero_point") {
		return axis, checkScalarOrVector(c, "zero_point", c.Shape("input")[axis])
	}
	return axis, nil
}

func quantizedBlocks(c *Call) (*blocking, error) {
	axis, err := quantizedAxis(c)
	if err != nil {
		return nil, err
	}
	shape := c.OutShape(0)
	if axis < 0 {
		n := c.OutLen(0)
		return newBlocking([]int{n}, []int{1}, "scale")
	}
	return newBlocking(shape, axisGrid(shape, axis), "scale")
}

func zeroPoints(c *Call) []float32 {
	if !c.Has("zero_point") {
		return nil
	}
	return c.Floats("zero_point")
}

func evalDequantize(c *Call) error {
	blocks, err := quantizedBlocks(c)
	if err != nil {
		return err
	}
	dequantizeBlocks(c, blocks, "input", shiftScale{c.Floats("scale"), zeroPoints(c)})
	return nil
}

func evalQuantize(c *Call) error {
	blocks, err := quantizedBlocks(c)
	if err != nil {
		return err
	}
	d := c.Out(0).DType
	least, most := d.IntRange()
	lo8, hi8 := float64(least), float64(most)
	in, scale, zero := c.Floats("input"), c.Floats("scale"), zeroPoints(c)
	out := make([]uint8, blocks.n)
	blocks.each(c.halt, func(lo, hi int) {
		blocks.runs(lo, hi, func(lo, hi, block int) {
			s, z := ofBlock(scale, block), float64(ofBlock(zero, block))
			for i := lo; i < hi; i++ {
				q := min(max(math.RoundToEven(float64(in[i]/s))+z, lo8), hi8)
				if q != q { // NaN is no number of any scale; NumPy makes it 0
					q = 0
				}
				out[i] = uint8(int64(q))
			}
		})
	})
	t, err := tensor.FromBytes(d, c.OutShape(0), out)
	c.Return(0, t)
	return err
}
