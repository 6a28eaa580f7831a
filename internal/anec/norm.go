package anec

import (
	"fmt"

	"github.com/espalier-ane/espalier/td"
)

// The normalizations over axes. Each leaves x's type as it is.

// LayerNorm is (x - mean) / sqrt(variance + Epsilon), both over the axes, times
// gamma plus beta. With Groups above 1 the channels, of which C must be an axis,
// are normalized in so many groups (guide 26.2).
type LayerNorm struct {
	Axes    td.Axes `net:"Dimension?"`
	Epsilon float32 `net:"Epsilon?"`
	Groups  int     `net:"NumGroups?"`
}

var layerNormInfo = KindInfo{
	Kind: KindLayerNorm, Name: "LayerNormalization", Dialect: Dialect{Name: "layer_norm"}, Standing: Descriptor, Desc: "LayerNorm", Class: td.ClassLayerNormalization,
	Sources: "export desc B 26", Unsure: "its keys",
	New: func() Params { return &LayerNorm{Groups: 1} }, Contract: contract("y", "x gamma?~ beta?~"),
	Example: Example{"Axes=W Epsilon=1e-05", "fp16[1,1,1,16,64] !fp16[1,1,1,1,64] !fp16[1,1,1,1,64]"},

	Pattern: Pattern{1, 1, "", onlyCount}, Check: validateLayerNorm,

	Unit: OnPlanar, Epilogue: EpiloguePlanar, TextureSlot: No, Broadcasts: No, Integers: No, Hidden: No,
	View: noView, InPlace: overUngrouped, Rows: allRows, AtLoad: always, Cost: perOperand(5), // mean, difference, square, mean, product
}

func (*LayerNorm) Info() *KindInfo { return &layerNormInfo }

func (p *LayerNorm) infer(o *operands) ([]Type, error) {
	switch channels := o.dims(0)[C]; {
	case p.Groups < 1:
		return nil, fmt.Errorf("%d groups", p.Groups)
	case p.Groups > 1 && !p.Axes.Has(C):
		return nil, fmt.Errorf("%d groups of channels, but C is not normalized", p.Groups)
	case channels%p.Groups != 0:
		return nil, fmt.Errorf("%d channels do not divide into %d groups", channels, p.Groups)
	}
	return normalized(o, p.Axes, allAxes)
}

// overUngrouped: groups are normalized in another view of x.
func overUngrouped(l *Layer, bottom int) bool {
	return bottom == 0 && l.Params.(*LayerNorm).Groups <= 1
}

// normalized is the rule of all: x of floats, what follows it broadcasts to it.
func normalized(o *operands, axes, allowed td.Axes) ([]Type, error) {
	if err := checkAxes(axes); err != nil {
		return nil, err
	}
	if bad := axes &^ allowed; bad != 0 {
		return nil, fmt.Errorf("over %s: want %s", axesString(bad), axesString(allowed))
	}
	if err := o.floats(0); err != nil {
		return nil, err
	}
	for i := 1; i < o.len(); i++ {
		if err := o.fits(o.dims(0), allAxes, i); err != nil {
			return nil, err
		}
	}
	return like(o)
}

// InstanceNorm is LayerNorm over spatial axes, with gamma and beta for each
// channel.
type InstanceNorm struct {
	Axes    td.Axes `net:"Dimension?"`
	Epsilon float32 `net:"Epsilon?"`
}

var instanceNormInfo = KindInfo{
	Kind: KindInstanceNorm, Name: "InstanceNormalization", Dialect: Dialect{Name: "instance_norm"}, Standing: Descriptor, Desc: "InstanceNorm", Class: td.ClassInstanceNormalization,
	Sources: "export desc B", Unsure: "its keys; gamma and beta as operands",
	New: func() Params { return &InstanceNorm{} }, Contract: contract("y", "x gamma?~ beta?~"),
	Example: Example{"Axes=HW Epsilon=1e-05", "fp16[1,1,8,16,16] !fp16[1,1,8,1,1] !fp16[1,1,8,1,1]"},

	Pattern: Pattern{1, 1, "", onlyCount}, Check: validateInstanceNorm,

	Unit: OnPlanar, Epilogue: EpiloguePlanar, TextureSlot: No, Broadcasts: No, Integers: No, Hidden: No,
	View: noView, InPlace: overFirst, Rows: allRows, AtLoad: always, Cost: perOperand(5),
}

func (*InstanceNorm) Info() *KindInfo { return &instanceNormInfo }

func (p *InstanceNorm) infer(o *operands) ([]Type, error) {
	if err := o.fits(Dims{1, 1, o.dims(0)[C], 1, 1}, allAxes, 1, 2); err != nil {
		return nil, err
	}
	return normalized(o, p.Axes, td.AxesOf(D, H, W))
}

// L2Norm is x / sqrt(sum of squares over the axes + Epsilon). The descriptor has
// no epsilon.
type L2Norm struct {
	Axes    td.Axes `net:"Dimension?"`
	Epsilon float32
}

var l2NormInfo = KindInfo{
	Kind: KindL2Norm, Name: "L2Normalization", Dialect: Dialect{Name: "l2_norm"}, Standing: Descriptor, Desc: "L2Norm", Class: td.ClassL2Normalization,
	Sources: "export desc", Unsure: "its keys; an epsilon",
	New: func() Params { return &L2Norm{} }, Contract: contract("y", "x"),
	Example: Example{"Axes=C Epsilon=1e-06", "fp16[1,1,8,16,16]"},

	Pattern: Pattern{1, 1, "", "the contract of the kind" + textOurs}, Check: validateL2Norm,

	Unit: OnPlanar, Epilogue: EpiloguePlanar, TextureSlot: No, Broadcasts: No, Integers: No, Hidden: No,
	View: noView, InPlace: overFirst, Rows: allRows, AtLoad: always, Cost: perOperand(3),
}

