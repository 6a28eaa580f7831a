package strided

import "math"

// A pair is a function of two values; of one where it is unary.
type pair struct {
	name  string
	unary bool
	float func(a, b float32) float32
	int   func(a, b int64) int64

	// double, if it is there, is the same in fp64, for a function that fp32
	// cannot compute exactly.
	double func(a, b float64) float64
}

// pairs is indexed by the elementwise kind. Integers wrap to their type; an
// integer divided by zero gives zero.
var pairs = map[uint8]pair{
	0:  {name: "None", unary: true, float: func(a, _ float32) float32 { return a }, int: func(a, _ int64) int64 { return a }},
	1:  {name: "Add", float: func(a, b float32) float32 { return a + b }, int: func(a, b int64) int64 { return a + b }},
	2:  {name: "Mult", float: func(a, b float32) float32 { return a * b }, int: func(a, b int64) int64 { return a * b }},
	3:  {name: "Square", unary: true, float: func(a, _ float32) float32 { return a * a }, int: func(a, _ int64) int64 { return a * a }},
	4:  {name: "Sub", float: func(a, b float32) float32 { return a - b }, int: func(a, b int64) int64 { return a - b }},
	5:  {name: "Power", double: math.Pow, int: intPower},
	6:  {name: "Div", float: func(a, b float32) float32 { return a / b }, int: intQuotient},
	7:  {name: "Max", float: func(a, b float32) float32 { return max(a, b) }, int: func(a, b int64) int64 { return max(a, b) }},
	8:  {name: "Min", float: func(a, b float32) float32 { return min(a, b) }, int: func(a, b int64) int64 { return min(a, b) }},
	9:  {name: "Abs", unary: true, float: func(a, _ float32) float32 { return math.Float32frombits(math.Float32bits(a) &^ (1 << 31)) }, int: func(a, _ int64) int64 { return max(a, -a) }},
	10: compareZero("EqualZero", func(a float32) bool { return a == 0 }, func(a int64) bool { return a == 0 }),
	11: compareZero("NotEqualZero", func(a float32) bool { return a != 0 }, func(a int64) bool { return a != 0 }),
	12: compareZero("LessThanZero", func(a float32) bool { return a < 0 }, func(a int64) bool { return a < 0 }),
	13: compareZero("LessThanEqualZero", func(a float32) bool { return a <= 0 }, func(a int64) bool { return a <= 0 }),
	14: compareZero("GreaterThanEqualZero", func(a float32) bool { return a >= 0 }, func(a int64) bool { return a >= 0 }),
	15: compareZero("GreaterThanZero", func(a float32) bool { return a > 0 }, func(a int64) bool { return a > 0 }),
	16: compare("Equal", func(a, b float32) bool { return a == b }, func(a, b int64) bool { return a == b }),
	17: compare("NotEqual", func(a, b float32) bool { return a != b }, func(a, b int64) bool { return a != b }),
	18: compare("LessThan", func(a, b float32) bool { return a < b }, func(a, b int64) bool { return a < b }),
	19: compare("LessThanEqual", func(a, b float32) bool { return a <= b }, func(a, b int64) bool { return a <= b }),
	20: compare("GreaterThanEqual", func(a, b float32) bool { return a >= b }, func(a, b int64) bool { return a >= b }),
	21: compare("GreaterThan", func(a, b float32) bool { return a > b }, func(a, b int64) bool { return a > b }),

	64: {name: "FloorDiv", double: floorDiv, int: intFloorDiv},
	65: {name: "Mod", double: modulo, int: intModulo},
	66: compare("And", func(a, b float32) bool { return a != 0 && b != 0 }, func(a, b int64) bool { return a != 0 && b != 0 }),
	67: compare("Or", func(a, b float32) bool { return a != 0 || b != 0 }, func(a, b int64) bool { return a != 0 || b != 0 }),
	68: compare("Xor", func(a, b float32) bool { return (a != 0) != (b != 0) }, func(a, b int64) bool { return (a != 0) != (b != 0) }),
}

// PairName returns the name of an elementwise kind, "" if there is none with the
// number.
func PairName(number uint8) (name string, known bool) {
	if number == kindSelect {
		return "Select", true
	}
	p, ok := pairs[number]
	return p.name, ok
}

func compare(name string, float func(a, b float32) bool, int func(a, b int64) bool) pair {
	return pair{
		name: name,
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

func compareZero(name string, float func(a float32) bool, int func(a int64) bool) pair {
	p := compare(name, func(a, _ float32) bool { return float(a) }, func(a, _ int64) bool { return int(a) })
	p.unary = true
	return p
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
	switch p.name {
	case "None":
		copy(dst, a)
	case "Add":
		for i := range dst {
			dst[i] = a[i] + b[i]
		}
	case "Sub":
		for i := range dst {
			dst[i] = a[i] - b[i]
		}
	case "Mult":
		for i := range dst {
			dst[i] = a[i] * b[i]
		}
	case "Max":
		for i := range dst {
			dst[i] = max(a[i], b[i])
		}
	case "Min":
		for i := range dst {
			dst[i] = min(a[i], b[i])
		}
	case "Div":
		for i := range dst {
			dst[i] = a[i] / b[i]
		}
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
