package td

import (
	"math"
	"strings"
)

// What the numbers in some fields of version 7 stand for. The sources are those
// of the fields; a number that is not here has no known meaning.
var v7Values = map[*Field]map[uint32]string{
	V7TaskType: {
		TypeArray: "array", TypePlanarUnary: "planar, one source", TypePlanarBinary: "planar, two sources",
		TypePlanarGain: "planar, gain and offset", TypePlanarReduce: "planar reduction", TypePlanarReduce2: "planar reduction, two sources",
	},
	V7Fmt1:              v7Formats,
	V7Fmt2:              v7Formats,
	V7FmtO:              v7Formats,
	V7NEOperation:       {0: "multiply and accumulate", 3: "maximum", 4: "bypass"},
	V7NENonLinear:       {0: "none", 1: "ReLU", 2: "table"},
	V7NEKernelFormat:    {1: "int8", 2: "fp16"},
	V7PEOperator:        {0: "add", 1: "multiply", 2: "maximum", 3: "minimum", 4: "square of the sum"},
	V7PEReduction:       {0: "sum", 2: "maximum"},
	V7PEFinal:           {0: "none", 1: "reciprocal", 2: "reciprocal square root"},
	V7PESource2Sign:     {2: "plain", 3: "negated"},
	V7PadMode:           {0: "zero", 1: "minus infinity"},
	V7SourceConfig.Type: {0: "on chip", 1: "DMA, kept on chip", 2: "DMA"},
	V7ResultConfig.Type: {0: "on chip", 2: "DMA"},
}

var v7Formats = map[uint32]string{0: "uint8", 1: "int8", 2: "fp16"}

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
