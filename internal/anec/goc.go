package anec

import (
	"fmt"

	"github.com/espalier-ane/espalier/td"
)

// GOC is gain and offset: x*scale + bias, as the anec dialect has it (guide 22).
// Each is a number of the layer, or a constant with one for each channel, which
// takes its place.
//
// A netplist has (x + BiasScalar)*ScaleScalar, both the bits of an fp16, so that
// Bias is their product: the real list of 34*x + 67 has 34 and 1.9707, and that
// of a hard sigmoid 0.2 and 2.5 for 0.2*x + 0.5. It has constants in Params
// (BiasScaleGroupData).
type GOC struct {
	Scale float32 `net:"ScaleScalar"`
	Bias  float32 `net:"BiasScalar"`
}

var gocInfo = KindInfo{
	Kind: KindGOC, Name: "GOC", Dialect: Dialect{Name: "gain_offset_control"}, Standing: Descriptor, Desc: "GOC", Class: td.ClassGOC, Sources: "export plist unit 22",
	New: func() Params { return &GOC{Scale: 1} }, Contract: contract("y", "x scale?! bias?!"),
	Example: Example{"", "fp16[1,1,8,16,16] !fp16[1,1,8,1,1] !fp16[1,1,8,1,1]"},

	Pattern: Pattern{1, 1, "", "guide 26: one, plus scale and bias" + textOurs}, Check: validateGOC,

	Unit: OnPlanar, Epilogue: EpilogueArray, TextureSlot: No, Broadcasts: Yes, Integers: Yes, Hidden: No,
	View: noView, InPlace: overAny, Rows: sameRows, AtLoad: always, Cost: perResult(2),
}

func (*GOC) Info() *KindInfo { return &gocInfo }

func (p *GOC) infer(o *operands) ([]Type, error) {
	if err := o.fits(Dims{1, 1, o.dims(0)[C], 1, 1}, allAxes, 1, 2); err != nil {
		return nil, err
	}
	return like(o)
}

// DynamicGOC is (x + bias)*scale with operands that are live: one number for each
// channel, or for all. BiasOnly: there is no scale. Netplists have x, scale,
// bias, or with BiasOnly x, bias.
//
// That the sum comes first was measured on a chip, and is what the planar engine's
// task for gain and offset does (h13 4.1). Guide 22 has gain*x + offset, of
// constants, which the compiler turns into either.
type DynamicGOC struct {
	BiasOnly bool `net:"BiasOnly"`
}

var dynamicGOCInfo = KindInfo{
	Kind: KindDynamicGOC, Name: "DynamicGOC", Dialect: Dialect{Name: "dynamic_gain_offset_control"}, Standing: Descriptor, Desc: "DynamicGOC", Class: td.ClassDynamicGOC,
	Sources: "export desc unit 26", Unsure: "the descriptor's second flag; guide 22 has the product first",
	New: func() Params { return &DynamicGOC{} }, Contract: contract("y", "x scale? bias?"),
	Example: Example{"", "fp16[1,1,8,16,16] fp16[1,1,8,1,1] fp16[1,1,8,1,1]"},

	Pattern: Pattern{1, 3, "", "the contract of the kind" + textOurs}, Check: validateDynamicGOC,

	Unit: OnPlanar, Epilogue: EpilogueArray, TextureSlot: No, Broadcasts: Yes, Integers: Yes, Hidden: Yes,
	View: noView, InPlace: overAny, Rows: allRows, AtLoad: always, Cost: perResult(2),
}

func (*DynamicGOC) Info() *KindInfo { return &dynamicGOCInfo }

func (p *DynamicGOC) infer(o *operands) ([]Type, error) {
	switch {
	case p.BiasOnly && (o.has(1) || !o.has(2)):
		return nil, fmt.Errorf("BiasOnly wants bias and no scale")
	case !p.BiasOnly && !o.has(1):
		return nil, fmt.Errorf("scale is missing, but for BiasOnly")
	}
	if err := o.fits(Dims{1, 1, o.dims(0)[C], 1, 1}, allAxes, 1, 2); err != nil {
		return nil, err
	}
	return like(o)
}

// BatchNorm is gamma * (x - mean) / sqrt(variance + Epsilon) + beta with one
// number of each for each channel.
type BatchNorm struct {
	Epsilon float32 `net:"Epsilon?"`
}

var batchNormInfo = KindInfo{
	Kind: KindBatchNorm, Name: "BatchNorm", Dialect: Dialect{Name: "batch_norm"}, Standing: UnitOnly, Class: td.ClassBatchNorm,
	Sources: "C mil", Unsure: "its keys; its operands",
	New: func() Params { return &BatchNorm{} }, Contract: contract("y", "x mean~ variance~ gamma?~ beta?~"),
	Example: Example{"Epsilon=1e-05", "fp16[1,1,8,16,16] !fp16[1,1,8,1,1] !fp16[1,1,8,1,1]"},

	NoValidator: "a unit; folded into gain and offset", Check: validateBatchNorm,

	Unit: OnPlanar, Epilogue: EpilogueOwn, TextureSlot: No, Broadcasts: No, Integers: No, Hidden: No,
	View: noView, InPlace: overNone, Rows: allRows, AtLoad: always, Cost: perResult(2),
	NoTask: "pass batchnorm makes a Copy with steps of it",
}

func (*BatchNorm) Info() *KindInfo { return &batchNormInfo }

func (p *BatchNorm) infer(o *operands) ([]Type, error) {
	for i := 1; i < o.len(); i++ {
		if err := o.want(i, Dims{1, 1, o.dims(0)[C], 1, 1}); err != nil {
			return nil, err
		}
	}
	if err := o.floats(0); err != nil {
		return nil, err
	}
	return like(o)
}
