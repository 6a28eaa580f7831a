package ops

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

var sortOps = []Def{
	{
		Name: "argsort",
		Doc:  "the indices that sort an axis; equal elements keep their order",
		Versions: since(IOS15,
			In("x", Number).As("T"), OptConst("axis", I32, -1), OptConst("ascending", B, false)),
		Infer: func(c *Call) ([]mil.Type, error) {
			if _, err := c.Axis("axis", c.Rank("x")); err != nil {
				return nil, err
			}
			return one(tensor.Int32, c.Shape("x"))
		},
		Eval: func(c *Call) error {
			axis, err := c.Axis("axis", c.Rank("x"))
			if err != nil {
				return err
			}
			c.ReturnInts(0, sortedIndices(c.halt, c.Tensor("x"), axis, c.Int("ascending") != 0))
			return nil
		},
		Lower: lowerArgsort,
	},
	{
		Name: "topk",
		Doc:  "the k largest or smallest elements of an axis and their indices; equal elements keep their order",
		Versions: []Version{
			{Since: IOS15, Params: topkParams(Number, I32)},
			{Since: IOS16, Params: append(topkParams(Number, I32),
				OptConst("sort", B, true), OptConst("return_indices", B, true))},
			{Since: IOS17, Params: append(topkParams(Number|I8|I16|U8|U16, index17),
				OptConst("sort", B, true), OptConst("return_indices", B, true),
				// Its default, int32, holds only where indices are returned.
				OptConst("output_indices_dtype", Str, nil))},
		},
		Infer: inferTopK,
		Eval:  evalTopK,
		Lower: lowerTopK,
	},
}

func topkParams(elem, k TypeSet) []Param {
	return []Param{In("x", elem).As("T"), OptConst("k", k, 1).As("K"),
		OptConst("axis", I32, -1), OptConst("ascending", B, false)}
}

// topkIndexTypes are the element types that topk's indices can have.
var topkIndexTypes = map[string]tensor.DType{"int32": tensor.Int32, "uint16": tensor.UInt16}

func inferTopK(c *Call) ([]mil.Type, error) {
	shape := slices.Clone(c.Shape("x"))
	axis, err := c.Axis("axis", len(shape))
	if err != nil {
		return nil, err
	}
	n, k := shape[axis], c.Int("k")
	switch {
	case k == -1 && c.Opset >= IOS17: // all of them
	case k < 0:
		return nil, fmt.Errorf("k is %d", k)
	case n.Known() && tensor.Dim(k) > n:
		return nil, fmt.Errorf("k is %d, but axis %d has length %v", k, axis, n)
	default:
		shape[axis] = tensor.Dim(k)
	}
	values := &mil.TensorType{DType: c.DType("x"), Shape: shape}
	if c.Has("return_indices") && !c.Bool("return_indices") {
		if c.Has("output_indices_dtype") {
			return nil, fmt.Errorf("output_indices_dtype is given, but return_indices is false")
		}
		return []mil.Type{values}, nil
	}
	index := tensor.Int32
	if c.Has("output_indices_dtype") {
		name, ok := c.Str("output_indices_dtype"), false
		if index, ok = topkIndexTypes[name]; !ok {
			return nil, fmt.Errorf("output_indices_dtype is %q, expected int32 or uint16", name)
		}
	}
	return []mil.Type{values, &mil.TensorType{DType: index, Shape: shape}}, nil
}

// evalTopK sorts the results even where the program does not ask for it: any order will do then.
func evalTopK(c *Call) error {
	x := c.Tensor("x")
	axis, err := c.Axis("axis", x.Rank())
	if err != nil {
		return err
	}
	order := tensor.Of(sortedIndices(c.halt, x, axis, c.Bool("ascending")), x.Shape()...)
	if order, err = order.Slice(axis, 0, c.OutShape(0)[axis], 1); err != nil {
		return err
	}
	inner, _ := tensor.Count(x.Shape()[axis+1:])
	kept := order.Shape()[axis]
	if x.DType().IsFloat() {
		c.ReturnFloats(0, takeLines(c.halt, x.Float32s(), order.Int64s(), x.Shape()[axis], kept, inner))
	} else {
		c.ReturnInts(0, takeLines(c.halt, x.Int64s(), order.Int64s(), x.Shape()[axis], kept, inner))
	}
	if len(c.outs) > 1 {
		c.Return(1, order)
	}
	return nil
}

// takeLines takes from each line of n elements those that order names, kept of them.
func takeLines[T any](h *halt, x []T, order []int64, n, kept, inner int) []T {
	out := make([]T, len(order))
	for lo, hi := range h.pieces(len(order)) {
		for i := lo; i < hi; i++ {
			line := i / (kept * inner)
			out[i] = x[(line*n+int(order[i]))*inner+i%inner]
		}
	}
	return out
}

// sortedIndices gives, for every line of x on an axis, the indices of its elements in their order. Equal
// elements keep theirs, and NaN comes last, as in NumPy, whichever way the order goes.
func sortedIndices(h *halt, x *tensor.Tensor, axis int, ascending bool) []int64 {
	n := x.Shape()[axis]
	inner, _ := tensor.Count(x.Shape()[axis+1:])
	if x.DType().IsFloat() {
		return sortLines(h, x.Float32s(), n, inner, func(a, b float32) int {
			switch aNaN, bNaN := math.IsNaN(float64(a)), math.IsNaN(float64(b)); {
			case aNaN && bNaN:
				return 0
			case aNaN:
				return 1
			case bNaN:
				return -1
			case ascending:
				return cmp.Compare(a, b)
			}
			return cmp.Compare(b, a)
		})
	}
	return sortLines(h, x.Int64s(), n, inner, func(a, b int64) int {
		if ascending {
			return cmp.Compare(a, b)
		}
		return cmp.Compare(b, a)
	})
}

// sortLines sorts the indices of each line of n elements that lie inner apart.
func sortLines[T any](h *halt, x []T, n, inner int, compare func(a, b T) int) []int64 {
	out := make([]int64, len(x))
	if len(x) == 0 {
		return out
	}
	h.For(len(x)/n, 1+(1<<10)/n, func(lo, hi int) {
		order := make([]int, n)
		compared := 0
		for line := lo; line < hi; line++ {
			first := line/inner*n*inner + line%inner
			for i := range order {
				order[i] = i
			}
			slices.SortStableFunc(order, func(i, j int) int {
				if compared++; compared%piece == 0 && h.asked() {
					return 0 // equal elements stay where they are: the rest is soon done
				}
				return compare(x[first+i*inner], x[first+j*inner])
			})
			for i, at := range order {
				out[first+i*inner] = int64(at)
			}
		}
	})
	return out
}
