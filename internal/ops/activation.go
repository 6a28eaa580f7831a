package ops

import (
	"fmt"
	"math"
	"slices"

	"github.com/espalier-ane/espalier/td"
)

// activation is a function of an element and of constant parameters: scalars, or one number per channel.
type activation struct {
	name, doc string
	params    []string
	f         func(x float64, p []float64) float64
	native    LowerFunc
}

var activationOps = slices.Concat(unaryDefs([]unary{
	{"relu", "max(x, 0)", func(x float64) float64 { return max(x, 0) }, neuron(td.FuncReLU), nil},
	{"relu6", "min(max(x, 0), 6)", func(x float64) float64 { return min(max(x, 0), 6) }, neuron(td.FuncReLUN, 6), nil},
	{"sigmoid", "1 / (1 + e⁻ˣ)", sigmoid, neuron(td.FuncSigmoid), nil},
	{"silu", "x · sigmoid(x)", func(x float64) float64 { return fading(x, sigmoid(x)) }, neuron(td.FuncSwish, 1), nil},
	{"softplus", "log(1 + eˣ)", softplus, neuron(td.FuncSoftplus, 1, 1), nil},
	{"softsign", "x / (1 + |x|)", softsign, neuron(td.FuncSoftsign), nil},
}), activationDefs([]activation{
	{"clamped_relu", "min(x, beta) where x ≥ 0, else min(alpha · x, beta)", []string{"alpha", "beta"}, clampedReLU, lowerNeuron(td.FuncClampedReLU, "alpha", "beta")},
	{"elu", "x where x > 0, else alpha · (eˣ - 1)", []string{"alpha"}, elu, lowerNeuron(td.FuncELU, "alpha")},
	{"leaky_relu", "x where x ≥ 0, else alpha · x", []string{"alpha"}, leakyReLU, lowerNeuron(td.FuncPReLU, "alpha")},
	{"linear_activation", "alpha · x + beta", []string{"alpha", "beta"}, linearActivation, lowerLinearActivation},
	{"scaled_tanh", "alpha · tanh(beta · x)", []string{"alpha", "beta"}, scaledTanh, lowerNeuron(td.FuncScaledTanh, "alpha", "beta")},
	{"sigmoid_hard", "alpha · x + beta, but at least 0 and at most 1", []string{"alpha", "beta"}, sigmoidHard, lowerNeuron(td.FuncSigmoidHard, "alpha", "beta")},
	{"thresholded_relu", "x where x ≥ alpha, else 0", []string{"alpha"}, thresholdedReLU, lowerNeuron(td.FuncThresholdedReLU, "alpha")},
}, checkScalars, evalActivation), activationDefs([]activation{
	{"prelu", "x where x ≥ 0, else alpha · x with an alpha for each channel", []string{"alpha"}, leakyReLU, lowerPReLU},
	{"softplus_parametric", "alpha · log(1 + e^(beta · x)) with an alpha and a beta for each channel", []string{"alpha", "beta"}, softplusParametric, lowerSoftplusParametric},
}, checkChannels, evalActivationByChannel), []Def{
	{
		Name:     "gelu",
		Doc:      "x · Φ(x), Φ the normal distribution, exactly or by one of two approximations",
		Versions: since(IOS15, In("x", Float).As("T"), OptConst("mode", Str, "EXACT")),
		Infer:    likeX(func(c *Call) error { _, err := geluMode(c); return err }),
		Eval: func(c *Call) error {
			mode, err := geluMode(c)
			if err != nil {
				return err
			}
			return pointwise(c, mode.f)
		},
		Lower: lowerGELU,
	},
	{
		Name:     "softmax",
		Doc:      "eˣ / Σ eˣ along an axis",
		Versions: since(IOS15, In("x", Float).As("T"), OptConst("axis", I32, -1)),
		Infer:    likeX(func(c *Call) error { _, err := softmaxAxis(c); return err }),
		Eval:     evalSoftmax,
		Lower:    lowerSoftmax,
	},
})

func activationDefs(rows []activation, check func(*Call, ...string) error, eval func(*Call, activation) error) []Def {
	defs := make([]Def, 0, len(rows))
	for _, a := range rows {
		params := []Param{In("x", Float).As("T")}
		for _, p := range a.params {
			params = append(params, Const(p, Float).As("T"))
		}
		defs = append(defs, Def{
			Name:     a.name,
			Doc:      a.doc,
			Versions: untiedSince17(params...),
			Infer:    likeX(func(c *Call) error { return check(c, a.params...) }),
			Eval:     func(c *Call) error { return eval(c, a) },
			Lower:    a.native,
		})
	}
	return defs
}

