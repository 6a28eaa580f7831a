package ops

import (
	"fmt"
	"slices"

	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// What operations that only move elements take, before iOS17 and since, and what they take for indices since.
const (
	movable15 = B | F16 | F32 | I32
	movable17 = movable15 | I8 | I16 | U8 | U16
	index17   = I8 | I16 | I32
)

// movedSince is the versions of an operation that takes more element types, for elements and for
// indices, from iOS17 on.
func movedSince(first Opset, params func(elem, index TypeSet) []Param) []Version {
	return []Version{
		{Since: first, Params: params(movable15, I32)},
		{Since: IOS17, Params: params(movable17, index17)},
	}
}

var reshapeOps = []Def{
	{
		Name: "identity",
		Doc:  "its argument, a value of any kind",
		Versions: since(IOS15,
			Param{Name: "x", Kind: AnyValues, Types: AnyType}),
		Infer: func(c *Call) ([]mil.Type, error) {
			if n := c.Count("x"); n != 1 {
				return nil, fmt.Errorf("x is %d values, expected one", n)
			}
			return []mil.Type{c.AnyType("x", 0)}, nil
		},
		Eval: func(c *Call) error {
			c.Return(0, c.Value("x"))
			return nil
		},
		Lower: lowerSame("x"),
	},
	{
		Name:      "shape",
		Doc:       "the lengths of a tensor's axes",
		Versions:  since(IOS15, In("x", movable15).As("T")),
		FromTypes: true,
		Infer: func(c *Call) ([]mil.Type, error) {
			return one(tensor.Int32, tensor.ShapeOf(c.Rank("x")))
		},
		Eval: func(c *Call) error {
			lengths, _ := c.Shape("x").Ints()
			vals := make([]int64, len(lengths))
			for i, n := range lengths {
				vals[i] = int64(n)
			}
			c.ReturnInts(0, vals)
			return nil
		},
		Lower: lowerShape,
	},
	{
		Name: "reshape",
		Doc:  "the same elements in another shape; -1 is the length that fits, 0 a length of x",
		Versions: []Version{
			{Since: IOS15, Params: []Param{In("x", movable15).As("T"), In("shape", I32)}, Infer: inferReshape(false)},
			{Since: IOS17, Params: []Param{In("x", movable17).As("T"), In("shape", index17).As("U")}, Infer: inferReshape(true)},
		},
		Eval:  evalReshape,
		Lower: lowerReshape,
	},
	{
		Name: "reshape_like",
		Doc:  "the same elements in a shape put together from those of other tensors",
		Versions: movedSince(IOS16, func(elem, _ TypeSet) []Param {
			constant := func(name string, t TypeSet) Param {
				return Param{Name: name, Kind: ManyTensors, Types: t, Const: true}
			}
			return []Param{In("x", elem).As("T"), Many("ref_tensors", AnyType),
				constant("begins", I32), constant("ends", I32), constant("end_masks", B)}
		}),
		Infer: inferReshapeLike,
		Eval:  evalReshape,
		Lower: lowerReshape,
	},
	{
		Name: "expand_dims",
		Doc:  "axes of length 1 added, at places of the result",
		Versions: movedSince(IOS15, func(elem, _ TypeSet) []Param {
			return []Param{In("x", elem).As("T"), Const("axes", I32)}
		}),
		Infer: inferExpandDims,
		Eval:  evalReshape,
		Lower: lowerReshape,
	},
	{
		Name: "squeeze",
		Doc:  "axes of length 1 removed, all or those given; a given axis that is longer stays",
		Versions: movedSince(IOS15, func(elem, _ TypeSet) []Param {
			return []Param{In("x", elem).As("T"), OptConst("axes", I32, nil)}
		}),
		Infer: inferSqueeze,
		Eval:  evalReshape,
		Lower: lowerReshape,
	},
	{
		Name: "flatten2d",
		Doc:  "a matrix: the axes before one flattened, and those from it on",
		Versions: since(IOS15,
			In("x", movable15).As("T"), OptConst("axis", I32, 1)),
		Infer: inferFlatten2D,
		Eval:  evalReshape,
		Lower: lowerReshape,
	},
	{
		Name: "transpose",
		Doc:  "axes in another order: axis i of the result is axis perm[i] of x",
		Versions: movedSince(IOS15, func(elem, _ TypeSet) []Param {
			return []Param{In("x", elem).As("T"), Const("perm", I32)}
		}),
		Infer: inferTranspose,
		Eval:  evalTranspose,
		Lower: lowerTranspose,
	},
}

// evalReshape gives the elements of x the shape of the type rule.
func evalReshape(c *Call) error {
	y, err := c.Tensor("x").Reshape(c.OutShape(0)...)
	if err != nil {
		return err
	}
	c.Return(0, y)
	return nil
}

// inferReshape is the rule of reshape. Up to iOS16 a 0 in the shape asks for as many axes as x has.
func inferReshape(anyRank bool) InferFunc {
	return func(c *Call) ([]mil.Type, error) {
		d := c.DType("x")
		rank, err := c.vectorLength("shape")
		switch {
		case err != nil:
			return nil, err
		case c.Known("shape"):
			shape, err := reshaped(c.Shape("x"), c.Ints("shape"), anyRank)
			if err != nil {
				return nil, err
			}
			return one(d, shape)
		case rank.Known() && rank <= foldLimit:
			return one(d, unknownShape(int(rank)))
		}
		return unknownRank(d)
	}
}

// reshaped is the shape that a tensor of shape x takes. A 0 copies a length of x: the axes are matched from the last
// one, and there is 1 where x has none.
func reshaped(x tensor.Shape, to []int, anyRank bool) (tensor.Shape, error) {
	out := make(tensor.Shape, len(to))
	open := -1                 // the place of -1
	var given []tensor.Dim     // lengths that to spells out
	rest := slices.Clone(x)    // lengths that no 0 copies; copied ones are 1
	offset := len(x) - len(to) // from an axis of the result to that of x
	for i, n := range to {
		switch {
		case n > 0:
			out[i] = tensor.Dim(n)
			given = append(given, out[i])
		case n == 0 && offset != 0 && !anyRank:
			return nil, fmt.Errorf("shape %v has a 0, which up to iOS16 needs as many elements as x has axes, %d", to, len(x))
		case n == 0 && i+offset < 0:
			out[i] = 1
		case n == 0:
			out[i], rest[i+offset] = x[i+offset], 1
		case n == -1 && open < 0:
			open = i
		case n == -1:
			return nil, fmt.Errorf("shape %v has more than one -1", to)
		default:
			return nil, fmt.Errorf("shape %v has a length of %d", to, n)
		}
	}
	have, err := productOf(rest...)
	if err != nil {
		return nil, err
	}
	want, err := productOf(given...)
	if err != nil {
		return nil, err
	}
	switch {
	case open < 0 && have.Known() && have != want, open >= 0 && have.Known() && have%want != 0:
		return nil, fmt.Errorf("a tensor of shape %v cannot have shape %v: the number of elements differs", x, to)
	case open >= 0 && have.Known():
		out[open] = have / want
	case open >= 0:
		out[open] = divideSymbols(rest, want)
	}
	return out, nil
}

// divideSymbols is a product of lengths, not all of them known, divided by n: the one that is not known, if there
// is but one and the others amount to n.
func divideSymbols(lengths tensor.Shape, n tensor.Dim) tensor.Dim {
	symbol, open := tensor.Unknown, 0
	known := tensor.Dim(1)
	for _, d := range lengths {
		switch {
		case !d.Known():
			symbol = d
			open++
		default:
			known *= d // no overflow that matters: it would not be equal to n
		}
	}
	if open == 1 && known == n {
		return symbol
	}
	return tensor.Unknown
}

func inferReshapeLike(c *Call) ([]mil.Type, error) {
	refs := c.Count("ref_tensors")
	for _, name := range []string{"begins", "ends", "end_masks"} {
		if n := c.Count(name); n != refs {
			return nil, fmt.Errorf("%s has %d elements, expected %d: one for each of ref_tensors", name, n, refs)
		}
	}
	var out tensor.Shape
	for i := range refs {
		ref := c.TypeAt("ref_tensors", i)
		var bound [3]int
		for j, name := range []string{"begins", "ends", "end_masks"} {
			v, ok := c.ValueAt(name, i).(*tensor.Tensor)
			if !ok || v.Len() != 1 {
				return nil, fmt.Errorf("%s[%d] is %v, expected a scalar", name, i, c.AnyType(name, i))
			}
			bound[j] = int(v.Int64s()[0])
		}
		n := len(ref.Shape)
		begin, end := clampIndex(bound[0], n, 0, n), clampIndex(bound[1], n, 0, n)
		if bound[2] != 0 {
			end = n
		}
		out = append(out, ref.Shape[begin:max(begin, end)]...)
	}
	have, err := productOf(c.Shape("x")...)
	if err != nil {
		return nil, err
	}
	want, err := productOf(out...)
	if err != nil {
		return nil, err
	}
	if have.Known() && want.Known() && have != want {
		return nil, fmt.Errorf("x of shape %v cannot have shape %v: the number of elements differs", c.Shape("x"), out)
	}
	return one(c.DType("x"), out)
}

func inferExpandDims(c *Call) ([]mil.Type, error) {
	rank := c.Rank("x") + len(c.Ints("axes"))
	axes, err := c.Axes("axes", rank)
	if err != nil {
		return nil, err
	}
	slices.Sort(axes)
	out := slices.Clone(c.Shape("x"))
	for _, a := range axes {
		out = slices.Insert(out, a, 1)
	}
	return one(c.DType("x"), out)
}

// inferSqueeze is the rule of squeeze. A length that the program leaves open counts as longer than 1, even in
// an evaluation where it happens to be 1: the rank that the program declares must not depend on it. Only
// where the declared result has fewer axes are open lengths taken to be 1.
func inferSqueeze(c *Call) ([]mil.Type, error) {
	shape := c.Shape("x")
	declared := shape
	if t, ok := c.Op.Input("x")[0].Type().(*mil.TensorType); ok && len(t.Shape) == len(shape) {
		declared = t.Shape
	}
	axes, err := c.axesOrAll("axes", len(shape))
	if err != nil {
		return nil, err
	}
	var drop, open []int
	for _, a := range axes {
		switch {
		case declared[a] == 1:
			drop = append(drop, a)
		case !declared[a].Known() && (shape[a] == 1 || !shape[a].Known()):
			open = append(open, a)
		}
	}
	if len(c.Op.Outputs) == 1 && len(open) > 0 {
		t, ok := c.Op.Outputs[0].Type.(*mil.TensorType)
		if ok && !t.AnyRank && len(t.Shape) == len(shape)-len(drop)-len(open) {
			drop = append(drop, open...)
		}
	}
	out := tensor.Shape{}
	for i, d := range shape {
		if !slices.Contains(drop, i) {
			out = append(out, d)
		}
	}
	return one(c.DType("x"), out)
}

func inferFlatten2D(c *Call) ([]mil.Type, error) {
	shape, axis := c.Shape("x"), c.Int("axis")
	rank := len(shape)
	cut := axis
	if cut < 0 {
		cut += rank
	}
	// The default of 1 lies behind a scalar's axes; it flattens to one row and one column.
	if cut < 0 || cut > max(rank, 1) {
		return nil, fmt.Errorf("axis is %d, expected -%d to %d for a tensor of rank %d", axis, rank, rank, rank)
	}
	cut = min(cut, rank)
	rows, err := productOf(shape[:cut]...)
	if err != nil {
		return nil, err
	}
	cols, err := productOf(shape[cut:]...)
	if err != nil {
		return nil, err
	}
	return one(c.DType("x"), tensor.Shape{rows, cols})
}

func inferTranspose(c *Call) ([]mil.Type, error) {
	perm, err := permutation(c)
	if err != nil {
		return nil, err
	}
	out := make(tensor.Shape, len(perm))
	for i, p := range perm {
		out[i] = c.Shape("x")[p]
	}
	return one(c.DType("x"), out)
}

func permutation(c *Call) ([]int, error) {
	rank := c.Rank("x")
	perm, err := c.Axes("perm", rank)
	if err == nil && len(perm) != rank {
		err = fmt.Errorf("perm %v has %d elements, expected %d: one for each axis of x", perm, len(perm), rank)
	}
	return perm, err
}

func evalTranspose(c *Call) error {
	perm, err := permutation(c)
	if err != nil {
		return err
	}
	y, err := c.Tensor("x").Transpose(perm...)
	if err != nil {
		return err
	}
	c.Return(0, y)
	return nil
}
