package ops

import (
	"fmt"

	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// The constexpr operations are weights in compressed form. Those of iOS16 keep a flat stream of bytes and the
// shape beside it, in attributes; those of iOS18 take tensors of sub-byte types, and the result of one may be
// an argument of the next: a palette whose entries are quantized, a sparse tensor whose stored elements are
// indices into a palette.

// The element types of compressed weights.
var (
	paletteTypes = Float | I8 | U8
	quantTypes   = Float | I8 | U8 | Types(tensor.Int4, tensor.UInt4)
	indexTypes   = U8 | Types(tensor.UInt1, tensor.UInt2, tensor.UInt3, tensor.UInt4, tensor.UInt6)
	maskType     = Types(tensor.UInt1)
)

// partOfWeight is why an operation is not lowered by itself.
const partOfWeight = "its results are parts of a weight, which the constexpr_sparse_to_dense after it puts together"

var constexprOps = []Def{
	{
		Name: "constexpr_affine_dequantize",
		Doc:  "weights quantized to 8 bits: scale·(quantized_data - zero_point), per tensor or along an axis",
		Versions: since(IOS16,
			Const("quantized_data", I8|U8),
			Const("zero_point", F32|I8|U8),
			Const("scale", Float),
			Const("axis", I32)),
		Infer: inferAffineDequantize,
		Eval:  evalAffineDequantize,
		Lower: lowerConstexpr,
	},
	{
		Name:     "constexpr_cast",
		Doc:      "weights kept in fp16 and used in fp32",
		Versions: since(IOS16, Const("source_val", F16), Const("output_dtype", Str)),
		Infer: func(c *Call) ([]mil.Type, error) {
			if d := c.Str("output_dtype"); d != "fp32" {
				return nil, fmt.Errorf("output_dtype is %q, expected \"fp32\"", d)
			}
			return one(tensor.Float32, c.Shape("source_val"))
		},
		Eval: func(c *Call) error {
			c.Return(0, c.Tensor("source_val"))
			return nil
		},
		Lower: lowerConstexpr,
	},
	{
		Name: "constexpr_blockwise_shift_scale",
		Doc:  "weights quantized in blocks: scale·(data - offset)",
		Versions: since(IOS18,
			Const("data", quantTypes),
			Const("scale", Float),
			OptConst("offset", quantTypes, nil)),
		Infer: inferBlockwise,
		Eval:  evalBlockwise,
		Lower: lowerConstexpr,
	},
	{
		Name: "constexpr_lut_to_dense",
		Doc:  "weights as indices into lookup tables",
		Versions: []Version{
			{
				Since:  IOS16,
				Params: []Param{Const("indices", U8), Const("lut", paletteTypes), Const("shape", U32)},
				Infer:  inferFlatPalette,
				Eval:   evalFlatPalette,
			},
			{
				Since:  IOS18,
				Params: []Param{Const("indices", indexTypes), Const("lut", paletteTypes), OptConst("vector_axis", I32, nil)},
				Infer:  inferPalette,
				Eval:   evalPalette,
			},
		},
		Lower: lowerConstexpr,
	},
	{
		Name: "constexpr_lut_to_sparse",
		Doc:  "sparse weights whose stored elements are indices into lookup tables: the mask and the stored elements",
		Versions: since(IOS18,
			Const("indices_mask", maskType),
			Const("indices_nonzero_data", indexTypes),
			Const("lut", paletteTypes),
			OptConst("vector_axis", I32, nil)),
		Infer:    inferSparsePalette,
		Eval:     evalSparsePalette,
		HostOnly: partOfWeight,
	},
	{
		Name: "constexpr_sparse_blockwise_shift_scale",
		Doc:  "sparse weights whose stored elements are quantized in blocks: the mask and scale·(nonzero_data - offset)",
		Versions: since(IOS18,
			Const("data_mask", maskType),
			Const("nonzero_data", quantTypes),
			Const("scale", Float),
			OptConst("offset", quantTypes, nil)),
		Infer:    inferSparseBlockwise,
		Eval:     evalSparseBlockwise,
		HostOnly: partOfWeight,
	},
	{
		Name: "constexpr_sparse_to_dense",
		Doc:  "weights of which only those that a mask selects are stored; the others are zero",
		Versions: []Version{
			{
				Since:  IOS16,
				Params: []Param{Const("nonzero_data", paletteTypes), Const("mask", U8), Const("shape", U32)},
				Infer:  inferFlatSparse,
				Eval:   evalFlatSparse,
			},
			{
				Since:  IOS18,
				Params: []Param{Const("nonzero_data", quantTypes), Const("mask", maskType)},
				Infer:  inferSparse,
				Eval:   evalSparse,
			},
		},
		Lower: lowerConstexpr,
	},
}

func inferAffineDequantize(c *Call) ([]mil.Type, error) {
	if _, err := affineBlocks(c); err != nil {
		return nil, err
	}
	return one(c.DType("scale"), c.Shape("quantized_data"))
}

// affineBlocks is how scale and zero_point, each a scalar or a vector, divide the data.
func affineBlocks(c *Call) (*blocking, error) {
	shape, err := knownDims(c, "quantized_data")
	if err != nil {
		return nil, err
	}
	axis, err := c.Axis("axis", len(shape))
	if err != nil {
		return nil, err
	}
	for _, param := range []string{"scale", "zero_point"} {
		if err := checkScalarOrVector(c, param, tensor.Dim(shape[axis])); err != nil {
			return nil, err
		}
	}
	return newBlocking(shape, axisGrid(shape, axis), "the axis")
}

// checkScalarOrVector checks a parameter that is one number, or one for each index of an axis.
func checkScalarOrVector(c *Call, param string, length tensor.Dim) error {
	switch s := c.Shape(param); {
	case len(s) > 1:
		return fmt.Errorf("parameter %s is %v, expected a scalar or a vector", param, c.Type(param))
	case len(s) == 1 && s[0].Known() && length.Known() && s[0] != length && s[0] != 1:
		return fmt.Errorf("parameter %s has length %v, expected the length of the data's axis, %v", param, s[0], length)
	}
	return nil
}

func evalAffineDequantize(c *Call) error {
	blocks, err := affineBlocks(c)
	if err != nil {
		return err
	}
	dequantizeBlocks(c, blocks, "quantized_data", shiftScale{c.Floats("scale"), c.Floats("zero_point")})
	return nil
}

// dequantizeBlocks returns scale·(v - offset) of a parameter's elements.
func dequantizeBlocks(c *Call, blocks *blocking, param string, s shiftScale) {
	data := numbersOf(c.Tensor(param))
	out := make([]float32, blocks.n)
	blocks.each(c.halt, func(lo, hi int) {
		data.read(out[lo:hi], lo)
		blocks.runs(lo, hi, func(lo, hi, block int) { s.apply(out[lo:hi], block) })
	})
	c.ReturnFloats(0, out)
}

func inferBlockwise(c *Call) ([]mil.Type, error) {
	if _, err := scaleBlocks(c, "data", "data"); err != nil {
		return nil, err
	}
	return one(c.DType("scale"), c.Shape("data"))
}

// scaleBlocks is how scale and offset divide data of the shape that one parameter and the type that
// another has.
func scaleBlocks(c *Call, shaped, typed string) (*blocking, error) {
	shape, err := knownDims(c, shaped)
	if err != nil {
		return nil, err
	}
	grid, err := knownDims(c, "scale")
	if err != nil {
		return nil, err
	}
	if len(shape) == 0 {
		return nil, fmt.Errorf("parameter %s is a scalar, expected rank 1 or more", shaped)
	}
	if c.Has("offset") {
		if !c.Shape("offset").Equal(c.Shape("scale")) {
			return nil, fmt.Errorf("parameter offset has shape %v, expected that of scale, %v", c.Shape("offset"), c.Shape("scale"))
		}
		if d := c.DType("offset"); !d.IsFloat() && d != c.DType(typed) {
			return nil, fmt.Errorf("parameter offset is %v, expected a floating-point type or that of %s, %v", d, typed, c.DType(typed))
		}
	}
	return newBlocking(shape, grid, "scale")
}

func evalBlockwise(c *Call) error {
	blocks, err := scaleBlocks(c, "data", "data")
	if err != nil {
		return err
	}
	dequantizeBlocks(c, blocks, "data", shiftScaleOf(c))
	return nil
}

func shiftScaleOf(c *Call) shiftScale {
	s := shiftScale{scale: c.Floats("scale")}
	if c.Has("offset") {
		s.offset = c.Floats("offset")
	}
	return s
}
