package anec

import (
	"fmt"

	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// ElementWise combines x and z, which broadcast to each other, or makes a
// function of x alone. Comparisons and logic give bool.
type ElementWise struct {
	Type td.EWKind `net:"Type"`
}

var elementWiseNames = map[string]string{
	"Add": "add", "Sub": "sub", "Mult": "multiply", "Div": "divide", "FloorDiv": "floor_div", "Power": "power", "Max": "max", "Min": "min",
	"Equal": "equal", "NotEqual": "not_equal", "LessThan": "less", "LessThanEqual": "less_equal", "GreaterThan": "greater", "GreaterThanEqual": "greater_equal",
}

var elementWiseInfo = KindInfo{
	Kind: KindElementWise, Name: "ElementWise", Dialect: Dialect{"elementwise", "Type", elementWiseNames}, Standing: Computed, Desc: "ElementWise",
	Class: td.ClassElementWise, Sources: "22 desc unit C",
	New: func() Params { return &ElementWise{} }, Contract: contract("y", "x z?"),
	Example: Example{"Type=Add", "fp16[1,1,8,16,16] fp16[1,1,8,16,16]"},

	Pattern: Pattern{1, 2, "", "the contract of the kind" + textOurs}, Check: validateElementWise,

	Unit: OnPlanar, Epilogue: EpiloguePlanar, TextureSlot: No, Broadcasts: Yes, Integers: Yes, Hidden: No,
	View: noView, InPlace: overAny, Rows: sameRows, AtLoad: always, Cost: perResult(1),
}

func (*ElementWise) Info() *KindInfo { return &elementWiseInfo }

func (p *ElementWise) infer(o *operands) ([]Type, error) {
	if err := valid(p.Type); err != nil {
		return nil, err
	}
	if p.Type == td.EWSelect {
		return nil, fmt.Errorf("%v takes three values; it is a kind of its own", p.Type)
	}
	if p.Type.Unary() == o.has(1) {
		return nil, fmt.Errorf("%v takes %s", p.Type, map[bool]string{true: "x alone", false: "x and z"}[p.Type.Unary()])
	}
	y, err := o.meet(allAxes, 0, 1)
	if err != nil {
		return nil, err
	}
	d := o.types[0].DType
	if givesBool(p.Type) {
		d = tensor.Bool
	}
	return one(d, y)
}

func givesBool(k td.EWKind) bool {
	switch k {
	case td.EWEqual, td.EWNotEqual, td.EWLessThan, td.EWLessThanEqual, td.EWGreaterThan, td.EWGreaterThanEqual,
		td.EWEqualZero, td.EWNotEqualZero, td.EWLessThanZero, td.EWLessThanEqualZero, td.EWGreaterThanEqualZero, td.EWGreaterThanZero,
		td.EWAnd, td.EWOr, td.EWXor:
		return true
	}
	return false
}

// ScaledElementWise is Scale * (x op z). The descriptor has three numbers more
// before the type; their meaning is not known.
type ScaledElementWise struct {
	Type  td.ScaledEWKind `net:"Type"`
	Scale float32         `net:"Scale"` // as the bits of an fp16 there
}

var scaledElementWiseInfo = KindInfo{
	Kind: KindScaledElementWise, Name: "ScaledElementWise", Dialect: Dialect{Name: "scaled_elementwise"}, Standing: Descriptor, Desc: "ScaledElementWise", Class: td.ClassScaledElementWise,
	Sources: "export desc plist B C", Unsure: "three further numbers of the descriptor",
	New: func() Params { return &ScaledElementWise{Scale: 1} }, Contract: contract("y", "x z"),
	Example: Example{"Type=Add Scale=2", "fp16[1,1,8,16,16] fp16[1,1,8,16,16]"},

	Pattern: Pattern{1, 2, "Scaled Elementwise must have 1 or 2 input", fromStrings},
	Check:   validateScaledElementWise, Codegen: scaledElementWiseCodegen,

	Unit: OnPlanar, Epilogue: EpiloguePlanar, TextureSlot: No, Broadcasts: Yes, Integers: Yes, Hidden: No,
	View: noView, InPlace: overAny, Rows: sameRows, AtLoad: always, Cost: perResult(2),
}

func (*ScaledElementWise) Info() *KindInfo { return &scaledElementWiseInfo }

func (p *ScaledElementWise) infer(o *operands) ([]Type, error) {
	if err := valid(p.Type); err != nil {
		return nil, err
	}
	y, err := o.meet(allAxes, 0, 1)
	if err != nil {
		return nil, err
	}
	return one(o.types[0].DType, y)
}

// Select takes a where the condition is not 0, else b. All broadcast.
type Select struct{}

var selectInfo = KindInfo{
	Kind: KindSelect, Name: "Select", Dialect: Dialect{Name: "select"}, Standing: Ours, Class: td.ClassElementWise, Sources: "mil",
	New: func() Params { return &Select{} }, Contract: contract("y", "condition a b"),
	Example: Example{"", "bool[1,1,8,16,16] fp16[1,1,8,16,16] fp16[1,1,8,16,16]"},

	NoValidator: "ours: an elementwise operation of three operands",

	Unit: OnPlanar, Epilogue: EpilogueSteps, TextureSlot: No, Broadcasts: Yes, Integers: No, Hidden: No,
	View: noView, InPlace: overAny, Rows: sameRows, AtLoad: always, Cost: perResult(1),
}

func (*Select) Info() *KindInfo { return &selectInfo }

func (p *Select) infer(o *operands) ([]Type, error) {
	y, err := o.meet(allAxes, 0, 1, 2)
	if err != nil {
		return nil, err
	}
	if a, b := o.types[1].DType, o.types[2].DType; a != b {
		return nil, fmt.Errorf("a is of %v, b of %v", a, b)
	}
	return one(o.types[1].DType, y)
}
