package ops

import (
	"fmt"
	"math"
	"slices"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/td"
)

// unary is an operation on one element at a time.
type unary struct {
	name, doc string
	float     func(float64) float64
	native    *anec.Neuron // the same
	int       *ofIntegers  // nil: the operation takes floats only
}

// ofIntegers is what an operation on one element does with integers.
type ofIntegers struct {
	f      func(int64) int64
	native func(l *Lowering, x *anec.Value) *anec.Value
}

var unaryOps = slices.Concat(unaryDefs([]unary{
	{"abs", "|x|", math.Abs, neuron(td.FuncAbs), &ofIntegers{intAbs, unaryLayer(td.EWAbs)}},
	{"acos", "arc cosine, in radians", math.Acos, neuron(td.FuncAcos), nil},
	{"asin", "arc sine, in radians", math.Asin, neuron(td.FuncAsin), nil},
	{"atan", "arc tangent, in radians", math.Atan, neuron(td.FuncAtan), nil},
	{"atanh", "inverse hyperbolic tangent", math.Atanh, neuron(td.FuncAtanh), nil},
	{"ceil", "the least integer not below x", math.Ceil, neuron(td.FuncCeil), nil},
	{"cos", "cosine of an angle in radians", math.Cos, neuron(td.FuncCos), nil},
	{"cosh", "hyperbolic cosine", math.Cosh, neuron(td.FuncCosh), nil},
	{"erf", "the error function 2/√π · ∫₀ˣ exp(-t²) dt", math.Erf, neuron(td.FuncErf), nil},
	{"exp", "eˣ", math.Exp, neuron(td.FuncExp), nil},
	{"exp2", "2ˣ", math.Exp2, neuron(td.FuncExp2), &ofIntegers{intExp2, lowerIntExp2}},
	{"floor", "the greatest integer not above x", math.Floor, neuron(td.FuncFloor), nil},
	{"round", "the nearest integer, ties to even", math.RoundToEven, neuron(td.FuncRoundNearest), nil},
	{"sign", "-1, 0 or 1", floatSign, neuron(td.FuncSign), &ofIntegers{intSign, lowerIntSign}},
	{"sin", "sine of an angle in radians", math.Sin, neuron(td.FuncSin), nil},
	{"sinh", "hyperbolic sine", math.Sinh, neuron(td.FuncSinh), nil},
	{"sqrt", "square root", math.Sqrt, neuron(td.FuncSqrt), nil},
	{"square", "x²", func(x float64) float64 { return x * x }, neuron(td.FuncSquare), &ofIntegers{func(x int64) int64 { return x * x }, unaryLayer(td.EWSquare)}},
	{"tan", "tangent of an angle in radians", math.Tan, neuron(td.FuncTan), nil},
	{"tanh", "hyperbolic tangent", math.Tanh, neuron(td.FuncTanh), nil},
}), []Def{
	{
		Name:     "logical_not",
		Doc:      "not x",
		Versions: since(IOS15, In("x", B)),
		Infer:    sameAs("x"),
		Eval: func(c *Call) error {
			return mapInts(c, func(x int64) int64 { return 1 - x })
		},
		Lower: func(l *Lowering) error {
			l.Give(0, unaryLayer(td.EWEqualZero)(l, l.In("x")))
			return nil
		},
	},
	{
		Name: "clip",
		Doc:  "x, but at least alpha and at most beta",
		Versions: []Version{
			{Since: IOS15, Params: clipParams, Infer: likeX(checkAlphaBeta)},
			{Since: IOS17, Params: clipParams, Infer: likeX(checkClip)},
		},
		Eval: func(c *Call) error {
			alpha, beta := float64(c.Float("alpha")), float64(c.Float("beta"))
			return pointwise(c, func(x float64) float64 { return min(max(x, alpha), beta) })
		},
		Lower: lowerNeuron(td.FuncClip, "alpha", "beta"),
	},
	{
		Name:     "threshold",
		Doc:      "x, but at least alpha",
		Versions: since(IOS15, In("x", Number).As("T"), Const("alpha", Number).As("T")),
		Infer:    likeX(checkAlphaBeta),
		Eval: func(c *Call) error {
			if c.DType("x").IsFloat() {
				alpha := float64(c.Float("alpha"))
				return pointwise(c, func(x float64) float64 { return max(x, alpha) })
			}
			alpha := c.Int64s("alpha")[0]
			return mapInts(c, func(x int64) int64 { return max(x, alpha) })
		},
		Lower: lowerThreshold,
	},
	withEpsilon("inverse", "1 / (x + epsilon)", 1e-4, func(x float64) float64 { return 1 / x }, td.FuncInverse),
	withEpsilon("log", "natural logarithm of x + epsilon", 1e-45, math.Log, td.FuncLog),
	withEpsilon("rsqrt", "1 / √(x + epsilon)", 1e-12, func(x float64) float64 { return 1 / math.Sqrt(x) }, td.FuncRSqrt),
})

