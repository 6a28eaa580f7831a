package compiler

import (
	"math/bits"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// A constant has parts in whatever form it is stored. Each of what it is made of has one number, table or vector for a block of
// elements along the axis, and a part takes the blocks that are its own:
//
//	data    0 1 2 3 │ 4 5 6 7        uint4[8,1,1,1,1]
//	scale   a   b   │ c   d          fp16[4,1,1,1,1]: a block is 2 elements
//	table   A       │ B              fp16[2,1,1,1,1,16,1]: a block is 4
//
// So parts begin and end where blocks do. Of elements that a mask selects, a part has those that are stored between the ones
// before it and the ones behind.

// partOfConstant is a run of a constant along an axis, in the same form and, as far as bytes go, in the same memory; false if it
// has no such part.
func partOfConstant(c *anec.Constant, axis td.Axis, s span) (*anec.Constant, bool) {
	if c == nil || s.begin%blockOf(c, axis) != 0 || s.size%blockOf(c, axis) != 0 {
		return nil, false
	}
	part := *c
	part.Dims[axis] = s.size
	part.Source = anec.Source{}
	cut := cutter{axis: int(axis), span: s, of: c.Dims[axis], ok: true}
	part.Scale, part.Offset = cut.blocks(c.Scale), cut.blocks(c.Offset)
	if p := c.Palette; p != nil {
		table := *p
		table.Table, table.Scale, table.Offset = cut.blocks(p.Table), cut.blocks(p.Scale), cut.blocks(p.Offset)
		part.Palette = &table
	}
	if c.Mask == nil {
		part.Stored = cut.blocks(c.Stored)
	} else {
		part.Mask = cut.blocks(c.Mask)
		part.Stored = cut.selected(c)
	}
	return &part, cut.ok
}

// constantOf is a value as a constant: what it is, or what a layer decodes of plain constants; nil if it is neither.
func constantOf(v *anec.Value) *anec.Constant {
	if v.Const != nil || !segment.IsDecoded(v) || !v.Def.Epilogue.Empty() {
		return v.Const
	}
	c := &anec.Constant{DType: v.Type.DType, Dims: v.Type.Dims}
	for i, part := range v.Def.Bottoms {
		switch {
		case part == nil:
		case !part.Const.Plain() || i > 2: // tables and masks come as constants only
			return nil
		default:
			*[]**tensor.Tensor{&c.Stored, &c.Scale, &c.Offset}[i] = part.Const.Stored
		}
	}
	return c
}

// blockOf is how many elements along an axis every part of a constant has a multiple of.
func blockOf(c *anec.Constant, axis td.Axis) int {
	n := c.Dims[axis]
	block := 1
	meet := func(t *tensor.Tensor) {
		if t == nil || t.Rank() <= int(axis) || t.Shape()[axis] <= 1 {
			return
		}
		block = leastCommon(block, n/t.Shape()[axis])
	}
	meet(c.Scale)
	if c.Mask == nil {
		meet(c.Stored) // vectors of a table make it shorter
	}
	if p := c.Palette; p != nil {
		meet(p.Table)
		meet(p.Scale)
	}
	return block
}

func leastCommon(a, b int) int {
	x, y := a, b
	for y != 0 {
		x, y = y, x%y
	}
	return a / max(x, 1) * b
}

// A cutter takes runs of tensors along an axis that has so many elements where nothing is a block.
type cutter struct {
	axis int
	span
	of int
	ok bool // as long as every cut is possible
}

// blocks is what a tensor of blocks has for the span: all of it, where there is one for all.
func (c *cutter) blocks(t *tensor.Tensor) *tensor.Tensor {
	if t == nil || t.Shape()[c.axis] == 1 && c.of > 1 {
		return t
	}
	block := c.of / t.Shape()[c.axis]
	part, err := t.Slice(c.axis, c.begin/block, c.size/block, 1)
	c.ok = c.ok && err == nil
	return part
}

// selected is what is stored of the elements that a mask selects. They lie in the order of the elements, so that the axis must
// be the outermost that has any. There is no constant of which nothing is stored.
func (c *cutter) selected(of *anec.Constant) *tensor.Tensor {
	for _, n := range of.Dims[:c.axis] {
		c.ok = c.ok && n == 1
	}
	if p := of.Palette; p != nil {
		c.ok = c.ok && p.Table.Shape()[anec.NumAxes+1] == 1
	}
	if !c.ok {
		return nil
	}
	ones := func(begin, size int) int {
		run, err := of.Mask.Slice(c.axis, begin, size, 1)
		if c.ok = c.ok && err == nil; !c.ok {
			return 0
		}
		return countOnes(run)
	}
	before, own := ones(0, c.begin), ones(c.begin, c.size)
	c.ok = c.ok && own > 0
	if !c.ok {
		return nil
	}
	part, err := of.Stored.Slice(0, before, own, 1)
	c.ok = err == nil
	return part
}

// countOnes counts what a mask selects: of bytes, or of bits.
func countOnes(mask *tensor.Tensor) int {
	data, n := mask.Bytes(), 0
	if mask.DType() == tensor.Bool {
		for _, b := range data {
			n += int(min(b, 1))
		}
		return n
	}
	for _, b := range data {
		n += bits.OnesCount8(b)
	}
	if rest := mask.Len() % 8; rest != 0 { // bits behind the last element mean nothing
		n -= bits.OnesCount8(data[len(data)-1] >> rest)
	}
	return n
}
