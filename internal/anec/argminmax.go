package anec

import (
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// ArgMinMax gives the index of the extreme element of each window, row by row,
// or of the extreme channel at each position of x, whatever the window.
type ArgMinMax struct {
	Window
	Mode td.ArgMode `net:"Mode"`
}

var argMinMaxInfo = KindInfo{
	Kind: KindArgMinMax, Name: "ArgMinMax", Dialect: Dialect{Name: "arg_min_max"}, Standing: Computed, Desc: "ArgMinMax", Class: td.ClassArgMinMax,
	Sources: "22 desc unit B C", Unsure: "a window smaller than x",
	New: func() Params { return &ArgMinMax{Window: UnitWindow} }, Contract: contract("y", "x"),
	Example: Example{"Mode=SpatialArgMax Kernel=[1,16,16]", "fp16[1,1,8,16,16]"},

	Pattern: Pattern{1, 1, "ArgMinMax layer must have one input", fromGates}, Check: validateArgMinMax,

	Unit: OnPlanar, Epilogue: EpilogueOwn, TextureSlot: No, Broadcasts: No, Integers: No, Hidden: Yes,
	View: noView, InPlace: overNone, Rows: allRows, AtLoad: always, Cost: Cost{None: whyNoTree},
}

func (*ArgMinMax) Info() *KindInfo { return &argMinMaxInfo }

func (p *ArgMinMax) infer(o *operands) ([]Type, error) {
	if err := valid(p.Mode); err != nil {
		return nil, err
	}
	if p.Mode == td.ChannelArgMin || p.Mode == td.ChannelArgMax {
		return one(tensor.Int32, o.dims(0).With(C, 1))
	}
	y, err := p.over(o.dims(0))
	if err != nil {
		return nil, err
	}
	return one(tensor.Int32, y)
}

// GlobalArgMinMax gives the index of the extreme element of a whole axis.
type GlobalArgMinMax struct {
	Type td.Extreme `net:"Type"`
	Axis td.Axis    `net:"Dimension"`
}

var globalArgMinMaxInfo = KindInfo{
	Kind: KindGlobalArgMinMax, Name: "GlobalArgMinMax", Dialect: Dialect{Name: "global_arg_min_max"}, Standing: Computed, Desc: "GlobalArgMinMax",
	Class: td.ClassGlobalArgMinMax, Sources: "22 desc unit B",
	New: func() Params { return &GlobalArgMinMax{Type: td.Max} }, Contract: contract("y", "x"),
	Example: Example{"Axis=W", "fp16[1,1,1,16,64]"},

	Pattern: Pattern{1, 1, "", onlyCount}, Check: validateGlobalArgMinMax, Codegen: globalArgMinMaxCodegen,

	Unit: OnPlanar, Epilogue: EpilogueOwn, TextureSlot: No, Broadcasts: No, Integers: No, Hidden: Yes,
	View: noView, InPlace: overNone, Rows: allRows, AtLoad: always, Cost: Cost{None: whyNoTree},
}

func (*GlobalArgMinMax) Info() *KindInfo { return &globalArgMinMaxInfo }

func (p *GlobalArgMinMax) infer(o *operands) ([]Type, error) {
	if err := valid(p.Type); err != nil {
		return nil, err
	}
	if err := checkAxis(p.Axis); err != nil {
		return nil, err
	}
	return one(tensor.Int32, o.dims(0).With(p.Axis, 1))
}
