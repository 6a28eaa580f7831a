package ops

import (
	"fmt"
	"slices"

	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// The operations here move elements between the two spatial axes of an [N, C, H, W] tensor and its channels
// or its batch, in blocks. Each is a reshape to six axes, a transposition and a reshape back:
//
//	spread    one axis is cut into rows of a block, columns of a block and the rest; H and W grow
//	gather    H and W are cut into blocks and the places in a block; channels or batch grow
//
// They differ in where the six axes go.

// blockMove is an operation that turns channels into space or back.
type blockMove struct {
	name, doc string
	since     Opset
	factor    string // the parameter that gives the block's side
	types     TypeSet
	spread    bool
	// blockFirst says that the place in a block is the outer part of a channel's number, as in TensorFlow;
	// otherwise it is the inner part, as in PyTorch.
	blockFirst bool
}

var blockMoves = []blockMove{
	{name: "depth_to_space", doc: "channels moved into blocks of space; the place in a block is the outer part of a channel's number",
		factor: "block_size", types: I32, spread: true, blockFirst: true},
	{name: "space_to_depth", doc: "blocks of space moved into channels; the place in a block is the outer part of a channel's number",
		factor: "block_size", types: I32, blockFirst: true},
	{name: "pixel_shuffle", doc: "channels moved into blocks of space; the place in a block is the inner part of a channel's number",
		factor: "upscale_factor", types: I32, spread: true},
	{name: "pixel_unshuffle", doc: "blocks of space moved into channels; the place in a block is the inner part of a channel's number",
		since: IOS16, factor: "downscale_factor", types: U32},
}

var spaceBlockOps = append(blockMoveDefs(),
	Def{
		Name: "batch_to_space",
		Doc:  "the batch moved into blocks of space, then the edges of space cropped",
		Versions: since(IOS15,
			In("x", Float).As("T"), Const("block_shape", I32), Const("crops", I32)),
		Infer: inferBatchToSpace,
		Eval:  evalBatchToSpace,
		Lower: lowerBatchToSpace,
	},
	Def{
		Name: "space_to_batch",
		Doc:  "space padded by zeros, then blocks of it moved into the batch",
		Versions: since(IOS15,
			In("x", Float).As("T"), Const("block_shape", I32), Const("paddings", I32)),
		Infer: inferSpaceToBatch,
		Eval:  evalSpaceToBatch,
		Lower: lowerSpaceToBatch,
	},
)

func blockMoveDefs() []Def {
	var defs []Def
	for _, m := range blockMoves {
		defs = append(defs, Def{
			Name:     m.name,
			Doc:      m.doc,
			Versions: since(m.since, In("x", Float).As("T"), Const(m.factor, m.types)),
			Infer:    m.infer,
			Eval:     m.eval,
			Lower:    m.lower,
		})
	}
	return defs
}

// spreadShape is the shape of an [N, C, H, W] tensor after axis has been cut by blocks into which H and W grow.
func spreadShape(x tensor.Shape, axis, blockH, blockW int) (tensor.Shape, error) {
	out := slices.Clone(x)
	area, err := productOf(tensor.Dim(blockH), tensor.Dim(blockW))
	if err != nil {
		return nil, err
	}
	var ok bool
	if out[axis], ok = quotient(x[axis], int(area)); !ok {
		return nil, fmt.Errorf("axis %d of x, of length %v, cannot be cut into blocks of %d by %d", axis, x[axis], blockH, blockW)
	}
	if out[2], err = productOf(x[2], tensor.Dim(blockH)); err != nil {
		return nil, err
	}
	out[3], err = productOf(x[3], tensor.Dim(blockW))
	return out, err
}

// gatherShape is the shape of an [N, C, H, W] tensor after H and W have been cut into blocks by which axis grows.
func gatherShape(x tensor.Shape, axis, blockH, blockW int) (tensor.Shape, error) {
	out := slices.Clone(x)
	var err error
	if out[axis], err = productOf(x[axis], tensor.Dim(blockH), tensor.Dim(blockW)); err != nil {
		return nil, err
	}
	for i, block := range []int{blockH, blockW} {
		var ok bool
		if out[2+i], ok = quotient(x[2+i], block); !ok {
			return nil, fmt.Errorf("axis %d, of length %v, cannot be cut into blocks of %d", 2+i, x[2+i], block)
		}
	}
	return out, nil
}

// rearrange reshapes, transposes and reshapes.
func rearrange(h *halt, x *tensor.Tensor, apart, perm, out []int) (*tensor.Tensor, error) {
	x, err := x.Reshape(apart...)
	if err != nil {
		return nil, err
	}
	if x, err = x.Transpose(perm...); err != nil {
		return nil, err
	}
	if x, err = h.dense(x); err != nil {
		return nil, err
	}
	return x.Reshape(out...)
}

func checkRank4(c *Call) error {
	if r := c.Rank("x"); r != 4 {
		return fmt.Errorf("x has rank %d, expected 4: batch, channels, height, width", r)
	}
	return nil
}

func (m blockMove) infer(c *Call) ([]mil.Type, error) {
	if err := checkRank4(c); err != nil {
		return nil, err
	}
	f := c.Int(m.factor)
	if f < 1 {
		return nil, fmt.Errorf("%s is %d, expected 1 or more", m.factor, f)
	}
	shape := gatherShape
	if m.spread {
		shape = spreadShape
	}
	out, err := shape(c.Shape("x"), 1, f, f)
	if err != nil {
		return nil, err
	}
	return one(c.DType("x"), out)
}

func (m blockMove) eval(c *Call) error {
	x, out, f := c.Tensor("x"), c.OutShape(0), c.Int(m.factor)
	in := x.Shape()
	var apart, perm []int
	switch {
	case m.spread && m.blockFirst: // N (i j C') H W → N C' H i W j
		apart, perm = []int{in[0], f, f, out[1], in[2], in[3]}, []int{0, 3, 4, 1, 5, 2}
	case m.spread: // N (C' i j) H W → N C' H i W j
		apart, perm = []int{in[0], out[1], f, f, in[2], in[3]}, []int{0, 1, 4, 2, 5, 3}
	case m.blockFirst: // N C (H' i) (W' j) → N i j C H' W'
		apart, perm = []int{in[0], in[1], out[2], f, out[3], f}, []int{0, 3, 5, 1, 2, 4}
	default: // N C (H' i) (W' j) → N C i j H' W'
		apart, perm = []int{in[0], in[1], out[2], f, out[3], f}, []int{0, 1, 3, 5, 2, 4}
	}
	y, err := rearrange(c.halt, x, apart, perm, out)
	if err != nil {
		return err
	}
	c.Return(0, y)
	return nil
}

// blockAndEdges reads the sides of a block, and four lengths: before and after H, before and after W.
func blockAndEdges(c *Call, edgesName string) (block, edges []int, err error) {
	if err := checkRank4(c); err != nil {
		return nil, nil, err
	}
	block, edges = c.Ints("block_shape"), c.Ints(edgesName)
	if len(block) != 2 || block[0] < 1 || block[1] < 1 {
		return nil, nil, fmt.Errorf("block_shape is %v, expected two lengths of 1 or more", block)
	}
	if s := c.Shape(edgesName); !s.Compatible(tensor.ShapeOf(2, 2)) || len(edges) != 4 {
		return nil, nil, fmt.Errorf("%s has shape %v, expected [2, 2]", edgesName, s)
	}
	if slices.Min(edges) < 0 {
		return nil, nil, fmt.Errorf("%s %v has a negative length", edgesName, edges)
	}
	return block, edges, nil
}

func inferBatchToSpace(c *Call) ([]mil.Type, error) {
	block, crops, err := blockAndEdges(c, "crops")
	if err != nil {
		return nil, err
	}
	out, err := spreadShape(c.Shape("x"), 0, block[0], block[1])
	if err != nil {
		return nil, err
	}
	for i, n := range out[2:] {
		crop := tensor.Dim(crops[2*i] + crops[2*i+1])
		switch {
		case n.Known() && crop > n:
			return nil, fmt.Errorf("crops %v take %v from axis %d, which has length %v", crops, crop, 2+i, n)
		case n.Known():
			out[2+i] = n - crop
		case crop != 0:
			out[2+i] = tensor.Unknown
		}
	}
	return one(c.DType("x"), out)
}

func evalBatchToSpace(c *Call) error {
	block, crops, err := blockAndEdges(c, "crops")
	if err != nil {
		return err
	}
	x, out := c.Tensor("x"), c.OutShape(0)
	in := x.Shape()
	// (i j N') C H W → N' C H i W j
	y, err := rearrange(c.halt, x, []int{block[0], block[1], out[0], in[1], in[2], in[3]}, []int{2, 3, 4, 0, 5, 1},
		[]int{out[0], in[1], in[2] * block[0], in[3] * block[1]})
	if err != nil {
		return err
	}
	for i := range 2 {
		if y, err = y.Slice(2+i, crops[2*i], out[2+i], 1); err != nil {
			return err
		}
	}
	c.Return(0, y)
	return nil
}

func inferSpaceToBatch(c *Call) ([]mil.Type, error) {
	block, pads, err := blockAndEdges(c, "paddings")
	if err != nil {
		return nil, err
	}
	padded := slices.Clone(c.Shape("x"))
	for i := range 2 {
		if padded[2+i], err = addLength(padded[2+i], pads[2*i]+pads[2*i+1]); err != nil {
			return nil, err
		}
	}
	out, err := gatherShape(padded, 0, block[0], block[1])
	if err != nil {
		return nil, err
	}
	return one(c.DType("x"), out)
}

func evalSpaceToBatch(c *Call) error {
	block, pads, err := blockAndEdges(c, "paddings")
	if err != nil {
		return err
	}
	x, err := padConstant(c.halt, c.Tensor("x"), tensor.Scalar(float32(0)), append(make([]int, 4), pads...))
	if err != nil {
		return err
	}
	in, out := x.Shape(), c.OutShape(0)
	// N C (H' i) (W' j) → i j N C H' W'
	y, err := rearrange(c.halt, x, []int{in[0], in[1], out[2], block[0], out[3], block[1]}, []int{3, 5, 0, 1, 2, 4}, out)
	if err != nil {
		return err
	}
	c.Return(0, y)
	return nil
}
