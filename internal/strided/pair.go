package strided

import (
	"math"

	"github.com/espalier-ane/espalier/internal/kernel/vec"
	"github.com/espalier-ane/espalier/td"
)

// A pair is a function of two values, or of one where its kind is unary.
type pair struct {
	kind  td.EWKind
	ruled bool // by rules: it has no loop of its own
	float func(a, b float32) float32
	int   func(a, b int64) int64

	// double, if it is there, is the same in fp64, for a function that fp32
	// cannot compute exactly.
	double func(a, b float64) float64
}

// pairOf is the pair of an elementwise kind.
func pairOf(kind td.EWKind) (p pair, known bool) {
	p, known = pairs[kind]
	p.kind = kind
	return p, known
}

// pairs are the kinds but for EWSelect, which takes three values. Integers wrap
// to their type; an integer divided by zero gives zero.
var pairs = map[td.EWKind]pair{
	td.EWNone:   {float: func(a, _ float32) float32 { return a }, int: func(a, _ int64) int64 { return a }},
	td.EWAdd:    {float: func(a, b float32) float32 { return a + b }, int: func(a, b int64) int64 { return a + b }},
	td.EWMult:   {float: func(a, b float32) float32 { return a * b }, int: func(a, b int64) int64 { return a * b }},
	td.EWSquare: {float: func(a, _ float32) float32 { return a * a }, int: func(a, _ int64) int64 { return a * a }},
	td.EWSub:    {float: func(a, b float32) float32 { return a - b }, int: func(a, b int64) int64 { return a - b }},
	td.EWPower:  {double: math.Pow, int: intPower},
	td.EWDiv:    {float: func(a, b float32) float32 { return a / b }, int: intQuotient},
	td.EWMax:    {float: func(a, b float32) float32 { return max(a, b) }, int: func(a, b int64) int64 { return max(a, b) }},
	td.EWMin:    {float: func(a, b float32) float32 { return min(a, b) }, int: func(a, b int64) int64 { return min(a, b) }},
	td.EWAbs:    {float: func(a, _ float32) float32 { return math.Float32frombits(math.Float32bits(a) &^ (1 << 31)) }, int: func(a, _ int64) int64 { return max(a, -a) }},

	td.EWEqualZero:            compareZero(func(a float32) bool { return a == 0 }, func(a int64) bool { return a == 0 }),
	td.EWNotEqualZero:         compareZero(func(a float32) bool { return a != 0 }, func(a int64) bool { return a != 0 }),
	td.EWLessThanZero:         compareZero(func(a float32) bool { return a < 0 }, func(a int64) bool { return a < 0 }),
	td.EWLessThanEqualZero:    compareZero(func(a float32) bool { return a <= 0 }, func(a int64) bool { return a <= 0 }),
	td.EWGreaterThanEqualZero: compareZero(func(a float32) bool { return a >= 0 }, func(a int64) bool { return a >= 0 }),
	td.EWGreaterThanZero:      compareZero(func(a float32) bool { return a > 0 }, func(a int64) bool { return a > 0 }),
	td.EWEqual:                compare(func(a, b float32) bool { return a == b }, func(a, b int64) bool { return a == b }),
	td.EWNotEqual:             compare(func(a, b float32) bool { return a != b }, func(a, b int64) bool { return a != b }),
	td.EWLessThan:             compare(func(a, b float32) bool { return a < b }, func(a, b int64) bool { return a < b }),
	td.EWLessThanEqual:        compare(func(a, b float32) bool { return a <= b }, func(a, b int64) bool { return a <= b }),
	td.EWGreaterThanEqual:     compare(func(a, b float32) bool { return a >= b }, func(a, b int64) bool { return a >= b }),
	td.EWGreaterThan:          compare(func(a, b float32) bool { return a > b }, func(a, b int64) bool { return a > b }),

	td.EWFloorDiv: {double: floorDiv, int: intFloorDiv},
	td.EWMod:      {double: modulo, int: intModulo},
	td.EWAnd:      compare(func(a, b float32) bool { return a != 0 && b != 0 }, func(a, b int64) bool { return a != 0 && b != 0 }),
	td.EWOr:       compare(func(a, b float32) bool { return a != 0 || b != 0 }, func(a, b int64) bool { return a != 0 || b != 0 }),
	td.EWXor:      compare(func(a, b float32) bool { return (a != 0) != (b != 0) }, func(a, b int64) bool { return (a != 0) != (b != 0) }),
}

func compare(float func(a, b float32) bool, int func(a, b int64) bool) pair {
	return pair{
		float: func(a, b float32) float32 {
			if float(a, b) {
				return 1
			}
			return 0
		},
		int: func(a, b int64) int64 {
			if int(a, b) {
				return 1
			}
			return 0
		},
	}
}

func compareZero(float func(a float32) bool, int func(a int64) bool) pair {
	return compare(func(a, _ float32) bool { return float(a) }, func(a, _ int64) bool { return int(a) })
}

// apply computes dst = p(a, b), which may be the same memory. odd: the result is
// going to be rounded to a narrower float.
func (p *pair) apply(dst, a, b []float32, odd bool) {
	a, b = a[:len(dst)], b[:len(dst)]
	if p.double == nil {
		p.applySingle(dst, a, b)
		return
	}
	for i := range dst {
		v := p.double(float64(a[i]), float64(b[i]))
		if odd {
			dst[i] = toOdd(v)
		} else {
			dst[i] = float32(v)
		}
	}
}

// applySingle has loops of their own for what is frequent.
func (p *pair) applySingle(dst, a, b []float32) {
	switch kind := p.kind; {
	case p.ruled:
		for i := range dst {
			dst[i] = p.float(a[i], b[i])
		}
	case kind == td.EWNone:
		copy(dst, a)
	case kind == td.EWAdd:
		vec.Add(dst, a, b)
	case kind == td.EWSub:
		vec.Sub(dst, a, b)
	case kind == td.EWMult:
		vec.Mul(dst, a, b)
	case kind == td.EWSquare:
		vec.Mul(dst, a, a)
	case kind == td.EWMax:
		vec.Max(dst, a, b)
	case kind == td.EWMin:
		vec.Min(dst, a, b)
	case kind == td.EWDiv:
		vec.Div(dst, a, b)
	default:
		for i := range dst {
			dst[i] = p.float(a[i], b[i])
		}
	}
}

func (p *pair) applyInts(dst, a, b []int64) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = p.int(a[i], b[i])
	}
}

// floorDiv rounds the exact quotient down, not its rounding: 1/0.1 gives 9, as
// the float 0.1 is a little more than a tenth.
func floorDiv(a, b float64) float64 {
	if b == 0 || math.IsInf(a, 0) {
		return math.Floor(a / b)
	}
	rest := math.Mod(a, b)
	q := math.RoundToEven((a - rest) / b) // whole but for rounding
	if rest != 0 && rest < 0 != (b < 0) {
		q--
	}
	return q
}

// modulo is a - b*floor(a/b), which has the sign of b.
func modulo(a, b float64) float64 {
	m := math.Mod(a, b)
	if m != 0 && m < 0 != (b < 0) {
		m += b
	}
	return m
}

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

func intModulo(a, b int64) int64 {
	if b == 0 {
		return 0
	}
	return a - b*intFloorDiv(a, b)
}

// intPower wraps. A negative power is truncated towards zero.
func intPower(a, b int64) int64 {
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
