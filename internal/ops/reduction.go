package ops

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// reduction is an operation that makes one number of all elements along some axes.
type reduction struct {
	name, doc string
	float     func(row[float32]) float64
	int       func(row[int64]) int64
	nonEmpty  bool // there is no result for no elements
	native    td.ReductionKind
}

// Floats are accumulated in fp64. Integer results that are no integers are truncated towards zero.
var reductions = []reduction{
	{"reduce_l1_norm", "Σ |x| over axes", l1Norm, intL1Norm, false, td.ReduceL1},
	{"reduce_l2_norm", "√(Σ x²) over axes", l2Norm[float32], truncated(l2Norm[int64]), false, td.ReduceL2},
	{"reduce_log_sum", "log(Σ x) over axes", logSum[float32], truncated(logSum[int64]), false, td.ReduceLogSum},
	{"reduce_log_sum_exp", "log(Σ eˣ) over axes, without overflow on the way", logSumExp[float32], truncated(logSumExp[int64]), false, td.ReduceLogSumExp},
	{"reduce_max", "the greatest element over axes", greatestOf[float32, float64], greatestOf[int64, int64], true, td.ReduceMax},
	{"reduce_mean", "the mean over axes", meanOf[float32], truncated(meanOf[int64]), false, td.ReduceAvg},
	{"reduce_min", "the least element over axes", leastOf[float32, float64], leastOf[int64, int64], true, td.ReduceMin},
	{"reduce_prod", "the product over axes", floatProduct, intProduct, false, td.ReduceProduct},
	{"reduce_sum", "the sum over axes", sumOf[float32], intSum, false, td.ReduceSum},
	{"reduce_sum_square", "Σ x² over axes", sumSquare[float32], intSumSquare, false, td.ReduceSumSquare},
}

var reductionOps = slices.Concat(reductionDefs(reductions), []Def{
	argDef("reduce_argmax", "where along an axis the greatest element is; the first of equals", func(a, b float64) bool { return a > b }, td.Max),
	argDef("reduce_argmin", "where along an axis the least element is; the first of equals", func(a, b float64) bool { return a < b }, td.Min),
})

func reductionDefs(rows []reduction) []Def {
	defs := make([]Def, 0, len(rows))
	for _, r := range rows {
		defs = append(defs, Def{
			Name:     r.name,
			Doc:      r.doc,
			Versions: since(IOS15, In("x", Number).As("T"), OptConst("axes", I32, nil), OptConst("keep_dims", B, false)),
			Infer: func(c *Call) ([]mil.Type, error) {
				axes, err := reducedAxes(c)
				if err != nil {
					return nil, err
				}
				if err := checkScalars(c, "keep_dims"); err != nil {
					return nil, err
				}
				return inferReduced(c, c.DType("x"), axes, r.nonEmpty)
			},
			Eval:  func(c *Call) error { return evalReduction(c, r) },
			Lower: func(l *Lowering) error { return lowerReduction(l, r.native) },
		})
	}
	return defs
}

func argDef(name, doc string, better func(a, b float64) bool, native td.Extreme) Def {
	params := []Param{In("x", Number).As("T"), OptConst("axis", I32, -1), OptConst("keep_dims", B, false)}
	return Def{
		Name: name,
		Doc:  doc,
		Versions: []Version{
			{Since: IOS15, Params: params},
			{Since: IOS17, Params: append(slices.Clone(params), OptConst("output_dtype", Str, "int32"))},
		},
		Infer: inferArg,
		Eval:  func(c *Call) error { return evalArg(c, better) },
		Lower: func(l *Lowering) error { return lowerArg(l, native) },
	}
}

// reducedAxes are the axes of x that go, in ascending order; all of them if none are given.
func reducedAxes(c *Call) ([]int, error) {
	axes, err := c.axesOrAll("axes", c.Rank("x"))
	slices.Sort(axes)
	return axes, err
}

func inferReduced(c *Call, d tensor.DType, axes []int, nonEmpty bool) ([]mil.Type, error) {
	var shape tensor.Shape
	for i, n := range c.Shape("x") {
		switch {
		case !slices.Contains(axes, i):
			shape = append(shape, n)
			continue
		case n == 0 && nonEmpty:
			return nil, fmt.Errorf("x is %v: nothing can be chosen along axis %d, which has length 0", c.Type("x"), i)
		case c.Bool("keep_dims"):
			shape = append(shape, 1)
		}
	}
	return one(d, shape)
}

func inferArg(c *Call) ([]mil.Type, error) {
	if err := checkScalars(c, "axis", "keep_dims"); err != nil {
		return nil, err
	}
	if c.Rank("x") == 0 {
		return nil, errors.New("x is a scalar, expected rank 1 or more")
	}
	axis, err := c.Axis("axis", c.Rank("x"))
	if err != nil {
		return nil, err
	}
	d := tensor.Int32
	if c.Has("output_dtype") {
		if d, err = namedType(c, "output_dtype", I32|U16); err != nil {
			return nil, err
		}
	}
	if n := c.Shape("x")[axis]; d == tensor.UInt16 && n > 1<<16 {
		return nil, fmt.Errorf("axis %d has length %v, and its indices do not fit in uint16", axis, n)
	}
	return inferReduced(c, d, []int{axis}, true)
}

