package anec

import (
	"fmt"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// Copy is x, stored anew: the layer that an epilogue or another layout hangs on
// where nothing computes (Apple: COPY, the bypass path of the array).
type Copy struct{}

var copyInfo = KindInfo{
	Kind: KindCopy, Name: "Copy", Dialect: Dialect{Name: "copy"}, Standing: Ours, Class: td.ClassNEBypass, Sources: "C 22",
	New: func() Params { return &Copy{} }, Contract: contract("y", "x"),
	Example: Example{"", "fp16[1,1,8,16,16]"},

	NoValidator: "ours: the bypass of the array",

	Unit: OnArray, Epilogue: EpilogueArray, TextureSlot: No, Broadcasts: Yes, Integers: No, Hidden: No,
	View: copyView, InPlace: overAny, Rows: sameRows, AtLoad: always, Cost: perResult(0),
}

func (*Copy) Info() *KindInfo                   { return &copyInfo }
func (*Copy) infer(o *operands) ([]Type, error) { return like(o) }

// TypeCast converts to another element type as a model's cast does: floats to
// integers towards zero, to bool by x ≠ 0. (A layer's OutputType rounds to the
// nearest.)
type TypeCast struct {
	To tensor.DType
}

var typeCastInfo = KindInfo{
	Kind: KindTypeCast, Name: "TypeCast", Dialect: Dialect{Name: "cast"}, Standing: Ours, Class: td.ClassNEBypass, Sources: "C mil",
	New: func() Params { return &TypeCast{} }, Contract: contract("y", "x"),
	Example: Example{"To=fp16", "bool[1,1,8,16,16]"},

	NoValidator: "ours: a micro-operation; casts to int32 are Codegen's", Codegen: typeCastCodegen,

	Unit: OnArray, Epilogue: EpilogueSteps, TextureSlot: No, Broadcasts: Yes, Integers: No, Hidden: No,
	View: noView, InPlace: overAny, Rows: sameRows, AtLoad: always, Cost: perResult(1),
}

func (*TypeCast) Info() *KindInfo { return &typeCastInfo }

func (p *TypeCast) infer(o *operands) ([]Type, error) {
	if _, ok := td.ElementCode(p.To); !ok {
		return nil, fmt.Errorf("no task can hold %v", p.To)
	}
	return one(p.To, o.dims(0))
}

var typeCastCodegen = []CodegenVerdict{
	{
		ID: diag.CodegenInt32, Subject: "a cast to or from 32-bit integers", From: firstFamily, To: lastFamily, Fails: true,
		Text: "32 bit format not supported", Remedy: "stay in fp16, which is exact up to 2048, or cast on the host",
		Status: hal.Measured, Seen: []hal.Family{hal.A13, hal.A16, hal.A18}, Source: "guide 4 and A: to int32, on M1; " + fromStudy + ": both ways; text: " + fromStrings,
		found: func(l *Layer, _ *hal.Target) (string, bool) {
			x, to := l.bottom(0), l.Params.(*TypeCast).To
			if x == nil {
				return "", false
			}
			return fmt.Sprintf("%v to %v", x.Type.DType, to), wideInteger(x.Type.DType) || wideInteger(to)
		},
	},
}

func wideInteger(d tensor.DType) bool {
	switch d {
	case tensor.Int32, tensor.UInt32, tensor.Int64, tensor.UInt64:
		return true
	}
	return false
}

// Shape gives the extents of x along the axes, in their order, along W.
type Shape struct {
	Axes []td.Axis `net:"Dimension?"`
}

var shapeInfo = KindInfo{
	Kind: KindShape, Name: "Shape", Dialect: Dialect{Name: "shape"}, Standing: Descriptor, Desc: "Shape", Class: td.ClassShape,
	Sources: "export C", Unsure: "its fields and the layout of its result",
	New: func() Params { return &Shape{} }, Contract: contract("y", "x"),
	Example: Example{"Axes=[C,H,W]", "fp16[1,1,8,16,16]"},

	Pattern: Pattern{1, 1, "", "the contract of the kind" + textOurs}, Check: matched(validateShape),

	Unit: UnknownUnit, Epilogue: EpilogueOwn, TextureSlot: No, Broadcasts: No, Integers: No, Hidden: No,
	View: noView, InPlace: overNone, Rows: allRows, AtLoad: always, Cost: free,
	NoTask: "pass shape makes a constant of it",
}

func (*Shape) Info() *KindInfo { return &shapeInfo }

func (p *Shape) infer(o *operands) ([]Type, error) {
	if err := checkAxis(p.Axes...); err != nil {
		return nil, err
	}
	if len(p.Axes) == 0 {
		return nil, fmt.Errorf("no axes")
	}
	return one(tensor.Int32, Dims{1, 1, 1, 1, len(p.Axes)})
}
