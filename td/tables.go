package td

import (
	"math"

	"github.com/espalier-ane/espalier/tensor"
)

// The activation tables that Apple's compiler emits, each with the hash of its
// stored form held by a test. The knots of most are the function, rounded.
// Sigmoid's tails and all of gelu are a fit: they are data.

const (
	fp16Zero   = 0x0000
	fp16One    = 0x3c00
	fp16Inf    = 0x7c00
	fp16NegInf = 0xfc00
	fp16Tiny   = 0x0001 // the least positive number
	fp16Sign   = 0x8000

	// allTail is the spacing of a table whose knots all lie at 0, in effect.
	allTail = 64
)

// A namedTable is a table that has no parameters.
type namedTable struct {
	name string
	make func() *Table
}

var namedTables = []namedTable{
	{"sigmoid", SigmoidTable},
	{"tanh", TanhTable},
	{"gelu", GELUTable},
	{"silu", SiLUTable},
	{"exp2", Exp2Table},
	{"log2", Log2Table},
	{"sqrt", SqrtTable},
	{"rsqrt", RSqrtTable},
	{"reciprocal", ReciprocalTable},
	{"fraction", FractionTable},
	{"integer part", IntegerTable},
	{"less than zero", LessThanZeroTable},
}

// Name returns the function that the table is known to be, "" for others.
func (t *Table) Name() string {
	for _, n := range namedTables {
		if *t == *n.make() {
			return n.name
		}
	}
	return ""
}

func mode(form TableForm, sign TableSign) uint16 { return uint16(sign)<<4 | uint16(form) }

// sample fills the knots from the given one on with f.
func (t *Table) sample(from int, f func(i float64) float64) *Table {
	for i := from; i < NumKnots; i++ {
		t.Knots[i] = nearestF16(f(float64(i)))
	}
	return t
}

// nearestF16 rounds once. Going through float32 alone would round twice.
func nearestF16(v float64) uint16 { return tensor.ToF16(tensor.RoundToOdd(v)) }

// TanhTable is tanh.
func TanhTable() *Table {
	t := &Table{XHigh: 0x4400, YHigh: fp16One, Right: Tail{Intercept: fp16One}, SpacingLog2: 3, Mode: mode(FormOrigin, SignOdd)}
	return t.sample(0, func(i float64) float64 { return math.Tanh(i / 8) })
}

// Exp2Table is 2 to the power of x.
func Exp2Table() *Table {
	t := &Table{XLow: 0xce40, XHigh: 0x4c00, YHigh: fp16Inf, SpacingLog2: 5, Mode: mode(FormExp2, SignPlain)}
	return t.sample(0, func(i float64) float64 { return math.Exp2(i / 32) })
}

// Log2Table is the logarithm to base 2.
func Log2Table() *Table {
	t := &Table{XHigh: fp16Inf, YLow: fp16NegInf, SpacingLog2: 6, Mode: mode(FormLog2, SignPositive)}
	return t.sample(0, func(i float64) float64 { return math.Log2(0.5 + i/64) })
}

// SqrtTable is the square root. Its first knots are never reached.
func SqrtTable() *Table {
	t := &Table{XHigh: fp16Inf, YHigh: fp16Inf, SpacingLog2: 4, Mode: mode(FormSqrt, SignPositive)}
	return t.sample(8, func(i float64) float64 { return math.Sqrt(i / 16) })
}

// RSqrtTable is 1 over the square root. Its first knots are never reached.
func RSqrtTable() *Table {
	t := &Table{XHigh: fp16Inf, YLow: fp16Inf, SpacingLog2: 4, Mode: mode(FormRSqrt, SignPositive)}
	return t.sample(8, func(i float64) float64 { return 1 / math.Sqrt(i/16) })
}

// ReciprocalTable is 1/x.
func ReciprocalTable() *Table {
	t := &Table{XHigh: fp16Inf, YLow: fp16Inf, SpacingLog2: 6, Mode: mode(FormReciprocal, SignOdd)}
	return t.sample(0, func(i float64) float64 { return 1 / (0.5 + i/64) })
}

// SigmoidTable is the logistic function. The limits and the tails are Apple's
// fit: h13 3.5, read from sigmoid_7cc79341.
func SigmoidTable() *Table {
	t := &Table{
		XLow: 0xc8f8, XHigh: 0x4829, YHigh: fp16One,
		Left: Tail{0x09ac, 0x170c}, Right: Tail{0x163e, 0x3be6},
		SpacingLog2: 1, Mode: mode(FormCentred, SignPlain),
	}
	return t.sample(0, func(i float64) float64 { return 1 / (1 + math.Exp(8-i/2)) })
}

