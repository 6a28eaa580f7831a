package ops

import (
	"fmt"

	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// palette is the lookup tables of a tensor of indices: a table for each block, whose entries are vectors that lie
// along one axis of the result. Entry e of block b is the vector lut[b, e, :].
//
//	indices [2, 3]   a b c      vector axis 0, size 2   a₀ b₀ c₀
//	                 d e f                              a₁ b₁ c₁
//	                                                    d₀ e₀ f₀
//	                                                    d₁ e₁ f₁
type palette struct {
	blocks  *blocking
	entries int
	vector  int   // elements of an entry
	inner   int   // indices in a run beyond the vector axis: 3 in the picture
	shape   []int // of the result
}

// newPalette checks a lookup table against the shape and the width of its indices.
func newPalette(c *Call, indices []int, width int) (*palette, error) {
	lut, err := knownDims(c, "lut")
	if err != nil {
		return nil, err
	}
	rank := len(indices)
	if rank == 0 {
		return nil, fmt.Errorf("the indices are a scalar, expected rank 1 or more")
	}
	if len(lut) != rank+2 {
		return nil, fmt.Errorf("lut has rank %d, expected %d: one axis of blocks for each of the %d axes of the indices, entries and vector",
			len(lut), rank+2, rank)
	}
	p := &palette{entries: lut[rank], vector: lut[rank+1], shape: append([]int(nil), indices...)}
	if p.entries != 1<<width {
		return nil, fmt.Errorf("lut has %d entries, but indices of %d bits need %d", p.entries, width, 1<<width)
	}
	if p.blocks, err = newBlocking(indices, lut[:rank], "lut"); err != nil {
		return nil, err
	}
	p.inner = max(1, p.blocks.n) // without vectors the result is one run
	axis := 0
	switch {
	case c.Has("vector_axis") && len(c.Shape("vector_axis")) > 0:
		return nil, fmt.Errorf("vector_axis has shape %v, expected a scalar", c.Shape("vector_axis"))
	case c.Has("vector_axis"):
		if axis, err = c.Axis("vector_axis", rank); err != nil {
			return nil, err
		}
	case p.vector != 1:
		return nil, fmt.Errorf("lut has vectors of %d elements, but there is no vector_axis", p.vector)
	}
	if p.vector == 1 {
		return p, nil
	}
	if p.vector == 0 {
		return nil, fmt.Errorf("lut has vectors of no elements")
	}
	p.inner = 1
	for _, d := range indices[axis+1:] {
		p.inner *= d
	}
	p.shape[axis] *= p.vector
	if _, ok := tensor.Count([]int{p.blocks.n, p.vector}); !ok {
		return nil, fmt.Errorf("no tensor can hold %v indices of vectors of %d elements", tensor.ShapeOf(indices...), p.vector)
	}
	return p, nil
}

func inferPalette(c *Call) ([]mil.Type, error) {
	p, err := densePalette(c)
	if err != nil {
		return nil, err
	}
	return one(c.DType("lut"), tensor.ShapeOf(p.shape...))
}

func densePalette(c *Call) (*palette, error) {
	indices, err := knownDims(c, "indices")
	if err != nil {
		return nil, err
	}
	return newPalette(c, indices, c.DType("indices").Bits())
}

func evalPalette(c *Call) error {
	p, err := densePalette(c)
	if err != nil {
		return err
	}
	return p.returnDense(c, codesOf(c.Tensor("indices")))
}

// returnDense looks up every index. Integer tables stay integers: they may be quantized entries.
func (p *palette) returnDense(c *Call, indices codes) error {
	lut := c.Tensor("lut")
	if lut.DType().IsFloat() {
		c.ReturnFloats(0, lookUp(c.halt, p, indices, lut.Float32s()))
		return nil
	}
	t, err := fromCodes(c.halt, lut.DType(), lookUp(c.halt, p, indices, tensor.Data[uint8](lut)), p.shape)
	c.Return(0, t)
	return err
}

func lookUp[T any](h *halt, p *palette, indices codes, lut []T) []T {
	out := make([]T, p.blocks.n*p.vector)
	p.blocks.each(h, func(lo, hi int) {
		part := make([]uint8, hi-lo)
		indices.unpack(part, lo)
		p.blocks.runs(lo, hi, func(a, b, block int) {
			table := lut[block*p.entries*p.vector:][:p.entries*p.vector]
			if p.vector == 1 {
				for i, e := range part[a-lo : b-lo] {
					out[a+i] = table[e]
				}
				return
			}
			for i, e := range part[a-lo : b-lo] {
				row, col := (a+i)/p.inner, (a+i)%p.inner
				for v, val := range table[int(e)*p.vector:][:p.vector] {
					out[(row*p.vector+v)*p.inner+col] = val
				}
			}
		})
	})
	return out
}

// flatPaletteBits are the widths of index that iOS16 has, by the number of entries.
var flatPaletteBits = map[int]int{2: 1, 4: 2, 16: 4, 64: 6, 256: 8}

func inferFlatPalette(c *Call) ([]mil.Type, error) {
	p, _, err := flatPalette(c)
	if err != nil {
		return nil, err
	}
	return one(c.DType("lut"), tensor.ShapeOf(p.shape...))
}

func flatPalette(c *Call) (*palette, int, error) {
	shape, n, err := flatShape(c)
	if err != nil {
		return nil, 0, err
	}
	lut, err := knownDims(c, "lut")
	if err != nil {
		return nil, 0, err
	}
	if len(lut) != 1 || flatPaletteBits[lut[0]] == 0 {
		return nil, 0, fmt.Errorf("lut has shape %v, expected a vector of 2, 4, 16, 64 or 256 entries", c.Shape("lut"))
	}
	width := flatPaletteBits[lut[0]]
	if err := checkFlat(c, "indices", n, width); err != nil {
		return nil, 0, err
	}
	blocks, err := newBlocking([]int{n}, []int{1}, "lut")
	return &palette{blocks: blocks, entries: lut[0], vector: 1, inner: max(1, n), shape: shape}, width, err
}

func evalFlatPalette(c *Call) error {
	p, width, err := flatPalette(c)
	if err != nil {
		return err
	}
	return p.returnDense(c, codes{c.Tensor("indices").Bytes(), width})
}

// flatShape reads the shape that goes with a flat stream of bytes.
func flatShape(c *Call) (shape []int, n int, err error) {
	if c.Rank("shape") != 1 {
		return nil, 0, fmt.Errorf("parameter shape is %v, expected a vector", c.Type("shape"))
	}
	shape = c.Ints("shape")
	n, ok := tensor.Count(shape)
	if !ok {
		return nil, 0, fmt.Errorf("no tensor can have shape %v", tensor.ShapeOf(shape...))
	}
	return shape, n, nil
}

// checkFlat checks the length of a flat stream of n elements of width bits.
func checkFlat(c *Call, param string, n, width int) error {
	if want := tensor.Dim((n*width + 7) / 8); c.Rank(param) != 1 || c.Shape(param)[0] != want {
		return fmt.Errorf("parameter %s has shape %v, expected [%v]: %d elements of %d bits", param, c.Shape(param), want, n, width)
	}
	return nil
}
