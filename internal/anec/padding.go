package anec

import (
	"fmt"

	"github.com/espalier-ane/espalier/td"
)

// Padding puts elements about x, along any axis. With the mode Background they
// are Value, else what the mode says of x. The descriptor has a mode for each
// axis; this is one for all.
type Padding struct {
	Before Dims           `net:"Pad{Batch,Front,Channel,Top,Left}?"`
	After  Dims           `net:"Pad{BatchEnd,Back,ChannelEnd,Bot,Right}?"`
	Mode   td.PaddingMode `net:"PaddingMode?"`
	Value  float32        `net:"BackgroundValue?"`
}

var paddingInfo = KindInfo{
	Kind: KindPadding, Name: "Padding", Dialect: Dialect{Name: "pad"}, Standing: Descriptor, Desc: "Pad", Class: td.ClassPadding,
	Sources: "export desc B C", Unsure: "its keys",
	New: func() Params { return &Padding{Mode: td.PadZero} }, Contract: contract("y", "x"),
	Example: Example{"Before=[0,0,0,1,1] After=[0,0,0,1,1]", "fp16[1,1,8,16,16]"},

	Pattern: Pattern{1, 1, "", onlyCount}, Check: matched(validatePad), Codegen: paddingCodegen,

	Unit: OnTexture, Epilogue: EpilogueSteps, TextureSlot: Yes, Broadcasts: No, Integers: No, Hidden: No,
	View: noView, InPlace: overNone, Rows: allRows, AtLoad: always, Cost: perResult(0),
}

func (*Padding) Info() *KindInfo { return &paddingInfo }

func (p *Padding) infer(o *operands) ([]Type, error) {
	if err := valid(p.Mode); err != nil {
		return nil, err
	}
	y := o.dims(0)
	for i := range y {
		a, x := td.Axis(i), y[i]
		before, after := p.Before[i], p.After[i]
		if min(before, after) < 0 || max(before, after, x) > maxField {
			return nil, fmt.Errorf("padding %d and %d along %v of %d", before, after, a, x)
		}
		if room := p.mirror(x); room >= 0 && max(before, after) > room {
			return nil, fmt.Errorf("padding %d and %d along %v: %v takes at most %d of %d", before, after, a, p.Mode, room, x)
		}
		y[i] += before + after
	}
	return one(o.types[0].DType, y)
}

// mirror returns how many elements an axis can lend, -1 if the mode needs none.
func (p *Padding) mirror(extent int) int {
	switch p.Mode {
	case td.PadReflective:
		return max(extent-1, 0)
	case td.PadSymmetric:
		return extent
	case td.PadReplication:
		if extent == 0 {
			return 0
		}
	}
	return -1
}
