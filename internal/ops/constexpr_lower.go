package ops

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// A constexpr operation becomes a constant that keeps the compressed form. Of several, one upon the other, the last
// one does, and takes in the ones before it, which need not be tensors that a layer could hold: the tables of a
// palette have two axes more than the weights.
//
//	table ── blockwise_shift_scale ──┐
//	indices ─────────────────────────┴ lut_to_dense        Palette{Table, Scale}
//
//	mask, indices, table ── lut_to_sparse ── sparse_blockwise_shift_scale ── sparse_to_dense     Mask, Palette, Scale

// weight is a compressed tensor: an anec.Constant in the axes of the model.
type weight struct {
	dtype  tensor.DType
	shape  []int          // decoded
	stored *tensor.Tensor // with a mask a vector
	mask   *tensor.Tensor

	table, tableScale, tableOffset *tensor.Tensor
	vectorAxis                     int

	scale, offset *tensor.Tensor
}

// plainWeight is a tensor that is stored as it is.
func plainWeight(t *tensor.Tensor) *weight {
	return &weight{dtype: t.DType(), shape: t.Shape(), stored: t}
}

func (w *weight) plain() bool {
	return w.mask == nil && w.table == nil && w.scale == nil && w.dtype == w.stored.DType()
}

// lowerConstexpr is the lowering of all constexpr operations with one result.
func lowerConstexpr(l *Lowering) error {
	w, err := weightOf(l.Op, 0)
	if err != nil {
		return err
	}
	c, err := w.constant()
	if err != nil {
		return err
	}
	l.Give(0, l.Constant(l.Name(), c))
	return nil
}

// weightOf is what an output of a constexpr operation, whose arguments have been checked, stands for.
func weightOf(op *mil.Operation, output int) (*weight, error) {
	switch op.Kind {
	case "constexpr_affine_dequantize":
		return affineWeight(op)
	case "constexpr_cast":
		return castWeight(op)
	case "constexpr_blockwise_shift_scale":
		return blockwiseWeight(op)
	case "constexpr_lut_to_dense":
		return paletteWeight(op)
	case "constexpr_lut_to_sparse":
		return sparsePaletteWeight(op, output)
	case "constexpr_sparse_blockwise_shift_scale":
		return sparseBlockwiseWeight(op, output)
	case "constexpr_sparse_to_dense":
		return sparseWeight(op)
	}
	return nil, noLayer("a weight is computed by %s", op.Kind)
}

// weightArg is a weight that is an argument; nil if it is left out.
func weightArg(op *mil.Operation, param string) (*weight, error) {
	var k *mil.Constant
	if given := op.Input(param); len(given) == 0 {
		k = op.Attributes.Get(param)
	} else if v := given[0].Value; v == nil {
		k = given[0].Const
	} else if k = v.Const(); k == nil {
		if v.Def == nil {
			return nil, noLayer("parameter %s, %q, is no constant", param, v.Name)
		}
		return weightOf(v.Def, slices.Index(v.Def.Outputs, v))
	}
	if k == nil {
		return nil, nil
	}
	t, err := k.Load()
	if err != nil {
		return nil, fmt.Errorf("parameter %s: %w", param, err)
	}
	return plainWeight(t), nil
}

// plainArg is an argument that is stored as it is; nil if it is left out.
func plainArg(op *mil.Operation, param string) (*tensor.Tensor, error) {
	w, err := weightArg(op, param)
	if err != nil || w == nil {
		return nil, err
	}
	if !w.plain() {
		return nil, noLayer("%s of %s is compressed", param, op.Kind)
	}
	return w.stored, nil
}

