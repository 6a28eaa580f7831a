package strided

import "math"

// A function of one value, with two constants. It is computed in fp64, where
// the error of a step does not reach the bits that remain.
type function struct {
	name string
	f    func(x, a, b float64) float64 // nil: what it does is not known
}

// functions is indexed by the number of the function.
var functions = map[uint8]function{
	0:  {"none", func(x, _, _ float64) float64 { return x }},
	1:  {"relu", func(x, _, _ float64) float64 { return max(x, 0) }},
	2:  {"sigmoid", func(x, _, _ float64) float64 { return sigmoid(x) }},
	3:  {"sigmoid_high_precision", func(x, _, _ float64) float64 { return sigmoid(x) }},
	4:  {"relu_sigmoid", nil},
	5:  {"sigmoid_hard", func(x, a, b float64) float64 { return min(max(a*x+b, 0), 1) }},
	6:  {"tanh", func(x, _, _ float64) float64 { return math.Tanh(x) }},
	7:  {"clamped_relu", func(x, a, b float64) float64 { return min(leaky(x, a), b) }},
	8:  {"prelu", func(x, a, _ float64) float64 { return leaky(x, a) }},
	9:  {"relun", func(x, a, _ float64) float64 { return min(max(x, 0), a) }},
	10: {"swish", func(x, a, _ float64) float64 { return scaledBy(x, sigmoid(a*x)) }},
	11: {"swish_hard", func(x, _, _ float64) float64 { return scaledBy(x, min(max(x+3, 0), 6)) / 6 }},
	12: {"dirac", func(x, _, _ float64) float64 { return truth(x == 0) }},
	13: {"int", func(x, _, _ float64) float64 { return math.Trunc(x) }},
	14: {"frac", func(x, _, _ float64) float64 { return x - math.Trunc(x) }},
	15: {"sqrt", func(x, _, _ float64) float64 { return math.Sqrt(x) }},
	16: {"rsqrt", func(x, a, _ float64) float64 { return 1 / math.Sqrt(x+a) }},
	17: {"clamped_relu_rsqrt", nil},
	18: {"inv", func(x, a, _ float64) float64 { return 1 / (x + a) }},
	19: {"sqr", func(x, _, _ float64) float64 { return x * x }},
	20: {"log2", func(x, a, _ float64) float64 { return math.Log2(x + a) }},
	21: {"exp2", func(x, _, _ float64) float64 { return math.Exp2(x) }},
	22: {"exp", func(x, _, _ float64) float64 { return math.Exp(x) }},
	23: {"elu", func(x, a, _ float64) float64 { return elu(x, a) }},
	24: {"sign", func(x, _, _ float64) float64 { return sign(x) }},
	25: {"equal_zero", func(x, _, _ float64) float64 { return truth(x == 0) }},
	26: {"not_equal_zero", func(x, _, _ float64) float64 { return truth(x != 0) }},
	27: {"less_than_zero", func(x, _, _ float64) float64 { return truth(x < 0) }},
	28: {"less_than_equal_zero", func(x, _, _ float64) float64 { return truth(x <= 0) }},
	29: {"greater_than_equal_zero", func(x, _, _ float64) float64 { return truth(x >= 0) }},
	30: {"greater_than_zero", func(x, _, _ float64) float64 { return truth(x > 0) }},
	31: {"custom_lut", nil},
	32: {"sin", func(x, _, _ float64) float64 { return math.Sin(x) }},
	33: {"cos", func(x, _, _ float64) float64 { return math.Cos(x) }},
	34: {"gelu", func(x, _, _ float64) float64 { return scaledBy(x, math.Erfc(-x/math.Sqrt2)) / 2 }},
	35: {"gelu_sigmoid_approximation", func(x, _, _ float64) float64 { return scaledBy(x, sigmoid(1.702*x)) }},
	36: {"degamma", nil},
	37: {"round_nearest", func(x, _, _ float64) float64 { return math.RoundToEven(x) }},
	38: {"trunc", func(x, _, _ float64) float64 { return math.Trunc(x) }},
	39: {"floor", func(x, _, _ float64) float64 { return math.Floor(x) }},
	40: {"ceil", func(x, _, _ float64) float64 { return math.Ceil(x) }},
	41: {"atan", func(x, _, _ float64) float64 { return math.Atan(x) }},
	42: {"atan_part1", nil},
	43: {"atan_part2", nil},
	44: {"erf", func(x, _, _ float64) float64 { return math.Erf(x) }},
	45: {"thresholded_relu", func(x, a, _ float64) float64 { return thresholded(x, a) }},
	46: {"gamma", nil},
	47: {"abs", func(x, _, _ float64) float64 { return math.Abs(x) }},

	64: {"softplus", func(x, a, b float64) float64 { return a * softplus(b*x) }},
	65: {"softsign", func(x, _, _ float64) float64 { return softsign(x) }},
	66: {"scaled_tanh", func(x, a, b float64) float64 { return a * math.Tanh(b*x) }},
	67: {"gelu_tanh_approximation", func(x, _, _ float64) float64 { return geluTanh(x) }},
	68: {"log", func(x, a, _ float64) float64 { return math.Log(x + a) }},
	69: {"tan", func(x, _, _ float64) float64 { return math.Tan(x) }},
	70: {"asin", func(x, _, _ float64) float64 { return math.Asin(x) }},
	71: {"acos", func(x, _, _ float64) float64 { return math.Acos(x) }},
	72: {"sinh", func(x, _, _ float64) float64 { return math.Sinh(x) }},
	73: {"cosh", func(x, _, _ float64) float64 { return math.Cosh(x) }},
	74: {"asinh", func(x, _, _ float64) float64 { return math.Asinh(x) }},
	75: {"acosh", func(x, _, _ float64) float64 { return math.Acosh(x) }},
	76: {"atanh", func(x, _, _ float64) float64 { return math.Atanh(x) }},
	77: {"clip", func(x, a, b float64) float64 { return min(max(x, a), b) }},
}

// FunctionName returns the name of a function, and whether it can be computed;
// "" if there is none with the number.
func FunctionName(number uint8) (name string, known bool) {
	f := functions[number]
	return f.name, f.f != nil
}

// scaledBy is x*y for a y that is 0 where x is infinite towards the side on
// which the function vanishes.
func scaledBy(x, y float64) float64 {
	if y == 0 && math.IsInf(x, 0) {
		return 0
	}
	return x * y
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

func leaky(x, slope float64) float64 {
	if x < 0 {
		return slope * x
	}
	return x
}

func elu(x, a float64) float64 {
	if x < 0 {
		return a * math.Expm1(x)
	}
	return x
}

func sign(x float64) float64 {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return x // 0 and NaN
}

func thresholded(x, from float64) float64 {
	if x < from {
		return 0
	}
	return x
}

// softplus is log(1+exp(x)) without the overflow.
func softplus(x float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }

func softsign(x float64) float64 {
	if math.IsInf(x, 0) {
		return math.Copysign(1, x)
	}
	return x / (1 + math.Abs(x))
}

// geluTanh is x*(1+tanh(u))/2, where (1+tanh(u))/2 is sigmoid(2u), which does
// not cancel.
func geluTanh(x float64) float64 {
	u := math.Sqrt(2/math.Pi) * (x + 0.044715*x*x*x)
	return scaledBy(x, sigmoid(2*u))
}