// rowsOver returns x with some axes moved to the end, so that each result is made of neighbours, and the
// lengths of what is kept and of what goes.
func rowsOver(c *Call, axes []int) (x *tensor.Tensor, kept, gone int, err error) {
	x = c.Tensor("x")
	if x, err = x.Transpose(keptThenGone(x.Rank(), axes)...); err != nil {
		return nil, 0, 0, err
	}
	first := x.Rank() - len(axes)
	return x, lengthOf(x.Shape()[:first]), lengthOf(x.Shape()[first:]), nil
}

// keptThenGone is the permutation that moves some axes to the end.
func keptThenGone(rank int, axes []int) []int {
	perm := make([]int, 0, rank)
	for i := range rank {
		if !slices.Contains(axes, i) {
			perm = append(perm, i)
		}
	}
	return append(perm, axes...)
}

func evalReduction(c *Call, r reduction) error {
	axes, err := reducedAxes(c)
	if err != nil {
		return err
	}
	x, kept, gone, err := rowsOver(c, axes)
	if err != nil {
		return err
	}
	if c.DType("x").IsFloat() {
		narrow := narrowing(c.DType("x"))
		c.ReturnFloats(0, mapRows(c.halt, c.halt.floats(x), kept, gone, func(all row[float32]) float32 { return narrow(r.float(all)) }))
	} else {
		c.ReturnInts(0, mapRows(c.halt, c.halt.ints(x), kept, gone, r.int))
	}
	return nil
}

func mapRows[T, R any](h *halt, x []T, rows, n int, f func(row[T]) R) []R {
	out := make([]R, rows)
	h.For(rows, 1+(1<<13)/max(1, n), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			out[i] = f(row[T]{h, x[i*n : (i+1)*n]})
		}
	})
	return out
}

func evalArg(c *Call, better func(a, b float64) bool) error {
	axis, err := c.Axis("axis", c.Rank("x"))
	if err != nil {
		return err
	}
	x, kept, gone, err := rowsOver(c, []int{axis})
	if err != nil {
		return err
	}
	if c.DType("x").IsFloat() {
		c.ReturnInts(0, mapRows(c.halt, c.halt.floats(x), kept, gone, func(r row[float32]) int64 { return placeOf(r, better) }))
	} else {
		c.ReturnInts(0, mapRows(c.halt, c.halt.ints(x), kept, gone, func(r row[int64]) int64 { return placeOf(r, better) }))
	}
	return nil
}

// placeOf is where the best element is; fp64 holds every fp32 and every int32.
func placeOf[T number](r row[T], better func(a, b float64) bool) int64 {
	best, at := 0, 0
	for part := range r.parts {
		for i, v := range part {
			if v != v {
				return int64(at + i) // as in NumPy, the first NaN wins
			}
			if better(float64(v), float64(r.all[best])) {
				best = at + i
			}
		}
		at += len(part)
	}
	return int64(best)
}

func truncated(f func(row[int64]) float64) func(row[int64]) int64 {
	return func(r row[int64]) int64 {
		v := f(r)
		if v != v || math.Abs(v) > 1<<62 { // no elements, or the logarithm of zero
			return 0
		}
		return int64(v)
	}
}

func sumOf[T number](r row[T]) float64 {
	s := 0.0
	for part := range r.parts {
		for _, v := range part {
			s += float64(v)
		}
	}
	return s
}

func meanOf[T number](r row[T]) float64 { return sumOf(r) / float64(len(r.all)) }

func sumSquare[T number](r row[T]) float64 {
	s := 0.0
	for part := range r.parts {
		for _, v := range part {
			s += float64(float64(v) * float64(v))
		}
	}
	return s
}

func l2Norm[T number](r row[T]) float64 { return math.Sqrt(sumSquare(r)) }

func logSum[T number](r row[T]) float64 { return math.Log(sumOf(r)) }

func logSumExp[T number](r row[T]) float64 {
	top := math.Inf(-1)
	for part := range r.parts {
		for _, v := range part {
			top = max(top, float64(v))
		}
	}
	if math.IsInf(top, 0) {
		return top
	}
	s := 0.0
	for part := range r.parts {
		for _, v := range part {
			s += math.Exp(float64(v) - top)
		}
	}
	return top + math.Log(s)
}

func l1Norm(r row[float32]) float64 {
	s := 0.0
	for part := range r.parts {
		for _, v := range part {
			s += math.Abs(float64(v))
		}
	}
	return s
}

func floatProduct(r row[float32]) float64 {
	p := 1.0
	for part := range r.parts {
		for _, v := range part {
			p *= float64(v)
		}
	}
	return p
}

// greatestOf and leastOf propagate NaN, as NumPy does. A row has an element.
func greatestOf[T number, R float64 | int64](r row[T]) R {
	best := r.all[0]
	for part := range r.parts {
		best = max(best, slices.Max(part))
	}
	return R(best)
}

func leastOf[T number, R float64 | int64](r row[T]) R {
	best := r.all[0]
	for part := range r.parts {
		best = min(best, slices.Min(part))
	}
	return R(best)
}

func intSum(r row[int64]) (s int64) {
	for part := range r.parts {
		for _, v := range part {
			s += v
		}
	}
	return s
}

func intL1Norm(r row[int64]) (s int64) {
	for part := range r.parts {
		for _, v := range part {
			s += intAbs(v)
		}
	}
	return s
}

func intSumSquare(r row[int64]) (s int64) {
	for part := range r.parts {
		for _, v := range part {
			s += v * v
		}
	}
	return s
}

func intProduct(r row[int64]) int64 {
	p := int64(1)
	for part := range r.parts {
		for _, v := range part {
			p *= v
		}
	}
	return p
}
