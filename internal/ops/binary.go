package ops

import (
	"cmp"
	"math"

	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// arithmetic is an operation on pairs of numbers whose arrays meet under NumPy's rule.
type arithmetic struct {
	name, doc string
	float     func(a, b float32) float32
	int       func(a, b int64) int64
	native    td.EWKind
}

// Integer results wrap to their type; an integer divided by zero gives zero.
var binaryOps = binaryDefs([]arithmetic{
	{"add", "x + y", plus[float32], plus[int64], td.EWAdd},
	{"sub", "x - y", minus[float32], minus[int64], td.EWSub},
	{"mul", "x · y", times[float32], times[int64], td.EWMult},
	{"real_div", "x / y; for integers towards zero", func(a, b float32) float32 { return a / b }, intQuotient, td.EWDiv},
	{"floor_div", "x / y, rounded down", floatFloorDiv, intFloorDiv, td.EWFloorDiv},
	{"mod", "x - y · floor(x / y), which has the sign of y", floatMod, intMod, td.EWMod},
	{"pow", "x to the power of y", floatPow, intPow, td.EWPower},
	{"maximum", "the greater of x and y", larger[float32], larger[int64], td.EWMax},
	{"minimum", "the lesser of x and y", smaller[float32], smaller[int64], td.EWMin},
})

// comparison is an operation that gives a truth value for pairs of numbers.
type comparison struct {
	name, doc string
	float     func(a, b float32) bool
	int       func(a, b int64) bool
	native    td.EWKind
}

var comparisonOps = comparisonDefs([]comparison{
	{"equal", "x = y", isEqual[float32], isEqual[int64], td.EWEqual},
	{"not_equal", "x ≠ y", isUnequal[float32], isUnequal[int64], td.EWNotEqual},
	{"less", "x < y", isLess[float32], isLess[int64], td.EWLessThan},
	{"less_equal", "x ≤ y", isAtMost[float32], isAtMost[int64], td.EWLessThanEqual},
	{"greater", "x > y", isGreater[float32], isGreater[int64], td.EWGreaterThan},
	{"greater_equal", "x ≥ y", isAtLeast[float32], isAtLeast[int64], td.EWGreaterThanEqual},
})

var logicalOps = []Def{
	logicalDef("logical_and", "x and y", func(a, b int64) bool { return a&b != 0 }, td.EWAnd),
	logicalDef("logical_or", "x or y", func(a, b int64) bool { return a|b != 0 }, td.EWOr),
	logicalDef("logical_xor", "either x or y", func(a, b int64) bool { return a != b }, td.EWXor),
}

func binaryDefs(rows []arithmetic) []Def {
	defs := make([]Def, 0, len(rows))
	for _, r := range rows {
		defs = append(defs, Def{
			Name:     r.name,
			Doc:      r.doc,
			Versions: since(IOS15, In("x", Number).As("T"), In("y", Number).As("T")),
			Infer:    func(c *Call) ([]mil.Type, error) { return inferPair(c, c.DType("x")) },
			Eval: func(c *Call) error {
				if c.DType("x").IsFloat() {
					c.ReturnFloats(0, mapPairs(c, c.Floats("x"), c.Floats("y"), r.float))
				} else {
					c.ReturnInts(0, mapPairs(c, c.Int64s("x"), c.Int64s("y"), r.int))
				}
				return nil
			},
			Lower: lowerPair(r.native),
		})
	}
	return defs
}

func comparisonDefs(rows []comparison) []Def {
	defs := make([]Def, 0, len(rows))
	for _, r := range rows {
		defs = append(defs, Def{
			Name:     r.name,
			Doc:      r.doc,
			Versions: since(IOS15, In("x", Number).As("T"), In("y", Number).As("T")),
			Infer:    func(c *Call) ([]mil.Type, error) { return inferPair(c, tensor.Bool) },
			Eval: func(c *Call) error {
				if c.DType("x").IsFloat() {
					c.ReturnBools(0, mapPairs(c, c.Floats("x"), c.Floats("y"), r.float))
				} else {
					c.ReturnBools(0, mapPairs(c, c.Int64s("x"), c.Int64s("y"), r.int))
				}
				return nil
			},
			Lower: lowerPair(r.native),
		})
	}
	return defs
}

func logicalDef(name, doc string, f func(a, b int64) bool, native td.EWKind) Def {
	return Def{
		Name:     name,
		Doc:      doc,
		Versions: since(IOS15, In("x", B).As("T"), In("y", B).As("T")),
		Infer:    func(c *Call) ([]mil.Type, error) { return inferPair(c, tensor.Bool) },
		Eval: func(c *Call) error {
			c.ReturnBools(0, mapPairs(c, c.Int64s("x"), c.Int64s("y"), f))
			return nil
		},
		Lower: lowerPair(native),
	}
}

func inferPair(c *Call, d tensor.DType) ([]mil.Type, error) {
	shape, err := tensor.Broadcast(c.Shape("x"), c.Shape("y"))
	if err != nil {
		return nil, err
	}
	return one(d, shape)
}

// mapPairs applies a function to the pairs of elements of x and y.
func mapPairs[T, R any](c *Call, x, y []T, f func(a, b T) R) []R {
	out := make([]R, c.OutLen(0))
	newBroadcast(c.OutShape(0), c.Tensor("x").Shape(), c.Tensor("y").Shape()).each(c.halt, func(s stretch) {
		i, j := s.at[0], s.at[1]
		for k := range s.n {
			out[s.out+k] = f(x[i], y[j])
			i, j = i+s.step[0], j+s.step[1]
		}
	})
	return out
}

type number interface{ float32 | int64 }

func plus[T number](a, b T) T    { return a + b }
func minus[T number](a, b T) T   { return a - b }
func times[T number](a, b T) T   { return a * b }
func larger[T number](a, b T) T  { return max(a, b) } // NaN if either is
func smaller[T number](a, b T) T { return min(a, b) }

func isEqual[T cmp.Ordered](a, b T) bool   { return a == b }
func isUnequal[T cmp.Ordered](a, b T) bool { return a != b }
func isLess[T cmp.Ordered](a, b T) bool    { return a < b }
func isAtMost[T cmp.Ordered](a, b T) bool  { return a <= b }
func isGreater[T cmp.Ordered](a, b T) bool { return a > b }
func isAtLeast[T cmp.Ordered](a, b T) bool { return a >= b }

// floatMod is exact but for the last rounding.
func floatMod(a, b float32) float32 {
	m := math.Mod(float64(a), float64(b))
	if m != 0 && m < 0 != (b < 0) {
		m += float64(b)
	}
	return float32(m)
}

// floatFloorDiv rounds the exact quotient down, not its fp32 rounding: 1 / 0.1 gives 9, as 0.1 is a little more
// than a tenth.
func floatFloorDiv(a, b float32) float32 {
	x, y := float64(a), float64(b)
	if y == 0 || math.IsInf(x, 0) {
		return a / b
	}
	m := math.Mod(x, y)
	q := math.RoundToEven((x - m) / y) // whole but for rounding
	if m != 0 && m < 0 != (y < 0) {
		q--
	}
	return float32(q)
}

func floatPow(a, b float32) float32 { return float32(math.Pow(float64(a), float64(b))) }

func intQuotient(a, b int64) int64 {
	if b == 0 {
		return 0
	}
	return a / b
}

func intFloorDiv(a, b int64) int64 {
	q := intQuotient(a, b)
	if b != 0 && a%b != 0 && a < 0 != (b < 0) {
		q--
	}
	return q
}

func intMod(a, b int64) int64 {
	if b == 0 {
		return 0
	}
	return a - b*intFloorDiv(a, b)
}

// intPow multiplies modulo 2^64, and so modulo every narrower type. A negative power is truncated towards zero.
func intPow(a, b int64) int64 {
	if b < 0 {
		switch a {
		case 1:
			return 1
		case -1:
			return 1 - 2*(b&1)
		}
		return 0
	}
	p := int64(1)
	for ; b > 0; b >>= 1 {
		if b&1 != 0 {
			p *= a
		}
		a *= a
	}
	return p
}
