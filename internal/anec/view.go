package anec

import (
	"fmt"

	"github.com/espalier-ane/espalier/td"
)

// InputView is a part of x along an axis: Size elements, from Offset on, Step
// apart. It moves nothing, unless it is a Crop, which is stored anew. A negative
// step, which reverses, is ours.
type InputView struct {
	Axis   td.Axis `net:"Dimension"`
	Offset int     `net:"Offset"`
	Size   int     `net:"Size"`
	Step   int     `net:"Step"`
	Crop   bool
}

var inputViewInfo = KindInfo{
	Kind: KindInputView, Name: "InputView", Dialect: Dialect{Name: "input_view"}, Standing: Descriptor, Desc: "InputView",
	Class: td.ClassInputView, Sources: "export desc plist B",
	New: func() Params { return &InputView{Step: 1} }, Contract: contract("y", "x"),
	Example: Example{"Axis=W Offset=4 Size=8", "fp16[1,1,8,16,16]"},

	Pattern: Pattern{1, 1, "", "guide B, catalog" + textOurs}, Check: matched(validateInputView),

	Unit: OnArray, Epilogue: EpilogueOwn, TextureSlot: No, Broadcasts: No, Integers: No, Hidden: No,
	View: View{Only: true, When: func(p Params) bool { return !p.(*InputView).Crop }}, InPlace: overNone, Rows: allRows, AtLoad: always,
	Cost: free,
}

func (*InputView) Info() *KindInfo { return &inputViewInfo }

func (p *InputView) infer(o *operands) ([]Type, error) {
	if err := checkAxis(p.Axis); err != nil {
		return nil, err
	}
	if err := inRange(p.Offset, p.Size, p.Step, o.dims(0)[p.Axis]); err != nil {
		return nil, fmt.Errorf("along %v: %w", p.Axis, err)
	}
	return one(o.types[0].DType, o.dims(0).With(p.Axis, p.Size))
}

// inRange holds size elements from offset on, step apart, to an extent.
func inRange(offset, size, step, extent int) error {
	switch {
	case size < 0 || step == 0:
		return fmt.Errorf("%d elements, %d apart", size, step)
	case size == 0:
		return nil
	case offset < 0 || offset >= extent:
		return fmt.Errorf("begins at %d of %d", offset, extent)
	case step > 0 && size-1 > (extent-1-offset)/step, step < 0 && size-1 > offset/-max(step, -maxField):
		return fmt.Errorf("%d elements from %d on, %d apart, leave the extent %d", size, offset, step, extent)
	}
	return nil
}

// DynamicSlice is a window of x whose place is live: along Axes[i] it begins at
// the i-th number of start, which lie along W, and has Sizes[i] elements. What
// lies outside is by the padding mode. FromEnd: a number below 0 counts from the
// end of x, as in MIL.
type DynamicSlice struct {
	Axes       []td.Axis         `net:"DynamicSliceAxisOrder"`
	Sizes      []int             `net:"DynamicSliceInfo"`
	Coordinate td.CoordinateMode `net:"CoordinateInfo"`
	Padding    td.PaddingMode    `net:"PaddingInfo"`
	Background float32           `net:"BackgroundValue"`
	FromEnd    bool
}

var dynamicSliceInfo = KindInfo{
	Kind: KindDynamicSlice, Name: "DynamicSlice", Dialect: Dialect{Name: "dynamic_slice"}, Standing: Descriptor, Desc: "DynamicSlice",
	Class: td.ClassDynamicSlice, Sources: "export desc unit B",
	New: func() Params { return &DynamicSlice{Padding: td.PadBackground} }, Contract: contract("y", "x start#"),
	Example: Example{"Axes=[W] Sizes=[4]", "fp16[1,1,8,16,16] uint16[1,1,1,1,1]"},

	Pattern: Pattern{2, 2, "", "guide B, catalog: a start that is bound" + textOurs},
	Check:   matched(validateDynamicSlice), Codegen: dynamicSliceCodegen,

	Unit: UnknownUnit, Epilogue: EpilogueSteps, TextureSlot: No, Broadcasts: No, Integers: No, Hidden: Yes,
	View: noView, InPlace: overNone, Rows: allRows, AtLoad: always, Cost: perResult(0),
}

func (*DynamicSlice) Info() *KindInfo { return &dynamicSliceInfo }

func (p *DynamicSlice) infer(o *operands) ([]Type, error) {
	if err := valid(p.Coordinate, p.Padding); err != nil {
		return nil, err
	}
	if len(p.Axes) == 0 || len(p.Axes) != len(p.Sizes) {
		return nil, fmt.Errorf("%d axes and %d sizes", len(p.Axes), len(p.Sizes))
	}
	if err := distinct(p.Axes); err != nil {
		return nil, err
	}
	if err := o.want(1, Dims{1, 1, 1, 1, len(p.Axes)}); err != nil {
		return nil, err
	}
	if err := o.indices(1); err != nil {
		return nil, err
	}
	y := o.dims(0)
	for i, a := range p.Axes {
		if p.Sizes[i] < 0 || p.Sizes[i] > y[a] {
			return nil, fmt.Errorf("a slice of %d along %v of %d", p.Sizes[i], a, y[a])
		}
		y[a] = p.Sizes[i]
	}
	return one(o.types[0].DType, y)
}

func distinct(axes []td.Axis) error {
	if err := checkAxis(axes...); err != nil {
		return err
	}
	var seen td.Axes
	for _, a := range axes {
		if seen.Has(a) {
			return fmt.Errorf("%v stands twice among the axes", a)
		}
		seen |= td.AxesOf(a)
	}
	return nil
}
