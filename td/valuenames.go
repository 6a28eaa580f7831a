package td

import (
	"math"
	"strings"
)

// The numbers in some fields of version 7. Those of V7TaskType stand beside its block, those of V7NEKernelFormat are
// KernelFormat.
const (
	FormatUint8 = 0 // V7Fmt1, V7Fmt2, V7FmtO
	FormatInt8  = 1
	FormatFP16  = 2

	OperationMultiplyAdd = 0 // V7NEOperation
	OperationMaximum     = 3
	OperationBypass      = 4

	NonLinearNone  = 0 // V7NENonLinear
	NonLinearReLU  = 1
	NonLinearTable = 2

	OperatorAdd      = 0 // V7PEOperator
	OperatorMultiply = 1
	OperatorMaximum  = 2
	OperatorMinimum  = 3
	OperatorSquare   = 4 // of the sum

	ConditionAbsolute = 1 // V7PECondition; in one recorded program, so that it has no name

	ReductionSum     = 0 // V7PEReduction
	ReductionMaximum = 2

	FinalNone       = 0 // V7PEFinal
	FinalReciprocal = 1
	FinalRSqrt      = 2

	Source2Plain   = 2 // V7PESource2Sign
	Source2Negated = 3

	PlaceOnChip = 0 // V7SourceConfig.Type, V7ResultConfig.Type
	PlaceKept   = 1
	PlaceDMA    = 2
)

// What the numbers stand for. The sources are those of the fields; a number that is not here has no known meaning.
var v7Values = map[*Field]map[uint32]string{
	V7TaskType: {
		TypeArray: "array", TypePlanarUnary: "planar, one source", TypePlanarBinary: "planar, two sources",
		TypePlanarGain: "planar, gain and offset", TypePlanarReduce: "planar reduction", TypePlanarReduce2: "planar reduction, two sources",
	},
	V7Fmt1:           v7Formats,
	V7Fmt2:           v7Formats,
	V7FmtO:           v7Formats,
	V7NEOperation:    {OperationMultiplyAdd: "multiply and accumulate", OperationMaximum: "maximum", OperationBypass: "bypass"},
	V7NENonLinear:    {NonLinearNone: "none", NonLinearReLU: "ReLU", NonLinearTable: "table"},
	V7NEKernelFormat: {uint32(KernelInt8): "int8", uint32(KernelFP16): "fp16"},
	V7PEOperator: {
		OperatorAdd: "add", OperatorMultiply: "multiply", OperatorMaximum: "maximum", OperatorMinimum: "minimum", OperatorSquare: "square of the sum",
	},
	V7PEReduction:       {ReductionSum: "sum", ReductionMaximum: "maximum"},
	V7PEFinal:           {FinalNone: "none", FinalReciprocal: "reciprocal", FinalRSqrt: "reciprocal square root"},
	V7PESource2Sign:     {Source2Plain: "plain", Source2Negated: "negated"},
	V7PadMode:           {0: "zero", 1: "minus infinity"},
	V7SourceConfig.Type: {PlaceOnChip: "on chip", PlaceKept: "DMA, kept on chip", PlaceDMA: "DMA"},
	V7ResultConfig.Type: {PlaceOnChip: "on chip", PlaceDMA: "DMA"},
}

var v7Formats = map[uint32]string{FormatUint8: "uint8", FormatInt8: "int8", FormatFP16: "fp16"}

// ValueName says what a number in the field stands for, "" if the field holds a
// quantity or the number has no known meaning.
func (f *Field) ValueName(value uint32) string {
	switch {
	case f == V256Class:
		return Class(value).String()
	case f.Block.layout == v256 && strings.HasSuffix(f.Name, ".Element"):
		if d, ok := ElementType(uint8(value)); ok {
			return d.String()
		}
	case f.Block.Name == "Epilogue" && strings.HasSuffix(f.Name, "Code"):
		return MicroCode(value).String()
	}
	return v7Values[f][value]
}

var tableFormNames = map[TableForm]string{
	FormOrigin: "from the origin", FormCentred: "centred", FormFraction: "fraction", FormInteger: "integer part",
	FormSqrt: "square root", FormRSqrt: "reciprocal square root", FormReciprocal: "reciprocal", FormLog2: "log2", FormExp2: "exp2",
}

func (f TableForm) String() string { return nameOf(tableFormNames, f, "form") }

var tableSignNames = map[TableSign]string{
	SignPlain: "plain", SignOdd: "odd", SignPositive: "positive only",
}

func (s TableSign) String() string { return nameOf(tableSignNames, s, "sign treatment") }

// Spacing is the distance between knots.
func (t *Table) Spacing() float64 { return math.Ldexp(1, -int(t.SpacingLog2)) }
