package ops

import (
	"fmt"

	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

var scanOps = []Def{
	{
		Name: "cumsum",
		Doc:  "the sums of an axis up to each element, with it or without it, from either end",
		Versions: since(IOS15,
			In("x", Number).As("T"), OptConst("axis", I32, 0), OptConst("exclusive", B, false), OptConst("reverse", B, false)),
		Infer: func(c *Call) ([]mil.Type, error) {
			if _, err := c.Axis("axis", c.Rank("x")); err != nil {
				return nil, err
			}
			return []mil.Type{c.Type("x")}, nil
		},
		Eval:  evalCumSum,
		Lower: lowerCumSum,
	},
	{
		Name: "band_part",
		Doc:  "matrices with all but a band about the diagonal set to zero",
		Versions: since(IOS15,
			In("x", movable15).As("T"), OptConst("lower", I32, -1), OptConst("upper", I32, -1)),
		Infer: func(c *Call) ([]mil.Type, error) {
			if r := c.Rank("x"); r < 2 {
				return nil, fmt.Errorf("x has rank %d, expected 2 or more", r)
			}
			return []mil.Type{c.Type("x")}, nil
		},
		Eval:  evalBandPart,
		Lower: lowerBandPart,
	},
	{
		Name:     "non_zero",
		Doc:      "the indices of the elements that are not zero, a row for each",
		Versions: since(IOS15, In("x", movable15).As("T")),
		Infer: func(c *Call) ([]mil.Type, error) {
			found := tensor.Unknown
			if c.Known("x") {
				found = tensor.Dim(len(nonZero(c)))
			}
			return one(tensor.Int32, tensor.Shape{found, tensor.Dim(c.Rank("x"))})
		},
		Eval:     evalNonZero,
		HostOnly: "how many elements its result has depends on the values of x",
	},
}

func evalCumSum(c *Call) error {
	x := c.Tensor("x")
	axis, err := c.Axis("axis", x.Rank())
	if err != nil {
		return err
	}
	n := x.Shape()[axis]
	inner, _ := tensor.Count(x.Shape()[axis+1:])
	if x.DType().IsFloat() {
		c.ReturnFloats(0, cumulate[float32, float64](c.halt, x.Float32s(), n, inner, c.Bool("exclusive"), c.Bool("reverse")))
	} else {
		c.ReturnInts(0, cumulate[int64, int64](c.halt, x.Int64s(), n, inner, c.Bool("exclusive"), c.Bool("reverse")))
	}
	return nil
}

// cumulate adds up lines of n elements that lie inner apart. As in reductions, floats are accumulated in fp64: one after the other in
// fp32, the sums of a long line drift much further away than those that the engine adds in pairs.
func cumulate[T float32 | int64, S float64 | int64](h *halt, x []T, n, inner int, exclusive, reverse bool) []T {
	out := make([]T, len(x))
	if len(x) == 0 {
		return out
	}
	h.For(len(x)/n, 1+(1<<13)/n, func(lo, hi int) {
		for line := lo; line < hi; line++ {
			at, step := line/inner*n*inner+line%inner, inner
			if reverse {
				at, step = at+(n-1)*inner, -inner
			}
			var sum S
			for first, last := range h.pieces(n) {
				for range last - first {
					if exclusive {
						out[at] = T(sum)
					}
					sum += S(x[at])
					if !exclusive {
						out[at] = T(sum)
					}
					at += step
				}
			}
		}
	})
	return out
}

// evalBandPart copies the part of each row that lies in the band, for all matrices at once, into zeros.
func evalBandPart(c *Call) error {
	x, lower, upper := c.Tensor("x"), c.Int("lower"), c.Int("upper")
	row := x.Rank() - 2
	rows, cols := x.Shape()[row], x.Shape()[row+1]
	out := tensor.New(x.DType(), x.Shape()...)
	if out.Len() == 0 { // another axis is empty, and this one may be as long as a file likes
		rows = 0
	}
	for m := range rows {
		if c.asked() {
			return nil
		}
		first, end := 0, cols
		if lower >= 0 {
			first = min(cols, max(0, m-lower))
		}
		if upper >= 0 {
			end = min(cols, m+upper+1)
		}
		from, err := bandRow(x, m, first, end)
		if err != nil {
			return err
		}
		to, err := bandRow(out, m, first, end)
		if err != nil {
			return err
		}
		if err := c.halt.copy(to, from); err != nil {
			return err
		}
	}
	c.Return(0, out)
	return nil
}

// bandRow is the columns from first to before end of row m.
func bandRow(x *tensor.Tensor, m, first, end int) (*tensor.Tensor, error) {
	row := x.Rank() - 2
	y, err := x.Slice(row, m, 1, 1)
	if err != nil {
		return nil, err
	}
	return y.Slice(row+1, first, max(0, end-first), 1)
}

// nonZero is the places in row-major order of the elements of x that are not zero.
func nonZero(c *Call) []int {
	x := c.Tensor("x")
	if x.DType().IsFloat() {
		return placesOf(c.halt, x.Float32s())
	}
	return placesOf(c.halt, x.Int64s())
}

func placesOf[T number](h *halt, x []T) (found []int) {
	for lo, hi := range h.pieces(len(x)) {
		for i := lo; i < hi; i++ {
			if x[i] != 0 {
				found = append(found, i)
			}
		}
	}
	return found
}

func evalNonZero(c *Call) error {
	shape := c.Tensor("x").Shape()
	found := nonZero(c)
	out := make([]int64, len(found)*len(shape))
	for k, place := range found {
		if k%piece == 0 && c.asked() {
			break
		}
		for a := len(shape) - 1; a >= 0; a-- {
			out[k*len(shape)+a] = int64(place % shape[a])
			place /= shape[a]
		}
	}
	c.ReturnInts(0, out)
	return nil
}
