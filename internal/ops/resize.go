package ops

import (
	"errors"
	"fmt"
	"math"

	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

var resizeOps = []Def{
	{
		Name: "resize",
		Doc:  "the last axes of x resized to the lengths at the end of shape, by linear interpolation or nearest neighbour",
		Versions: since(IOS17,
			In("x", Number).As("T"),
			In("shape", I32|I16|U16|U32).As("U"),
			Const("resized_dims", U32),
			OptConst("interpolation_mode", Str, "LINEAR"),
			OptConst("sampling_mode", Str, "DEFAULT")),
		Infer: inferResize,
		Eval:  evalResize,
		Lower: lowerResize,
	},
	{
		Name: "resize_bilinear",
		Doc:  "the last two axes of x resized by linear interpolation",
		Versions: since(IOS15,
			In("x", Float).As("T"),
			OptConst("target_size_height", I32, 1),
			OptConst("target_size_width", I32, 1),
			OptConst("sampling_mode", Str, "DEFAULT")),
		Infer: inferResizeBilinear,
		Eval: func(c *Call) error {
			returnLinear(c, 2, c.Str("sampling_mode"))
			return nil
		},
		Lower: func(l *Lowering) error { return l.resizeLinearly(l.Str("sampling_mode")) },
	},
	{
		Name: "resize_nearest_neighbor",
		Doc:  "the last two axes of x resized by repeating or dropping elements",
		Versions: since(IOS15,
			In("x", Float).As("T"),
			Const("target_size_height", I32),
			Const("target_size_width", I32)),
		Infer: inferTargetSize,
		Eval:  evalNearest,
		Lower: lowerNearest,
	},
	{
		Name: "upsample_bilinear",
		Doc:  "the last two axes of x scaled by linear interpolation",
		Versions: []Version{
			{Since: IOS15, Params: upsampleBilinearParams},
			{Since: IOS16, Params: append(upsampleBilinearParams[:4:4], OptConst("half_pixel_centers", B, nil))},
		},
		Infer: inferUpsampleBilinear,
		Eval: func(c *Call) error {
			returnLinear(c, 2, upsampleMode(c))
			return nil
		},
		Lower: func(l *Lowering) error { return l.resizeLinearly(upsampleMode(l.Call)) },
	},
	{
		Name: "upsample_nearest_neighbor",
		Doc:  "the last two axes of x scaled by repeating or dropping elements",
		Versions: since(IOS15,
			In("x", Float).As("T"),
			OptConst("scale_factor_height", F32|I32, 1).As("U"),
			OptConst("scale_factor_width", F32|I32, 1).As("U")),
		Infer: inferUpsample,
		Eval:  evalNearest,
		Lower: lowerNearest,
	},
}

var upsampleBilinearParams = []Param{
	In("x", Float).As("T"),
	OptConst("scale_factor_height", F32|I32, 1).As("U"),
	OptConst("scale_factor_width", F32|I32, 1).As("U"),
	OptConst("align_corners", B, true),
}

// inferResized is the type of x with its last axes resized.
func inferResized(c *Call, targets ...tensor.Dim) ([]mil.Type, error) {
	x := c.Shape("x")
	shape := joinShapes(x[:len(x)-len(targets)], targets)
	for i := range shape {
		if x[i] == 0 && shape[i] != 0 {
			return nil, fmt.Errorf("axis %d of x is empty and cannot be resized to %v", i, shape[i])
		}
	}
	return one(c.DType("x"), shape)
}

// needImage refuses an x without a height and a width.
func needImage(c *Call) error {
	if c.Rank("x") < 3 {
		return fmt.Errorf("x has rank %d, expected at least 3", c.Rank("x"))
	}
	return nil
}

// targetLength is a length that a constant asks for.
func targetLength(c *Call, name string) (tensor.Dim, error) {
	if n := c.Int(name); n > 0 {
		return tensor.Dim(n), nil
	}
	return 0, fmt.Errorf("%s is %d, expected a length above 0", name, c.Int(name))
}

func inferTargetSize(c *Call) ([]mil.Type, error) {
	if err := needImage(c); err != nil {
		return nil, err
	}
	h, err := targetLength(c, "target_size_height")
	if err != nil {
		return nil, err
	}
	w, err := targetLength(c, "target_size_width")
	if err != nil {
		return nil, err
	}
	return inferResized(c, h, w)
}

func inferResizeBilinear(c *Call) ([]mil.Type, error) {
	if err := checkSamplingMode(c); err != nil {
		return nil, err
	}
	return inferTargetSize(c)
}

func inferUpsample(c *Call) ([]mil.Type, error) {
	if err := needImage(c); err != nil {
		return nil, err
	}
	rank := c.Rank("x")
	h, err := scaledLength(c, "scale_factor_height", rank-2)
	if err != nil {
		return nil, err
	}
	w, err := scaledLength(c, "scale_factor_width", rank-1)
	if err != nil {
		return nil, err
	}
	return inferResized(c, h, w)
}

// scaledLength is an axis of x times a factor, rounded down. coremltools multiplies in fp32 or fp64 depending on
// the NumPy it runs with, and 0.7·10 then is 7 or 6: where the two differ, the file has the last word.
func scaledLength(c *Call, name string, axis int) (tensor.Dim, error) {
	if err := c.oneElement(name); err != nil {
		return 0, err
	}
	factor, n := c.Tensor(name).Float64s()[0], c.Shape("x")[axis]
	if !(factor > 0) || math.IsInf(factor, 1) {
		return 0, fmt.Errorf("%s is %v, expected a factor above 0", name, factor)
	}
	if !n.Known() {
		if factor == 1 {
			return n, nil
		}
		return tensor.Unknown, nil
	}
	if factor*float64(n) > maxLength {
		return 0, fmt.Errorf("%s is %v: axis %d of x, of length %v, would be beyond any memory", name, factor, axis, n)
	}
	length := tensor.Dim(math.Floor(float64(float32(factor) * float32(n))))
	if exact := tensor.Dim(math.Floor(factor * float64(n))); declaredLength(c, axis) == exact {
		length = exact
	}
	return length, nil
}

// declaredLength is what the program says about an axis of the first result.
func declaredLength(c *Call, axis int) tensor.Dim {
	if len(c.Op.Outputs) == 0 {
		return tensor.Unknown
	}
	t, ok := c.Op.Outputs[0].Type.(*mil.TensorType)
	if !ok || axis >= len(t.Shape) {
		return tensor.Unknown
	}
	return t.Shape[axis]
}

func inferUpsampleBilinear(c *Call) ([]mil.Type, error) {
	if c.Has("half_pixel_centers") && c.Bool("half_pixel_centers") && c.Bool("align_corners") {
		return nil, errors.New("align_corners and half_pixel_centers are both true, expected one of them at most")
	}
	return inferUpsample(c)
}

// upsampleMode is the sampling mode that the flags of upsample_bilinear mean.
func upsampleMode(c *Call) string {
	switch {
	case c.Bool("align_corners"):
		return "STRICT_ALIGN_CORNERS"
	case !c.Has("half_pixel_centers") || c.Bool("half_pixel_centers"):
		return "UNALIGN_CORNERS"
	}
	return "DEFAULT"
}

func inferResize(c *Call) ([]mil.Type, error) {
	if err := checkSamplingMode(c); err != nil {
		return nil, err
	}
	if mode := c.Str("interpolation_mode"); mode != "LINEAR" && mode != "NEAREST_NEIGHBOR" {
		return nil, fmt.Errorf("interpolation_mode is %q, expected LINEAR or NEAREST_NEIGHBOR", mode)
	}
	rank, resized := c.Rank("x"), c.Int("resized_dims")
	given, err := c.vectorLength("shape")
	if err != nil {
		return nil, err
	}
	if given.Known() && given > tensor.Dim(rank) {
		return nil, fmt.Errorf("shape has %v elements, expected at most %d, the rank of x", given, rank)
	}
	most := tensor.Dim(rank)
	if given.Known() {
		most = given
	}
	if tensor.Dim(resized) > most {
		return nil, fmt.Errorf("resized_dims is %d, expected at most %v: shape has %v elements and x rank %d", resized, most, given, rank)
	}
	targets := unknownShape(resized)
	if c.Known("shape") {
		shape := c.Ints("shape")
		for i, n := range shape[len(shape)-resized:] {
			switch {
			case n < 0:
				return nil, fmt.Errorf("shape is %v, expected no negative length", shape)
			case n == 0: // as it is
				targets[i] = c.Shape("x")[rank-resized+i]
			default:
				targets[i] = tensor.Dim(n)
			}
		}
	}
	return inferResized(c, targets...)
}

func evalResize(c *Call) error {
	x, mode := c.Tensor("x"), c.Str("sampling_mode")
	switch {
	case c.OutLen(0) == 0:
		c.Return(0, tensor.New(x.DType(), c.OutShape(0)...))
	case c.Str("interpolation_mode") == "NEAREST_NEIGHBOR":
		c.Return(0, resizeNearest(c.halt, x, c.OutShape(0), func(n, m int) []int { return roundedPoints(mode, n, m) }))
	case x.DType() == tensor.Int32: // every int32 is a float64
		vals := resizeLinear(c.halt, x.Float64s(), x.Shape(), c.OutShape(0), c.Int("resized_dims"), mode)
		out := make([]int64, len(vals))
		for i, v := range vals {
			out[i] = int64(math.RoundToEven(v))
		}
		c.ReturnInts(0, out)
	default:
		returnLinear(c, c.Int("resized_dims"), mode)
	}
	return nil
}

// returnLinear returns x, its last axes resized to the shape of the result.
func returnLinear(c *Call, axes int, mode string) {
	if c.OutLen(0) == 0 {
		c.ReturnFloats(0, nil)
		return
	}
	c.ReturnFloats(0, resizeLinear(c.halt, c.Floats("x"), c.Tensor("x").Shape(), c.OutShape(0), axes, mode))
}

func evalNearest(c *Call) error {
	if c.OutLen(0) == 0 {
		c.ReturnFloats(0, nil)
		return nil
	}
	c.Return(0, resizeNearest(c.halt, c.Tensor("x"), c.OutShape(0), flooredPoints))
	return nil
}
