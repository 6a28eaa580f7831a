package estimate

import (
	"math"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// Ranges are bounds of the magnitudes of a graph's values, as far as they follow from what is known before anything
// runs: types, constants, functions that bound their result. They hold for exact arithmetic and are the worst case.
//
//	%a = anec.convolution(%x, %w)              no bound: nothing is known of %x
//	%b = anec.sigmoid(%a)   at most 1
//	%c = anec.linear(%b, %v)            at most the largest sum of magnitudes of a row of %v
//
// They do not depend on the target: one analysis serves them all.
type Ranges struct {
	bound  map[*anec.Value]float64
	sums   map[*anec.Layer]float64 // the largest sum of magnitudes of weights that one result takes
	budget int                     // elements of constants that may still be read
	absent bool                    // the weight files are not there

	Traits *sumTraits
}

// RangeBudget is how many elements of constants an analysis reads. What is beyond has no bound: a model of gigabytes
// is looked at as fast as a small one.
const RangeBudget = 4 << 20

var Unbounded = math.Inf(1)

// FindRanges analyzes a graph and reads at most so many elements of constants. Where the weight files are absent, zeros stand for
// their arrays: then only constants of one element are looked at, which are in the program itself.
func FindRanges(g *anec.Graph, weightsAbsent bool, budget int) *Ranges {
	r := &Ranges{bound: map[*anec.Value]float64{}, sums: map[*anec.Layer]float64{}, budget: budget, absent: weightsAbsent, Traits: findSums(g)}
	for _, l := range g.Order() {
		b := r.ofLayer(l)
		for _, v := range l.Tops {
			r.bound[v] = min(r.ofEpilogue(l, b), ofType(v.Type.DType))
		}
	}
	return r
}

// Of returns a bound of the magnitudes of a value; infinity if there is none.
func (r *Ranges) Of(v *anec.Value) float64 {
	if b, ok := r.bound[v]; ok {
		return b
	}
	b := ofType(v.Type.DType)
	if v.Const != nil {
		b = min(b, r.ofConstant(v.Const))
	}
	r.bound[v] = b
	return b
}

// ofType is what the element type alone says. That an int32 is at most 2³¹ says nothing: indices and lengths are small.
func ofType(d tensor.DType) float64 {
	if d.IsInteger() && d.Bits() <= 16 || d == tensor.Bool {
		lo, hi := d.IntRange()
		return max(math.Abs(float64(lo)), float64(hi))
	}
	return Unbounded
}

// read takes elements from the budget.
func (r *Ranges) read(t *tensor.Tensor) []float32 {
	if t == nil || t.Len() > r.budget || r.absent && t.Len() > 1 {
		return nil
	}
	r.budget -= t.Len()
	return t.Float32s()
}

func largest(numbers []float32) float64 {
	m := 0.0
	for _, e := range numbers {
		if a := math.Abs(float64(e)); a > m || a != a {
			m = a
		}
	}
	if m != m {
		return Unbounded
	}
	return m
}

// bounded is the largest magnitude of a part of a constant; 0 for one that is not there.
func (r *Ranges) bounded(t *tensor.Tensor) float64 {
	if t == nil {
		return 0
	}
	if b := ofType(t.DType()); b != Unbounded {
		return b
	}
	numbers := r.read(t)
	if numbers == nil && t.Len() > 0 {
		return Unbounded
	}
	return largest(numbers)
}

func (r *Ranges) ofConstant(c *anec.Constant) float64 {
	if c.Stored == nil {
		return Unbounded
	}
	b := r.bounded(c.Stored)
	if p := c.Palette; p != nil {
		b = r.bounded(p.Table)
		if p.Scale != nil {
			b = (b + r.bounded(p.Offset)) * r.bounded(p.Scale)
		}
	} else if number, ok := c.Scalar(); ok {
		b = math.Abs(number)
	}
	if c.Scale != nil {
		b = (b + r.bounded(c.Offset)) * r.bounded(c.Scale)
	}
	return b
}

// SumOf returns the largest sum of magnitudes of weights that one result of a layer takes: what it can make of an
// operand of magnitude 1. False if the weights are not constants, not there, or not looked at.
func (r *Ranges) SumOf(l *anec.Layer) (float64, bool) {
	w := segment.WeightBottom(l)
	if w == nil || w.Const == nil || w.Const.Stored == nil {
		return 0, false
	}
	if sum, ok := r.sums[l]; ok {
		return sum, sum != Unbounded
	}
	sum := Unbounded
	switch c := w.Const; {
	case !c.Plain(): // by the largest weight
		n, _ := Contraction(l)
		sum = float64(n) * r.ofConstant(c)
	default:
		if numbers := r.read(c.Stored); numbers != nil {
			sum = largestSum(l, numbers, w.Type.Dims)
		}
	}
	if sum != sum {
		sum = Unbounded
	}
	r.sums[l] = sum
	return sum, sum != Unbounded
}

// largestSum adds the magnitudes of the weights of each result. Weights of a convolution and of Linear have a result's
// weights side by side; those of a product of matrices and of a transposed convolution do not.
func largestSum(l *anec.Layer, numbers []float32, dims anec.Dims) float64 {
	results, stride := dims[anec.N], 1 // how many sums there are, and how far apart the elements of one are
	switch p := l.Params.(type) {
	case *anec.Linear:
		results = dims[anec.H]
	case *anec.MatMul:
		if dims[anec.N]*dims[anec.D]*dims[anec.C] != 1 {
			return float64(dims[anec.H]) * largest(numbers)
		}
		results = dims[anec.H]
		if !p.TransposeZ {
			results, stride = dims[anec.W], dims[anec.W]
		}
	case *anec.Conv:
		if p.Transposed {
			n, _ := Contraction(l)
			return float64(n) * largest(numbers)
		}
	}
	if results == 0 {
		return 0
	}
	sums := make([]float64, results)
	per := len(numbers) / results
	for i, e := range numbers {
		at := i / max(per, 1)
		if stride > 1 {
			at = i % stride
		}
		sums[at] += math.Abs(float64(e))
	}
	m := 0.0
	for _, s := range sums {
		m = max(m, s)
	}
	return m
}

// ofLayer is the bound of a layer's result before its epilogue.
func (r *Ranges) ofLayer(l *anec.Layer) float64 {
	at := func(i int) float64 {
		if i < len(l.Bottoms) && l.Bottoms[i] != nil {
			return r.Of(l.Bottoms[i])
		}
		return 0
	}
	switch p := l.Params.(type) {
	case *anec.Conv, *anec.Linear, *anec.MatMul:
		return r.OfSum(l) + at(2)
	case *anec.Neuron:
		return ofFunction(p.Type, at(0), max(math.Abs(float64(p.A)), at(1)), math.Abs(float64(p.B)))
	case *anec.ElementWise:
		return ofPair(p.Type, at(0), at(1), l.Bottoms)
	case *anec.GOC:
		scale, bias := math.Abs(float64(p.Scale)), math.Abs(float64(p.Bias))
		if len(l.Bottoms) > 1 && l.Bottoms[1] != nil {
			scale = at(1)
		}
		if len(l.Bottoms) > 2 && l.Bottoms[2] != nil {
			bias = at(2)
		}
		return Times(at(0), scale) + bias
	case *anec.Softmax, *anec.L2Norm, *anec.MinMaxNorm:
		return 1
	case *anec.LayerNorm:
		return r.ofNorm(l, Reduced(p.Axes, l.Bottoms[0])/max(p.Groups, 1))
	case *anec.InstanceNorm:
		return r.ofNorm(l, Reduced(p.Axes, l.Bottoms[0]))
	case *anec.Pooling:
		if p.Type == td.PoolL1 || p.Type == td.PoolL2 {
			return at(0) * p.Volume()
		}
		return at(0)
	case *anec.Reduction:
		return ofReduction(p, at(0), float64(Reduced(p.Axes, l.Bottoms[0])))
	case *anec.Padding:
		return max(at(0), math.Abs(float64(p.Value)))
	case *anec.Concat:
		b := 0.0
		for i := range l.Bottoms {
			b = max(b, at(i))
		}
		return b
	case *anec.Select:
		return max(at(1), at(2))
	case *anec.Reshape, *anec.Flatten, *anec.Unflatten, *anec.InputView, *anec.Transpose, *anec.Alias, *anec.Copy, *anec.TypeCast,
		*anec.Tile, *anec.Broadcast, *anec.PixelShuffle, *anec.PixelUnshuffle, *anec.SpaceToBatch, *anec.BatchToSpace,
		*anec.SpaceToChannel, *anec.ChannelToSpace, *anec.Gather, *anec.Sort, *anec.TopK:
		return at(0)
	}
	return Unbounded
}

// OfSum is the bound of a sum of products.
func (r *Ranges) OfSum(l *anec.Layer) float64 {
	x := r.Of(l.Bottoms[0])
	if sum, ok := r.SumOf(l); ok {
		return Times(sum, x)
	}
	z := r.Of(l.Bottoms[1])
	if IsDistribution(l) {
		return z // a mean with weights whose sum is 1
	}
	n, _ := Contraction(l)
	return Times(Times(x, z), float64(n))
}

// IsDistribution reports whether the rows of a product's first matrix are results of a softmax.
func IsDistribution(l *anec.Layer) bool {
	p, ok := l.Params.(*anec.MatMul)
	if !ok || p.TransposeX {
		return false
	}
	def := l.Bottoms[0].Def
	for def != nil && (def.Kind() == anec.KindTypeCast || def.Kind() == anec.KindCopy) && def.Epilogue.Empty() {
		def = def.Bottoms[0].Def
	}
	if def == nil || !def.Epilogue.Empty() {
		return false
	}
	s, ok := def.Params.(*anec.Softmax)
	return ok && s.Axes == td.AxesOf(anec.W)
}

// ofNorm: no element is further from the mean of n than sqrt(n) standard deviations.
func (r *Ranges) ofNorm(l *anec.Layer, n int) float64 {
	b := math.Sqrt(float64(n))
	if len(l.Bottoms) > 1 && l.Bottoms[1] != nil {
		b = Times(b, r.Of(l.Bottoms[1]))
	}
	if len(l.Bottoms) > 2 && l.Bottoms[2] != nil {
		b += r.Of(l.Bottoms[2])
	}
	return b
}

// Reduced is how many elements the axes hold.
func Reduced(axes td.Axes, v *anec.Value) int {
	n := 1
	for a := range td.Axis(anec.NumAxes) {
		if axes.Has(a) {
			n *= v.Type.Dims[a]
		}
	}
	return n
}

func ofReduction(p *anec.Reduction, x, n float64) float64 {
	b := Unbounded
	switch p.Type {
	case td.ReduceAvg, td.ReduceMin, td.ReduceMax:
		b = x
	case td.ReduceSum, td.ReduceL1:
		b = Times(x, n)
	case td.ReduceSumSquare:
		b = Times(Times(x, x), n)
	case td.ReduceL2:
		b = Times(x, math.Sqrt(n))
	}
	if p.Square {
		b = Times(b, b)
	}
	return b
}

// Times is a product in which zero bounds everything.
func Times(a, b float64) float64 {
	if a == 0 || b == 0 {
		return 0
	}
	return a * b
}

// ofFunction is the bound of a function of what x bounds, with constants of magnitude a and b.
func ofFunction(f td.Function, x, a, b float64) float64 {
	switch f {
	case td.FuncSigmoid, td.FuncSigmoidHighPrecision, td.FuncReLUSigmoid, td.FuncSigmoidHard, td.FuncTanh, td.FuncErf,
		td.FuncSign, td.FuncSin, td.FuncCos, td.FuncSoftsign, td.FuncDirac, td.FuncFrac,
		td.FuncEqualZero, td.FuncNotEqualZero, td.FuncLessThanZero, td.FuncLessThanEqualZero, td.FuncGreaterThanEqualZero, td.FuncGreaterThanZero:
		return 1
	case td.FuncAtan:
		return math.Pi / 2
	case td.FuncScaledTanh, td.FuncReLUN:
		return a
	case td.FuncClampedReLU:
		return max(Times(a, x), min(b, x))
	case td.FuncClip:
		return max(a, b)
	case td.FuncReLU, td.FuncSwish, td.FuncSwishHard, td.FuncGELU, td.FuncGELUSigmoidApproximation, td.FuncGELUTanhApproximation,
		td.FuncAbs, td.FuncInt, td.FuncTrunc, td.FuncThresholdedReLU, td.FuncNone:
		return x
	case td.FuncFloor, td.FuncCeil, td.FuncRoundNearest:
		return x + 1
	case td.FuncPReLU:
		return max(x, Times(a, x))
	case td.FuncELU:
		return max(x, a)
	case td.FuncSquare:
		return Times(x, x)
	case td.FuncSqrt:
		return math.Sqrt(x)
	case td.FuncExp:
		return math.Exp(x)
	case td.FuncExp2:
		return math.Exp2(x)
	}
	return Unbounded
}

// ofPair is the bound of a function of two values. Bottoms are those of a layer, for a divisor that is a number.
func ofPair(k td.EWKind, x, z float64, bottoms []*anec.Value) float64 {
	switch k {
	case td.EWNone, td.EWAbs:
		return x
	case td.EWAdd, td.EWSub:
		return x + z
	case td.EWMult:
		return Times(x, z)
	case td.EWSquare:
		return Times(x, x)
	case td.EWMax, td.EWMin:
		return max(x, z)
	case td.EWMod:
		return z
	case td.EWDiv:
		if len(bottoms) == 2 && bottoms[1].Const != nil && bottoms[1].Const.Stored != nil {
			if d, ok := bottoms[1].Const.Scalar(); ok && d != 0 {
				return x / math.Abs(d)
			}
		}
		return Unbounded
	case td.EWPower, td.EWFloorDiv:
		return Unbounded
	}
	return 1 // comparisons and logic
}

// ofEpilogue is the bound of what a layer stores.
func (r *Ranges) ofEpilogue(l *anec.Layer, b float64) float64 {
	e := &l.Epilogue
	act := func(a *anec.Activation) {
		if a != nil {
			b = ofFunction(a.Function, b, math.Abs(float64(a.A)), math.Abs(float64(a.B)))
		}
	}
	if p, ok := e.Texture.(*anec.Padding); ok {
		b = max(b, math.Abs(float64(p.Value)))
	}
	act(e.Pre)
	if g := e.GOC; g != nil {
		if g.Gain != nil {
			b = Times(b, r.Of(g.Gain))
		}
		if g.Offset != nil {
			b += r.Of(g.Offset)
		}
	}
	act(e.Post)
	before := []float64{b} // what the slots made, then each step
	for i := range e.Steps {
		b = r.ofStep(&e.Steps[i], b, before)
		before = append(before, b)
	}
	if e.Quant != nil {
		b = ofType(e.Quant.Type)
	}
	return b
}

func (r *Ranges) ofStep(s *anec.Step, b float64, before []float64) float64 {
	a := math.Abs(float64(s.A))
	switch s.Code {
	case td.MicroScaleBias:
		return Times(b, a) + math.Abs(float64(s.B))
	case td.MicroActivation:
		return ofFunction(s.Function, b, a, math.Abs(float64(s.B)))
	case td.MicroTypeCast:
		return min(b, ofType(s.Type))
	}
	second := a
	switch {
	case s.Operand != nil:
		second = r.Of(s.Operand)
	case s.Earlier > 0 && s.Earlier <= len(before):
		second = before[s.Earlier-1]
	}
	if s.EW == td.EWDiv && s.Operand == nil && s.Earlier == 0 && !s.Swap && a != 0 {
		return b / a
	}
	if s.Swap {
		b, second = second, b
	}
	return ofPair(s.EW, b, second, nil)
}
