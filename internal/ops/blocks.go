package ops

import (
	"fmt"

	"github.com/espalier-ane/espalier/tensor"
)

// blocking divides a tensor into equal blocks, each of which has parameters of its own: a scale, an offset, a
// lookup table. The blocks form a grid, whose shape is that of the parameters:
//
//	shape [4, 6], grid [2, 3]        a a b b c c
//	                                 a a b b c c
//	                                 d d e e f f
//	                                 d d e e f f
//
// Per-tensor parameters are a grid of ones, per-channel ones a grid of ones but for one axis.
type blocking struct {
	n     int
	shape []int // axes that can be walked as one are one
	grid  []int
}

// newBlocking checks that the grid divides the shape. what names the grid's owner in the message.
func newBlocking(shape, grid []int, what string) (*blocking, error) {
	if len(grid) != len(shape) {
		return nil, fmt.Errorf("%s has %d axes of blocks, expected %d as the data has", what, len(grid), len(shape))
	}
	n, ok := tensor.Count(shape)
	if !ok {
		return nil, fmt.Errorf("no tensor can have shape %v", tensor.ShapeOf(shape...))
	}
	b := &blocking{n: n, shape: []int{1}, grid: []int{1}}
	for i, d := range shape {
		g := grid[i]
		if g == 0 && d != 0 || g != 0 && d%g != 0 {
			return nil, fmt.Errorf("%s has length %d on axis %d, expected a divisor of the data's length %d", what, g, i, d)
		}
		last := len(b.shape) - 1
		switch {
		case g == 1, b.shape[last] == b.grid[last]: // the axis before has whole blocks here, or blocks of one
			b.shape[last] *= d
			b.grid[last] *= g
		default:
			b.shape = append(b.shape, d)
			b.grid = append(b.grid, g)
		}
	}
	return b, nil
}

// each calls f, on all processors, with ranges that cover all elements.
func (b *blocking) each(h *halt, f func(lo, hi int)) { h.For(b.n, elementGrain, f) }

// runs cuts a range of elements, in row-major order, where the block changes, and calls f with each piece and
// the number of its block.
func (b *blocking) runs(lo, hi int, f func(lo, hi, block int)) {
	last := len(b.shape) - 1
	length := b.shape[last]
	for lo < hi {
		row, col := lo/length, lo%length
		rowEnd := min(hi, (row+1)*length)
		size := length / b.grid[last]
		block := b.rowBlock(row)*b.grid[last] + col/size
		for end := lo - col%size + size; lo < rowEnd; end += size {
			f(lo, min(end, rowEnd), block)
			lo = min(end, rowEnd)
			block++
		}
	}
}

// rowBlock is the position in the grid, its last axis aside, of a run of the last axis.
func (b *blocking) rowBlock(row int) int {
	block, step := 0, 1
	for a := len(b.shape) - 2; a >= 0; a-- {
		at := row % b.shape[a]
		row /= b.shape[a]
		block += at / (b.shape[a] / b.grid[a]) * step
		step *= b.grid[a]
	}
	return block
}

// shiftScale is scale·(v - offset), with one scale and offset for all blocks or one for each.
type shiftScale struct{ scale, offset []float32 }

// apply changes the elements of one block.
func (s shiftScale) apply(vals []float32, block int) {
	scale, offset := ofBlock(s.scale, block), ofBlock(s.offset, block)
	for i, v := range vals {
		vals[i] = scale * (v - offset)
	}
}

// ofBlock picks a block's parameter; no parameters at all are zeros.
func ofBlock(params []float32, block int) float32 {
	switch len(params) {
	case 0:
		return 0
	case 1:
		return params[0]
	}
	return params[block]
}

// knownDims is the shape of an argument of which every length must be known, as constants have it.
func knownDims(c *Call, param string) ([]int, error) {
	dims, ok := c.Shape(param).Ints()
	if !ok {
		return nil, fmt.Errorf("parameter %s has unknown shape %v", param, c.Shape(param))
	}
	return dims, nil
}

// axisGrid is the grid of parameters along one axis: ones, but for the axis' length there.
func axisGrid(shape []int, axis int) []int {
	grid := make([]int, len(shape))
	for i := range grid {
		grid[i] = 1
	}
	grid[axis] = shape[axis]
	return grid
}