func evalActivation(c *Call, a activation) error {
	p := make([]float64, len(a.params))
	for i, name := range a.params {
		p[i] = float64(c.Float(name))
	}
	return pointwise(c, func(x float64) float64 { return a.f(x, p) })
}

func evalActivationByChannel(c *Call, a activation) error {
	p := make([][]float64, c.OutShape(0)[1])
	for i, name := range a.params {
		for channel, v := range c.Floats(name) {
			if i == 0 {
				p[channel] = make([]float64, len(a.params))
			}
			p[channel][i] = float64(v)
		}
	}
	return pointwiseByChannel(c, func(channel int, x float64) float64 { return a.f(x, p[channel]) })
}

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// fading is x·y for a y that goes to 0 faster than x to -∞: the limit is 0, not NaN.
func fading(x, y float64) float64 {
	if y == 0 && math.IsInf(x, 0) {
		return 0
	}
	return x * y
}

func softsign(x float64) float64 {
	if math.IsInf(x, 0) {
		return math.Copysign(1, x)
	}
	return x / (1 + math.Abs(x))
}

// softplus takes e to no positive power, so it does not overflow.
func softplus(x float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }

func clampedReLU(x float64, p []float64) float64 { return min(leakyReLU(x, p), p[1]) }

func elu(x float64, p []float64) float64 {
	if x < 0 {
		return p[0] * math.Expm1(x)
	}
	return x
}

func leakyReLU(x float64, p []float64) float64 {
	if x < 0 {
		return p[0] * x
	}
	return x
}

// A product is converted before the sum, here and below, so that no machine fuses the two.
func linearActivation(x float64, p []float64) float64 { return float64(p[0]*x) + p[1] }

func scaledTanh(x float64, p []float64) float64 { return p[0] * math.Tanh(p[1]*x) }

func sigmoidHard(x float64, p []float64) float64 { return min(max(linearActivation(x, p), 0), 1) }

func thresholdedReLU(x float64, p []float64) float64 {
	if x < p[0] {
		return 0
	}
	return x
}

func softplusParametric(x float64, p []float64) float64 { return p[0] * softplus(p[1]*x) }

// geluModes are written such that nothing cancels where x is very negative: 1 + erf(z) is erfc(-z), and
// (1 + tanh(z)) / 2 is sigmoid(2z).
var geluModes = map[string]geluForm{
	"EXACT": {func(x float64) float64 { return fading(x, math.Erfc(-x/math.Sqrt2)) / 2 }, td.FuncGELU},
	"TANH_APPROXIMATION": {func(x float64) float64 {
		return fading(x, sigmoid(2*math.Sqrt(2/math.Pi)*(x+float64(0.044715*x*x*x))))
	}, td.FuncGELUTanhApproximation},
	"SIGMOID_APPROXIMATION": {func(x float64) float64 { return fading(x, sigmoid(1.702*x)) }, td.FuncGELUSigmoidApproximation},
}

type geluForm struct {
	f      func(float64) float64
	native td.Function
}

func geluMode(c *Call) (geluForm, error) {
	if err := checkScalars(c, "mode"); err != nil {
		return geluForm{}, err
	}
	mode, ok := geluModes[c.Str("mode")]
	if !ok {
		return mode, fmt.Errorf("mode is %q, expected EXACT, TANH_APPROXIMATION or SIGMOID_APPROXIMATION", c.Str("mode"))
	}
	return mode, nil
}

func softmaxAxis(c *Call) (int, error) {
	if err := checkScalars(c, "axis"); err != nil {
		return 0, err
	}
	return c.Axis("axis", c.Rank("x"))
}

func evalSoftmax(c *Call) error {
	axis, err := softmaxAxis(c)
	if err != nil {
		return err
	}
	shape := c.OutShape(0)
	n, inner := shape[axis], lengthOf(shape[axis+1:])
	x, narrow := c.Floats("x"), narrowing(c.Out(0).DType)
	out := make([]float32, len(x))
	c.forRows(len(x), n, func(lo, hi int) {
		e := make([]float64, n)
		for line := lo; line < hi; line++ {
			at := line/inner*n*inner + line%inner // of the line's first element; the others follow at a distance of inner
			top := math.Inf(-1)
			for i := range n {
				top = max(top, float64(x[at+i*inner]))
			}
			sum := 0.0
			for first, last := range c.pieces(n) {
				for i := first; i < last; i++ {
					e[i] = math.Exp(float64(x[at+i*inner]) - top)
					sum += e[i]
				}
			}
			for first, last := range c.pieces(n) {
				for i := first; i < last; i++ {
					out[at+i*inner] = narrow(e[i] / sum)
				}
			}
		}
	})
	c.ReturnFloats(0, out)
	return nil
}
