package ops

import (
	"fmt"

	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// A sparse tensor is a mask, a bit for each element, and the elements whose bits are set, in row-major order.

// checkSparse checks a mask of n bits against the number of stored elements. Verification may not have the mask.
func checkSparse(c *Call, mask, stored string, n int) error {
	if c.Rank(stored) != 1 {
		return fmt.Errorf("parameter %s has shape %v, expected a vector", stored, c.Shape(stored))
	}
	if !c.Known(mask) {
		return nil
	}
	set := countBits(c.Tensor(mask).Bytes(), 0, n)
	if d := c.Shape(stored)[0]; d != tensor.Dim(set) {
		return fmt.Errorf("%s has %d bits set, but %s has %v elements", mask, set, stored, d)
	}
	return nil
}

// maskShape is the shape of a mask, and its number of bits.
func maskShape(c *Call, mask, stored string) (shape []int, n int, err error) {
	if shape, err = knownDims(c, mask); err != nil {
		return nil, 0, err
	}
	n, ok := tensor.Count(shape)
	if !ok {
		return nil, 0, fmt.Errorf("no tensor can have shape %v", c.Shape(mask))
	}
	return shape, n, checkSparse(c, mask, stored, n)
}

func inferSparse(c *Call) ([]mil.Type, error) {
	if _, _, err := maskShape(c, "mask", "nonzero_data"); err != nil {
		return nil, err
	}
	return one(c.DType("nonzero_data"), c.Shape("mask"))
}

func inferFlatSparse(c *Call) ([]mil.Type, error) {
	shape, n, err := flatShape(c)
	if err != nil {
		return nil, err
	}
	if err := checkFlat(c, "mask", n, 1); err != nil {
		return nil, err
	}
	if err := checkSparse(c, "mask", "nonzero_data", n); err != nil {
		return nil, err
	}
	if c.Known("mask") {
		bytes := c.Tensor("mask").Bytes()
		if spare := countBits(bytes, n, 8*len(bytes)); spare > 0 {
			return nil, fmt.Errorf("mask has %d bits set beyond the last of its %d elements", spare, n)
		}
	}
	return one(c.DType("nonzero_data"), tensor.ShapeOf(shape...))
}

func evalSparse(c *Call) error {
	shape, n, err := maskShape(c, "mask", "nonzero_data")
	if err != nil {
		return err
	}
	return returnDense(c, shape, n)
}

func evalFlatSparse(c *Call) error {
	shape, n, err := flatShape(c)
	if err != nil {
		return err
	}
	return returnDense(c, shape, n)
}

// returnDense spreads the stored elements, be they floats or bit patterns, over a tensor of zeros.
func returnDense(c *Call, shape []int, n int) error {
	mask := newBitmask(c.Tensor("mask").Bytes(), n)
	stored := c.Tensor("nonzero_data")
	if stored.DType().IsFloat() {
		c.ReturnFloats(0, spread(c.halt, mask, n, stored.Float32s()))
		return nil
	}
	vals := make([]uint8, stored.Len())
	codesOf(stored).unpack(vals, 0)
	t, err := fromCodes(c.halt, stored.DType(), spread(c.halt, mask, n, vals), shape)
	c.Return(0, t)
	return err
}

func spread[T any](h *halt, mask *bitmask, n int, stored []T) []T {
	out := make([]T, n)
	h.For(n, elementGrain, func(lo, hi int) {
		mask.each(lo, hi, func(i, rank int) { out[i] = stored[rank] })
	})
	return out
}

func inferSparseBlockwise(c *Call) ([]mil.Type, error) {
	if _, _, err := maskShape(c, "data_mask", "nonzero_data"); err != nil {
		return nil, err
	}
	if _, err := scaleBlocks(c, "data_mask", "nonzero_data"); err != nil {
		return nil, err
	}
	return []mil.Type{
		c.Type("data_mask"),
		&mil.TensorType{DType: c.DType("scale"), Shape: c.Shape("nonzero_data")},
	}, nil
}

func evalSparseBlockwise(c *Call) error {
	blocks, err := scaleBlocks(c, "data_mask", "nonzero_data")
	if err != nil {
		return err
	}
	mask := newBitmask(c.Tensor("data_mask").Bytes(), blocks.n)
	s := shiftScaleOf(c)
	data := numbersOf(c.Tensor("nonzero_data"))
	out := make([]float32, c.Tensor("nonzero_data").Len())
	blocks.each(c.halt, func(lo, hi int) {
		from := mask.rank(lo)
		data.read(out[from:mask.rank(hi)], from)
		blocks.runs(lo, hi, func(lo, hi, block int) {
			to := from + mask.count(lo, hi)
			s.apply(out[from:to], block)
			from = to
		})
	})
	c.Return(0, c.Tensor("data_mask"))
	c.ReturnFloats(1, out)
	return nil
}

func inferSparsePalette(c *Call) ([]mil.Type, error) {
	p, err := sparsePalette(c)
	if err != nil {
		return nil, err
	}
	stored := c.Shape("indices_nonzero_data")[0]
	if stored.Known() {
		stored *= tensor.Dim(p.vector)
	}
	return []mil.Type{
		&mil.TensorType{DType: tensor.UInt1, Shape: tensor.ShapeOf(p.shape...)},
		&mil.TensorType{DType: c.DType("lut"), Shape: tensor.Shape{stored}},
	}, nil
}

func sparsePalette(c *Call) (*palette, error) {
	shape, _, err := maskShape(c, "indices_mask", "indices_nonzero_data")
	if err != nil {
		return nil, err
	}
	return newPalette(c, shape, c.DType("indices_nonzero_data").Bits())
}

func evalSparsePalette(c *Call) error {
	p, err := sparsePalette(c)
	if err != nil {
		return err
	}
	mask := newBitmask(c.Tensor("indices_mask").Bytes(), p.blocks.n)
	if p.vector == 1 {
		c.Return(0, c.Tensor("indices_mask"))
	} else if err := p.returnWideMask(c, mask); err != nil {
		return err
	}
	stored, lut := c.Tensor("indices_nonzero_data"), c.Tensor("lut")
	if lut.DType().IsFloat() {
		c.ReturnFloats(1, lookUpSparse(c.halt, p, mask, stored, lut.Float32s()))
		return nil
	}
	vals := lookUpSparse(c.halt, p, mask, stored, tensor.Data[uint8](lut))
	t, err := fromCodes(c.halt, lut.DType(), vals, []int{len(vals)})
	c.Return(1, t)
	return err
}

// lookUpSparse looks up the stored indices. The vectors of one run of the mask lie side by side in the
// result, as its elements are in row-major order too: with vector axis 0 and the mask
//
//	1 0 1       the stored a b c give       a₀ b₀ a₁ b₁ c₀ c₁
//	0 1 0
func lookUpSparse[T any](h *halt, p *palette, mask *bitmask, stored *tensor.Tensor, lut []T) []T {
	out := make([]T, stored.Len()*p.vector)
	indices := codesOf(stored)
	p.blocks.each(h, func(lo, hi int) {
		first := mask.rank(lo)
		part := make([]uint8, mask.rank(hi)-first)
		indices.unpack(part, first)
		from := first
		p.blocks.runs(lo, hi, func(a, b, block int) {
			table := lut[block*p.entries*p.vector:][:p.entries*p.vector]
			for a < b {
				run := a / p.inner
				end := min(b, (run+1)*p.inner)
				to := from + mask.count(a, end)
				if from == to {
					a = end
					continue
				}
				start, width := 0, stored.Len() // of the run among the stored elements
				if p.vector > 1 {
					start, width = mask.rank(run*p.inner), mask.count(run*p.inner, (run+1)*p.inner)
				}
				for k := from; k < to; k++ {
					entry := table[int(part[k-first])*p.vector:][:p.vector]
					for v, val := range entry {
						out[start*p.vector+v*width+k-start] = val
					}
				}
				from, a = to, end
			}
		})
	})
	return out
}

// returnWideMask repeats the bits of the mask along the vector axis.
func (p *palette) returnWideMask(c *Call, mask *bitmask) error {
	size, _ := tensor.UInt1.ByteLen(p.blocks.n * p.vector)
	wide := make([]byte, size)
	mask.each(0, p.blocks.n, func(i, _ int) {
		row, col := i/p.inner, i%p.inner
		for v := range p.vector {
			at := (row*p.vector+v)*p.inner + col
			wide[at/8] |= 1 << (at % 8)
		}
	})
	t, err := tensor.FromBytes(tensor.UInt1, p.shape, wide)
	c.Return(0, t)
	return err
}