func (*L2Norm) Info() *KindInfo { return &l2NormInfo }

func (p *L2Norm) infer(o *operands) ([]Type, error) { return normalized(o, p.Axes, allAxes) }

// MinMaxNorm is (x - min) / (max - min + Epsilon) over the axes. A descriptor
// has no epsilon and means 1e-12; a netplist has it as the bits of an fp16.
type MinMaxNorm struct {
	Axes    td.Axes `net:"Dimension"`
	Epsilon float32 `net:"Epsilon"`
}

var minMaxNormInfo = KindInfo{
	Kind: KindMinMaxNorm, Name: "MinMaxNormalization", Dialect: Dialect{Name: "min_max_norm"}, Standing: Descriptor, Desc: "MinMaxNorm",
	Class: td.ClassMinMaxNormalization, Sources: "export desc unit B",
	New: func() Params { return &MinMaxNorm{Epsilon: 1e-12} }, Contract: contract("y", "x"),
	Example: Example{"Axes=W", "fp16[1,1,8,16,16]"},

	Pattern: Pattern{1, 1, "", onlyCount}, Check: validateMinMaxNorm, Codegen: minMaxNormCodegen,

	Unit: OnPlanar, Epilogue: EpiloguePlanar, TextureSlot: No, Broadcasts: No, Integers: No, Hidden: Yes,
	View: noView, InPlace: overFirst, Rows: allRows, AtLoad: always, Cost: perOperand(4),
}

func (*MinMaxNorm) Info() *KindInfo { return &minMaxNormInfo }

func (p *MinMaxNorm) infer(o *operands) ([]Type, error) { return normalized(o, p.Axes, allAxes) }

// LRN divides by (K + Alpha/Size * sum of squares of Size channels)^Beta. As a
// unit has it these are the first Size channels, which alone are normalized, and
// the rest stays as it is (guide B). Around: they are the channels about each, as
// an operation of a model has it. The window of the descriptor has D, H, W too,
// and its Type another value than Channel, which this is.
type LRN struct {
	Size   int     `net:"KernelChannel"`
	Alpha  float32 `net:"Alpha"` // as the bits of an fp16
	Beta   float32 `net:"Beta"`
	K      float32 `net:"K"`
	Around bool
}

var lrnInfo = KindInfo{
	Kind: KindLRN, Name: "LocalResponseNormalization", Dialect: Dialect{Name: "lrn"}, Standing: Descriptor, Desc: "LRN",
	Class: td.ClassLocalResponseNormalization, Sources: "export desc unit B",
	Unsure: "that the sum is over the channels that are normalized, where there are more",
	New:    func() Params { return &LRN{Size: 1, K: 1} }, Contract: contract("y", "x"),
	Example: Example{"Size=5 Alpha=0.0001 Beta=0.75", "fp16[1,1,8,16,16]"},

	Pattern: Pattern{1, 1, "", onlyCount}, Check: validateLRN, Codegen: lrnCodegen,

	Unit: OnPlanar, Epilogue: EpilogueSteps, TextureSlot: No, Broadcasts: No, Integers: No, Hidden: Yes,
	View: noView, InPlace: overNone, Rows: allRows, AtLoad: always, Cost: Cost{FLOPs: lrnFLOPs},
}

func (*LRN) Info() *KindInfo { return &lrnInfo }

func (p *LRN) infer(o *operands) ([]Type, error) {
	if p.Size < 1 {
		return nil, fmt.Errorf("a window of %d channels", p.Size)
	}
	return normalized(o, td.AxesOf(C), allAxes)
}

func lrnFLOPs(l *Layer) float64 {
	return float64(l.Params.(*LRN).Size+3) * l.Top().Type.Dims.Elements()
}

// Softmax is exp(x) over its sum along the axes.
type Softmax struct {
	Axes td.Axes `net:"Dimension"`
}

var softmaxInfo = KindInfo{
	Kind: KindSoftmax, Name: "Softmax", Dialect: Dialect{Name: "softmax"}, Standing: Descriptor, Desc: "Softmax", Class: td.ClassSoftmax, Sources: "export desc unit B",
	New: func() Params { return &Softmax{} }, Contract: contract("y", "x"),
	Example: Example{"Axes=W", "fp16[1,1,1,16,64]"},

	Pattern: Pattern{1, 1, "Softmax layer must have only one single input.", fromDecompiled}, Check: validateSoftmax,

	Unit: OnPlanar, Epilogue: EpiloguePlanar, TextureSlot: No, Broadcasts: No, Integers: No, Hidden: No,
	View: noView, InPlace: overFirst, Rows: softmaxRows, AtLoad: always, Cost: perOperand(4), // largest, exp of the difference, sum, quotient
}

func (*Softmax) Info() *KindInfo { return &softmaxInfo }

func (p *Softmax) infer(o *operands) ([]Type, error) { return normalized(o, p.Axes, allAxes) }

func softmaxRows(l *Layer, v *Value, tile int) int {
	return rowsOver(l.Params.(*Softmax).Axes, v, tile)
}