// plainArgs are arguments that are stored as they are.
func plainArgs(op *mil.Operation, params ...string) ([]*tensor.Tensor, error) {
	out := make([]*tensor.Tensor, len(params))
	for i, param := range params {
		var err error
		if out[i], err = plainArg(op, param); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func castWeight(op *mil.Operation) (*weight, error) {
	t, err := plainArg(op, "source_val")
	if err != nil {
		return nil, err
	}
	w := plainWeight(t)
	w.dtype = tensor.Float32
	return w, nil
}

// affineWeight has one scale and one zero point, or one for each place of an axis.
func affineWeight(op *mil.Operation) (*weight, error) {
	t, err := plainArgs(op, "quantized_data", "scale", "zero_point", "axis")
	if err != nil {
		return nil, err
	}
	w := plainWeight(t[0])
	axis, err := normAxis("axis", int(t[3].Int64s()[0]), len(w.shape))
	if err != nil {
		return nil, err
	}
	w.dtype = t[1].DType()
	grid := slices.Repeat([]int{1}, len(w.shape))
	grid[axis] = max(t[1].Len(), t[2].Len())
	if w.scale, err = onGrid(t[1], grid); err != nil {
		return nil, err
	}
	w.offset, err = onGrid(t[2], grid)
	return w, err
}

// onGrid gives a number, or a vector of them, the shape of a grid.
func onGrid(t *tensor.Tensor, grid []int) (*tensor.Tensor, error) {
	if n, _ := tensor.Count(grid); t.Len() == n {
		return t.Reshape(grid...)
	}
	one, err := t.Reshape()
	if err != nil {
		return nil, err
	}
	if one, err = one.BroadcastTo(grid...); err != nil {
		return nil, err
	}
	return one.Dense(), nil
}

func blockwiseWeight(op *mil.Operation) (*weight, error) {
	w, err := weightArg(op, "data")
	if err != nil {
		return nil, err
	}
	return w.scaled(op)
}

// scaled is the weight with the scale and the offset of an operation.
func (w *weight) scaled(op *mil.Operation) (*weight, error) {
	t, err := plainArgs(op, "scale", "offset")
	if err != nil {
		return nil, err
	}
	if w.scale != nil || w.tableScale != nil {
		return nil, noLayer("a weight with a scale upon a scale")
	}
	if w.mask != nil && t[1] != nil && op.Kind == "constexpr_blockwise_shift_scale" {
		return nil, noLayer("a weight whose zeros are not stored, and to which an offset is added")
	}
	out := *w
	out.dtype, out.scale, out.offset = t[0].DType(), t[0], t[1]
	return &out, nil
}

// paletteWeight is indices into tables. Up to iOS16 they are a stream of bytes beside a shape.
func paletteWeight(op *mil.Operation) (*weight, error) {
	indices, err := plainArg(op, "indices")
	if err != nil {
		return nil, err
	}
	shape, flat, err := flatDims(op)
	if err != nil {
		return nil, err
	}
	w := plainWeight(indices)
	if !flat {
		return w.looked(op)
	}
	lut, err := plainArg(op, "lut")
	if err != nil {
		return nil, err
	}
	if w.stored, err = tensor.FromBytes(flatIndexTypes[lut.Len()], shape, indices.Bytes()); err != nil {
		return nil, err
	}
	w.dtype, w.shape = lut.DType(), shape
	w.table, err = lut.Reshape(append(slices.Repeat([]int{1}, len(shape)), lut.Len(), 1)...)
	return w, err
}

// flatIndexTypes are the element types of indices in a stream of bytes, by the entries of their table.
var flatIndexTypes = map[int]tensor.DType{
	2: tensor.UInt1, 4: tensor.UInt2, 16: tensor.UInt4, 64: tensor.UInt6, 256: tensor.UInt8,
}

// flatDims is the shape beside a stream of bytes; false if the operation has none, and takes tensors.
func flatDims(op *mil.Operation) (shape []int, flat bool, err error) {
	t, err := plainArg(op, "shape")
	if err != nil || t == nil {
		return nil, false, err
	}
	for _, n := range t.Int64s() {
		shape = append(shape, int(n))
	}
	return shape, true, nil
}

// looked is the weight, of which the elements are indices, with the tables of an operation.
func (w *weight) looked(op *mil.Operation) (*weight, error) {
	lut, err := weightArg(op, "lut")
	if err != nil {
		return nil, err
	}
	if lut.mask != nil || lut.table != nil {
		return nil, noLayer("a palette whose entries are sparse, or in a palette themselves")
	}
	out := *w
	out.dtype, out.shape = lut.dtype, slices.Clone(w.shape)
	out.table, out.tableScale, out.tableOffset = lut.stored, lut.scale, lut.offset
	vector := lut.shape[len(lut.shape)-1]
	if vector == 1 {
		return &out, nil
	}
	if w.mask != nil {
		return nil, noLayer("a sparse weight with a palette of vectors")
	}
	axis, err := plainArg(op, "vector_axis")
	if err != nil {
		return nil, err
	}
	if out.vectorAxis, err = normAxis("vector_axis", int(axis.Int64s()[0]), len(w.shape)); err != nil {
		return nil, err
	}
	out.shape[out.vectorAxis] *= vector
	return &out, nil
}

// sparseWeight is stored elements and a mask. The elements may be what another operation made of them for the same
// mask.
func sparseWeight(op *mil.Operation) (*weight, error) {
	shape, flat, err := flatDims(op)
	if err != nil {
		return nil, err
	}
	if !flat {
		return maskedArg(op, "mask", "nonzero_data")
	}
	t, err := plainArgs(op, "nonzero_data", "mask")
	if err != nil {
		return nil, err
	}
	mask, err := tensor.FromBytes(tensor.UInt1, shape, t[1].Bytes())
	return &weight{dtype: t[0].DType(), shape: shape, stored: t[0], mask: mask}, err
}

// maskedArg is a weight of a mask and stored elements.
func maskedArg(op *mil.Operation, mask, stored string) (*weight, error) {
	m, err := plainArg(op, mask)
	if err != nil {
		return nil, err
	}
	w, err := weightArg(op, stored)
	if err != nil {
		return nil, err
	}
	if w.mask != nil {
		if !slices.Equal(w.mask.Shape(), m.Shape()) || !bytes.Equal(w.mask.Bytes(), m.Bytes()) {
			return nil, noLayer("%s of %s is for another mask", stored, op.Kind)
		}
		return w, nil
	}
	if w.table != nil || w.scale != nil {
		return nil, noLayer("%s of %s is compressed without regard to its mask", stored, op.Kind)
	}
	out := *w
	out.mask, out.shape = m, m.Shape()
	return &out, nil
}

// sparsePaletteWeight and sparseBlockwiseWeight have two outputs: the mask, and the stored elements, for which the
// whole weight stands here.
func sparsePaletteWeight(op *mil.Operation, output int) (*weight, error) {
	w, err := maskedArg(op, "indices_mask", "indices_nonzero_data")
	if err != nil {
		return nil, err
	}
	if w, err = w.looked(op); err != nil || output != 0 {
		return w, err
	}
	return plainWeight(w.mask), nil
}

func sparseBlockwiseWeight(op *mil.Operation, output int) (*weight, error) {
	w, err := maskedArg(op, "data_mask", "nonzero_data")
	if err != nil {
		return nil, err
	}
	if w, err = w.scaled(op); err != nil || output != 0 {
		return w, err
	}
	return plainWeight(w.mask), nil
}

// constant lays the weight out on the axes of a layer.
func (w *weight) constant() (*anec.Constant, error) {
	dims, err := anec.DimsOf(w.shape)
	if err != nil {
		return nil, noLayer("%s", err.Error())
	}
	c := &anec.Constant{DType: w.dtype, Dims: dims, Stored: w.stored}
	rank := len(w.shape)
	if w.table != nil {
		c.Palette = &anec.Palette{Table: w.table, Scale: w.tableScale, Offset: w.tableOffset}
		if rank > 0 {
			c.Palette.VectorAxis = anec.AxisOf(rank, w.vectorAxis)
		}
		for _, t := range []**tensor.Tensor{&c.Palette.Table, &c.Palette.Scale, &c.Palette.Offset} {
			if err := layOut(t, rank); err != nil {
				return nil, err
			}
		}
	}
	c.Mask, c.Scale, c.Offset = w.mask, w.scale, w.offset
	parts := []**tensor.Tensor{&c.Mask, &c.Scale, &c.Offset}
	if w.mask == nil {
		parts = append(parts, &c.Stored)
	}
	for _, t := range parts {
		if err := layOut(t, rank); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// layOut gives a tensor, if it is there, the axes of a layer in place of its first ones, those of the model; the
// axes after them stay.
func layOut(t **tensor.Tensor, rank int) error {
	if *t == nil {
		return nil
	}
	shape := (*t).Shape()
	dims, err := anec.DimsOf(shape[:rank])
	if err != nil {
		return err
	}
	*t, err = (*t).Reshape(append(dims[:], shape[rank:]...)...)
	return err
}
