package ops

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sort"

	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// Core ML does not say which random numbers a seed gives, so these are our own: the words of philox, under
// the key {seed, 0}, whatever the operation. Element i of the result, in row-major order, is made of
//
//	random_uniform      word i: low + u·(high-low), u being its top 24 bits as a fraction, or its top 11 for
//	                    fp16; what rounds to high becomes low
//	random_bernoulli    word i: whether u, of 24 bits, is below prob
//	random_categorical  word i: the first class at which the sum of the probabilities exceeds u, of 24 bits
//	random_normal       words 2k and 2k+1 for i = 2k and 2k+1, Box and Muller's way: with u = (a+1)/2^24 and
//	                    v = b/2^24, a and b being their top 24 bits, √(-2 ln u) times cos 2πv, sin 2πv
//
// The seed -1, the default, takes a key that is new in every evaluation.

var randomOps = []Def{
	{
		Name: "random_bernoulli",
		Doc:  "ones with a given probability, else zeros",
		Versions: since(IOS15,
			In("shape", I32), OptConst("prob", Float, 0.5).As("T"), OptConst("seed", I32, -1)),
		Impure: true,
		Infer:  inferRandom("prob"),
		Eval:   evalBernoulli,
		Lower:  lowerBernoulli,
	},
	{
		Name: "random_categorical",
		Doc:  "numbers of classes, drawn by their probabilities",
		Versions: since(IOS15,
			In("x", Float).As("T"), OptConst("mode", Str, "logits"), OptConst("size", I32, 1), OptConst("seed", I32, -1)),
		Impure:   true,
		Infer:    inferCategorical,
		Eval:     evalCategorical,
		HostOnly: "it looks classes up in running sums that end where a random number lies",
	},
	{
		Name: "random_normal",
		Doc:  "numbers of a normal distribution",
		Versions: since(IOS15,
			In("shape", I32), OptConst("mean", Float, 0.0).As("T"), OptConst("stddev", Float, 1.0).As("T"), OptConst("seed", I32, -1)),
		Impure: true,
		Infer:  inferRandom("mean", "stddev"),
		Eval:   evalNormal,
		Lower:  lowerNormal,
	},
	{
		Name: "random_uniform",
		Doc:  "numbers spread evenly over an interval, its upper end excluded",
		Versions: since(IOS15,
			In("shape", I32), OptConst("low", Float, 0.0).As("T"), OptConst("high", Float, 1.0).As("T"), OptConst("seed", I32, -1)),
		Impure: true,
		Infer:  inferRandom("low", "high"),
		Eval:   evalUniform,
		Lower:  lowerUniform,
	},
}

// inferRandom is the type rule of operations whose result has a given shape and the element type of some
// parameters.
func inferRandom(params ...string) InferFunc {
	return func(c *Call) ([]mil.Type, error) {
		d := tensor.Float32
		for _, name := range params {
			if c.Op.Input(name) != nil { // a default has a type, but no say
				d = c.DType(name)
			}
		}
		for _, name := range params {
			if err := c.oneElement(name); err != nil {
				return nil, err
			}
			if v := float64(c.Float(name)); math.IsNaN(v) || math.IsInf(v, 0) {
				return nil, fmt.Errorf("%s is %v, expected a finite number", name, v)
			}
		}
		if c.Has("prob") {
			if p := c.Float("prob"); p < 0 || p > 1 {
				return nil, fmt.Errorf("prob is %v, expected 0 to 1", p)
			}
		}
		rank, err := c.vectorLength("shape")
		switch {
		case err != nil:
			return nil, err
		case !rank.Known():
			return unknownRank(d)
		case !c.Known("shape"):
			return one(d, unknownShape(int(rank)))
		}
		dims := c.Ints("shape")
		if _, ok := tensor.Count(dims); !ok {
			return nil, fmt.Errorf("shape is %v: no tensor can have it", dims)
		}
		return one(d, tensor.ShapeOf(dims...))
	}
}

// generator is the source of the random numbers of a call.
func generator(c *Call) philox {
	seed := c.Int("seed")
	if seed == -1 {
		key := rand.Uint64()
		return philox{[2]uint32{uint32(key), uint32(key >> 32)}}
	}
	return philox{[2]uint32{uint32(int32(seed)), 0}}
}

