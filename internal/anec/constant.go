package anec

import (
	"fmt"
	"slices"

	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// A Constant is a tensor that is known. It keeps the form in which the model
// stores it, so that compressed weights stay compressed down to the engine; its
// memory may be a mapped file and is never written.
//
// An element is decoded in this order, where each step may be missing:
//
//	Stored    the stored elements: all, or with a Mask those it selects; the
//	          others are zero at the end
//	Palette   a stored element is an index into a table
//	Scale     (x - Offset) * Scale, in blocks
//	DType     rounded to the element type
type Constant struct {
	DType tensor.DType // of the elements, decoded
	Dims  Dims

	// Stored has the extents of Dims, less what the vectors of a palette cover.
	// With a mask it has one axis.
	Stored *tensor.Tensor

	Mask    *tensor.Tensor // bool or uint1, of the extents of Dims
	Palette *Palette

	// Scale and Offset have five axes. Each extent divides that of Dims: one
	// number is for a block of elements. Offset may be missing.
	Scale, Offset *tensor.Tensor

	// Source is where the bytes come from, if from a file; for diagnostics and
	// for weights that are stored once.
	Source Source

	// Mutable says that the elements may be others when the program runs. Passes may move them, and must not compute with them.
	Mutable bool
}

// A Source is a place in a weight file.
type Source struct {
	File   string
	Offset int64
}

// A Palette is a set of lookup tables.
type Palette struct {
	// Table has seven axes: five that say for which block of elements a table
	// is, as in Constant.Scale; the entries; the elements of an entry, which lie
	// side by side along VectorAxis.
	Table      *tensor.Tensor
	VectorAxis td.Axis

	// Scale and Offset decode a table that is itself quantized, in blocks of its
	// seven axes. They may be missing.
	Scale, Offset *tensor.Tensor
}

// ConstantOf returns a constant of plain elements, which has five axes.
func ConstantOf(t *tensor.Tensor) *Constant {
	if t.Rank() != NumAxes {
		panic(fmt.Sprintf("bug: a constant of rank %d", t.Rank()))
	}
	return &Constant{DType: t.DType(), Dims: Dims(t.Shape()), Stored: t}
}

// Plain reports whether the stored elements are the elements.
func (c *Constant) Plain() bool {
	return c.Mask == nil && c.Palette == nil && c.Scale == nil && c.Stored.DType() == c.DType
}

// Scalar returns the element of a plain constant that has one, and will not have another.
func (c *Constant) Scalar() (float64, bool) {
	if !c.Plain() || c.Stored.Len() != 1 || c.Mutable {
		return 0, false
	}
	return c.Stored.Float64s()[0], true
}

// StoredBytes returns the bytes of all parts.
func (c *Constant) StoredBytes() int {
	total := 0
	for _, p := range c.parts() {
		if p.tensor != nil {
			n, _ := p.tensor.DType().ByteLen(p.tensor.Len())
			total += n
		}
	}
	return total
}

// A part is a tensor of a constant with the name that it has in text.
type part struct {
	name   string
	tensor *tensor.Tensor
}

// parts returns all parts in the order of the text; those that are missing are
// nil.
func (c *Constant) parts() []part {
	p := c.Palette
	if p == nil {
		p = &Palette{}
	}
	return []part{
		{"data", c.Stored}, {"mask", c.Mask},
		{"table", p.Table}, {"table_scale", p.Scale}, {"table_offset", p.Offset},
		{"scale", c.Scale}, {"offset", c.Offset},
	}
}

// check holds the parts to each other and returns the type.
func (c *Constant) check() (Type, error) {
	t := Type{DType: c.DType, Dims: c.Dims, Interleave: 1}
	if err := t.check(); err != nil {
		return t, err
	}
	if c.Stored == nil {
		return t, fmt.Errorf("no elements")
	}
	for _, p := range c.parts() {
		if p.tensor == nil {
			continue
		}
		if _, ok := td.ElementCode(p.tensor.DType()); !ok {
			return t, fmt.Errorf("%s is of %v, which no task can hold", p.name, p.tensor.DType())
		}
	}
	want := c.Dims
	if c.Palette != nil {
		vector, err := c.Palette.check(c.Dims)
		if err != nil {
			return t, err
		}
		if !c.Stored.DType().IsInteger() {
			return t, fmt.Errorf("indices into a table are %v, want integers", c.Stored.DType())
		}
		want[c.Palette.VectorAxis] /= vector
	}
	switch {
	case c.Mask != nil:
		if d := c.Mask.DType(); d != tensor.Bool && d != tensor.UInt1 {
			return t, fmt.Errorf("mask is of %v, want bool or uint1", d)
		}
		if !slices.Equal(c.Mask.Shape(), c.Dims[:]) {
			return t, fmt.Errorf("mask has extents %v, the constant %v", c.Mask.Shape(), c.Dims)
		}
		if c.Stored.Rank() != 1 || c.Stored.Len() > c.Mask.Len() {
			return t, fmt.Errorf("a mask over %d elements does not go with stored extents %v", c.Mask.Len(), c.Stored.Shape())
		}
	case !slices.Equal(c.Stored.Shape(), want[:]):
		return t, fmt.Errorf("stored extents %v, want %v", c.Stored.Shape(), want)
	}
	return t, checkScale("scale", c.Scale, c.Offset, c.Dims[:])
}

func (p *Palette) check(dims Dims) (vector int, err error) {
	const entries, elements = NumAxes, NumAxes + 1
	if p.Table == nil || p.Table.Rank() != elements+1 {
		return 0, fmt.Errorf("a palette's table has %d axes, no others", elements+1)
	}
	shape := p.Table.Shape()
	if err := blocks("table", shape[:NumAxes], dims[:]); err != nil {
		return 0, err
	}
	vector = shape[elements]
	switch {
	case p.VectorAxis >= NumAxes:
		return 0, fmt.Errorf("vectors lie along %v, want one of N, D, C, H, W", p.VectorAxis)
	case shape[entries] < 1 || vector < 1 || dims[p.VectorAxis]%vector != 0:
		return 0, fmt.Errorf("tables of %d entries of %d elements do not fit %d along %v", shape[entries], vector, dims[p.VectorAxis], p.VectorAxis)
	}
	return vector, checkScale("table_scale", p.Scale, p.Offset, shape)
}

func checkScale(name string, scale, offset *tensor.Tensor, dims []int) error {
	if scale == nil {
		if offset != nil {
			return fmt.Errorf("an offset without a %s", name)
		}
		return nil
	}
	if offset != nil && !slices.Equal(scale.Shape(), offset.Shape()) {
		return fmt.Errorf("%s has extents %v, its offset %v", name, scale.Shape(), offset.Shape())
	}
	return blocks(name, scale.Shape(), dims)
}

// blocks holds the extents of a part that has one number for each block to the
// extents of the whole.
func blocks(name string, part, whole []int) error {
	ok := len(part) == len(whole)
	for i := 0; ok && i < len(part); i++ {
		ok = part[i] > 0 && whole[i]%part[i] == 0
	}
	if !ok {
		return fmt.Errorf("%s has extents %v, which do not divide %v", name, part, whole)
	}
	return nil
}
