package strided

import (
	"math"

	"github.com/espalier-ane/espalier/internal/kernel/vec"
	"github.com/espalier-ane/espalier/td"
)

// functions of one value, with two constants. They are computed in fp64, where
// the error of a step does not reach the bits that remain.
var functions = map[td.Function]func(x, a, b float64) float64{
	td.FuncNone:                     func(x, _, _ float64) float64 { return x },
	td.FuncReLU:                     func(x, _, _ float64) float64 { return max(x, 0) },
	td.FuncSigmoid:                  func(x, _, _ float64) float64 { return sigmoid(x) },
	td.FuncSigmoidHighPrecision:     func(x, _, _ float64) float64 { return sigmoid(x) },
	td.FuncSigmoidHard:              func(x, a, b float64) float64 { return min(max(a*x+b, 0), 1) },
	td.FuncTanh:                     func(x, _, _ float64) float64 { return math.Tanh(x) },
	td.FuncClampedReLU:              func(x, a, b float64) float64 { return min(leaky(x, a), b) },
	td.FuncPReLU:                    func(x, a, _ float64) float64 { return leaky(x, a) },
	td.FuncReLUN:                    func(x, a, _ float64) float64 { return min(max(x, 0), a) },
	td.FuncSwish:                    func(x, a, _ float64) float64 { return scaledBy(x, sigmoid(a*x)) },
	td.FuncSwishHard:                func(x, _, _ float64) float64 { return scaledBy(x, min(max(x+3, 0), 6)) / 6 },
	td.FuncDirac:                    func(x, _, _ float64) float64 { return truth(x == 0) },
	td.FuncInt:                      func(x, _, _ float64) float64 { return math.Trunc(x) },
	td.FuncFrac:                     func(x, _, _ float64) float64 { return x - math.Trunc(x) },
	td.FuncSqrt:                     func(x, _, _ float64) float64 { return math.Sqrt(x) },
	td.FuncRSqrt:                    func(x, a, _ float64) float64 { return 1 / math.Sqrt(x+a) },
	td.FuncInverse:                  func(x, a, _ float64) float64 { return 1 / (x + a) },
	td.FuncSquare:                   func(x, _, _ float64) float64 { return x * x },
	td.FuncLog2:                     func(x, a, _ float64) float64 { return math.Log2(x + a) },
	td.FuncExp2:                     func(x, _, _ float64) float64 { return math.Exp2(x) },
	td.FuncExp:                      func(x, _, _ float64) float64 { return math.Exp(x) },
	td.FuncELU:                      func(x, a, _ float64) float64 { return elu(x, a) },
	td.FuncSign:                     func(x, _, _ float64) float64 { return sign(x) },
	td.FuncEqualZero:                func(x, _, _ float64) float64 { return truth(x == 0) },
	td.FuncNotEqualZero:             func(x, _, _ float64) float64 { return truth(x != 0) },
	td.FuncLessThanZero:             func(x, _, _ float64) float64 { return truth(x < 0) },
	td.FuncLessThanEqualZero:        func(x, _, _ float64) float64 { return truth(x <= 0) },
	td.FuncGreaterThanEqualZero:     func(x, _, _ float64) float64 { return truth(x >= 0) },
	td.FuncGreaterThanZero:          func(x, _, _ float64) float64 { return truth(x > 0) },
	td.FuncSin:                      func(x, _, _ float64) float64 { return math.Sin(x) },
	td.FuncCos:                      func(x, _, _ float64) float64 { return math.Cos(x) },
	td.FuncGELU:                     func(x, _, _ float64) float64 { return scaledBy(x, math.Erfc(-x/math.Sqrt2)) / 2 },
	td.FuncGELUSigmoidApproximation: func(x, _, _ float64) float64 { return scaledBy(x, sigmoid(1.702*x)) },
	td.FuncRoundNearest:             func(x, _, _ float64) float64 { return math.RoundToEven(x) },
	td.FuncTrunc:                    func(x, _, _ float64) float64 { return math.Trunc(x) },
	td.FuncFloor:                    func(x, _, _ float64) float64 { return math.Floor(x) },
	td.FuncCeil:                     func(x, _, _ float64) float64 { return math.Ceil(x) },
	td.FuncAtan:                     func(x, _, _ float64) float64 { return math.Atan(x) },
	td.FuncErf:                      func(x, _, _ float64) float64 { return math.Erf(x) },
	td.FuncThresholdedReLU:          func(x, a, _ float64) float64 { return thresholded(x, a) },
	td.FuncAbs:                      func(x, _, _ float64) float64 { return math.Abs(x) },

	td.FuncSoftplus:              func(x, a, b float64) float64 { return a * softplus(b*x) },
	td.FuncSoftsign:              func(x, _, _ float64) float64 { return softsign(x) },
	td.FuncScaledTanh:            func(x, a, b float64) float64 { return a * math.Tanh(b*x) },
	td.FuncGELUTanhApproximation: func(x, _, _ float64) float64 { return geluTanh(x) },
	td.FuncLog:                   func(x, a, _ float64) float64 { return math.Log(x + a) },
	td.FuncTan:                   func(x, _, _ float64) float64 { return math.Tan(x) },
	td.FuncAsin:                  func(x, _, _ float64) float64 { return math.Asin(x) },
	td.FuncAcos:                  func(x, _, _ float64) float64 { return math.Acos(x) },
	td.FuncSinh:                  func(x, _, _ float64) float64 { return math.Sinh(x) },
	td.FuncCosh:                  func(x, _, _ float64) float64 { return math.Cosh(x) },
	td.FuncAsinh:                 func(x, _, _ float64) float64 { return math.Asinh(x) },
	td.FuncAcosh:                 func(x, _, _ float64) float64 { return math.Acosh(x) },
	td.FuncAtanh:                 func(x, _, _ float64) float64 { return math.Atanh(x) },
	td.FuncClip:                  func(x, a, b float64) float64 { return min(max(x, a), b) },
}

// vectorFunctions are the functions that may have machine code. It computes in fp64
// too, or as if it did.
var vectorFunctions = map[td.Function]vec.Function{
	td.FuncExp:                   vec.Exp,
	td.FuncSigmoid:               vec.Sigmoid,
	td.FuncSigmoidHighPrecision:  vec.Sigmoid,
	td.FuncSwish:                 vec.Swish,
	td.FuncTanh:                  vec.Tanh,
	td.FuncGELU:                  vec.GELU,
	td.FuncGELUTanhApproximation: vec.GELUTanh,
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