// fraction is the top bits of a word as a number in [0, 1).
func fraction(word uint32, bits int) float64 {
	return math.Ldexp(float64(word>>(32-bits)), -bits)
}

// fillRandom computes each element of the result from its place.
func fillRandom(c *Call, element func(i int) float32) {
	out := make([]float32, c.OutLen(0))
	c.For(len(out), 1<<12, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			out[i] = element(i)
		}
	})
	c.ReturnFloats(0, out)
}

func evalUniform(c *Call) error {
	g, low, high := generator(c), c.Float("low"), c.Float("high")
	bits, round := 24, func(v float32) float32 { return v }
	if c.Out(0).DType == tensor.Float16 {
		bits, round = 11, tensor.RoundF16
	}
	fillRandom(c, func(i int) float32 {
		u := fraction(g.word(i), bits)
		v := round(low + float32(u*(float64(high)-float64(low))))
		if high > low && v >= high {
			return low
		}
		return v
	})
	return nil
}

func evalBernoulli(c *Call) error {
	g, prob := generator(c), float64(c.Float("prob"))
	fillRandom(c, func(i int) float32 {
		if fraction(g.word(i), 24) < prob {
			return 1
		}
		return 0
	})
	return nil
}

func evalNormal(c *Call) error {
	g, mean, stddev := generator(c), c.Float("mean"), c.Float("stddev")
	fillRandom(c, func(i int) float32 {
		u := fraction(g.word(i&^1), 24) + 0x1p-24 // above 0, for the logarithm
		radius := math.Sqrt(-2 * math.Log(u))
		sin, cos := math.Sincos(2 * math.Pi * fraction(g.word(i|1), 24))
		z := radius * cos
		if i&1 == 1 {
			z = radius * sin
		}
		return mean + float32(stddev*float32(z))
	})
	return nil
}

func inferCategorical(c *Call) ([]mil.Type, error) {
	x := c.Shape("x")
	if len(x) == 0 || x[len(x)-1] == 0 {
		return nil, fmt.Errorf("x has shape %v, expected a last axis of classes", x)
	}
	if mode := c.Str("mode"); mode != "logits" && mode != "probs" {
		return nil, fmt.Errorf("mode is %q, expected logits or probs", mode)
	}
	size, err := targetLength(c, "size")
	if err != nil {
		return nil, err
	}
	return one(c.DType("x"), joinShapes(x[:len(x)-1], tensor.Shape{size}))
}

func evalCategorical(c *Call) error {
	g, x := generator(c), c.Floats("x")
	s := c.Tensor("x").Shape()
	classes, size := s[len(s)-1], c.Int("size")
	out := make([]float32, c.OutLen(0))
	for row := range len(x) / classes {
		sums, err := cumulated(x[row*classes:(row+1)*classes], c.Str("mode") == "logits")
		if err != nil {
			return fmt.Errorf("distribution %d: %w", row, err)
		}
		for k := row * size; k < (row+1)*size; k++ {
			if k%piece == 0 && c.asked() {
				return nil
			}
			at := fraction(g.word(k), 24) * sums[classes-1]
			class := sort.Search(classes-1, func(i int) bool { return sums[i] > at })
			out[k] = float32(class)
		}
	}
	c.ReturnFloats(0, out)
	return nil
}

// cumulated is the running sum of the probabilities of classes, up to a common factor.
func cumulated(x []float32, logits bool) ([]float64, error) {
	top := math.Inf(-1)
	for i, v := range x {
		if v != v || !logits && (v < 0 || math.IsInf(float64(v), 1)) {
			return nil, fmt.Errorf("class %d has %v, expected a number that can be a probability or the logarithm of one", i, v)
		}
		top = max(top, float64(v))
	}
	sums, sum := make([]float64, len(x)), 0.0
	for i, v := range x {
		switch {
		case !logits:
			sum += float64(v)
		case float64(v) == top: // be it infinite
			sum++
		default:
			sum += math.Exp(float64(v) - top)
		}
		sums[i] = sum
	}
	if sum == 0 || math.IsInf(top, -1) {
		return nil, errors.New("no class has a probability above 0")
	}
	return sums, nil
}
