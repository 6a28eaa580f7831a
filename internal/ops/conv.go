package ops

import (
	"fmt"

	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// slideParams are the parameters that say how the kernel of a convolution moves.
func slideParams() []Param {
	return []Param{
		OptConst("strides", I32, nil), // 1 on each axis
		OptConst("pad_type", Str, "valid"),
		OptConst("pad", I32, nil), // 0 on each side; files have it whatever the pad_type is
		OptConst("dilations", I32, nil),
		OptConst("groups", I32, 1),
	}
}

var convOps = []Def{
	{
		Name: "conv",
		Doc:  "convolution on one, two or three spatial axes",
		Versions: []Version{
			{Since: IOS15, Params: append([]Param{In("x", Float).As("T"), In("weight", Float).As("T"),
				OptConst("bias", Float, nil).As("T")}, slideParams()...)},
			{Since: IOS17, Params: append([]Param{In("x", Float).As("T"), In("weight", Float).As("U"),
				Opt("bias", Float, nil).As("U")}, slideParams()...)},
		},
		Infer: inferConv,
		Eval:  func(c *Call) error { return evalConv(c, c.Floats("weight")) },
		Lower: lowerConv,
	},
	{
		Name: "conv_quantized",
		Doc:  "convolution with weights stored as integers of up to 8 bits",
		Versions: since(IOS15, append([]Param{In("x", Float).As("T"), In("weight", U8).As("U"),
			OptConst("bias", U8, nil).As("U"), Const("quantization_type", Str), OptConst("nbits", I32, 8),
			Const("quant_scale", Float).As("T"), Const("quant_bias", Float).As("T")}, slideParams()...)...),
		Infer: inferConvQuantized,
		Eval:  evalConvQuantized,
		Lower: lowerConvQuantized,
	},
	{
		Name: "conv_transpose",
		Doc:  "transposed convolution on one, two or three spatial axes",
		Versions: []Version{
			{Since: IOS15, Params: append([]Param{In("x", Float).As("T"), Const("weight", Float).As("T"),
				OptConst("bias", Float, nil).As("T"), OptConst("output_shape", I32, nil)}, slideParams()...)},
			{Since: IOS17, Params: append([]Param{In("x", Float).As("T"), In("weight", Float).As("U"),
				Opt("bias", Float, nil).As("U"), OptConst("output_shape", I32, nil)}, slideParams()...)},
		},
		Infer: inferConvTranspose,
		Eval:  evalConvTranspose,
		Lower: lowerConvTranspose,
	},
}

// checkConvRanks refuses ranks that no convolution has.
func checkConvRanks(c *Call) error {
	rank := c.Rank("x")
	if rank < 3 || rank > 5 {
		return fmt.Errorf("x has shape %v, expected batch, channels and one to three spatial axes", c.Shape("x"))
	}
	if c.Rank("weight") != rank {
		return fmt.Errorf("weight has shape %v, expected rank %d like x", c.Shape("weight"), rank)
	}
	if c.Int("groups") < 1 {
		return fmt.Errorf("groups is %d, expected 1 or more", c.Int("groups"))
	}
	return nil
}

// checkBias refuses a bias that does not have a value for each output channel.
func checkBias(c *Call, channels tensor.Dim) error {
	if !c.Has("bias") {
		return nil
	}
	bias := c.Shape("bias")
	if len(bias) != 1 || !bias.Compatible(tensor.Shape{channels}) {
		return fmt.Errorf("bias has shape %v, expected [%v], one for each output channel", bias, channels)
	}
	return nil
}

func inferConv(c *Call) ([]mil.Type, error) {
	if err := checkConvRanks(c); err != nil {
		return nil, err
	}
	x, w, groups := c.Shape("x"), c.Shape("weight"), tensor.Dim(c.Int("groups"))
	if w[0].Known() && w[0]%groups != 0 {
		return nil, fmt.Errorf("weight has %v output channels, which %v groups do not divide", w[0], groups)
	}
	if x[1].Known() && x[1]%groups != 0 {
		return nil, fmt.Errorf("x has %v channels, which %v groups do not divide", x[1], groups)
	}
	if x[1].Known() && w[1].Known() && x[1]/groups != w[1] {
		return nil, fmt.Errorf("weight is for %v channels per group, but x has %v in %v groups", w[1], x[1], groups)
	}
	if err := checkBias(c, w[0]); err != nil {
		return nil, err
	}
	slides, err := c.slides(x[2:], w[2:], roundDown)
	if err != nil {
		return nil, err
	}
	for _, s := range slides {
		if s.dilation > 1 && !c.arg("weight").fixed {
			return nil, fmt.Errorf("dilations %v with a weight that is not constant", c.Ints("dilations"))
		}
	}
	return one(c.DType("x"), append(tensor.Shape{x[0], w[0]}, outLengths(slides)...))
}

// evalConv convolves with weights that may have been decompressed from what the argument holds.
func evalConv(c *Call, weight []float32) error {
	x, w := c.Tensor("x").Shape(), c.Tensor("weight").Shape()
	out := c.filledWithBias()
	if len(out) == 0 || len(weight) == 0 {
		c.ReturnFloats(0, out) // lengths beside one of zero may be beyond all loops
		return nil
	}
	slides, err := c.slides(c.Shape("x")[2:], c.Shape("weight")[2:], roundDown)
	if err != nil {
		return err
	}
	axes := make([]gridAxis, len(slides))
	for i, s := range slides {
		axes[i] = gridAxis{in: int(s.in), out: int(s.out), step: s.stride, offsets: make([]int, s.kernel)}
		for t := range axes[i].offsets {
			axes[i].offsets[t] = t*s.dilation - s.before
		}
	}
	groups := c.Int("groups")
	v := convolution{newGrid(axes), c.halt, x[0], groups, w[1], w[0] / groups}
	v.addTo(out, c.Floats("x"), weight)
	c.ReturnFloats(0, out)
	return nil
}

// filledWithBias makes the elements of the output, [batch, channels, outputs…], each with its channel's
// bias or zero.
func (c *Call) filledWithBias() []float32 {
	out := make([]float32, c.OutLen(0))
	if c.Has("bias") && len(out) > 0 {
		bias := c.Floats("bias")
		outputs, _ := tensor.Count(c.OutShape(0)[2:])
		for i := 0; i < len(out); i += outputs {
			b := bias[i/outputs%len(bias)]
			for j := range outputs {
				out[i+j] = b
			}
		}
	}
	return out
}

func inferConvQuantized(c *Call) ([]mil.Type, error) {
	types, err := inferConv(c)
	if err != nil {
		return nil, err
	}
	bits := c.Int("nbits")
	if bits < 1 || bits > 8 {
		return nil, fmt.Errorf("nbits is %d, expected 1 to 8", bits)
	}
	channels := c.Shape("weight")[0]
	switch q := c.Str("quantization_type"); q {
	case "linear":
		for _, name := range []string{"quant_scale", "quant_bias"} {
			n, known := c.Shape(name).Count()
			if c.Rank(name) > 1 || known && n != 1 && channels.Known() && n != int(channels) {
				return nil, fmt.Errorf("%s has shape %v, expected one element or one for each of %v output channels", name, c.Shape(name), channels)
			}
		}
	case "lut":
		if n, known := c.Shape("quant_scale").Count(); known && n != 1<<bits {
			return nil, fmt.Errorf("quant_scale has %d elements, expected a table of %d for nbits %d", n, 1<<bits, bits)
		}
	default:
		return nil, fmt.Errorf("quantization_type is %q, expected linear or lut", q)
	}
	return types, nil
}

// evalConvQuantized turns the stored integers into weights: linear ones are q·quant_scale + quant_bias; those of
// a look-up table are quant_scale[q], the parameter that is there to hold it (no front end of coremltools makes
// such a call, and its neural-network back end, which would have to lower it, has no use of quant_scale for it). The
// bias is what the integers say.
func evalConvQuantized(c *Call) error {
	stored := c.Floats("weight")
	scale, shift := c.Floats("quant_scale"), c.Floats("quant_bias")
	limit := float32(int(1) << c.Int("nbits"))
	lut := c.Str("quantization_type") == "lut"
	perChannel := 1
	if channels := c.Tensor("weight").Shape()[0]; channels > 0 {
		perChannel = max(1, len(stored)/channels)
	}
	weight := make([]float32, len(stored))
	for i, q := range stored {
		if q >= limit {
			return fmt.Errorf("weight has the element %v, expected less than %v for nbits %d", q, limit, c.Int("nbits"))
		}
		if lut {
			weight[i] = scale[int(q)]
			continue
		}
		channel := i / perChannel
		weight[i] = float32(q*scale[channel%len(scale)]) + shift[channel%len(shift)]
	}
	return evalConv(c, weight)
}
