package anec

import (
	"fmt"

	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// Reshape gives the elements, in the order of their positions N, D, C, H, W,
// other extents.
type Reshape struct {
	Dims Dims `net:"Reshaped{Batch,Depth,Channel,Height,Width}"`
}

var reshapeInfo = KindInfo{
	Kind: KindReshape, Name: "Reshape", Dialect: Dialect{Name: "reshape"}, Standing: Descriptor, Desc: "Reshape", Class: td.ClassReshape, Sources: "export desc plist unit",
	New: func() Params { return &Reshape{} }, Contract: contract("y", "x"),
	Example: Example{"Dims=[1,1,2048,1,1]", "fp16[1,1,8,16,16]"},

	Pattern: Pattern{1, 1, "", fromEnvelopes + textOurs}, Check: matched(validateReshape),

	Unit: OnArray, Epilogue: EpilogueOwn, TextureSlot: No, Broadcasts: No, Integers: No, Hidden: No,
	View: aView, InPlace: overNone, Rows: allRows, AtLoad: always, Cost: free,
	NoTask: "a view",
}

func (*Reshape) Info() *KindInfo { return &reshapeInfo }

func (p *Reshape) infer(o *operands) ([]Type, error) {
	have, _ := o.dims(0).Count()
	if want, ok := p.Dims.Count(); !ok || want != have {
		return nil, fmt.Errorf("%v cannot become %v: %d elements are not %d", o.dims(0), p.Dims, have, want)
	}
	return one(o.types[0].DType, p.Dims)
}

// FlattenOrder is the order in which positions are strung together
// (ZinIrFlattenType).
type FlattenOrder uint8

// The orders.
const (
	FlattenNCHW FlattenOrder = 1
	FlattenNHWC FlattenOrder = 2
)

var flattenOrderNames = map[FlattenOrder]string{FlattenNCHW: "NCHW", FlattenNHWC: "NHWC"}

func (f FlattenOrder) String() string { return nameOf(flattenOrderNames, f, "order") }

// Valid reports whether f has a name.
func (f FlattenOrder) Valid() bool { return flattenOrderNames[f] != "" }

// Flatten strings the channels and positions of each batch element together,
// along C (inferred).
type Flatten struct {
	Order FlattenOrder `net:"FlattenType"` // netplists say Mode too, with the same value
}

var flattenInfo = KindInfo{
	Kind: KindFlatten, Name: "Flatten", Dialect: Dialect{Name: "flatten"}, Standing: Descriptor, Desc: "Flatten", Class: td.ClassFlatten,
	Sources: "export desc unit B C", Unsure: "that the elements go along C",
	New: func() Params { return &Flatten{Order: FlattenNCHW} }, Contract: contract("y", "x"),
	Example: Example{"", "fp16[1,1,8,16,16]"},

	Pattern: Pattern{1, 1, "", "the contract of the kind" + textOurs}, Check: validateFlatten,

	Unit: OnArray, Epilogue: EpilogueOwn, TextureSlot: No, Broadcasts: No, Integers: No, Hidden: No,
	View: aView, InPlace: overNone, Rows: allRows, AtLoad: always, Cost: free,
	NoTask: "a view",
}

func (*Flatten) Info() *KindInfo { return &flattenInfo }

func (p *Flatten) infer(o *operands) ([]Type, error) {
	if err := valid(p.Order); err != nil {
		return nil, err
	}
	x := o.dims(0)
	if x[D] != 1 {
		return nil, fmt.Errorf("x has %d along D, want 1", x[D])
	}
	return one(o.types[0].DType, Dims{x[N], 1, x[C] * x[H] * x[W], 1, 1})
}

// Unflatten undoes a Flatten.
type Unflatten struct {
	Order FlattenOrder `net:"FlattenType?"`
	Dims  [3]int       // C, H, W; the descriptor has three numbers, in an order that is not known
}

var unflattenInfo = KindInfo{
	Kind: KindUnflatten, Name: "Unflatten", Dialect: Dialect{Name: "unflatten"}, Standing: Descriptor, Desc: "Unflatten", Class: td.ClassUnflatten,
	Sources: "export desc C", Unsure: "which axes its three numbers are for; its keys",
	New: func() Params { return &Unflatten{Order: FlattenNCHW} }, Contract: contract("y", "x"),
	Example: Example{"Dims=[8,16,16]", "fp16[1,1,2048,1,1]"},

	Pattern: Pattern{1, 1, "Unflatten layer can only have one bottom", fromDecompiled},
	Check:   validateUnflatten, Codegen: unflattenCodegen,

	Unit: OnArray, Epilogue: EpilogueOwn, TextureSlot: No, Broadcasts: No, Integers: No, Hidden: No,
	View: aView, InPlace: overNone, Rows: allRows, AtLoad: always, Cost: free,
	NoTask: "a view",
}

func (*Unflatten) Info() *KindInfo { return &unflattenInfo }

func (p *Unflatten) infer(o *operands) ([]Type, error) {
	if err := valid(p.Order); err != nil {
		return nil, err
	}
	n, ok := tensor.Count(p.Dims[:])
	if !ok {
		return nil, fmt.Errorf("%v are not the extents of a tensor", p.Dims)
	}
	if err := o.want(0, Dims{o.dims(0)[N], 1, n, 1, 1}); err != nil {
		return nil, err
	}
	return one(o.types[0].DType, Dims{o.dims(0)[N], 1, p.Dims[0], p.Dims[1], p.Dims[2]})
}

// Alias is another name for x.
type Alias struct{}

var aliasInfo = KindInfo{
	Kind: KindAlias, Name: "Alias", Dialect: Dialect{Name: "alias"}, Standing: UnitOnly, Class: td.ClassAlias,
	Sources: "C", Unsure: "that it has one operand",
	New: func() Params { return &Alias{} }, Contract: contract("y", "x"),
	Example: Example{"", "fp16[1,1,8,16,16]"},

	NoValidator: "another name for a value: nothing to hold",

	Unit: UnknownUnit, Epilogue: EpilogueOwn, TextureSlot: No, Broadcasts: No, Integers: No, Hidden: No,
	View: aView, InPlace: overNone, Rows: allRows, AtLoad: always, Cost: free,
	NoTask: "a view",
}

func (*Alias) Info() *KindInfo                   { return &aliasInfo }
func (*Alias) infer(o *operands) ([]Type, error) { return like(o) }

// Transpose permutes the axes. A netplist and the descriptor have pairs of axes:
// TransposeSourceDimension and TransposeDestinationDimension.
type Transpose struct {
	Perm Perm `net:"TransposeDimensions"`
}

var transposeInfo = KindInfo{
	Kind: KindTranspose, Name: "Transpose", Dialect: Dialect{Name: "transpose"}, Standing: Descriptor, Desc: "Transpose", Class: td.ClassTranspose,
	Sources: "export desc unit B",
	New:     func() Params { return &Transpose{Perm: Identity} }, Contract: contract("y", "x"),
	Example: Example{"Perm=[N,D,H,C,W]", "fp16[1,1,8,16,16]"},

	Pattern: Pattern{1, 1, "", onlyCount}, Check: matched(validateTranspose),

	Unit: OnArray, Epilogue: EpilogueOwn, TextureSlot: No, Broadcasts: No, Integers: No, Hidden: No,
	View: aView, InPlace: overNone, Rows: allRows, AtLoad: always, Cost: free,
	NoTask: "a view",
}

func (*Transpose) Info() *KindInfo { return &transposeInfo }

func (p *Transpose) infer(o *operands) ([]Type, error) {
	if !p.Perm.Valid() {
		return nil, fmt.Errorf("%v is not a permutation of the axes", p.Perm)
	}
	return one(o.types[0].DType, p.Perm.Apply(o.dims(0)))
}