func unaryDefs(rows []unary) []Def {
	defs := make([]Def, 0, len(rows))
	for _, u := range rows {
		types := Float
		if u.int != nil {
			types = Number
		}
		defs = append(defs, Def{
			Name:     u.name,
			Doc:      u.doc,
			Versions: since(IOS15, In("x", types).As("T")),
			Infer:    sameAs("x"),
			Eval: func(c *Call) error {
				if c.DType("x").IsFloat() {
					return pointwise(c, u.float)
				}
				return mapInts(c, u.int.f)
			},
			Lower: u.lower,
		})
	}
	return defs
}

// mapInts applies a function to every element of an integer or boolean x.
func mapInts(c *Call, f func(int64) int64) error {
	in := c.Int64s("x")
	out := make([]int64, len(in))
	for i, v := range in {
		out[i] = f(v)
	}
	c.ReturnInts(0, out)
	return nil
}

var clipParams = []Param{In("x", Float).As("T"), Const("alpha", Float).As("T"), Const("beta", Float).As("T")}

func checkAlphaBeta(c *Call) error { return checkScalars(c, "alpha", "beta") }

// checkClip is the check that iOS17 added.
func checkClip(c *Call) error {
	if err := checkAlphaBeta(c); err != nil {
		return err
	}
	if alpha, beta := c.Float("alpha"), c.Float("beta"); !(alpha < beta) {
		return fmt.Errorf("alpha is %v, expected less than beta, %v", alpha, beta)
	}
	return nil
}

// withEpsilon makes an operation f(x + epsilon). The default of epsilon has the type of x: as an fp16 it
// may be zero.
func withEpsilon(name, doc string, epsilon float32, f func(float64) float64, native td.Function) Def {
	return Def{
		Name:     name,
		Doc:      doc,
		Versions: untiedSince17(In("x", Float).As("T"), OptConst("epsilon", Float, epsilon).As("T")),
		Infer:    likeX(func(c *Call) error { return checkScalars(c, "epsilon") }),
		Eval: func(c *Call) error {
			e := float64(epsilonOf(c))
			return pointwise(c, func(x float64) float64 { return f(x + e) })
		},
		Lower: func(l *Lowering) error {
			l.Give(0, l.Layer(l.Name(), &anec.Neuron{Type: native, A: epsilonOf(l.Call)}, l.In("x")))
			return nil
		},
	}
}

func epsilonOf(c *Call) float32 {
	e := c.Float("epsilon")
	if round := roundings[c.DType("x")]; round != nil && c.Op.Input("epsilon") == nil {
		e = round(e)
	}
	return e
}

func floatSign(x float64) float64 {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return x // a zero, or NaN
}

func intSign(x int64) int64 { return max(-1, min(1, x)) }

func intAbs(x int64) int64 { return max(x, -x) }

// intExp2 is 2ˣ truncated to an integer; the type of the result wraps it.
func intExp2(x int64) int64 {
	if x < 0 || x > 63 {
		return 0
	}
	return 1 << x
}
