package anec

import (
	"fmt"

	"github.com/espalier-ane/espalier/td"
)

// Gather takes elements of x at given places. A negative index counts from the
// end; what lies outside reads as 0. (No source says what a chip reads there.)
//
// With one axis, y is as x but along the axis: there its element is the one
// whose index stands in indices, which broadcasts to y. So a vector of indices
// along the axis takes whole slices, and indices of y's extents take elements
// each.
//
// With several, the indices of one element lie along C of indices, as many as
// there are axes. Along these y has the extents of indices, and 1 along C; along
// the others that of x, and indices has it too or 1. (Known is: index channel 3
// for three axes, guide B. The rest is inferred.)
type Gather struct {
	Axes []td.Axis `net:"GatherNDAxes"`
}

var gatherInfo = KindInfo{
	Kind: KindGather, Name: "Gather", Dialect: Dialect{Name: "gather"}, Standing: Descriptor, Desc: "Gather", Class: td.ClassGather,
	Sources: "export desc unit B", Unsure: "the extents with several axes",
	New: func() Params { return &Gather{} }, Contract: contract("y", "x indices#"),
	Example: Example{"Axes=[C]", "fp16[1,1,8,16,16] uint16[1,1,5,1,1]"},

	Pattern: Pattern{2, 2, "", onlyCount}, Check: matched(validateGather), Codegen: gatherCodegen,

	Unit: OnTexture, Epilogue: EpilogueSteps, TextureSlot: No, Broadcasts: No, Integers: No, Hidden: No,
	View: noView, InPlace: overNone, Rows: allRows, AtLoad: always, Cost: Cost{None: whyNoTree},
}

func (*Gather) Info() *KindInfo { return &gatherInfo }

func (p *Gather) infer(o *operands) ([]Type, error) {
	if len(p.Axes) == 0 {
		return nil, fmt.Errorf("no axes")
	}
	if err := distinct(p.Axes); err != nil {
		return nil, err
	}
	if err := o.indices(1); err != nil {
		return nil, err
	}
	y, ix := o.dims(0), o.dims(1)
	if len(p.Axes) > 1 {
		if err := o.wantExtent(1, C, len(p.Axes)); err != nil {
			return nil, fmt.Errorf("%w: an index for each axis", err)
		}
		ix[C] = 1
	}
	for _, a := range p.Axes {
		if y[a] == 0 && ix[a] != 0 {
			return nil, fmt.Errorf("x has nothing along %v", a)
		}
		y[a] = ix[a]
	}
	if err := broadcasts(o.name(1), ix, y, allAxes); err != nil {
		return nil, err
	}
	return one(o.types[0].DType, y)
}
