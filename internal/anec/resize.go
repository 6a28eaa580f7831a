package anec

import (
	"fmt"
	"math"

	"github.com/espalier-ane/espalier/td"
)

// Resize samples x on another grid along H and W. Size has the new extents;
// where it is 0, the extent is that of x times Scale, rounded down. If both are
// given, Scale is the distance of the points and Size how many there are.
type Resize struct {
	Size     [2]int             // H, W; the descriptor's first numbers
	Scale    [2]float32         // H, W
	Method   td.SamplingMethod  `net:"SamplingMethod?"`
	Grid     td.SamplingGrid    `net:"SamplingGridMode?"`
	Rounding td.NearestRounding // which element is nearest (anec: nearest_rounding_mode)
}

var resizeInfo = KindInfo{
	Kind: KindResize, Name: "Resize", Dialect: Dialect{Name: "resize"}, Standing: Descriptor, Desc: "Resize", Class: td.ClassResize,
	Sources: "export desc B C", Unsure: "its keys",
	New: func() Params { return &Resize{Grid: td.GridDefault} }, Contract: contract("y", "x"),
	Example: Example{"Size=[32,32]", "fp16[1,1,8,16,16]"},

	Pattern: Pattern{1, 1, "", onlyCount}, Check: matched(validateResize), Codegen: resizeCodegen,

	Unit: OnTexture, Epilogue: EpilogueSteps, TextureSlot: Yes, Broadcasts: No, Integers: No, Hidden: Yes,
	View: noView, InPlace: overNone, Rows: allRows, AtLoad: always, Cost: weightedMean,
}

func (*Resize) Info() *KindInfo { return &resizeInfo }

var planeAxes = [2]td.Axis{H, W}

func (p *Resize) infer(o *operands) ([]Type, error) {
	if err := valid(p.Method, p.Grid, p.Rounding); err != nil {
		return nil, err
	}
	y := o.dims(0)
	for i, a := range planeAxes {
		n := float64(p.Size[i])
		if p.Size[i] == 0 {
			n = math.Floor(float64(p.Scale[i]) * float64(y[a]))
		}
		if !(n >= 1 && n <= maxField) || y[a] < 1 {
			return nil, fmt.Errorf("size %d, scale %g along %v of %d", p.Size[i], p.Scale[i], a, y[a])
		}
		y[a] = int(n)
	}
	return one(o.types[0].DType, y)
}

// ResizeAs is Resize to the extents, along H and W, of another tensor.
type ResizeAs struct {
	Method   td.SamplingMethod `net:"SamplingMethod?"`
	Grid     td.SamplingGrid   `net:"SamplingGridMode?"`
	Rounding td.NearestRounding
}

var resizeAsInfo = KindInfo{
	Kind: KindResizeAs, Name: "ResizeAs", Dialect: Dialect{Name: "resize_as"}, Standing: Descriptor, Desc: "ResizeAs", Class: td.ClassResizeAs,
	Sources: "export C", Unsure: "its fields, taken from Resize; the second operand",
	New: func() Params { return &ResizeAs{Grid: td.GridDefault} }, Contract: contract("y", "x like"),
	Example: Example{"", "fp16[1,1,8,16,16] fp16[1,1,8,32,32]"},

	Pattern: Pattern{2, 2, "", "the contract of the kind" + textOurs}, Check: matched(validateResizeAs),

	Unit: OnTexture, Epilogue: EpilogueSteps, TextureSlot: No, Broadcasts: No, Integers: No, Hidden: Yes,
	View: noView, InPlace: overNone, Rows: allRows, AtLoad: always, Cost: weightedMean,
}

func (*ResizeAs) Info() *KindInfo { return &resizeAsInfo }

func (p *ResizeAs) infer(o *operands) ([]Type, error) {
	r := Resize{Size: [2]int{o.dims(1)[H], o.dims(1)[W]}, Method: p.Method, Grid: p.Grid, Rounding: p.Rounding}
	return r.infer(o)
}
