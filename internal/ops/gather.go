package ops

import (
	"errors"
	"fmt"

	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// The element types that the gather operations take: from iOS15 on, and from iOS17 on; their indices from
// iOS16 and from iOS17 on.
const (
	gatherTypes     = Number
	gatherTypes17   = Number | I16 | U16 | I8 | U8
	gatherIndices16 = I32 | I16 | U16
	gatherIndices17 = gatherIndices16 | I8 | U8
)

var gatherOps = []Def{
	{
		Name: "gather",
		Doc:  "slices of x along an axis, chosen by indices",
		Versions: []Version{
			{Since: IOS15, Params: []Param{
				In("x", gatherTypes).As("T"), In("indices", I32), OptConst("axis", I32, 0),
			}},
			{Since: IOS16, Params: []Param{
				In("x", gatherTypes).As("T"), In("indices", gatherIndices16).As("I"), OptConst("axis", I32, 0),
				OptConst("batch_dims", I32, 0),
			}},
			{Since: IOS17, Params: []Param{
				In("x", gatherTypes17).As("T"), In("indices", gatherIndices17).As("I"), OptConst("axis", I32, 0),
				OptConst("batch_dims", I32, 0), OptConst("validate_indices", B, false),
			}},
		},
		Infer: inferGather,
		Eval:  evalGather,
		Lower: lowerGather,
	},
	{
		Name: "gather_along_axis",
		Doc:  "elements of x, each with an index of its own along an axis",
		Versions: []Version{
			{Since: IOS15, Params: []Param{
				In("x", gatherTypes).As("T"), In("indices", I32), OptConst("axis", I32, 0),
			}},
			{Since: IOS16, Params: []Param{
				In("x", gatherTypes).As("T"), In("indices", gatherIndices16).As("I"), OptConst("axis", I32, 0),
			}},
			{Since: IOS17, Params: []Param{
				In("x", gatherTypes17).As("T"), In("indices", gatherIndices17).As("I"), OptConst("axis", I32, 0),
				OptConst("validate_indices", B, false),
			}},
		},
		Infer: inferGatherAlongAxis,
		Eval:  evalGatherAlongAxis,
		Lower: lowerGatherAlongAxis,
	},
	{
		Name: "gather_nd",
		Doc:  "slices of x, each at a vector of indices into the first axes",
		Versions: []Version{
			{Since: IOS15, Params: []Param{
				In("x", gatherTypes).As("T"), In("indices", I32),
			}},
			{Since: IOS16, Params: []Param{
				In("x", gatherTypes).As("T"), In("indices", gatherIndices16).As("I"), OptConst("batch_dims", I32, 0),
			}},
			{Since: IOS17, Params: []Param{
				In("x", gatherTypes17).As("T"), In("indices", gatherIndices17).As("I"), OptConst("batch_dims", I32, 0),
				OptConst("validate_indices", B, false),
			}},
		},
		Infer: inferGatherND,
		Eval:  evalGatherND,
		Lower: lowerGatherND,
	},
}

// gatherBatch is how many leading axes x and indices share.
func gatherBatch(c *Call) (int, error) {
	if !c.Has("batch_dims") {
		return 0, nil
	}
	batch := c.Int("batch_dims")
	most := min(c.Rank("x"), c.Rank("indices"))
	if batch < 0 || batch > most {
		return 0, fmt.Errorf("batch_dims is %d, expected 0 to %d for x of rank %d and indices of rank %d",
			batch, most, c.Rank("x"), c.Rank("indices"))
	}
	x, indices := c.Shape("x")[:batch], c.Shape("indices")[:batch]
	if !x.Compatible(indices) {
		return 0, fmt.Errorf("x and indices have the batch shapes %v and %v, expected the same", x, indices)
	}
	return batch, nil
}

func inferGather(c *Call) ([]mil.Type, error) {
	x, indices := c.Shape("x"), c.Shape("indices")
	axis, err := c.Axis("axis", len(x))
	if err != nil {
		return nil, err
	}
	batch, err := gatherBatch(c)
	if err != nil {
		return nil, err
	}
	if axis < batch {
		return nil, fmt.Errorf("axis is %d, expected one after the %d batch axes", axis, batch)
	}
	if err := checkIndices(c, x[axis]); err != nil {
		return nil, err
	}
	return one(c.DType("x"), joinShapes(x[:axis], indices[batch:], x[axis+1:]))
}

func evalGather(c *Call) error {
	x := c.Tensor("x")
	axis, _ := c.Axis("axis", x.Rank())
	batch, _ := gatherBatch(c)
	s := x.Shape()
	c.Return(0, takeBlocks(c.halt, x, blockLayout{
		batch:  lengthOf(s[:batch]),
		before: lengthOf(s[batch:axis]),
		n:      s[axis],
		inner:  lengthOf(s[axis+1:]),
	}, positions(c, s[axis]), c.OutShape(0)))
	return nil
}

func inferGatherND(c *Call) ([]mil.Type, error) {
	x, indices := c.Shape("x"), c.Shape("indices")
	if len(indices) == 0 {
		return nil, errors.New("indices is a scalar, expected a last axis that holds index vectors")
	}
	batch, err := gatherBatch(c)
	if err != nil {
		return nil, err
	}
	if batch == len(indices) {
		return nil, fmt.Errorf("batch_dims is %d, but the last axis of indices, of rank %d, holds index vectors", batch, len(indices))
	}
	depth := indices[len(indices)-1]
	if !depth.Known() {
		return []mil.Type{&mil.TensorType{DType: c.DType("x"), AnyRank: true}}, nil
	}
	if int(depth) > len(x)-batch {
		return nil, fmt.Errorf("index vectors have length %d, expected at most %d: x has rank %d and %d batch axes",
			depth, len(x)-batch, len(x), batch)
	}
	end := batch + int(depth)
	if err := checkIndexVectors(c, x[batch:end]); err != nil {
		return nil, err
	}
	return one(c.DType("x"), joinShapes(indices[:len(indices)-1], x[end:]))
}

func evalGatherND(c *Call) error {
	x := c.Tensor("x")
	batch, _ := gatherBatch(c)
	s, indices := x.Shape(), c.Tensor("indices").Shape()
	end := batch + indices[len(indices)-1]
	if c.OutLen(0) == 0 { // of an empty x there may be any number of slices
		c.Return(0, tensor.New(x.DType(), c.OutShape(0)...))
		return nil
	}
	count := lengthOf(indices[:len(indices)-1])
	c.Return(0, takeBlocks(c.halt, x, blockLayout{
		batch:  lengthOf(s[:batch]),
		before: 1,
		n:      lengthOf(s[batch:end]),
		inner:  lengthOf(s[end:]),
	}, vectorPositions(c, s[batch:end], count), c.OutShape(0)))
	return nil
}

// blockLayout sees an array as [batch, before, n, inner], where positions on the third axis are chosen.
type blockLayout struct{ batch, before, n, inner int }

// takeBlocks makes an array [batch, before, m, inner] of which block (b, p, j) is block (b, p, at[b, j]) of x,
// or zeros if that is nowhere. It moves bytes: any element type of whole bytes will do.
func takeBlocks(h *halt, x *tensor.Tensor, l blockLayout, at []int, shape []int) *tensor.Tensor {
	out := tensor.New(x.DType(), shape...)
	if out.Len() == 0 {
		return out
	}
	m := len(at) / l.batch
	src, dst := x.Bytes(), out.Bytes()
	size := l.inner * x.DType().Size()
	h.For(l.batch*l.before*m, 1+moveGrain/size, func(lo, hi int) {
		for k := lo; k < hi; k++ {
			row := k / m // (b, p)
			from := at[row/l.before*m+k%m]
			if from != nowhere {
				copy(dst[k*size:(k+1)*size], src[(row*l.n+from)*size:])
			}
		}
	})
	return out
}

// moveGrain is how many bytes a processor should move at least, so that starting it pays.
const moveGrain = 1 << 16

func inferGatherAlongAxis(c *Call) ([]mil.Type, error) {
	axis, err := inferAlongAxis(c, "x")
	if err != nil {
		return nil, err
	}
	if err := checkIndices(c, c.Shape("x")[axis]); err != nil {
		return nil, err
	}
	shape := joinShapes(c.Shape("indices"))
	for i := range shape {
		if i != axis && !shape[i].Known() {
			shape[i] = c.Shape("x")[i]
		}
	}
	return one(c.DType("x"), shape)
}

// inferAlongAxis checks that indices have the shape of a parameter but on the axis, which it returns.
func inferAlongAxis(c *Call, data string) (int, error) {
	x, indices := c.Shape(data), c.Shape("indices")
	axis, err := c.Axis("axis", len(x))
	if err != nil {
		return 0, err
	}
	if len(indices) != len(x) {
		return 0, fmt.Errorf("indices has rank %d, expected %d, that of %s", len(indices), len(x), data)
	}
	want := joinShapes(x)
	want[axis] = indices[axis]
	return axis, mustMatch("indices", indices, want, fmt.Sprintf("that of %s but on axis %d", data, axis))
}

func evalGatherAlongAxis(c *Call) error {
	x := c.Tensor("x")
	axis, _ := c.Axis("axis", x.Rank())
	at := positions(c, x.Shape()[axis])
	switch x.DType().Size() {
	case 1:
		c.Return(0, takeElements[uint8](c.halt, x, axis, at, c.OutShape(0)))
	case 2:
		c.Return(0, takeElements[uint16](c.halt, x, axis, at, c.OutShape(0)))
	case 4:
		c.Return(0, takeElements[uint32](c.halt, x, axis, at, c.OutShape(0)))
	default:
		panic("bug: gather_along_axis of " + x.String())
	}
	return nil
}

// takeElements gathers elements as T, an unsigned integer of their size.
func takeElements[T tensor.Number](h *halt, x *tensor.Tensor, axis int, at []int, shape []int) *tensor.Tensor {
	src := tensor.Data[T](x)
	dst := make([]T, len(at))
	n, m, inner := x.Shape()[axis], shape[axis], lengthOf(shape[axis+1:])
	h.For(len(at), moveGrain, func(lo, hi int) {
		for k := lo; k < hi; k++ {
			if at[k] != nowhere {
				dst[k] = src[(k/(m*inner)*n+at[k])*inner+k%inner]
			}
		}
	})
	out, err := tensor.Of(dst, shape...).Alias(x.DType())
	if err != nil {
		panic("bug: " + err.Error())
	}
	return out
}