// GELUTable is x times the normal distribution at x. All of it is Apple's fit,
// read from the recorded section of chain_base_gelu_d256_s64. The compiler emits
// it for the exact form and for the tanh form.
func GELUTable() *Table {
	return &Table{
		XLow: 0xc466, XHigh: fp16Inf, YHigh: fp16Inf,
		Knots: [NumKnots]uint16{
			0x0000, 0x8e8a, 0x9230, 0x9757, 0x9bf0, 0xa011, 0xa3bf, 0xa6ec, 0xa9bf, 0xac75, 0xae67,
			0xb03d, 0xb11e, 0xb184, 0xb104, 0xaecf, 0x922d, 0x3098, 0x357e, 0x389f, 0x3ab8, 0x3c78,
			0x3d9a, 0x3eb9, 0x3fd2, 0x4072, 0x40f8, 0x417c, 0x41fe, 0x427f, 0x4300, 0x4380, 0x4400,
		},
		Right:       Tail{Slope: fp16One},
		SpacingLog2: 2, Mode: mode(FormCentred, SignPlain),
	}
}

// SiLUTable is x times the logistic function of x. All of it is Apple's fit, read
// from the recorded section of chain_base_silu_d256_s64.
func SiLUTable() *Table {
	return &Table{
		XLow: 0xc91a, XHigh: fp16Inf, YHigh: fp16Inf,
		Knots: [NumKnots]uint16{
			0x98cd, 0x9c5e, 0x9e65, 0xa0ef, 0xa37b, 0xa5a9, 0xa83b, 0xaa45, 0xac8e, 0xae85, 0xb088,
			0xb210, 0xb3a9, 0xb470, 0xb460, 0xb284, 0x96fb, 0x34be, 0x39d0, 0x3ce4, 0x3f0b, 0x409f,
			0x41b7, 0x42cc, 0x43dc, 0x4473, 0x44f8, 0x457a, 0x45fc, 0x467e, 0x46fe, 0x477f, 0x47ff,
		},
		Left: Tail{0x945d, 0xa191}, Right: Tail{fp16One, 0x9c00},
		SpacingLog2: 1, Mode: mode(FormCentred, SignPlain),
	}
}

// FractionTable is x less its integer part, with the sign of x.
func FractionTable() *Table {
	return &Table{XLow: fp16NegInf, XHigh: fp16Inf, Mode: mode(FormFraction, SignOdd)}
}

// IntegerTable is the integer part of x: x rounded towards 0.
func IntegerTable() *Table {
	return &Table{
		XLow: fp16NegInf, XHigh: fp16Inf, YLow: fp16NegInf, YHigh: fp16Inf,
		SpacingLog2: 5, Mode: mode(FormInteger, SignOdd),
	}
}

// LessThanZeroTable is 1 where x is negative, else 0.
func LessThanZeroTable() *Table {
	return &Table{
		XLow: fp16Sign | fp16Tiny, XHigh: fp16Tiny, YLow: fp16One,
		Left:        Tail{Intercept: fp16One},
		SpacingLog2: allTail, Mode: mode(FormCentred, SignPlain),
	}
}

// LeakyReLUTable is x, but slope times x below 0.
func LeakyReLUTable(slope uint16) *Table {
	return &Table{
		XLow: fp16NegInf, XHigh: fp16Inf, YLow: fp16NegInf, YHigh: fp16Inf,
		Left: Tail{Slope: slope}, Right: Tail{Slope: fp16One},
		SpacingLog2: allTail, Mode: mode(FormCentred, SignPlain),
	}
}

// MaxTable is the greater of x and v. All knots lie at 0, so they are the
// function there; records have only v above 0.
func MaxTable(v uint16) *Table {
	t := &Table{
		XLow: v, XHigh: fp16Inf, YLow: v, YHigh: fp16Inf,
		Left: Tail{Slope: fp16One}, Right: Tail{Slope: fp16One},
		SpacingLog2: allTail, Mode: mode(FormCentred, SignPlain),
	}
	return t.sample(0, func(float64) float64 { return max(float64(tensor.F16(v)), 0) })
}

// MinTable is the lesser of x and v, as MaxTable.
func MinTable(v uint16) *Table {
	t := &Table{
		XLow: fp16NegInf, XHigh: v, YLow: fp16NegInf, YHigh: v,
		Left: Tail{Slope: fp16One}, Right: Tail{Slope: fp16One},
		SpacingLog2: allTail, Mode: mode(FormCentred, SignPlain),
	}
	return t.sample(0, func(float64) float64 { return min(float64(tensor.F16(v)), 0) })
}
