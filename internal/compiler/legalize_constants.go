package compiler

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/tensor"
)

// legalizeConstants gives a compressed constant a layer that decodes it. Its parts stay as the model stores them;
// the layer reads nothing else, so that it runs once, when the program is loaded.
//
//	const %w : fp16[8,1,4,1,1] {data = uint4[8,1,4,1,1]:…, table = fp16[2,1,1,1,1,16,1]:…, scale = fp16[8,1,1,1,1]:…}
//	%y = anec.convolution(%x, %w)
//
//	const %w_data : uint4[8,1,4,1,1] …
//	const %w_table : fp16[1,1,2,16,1] …
//	const %w_scale : fp16[8,1,1,1,1] …
//	%w_1 = anec.dequantize(%w_data, %w_scale, _, %w_table) {blocks = [2, 1, 1, 1, 1]} : fp16[8,1,4,1,1]
//	%y = anec.convolution(%x, %w_1)
func legalizeConstants(s *segment.Segment) error {
	g := s.Graph
	var refused []error
	for _, v := range constantsByID(g) {
		if v.Const.Plain() || len(v.Uses) == 0 && !g.IsOutput(v) {
			continue
		}
		b := &anec.Builder{Graph: g, Origin: originOf(v)}
		y, err := decode(b, v)
		if err == nil {
			err = b.Err()
		}
		if err != nil {
			refused = append(refused, &anec.LayerError{Layer: v.Name, Kind: anec.KindDeQuant, Origin: b.Origin, Err: err})
			continue
		}
		whole := len(refused)
		for _, l := range v.Uses {
			if err := mayBeLive(l, v); err != nil {
				refused = append(refused, err)
			}
		}
		if len(refused) > whole {
			continue
		}
		if err := g.ReplaceUses(v, y); err != nil {
			return err
		}
	}
	g.Sweep()
	return errors.Join(refused...)
}

// constantsByID returns the constants of a graph in the order in which they were made.
func constantsByID(g *anec.Graph) (constants []*anec.Value) {
	for _, v := range g.Values {
		if v.Const != nil {
			constants = append(constants, v)
		}
	}
	slices.SortFunc(constants, func(a, b *anec.Value) int { return cmp.Compare(a.ID, b.ID) })
	return constants
}

// originOf names the operations that read a constant.
func originOf(v *anec.Value) (origin []string) {
	for _, l := range v.Uses {
		origin = append(origin, l.Origin...)
	}
	return origin
}

// mayBeLive refuses a layer that wants a value as a constant.
func mayBeLive(l *anec.Layer, v *anec.Value) error {
	for i, row := range l.Info().Contract.Bottoms {
		if row.Const && i < len(l.Bottoms) && l.Bottoms[i] == v {
			return &anec.LayerError{Layer: l.Name, Kind: l.Kind(), Origin: l.Origin,
				Err: fmt.Errorf("%s is stored compressed, want plain numbers", row.Name)}
		}
	}
	return nil
}

// decode adds the layer of a compressed constant.
func decode(b *anec.Builder, v *anec.Value) (*anec.Value, error) {
	c := v.Const
	part := func(name string, t *tensor.Tensor, shape ...int) *anec.Value {
		if t == nil || b.Err() != nil {
			return nil
		}
		five, err := t.Reshape(shape...)
		if err != nil {
			b.Fail(err)
			return nil
		}
		plain := anec.ConstantOf(five)
		if t == c.Stored {
			plain.Source = c.Source
		}
		return b.Constant(v.Name+"_"+name, plain)
	}
	x := c.Stored
	if c.Mask != nil {
		var err error
		if x, err = x.Reshape(1, 1, 1, 1, x.Len()); err != nil {
			return nil, err
		}
	}
	data := part("data", x, x.Shape()...)
	if c.Mask == nil && c.Palette == nil && c.Scale == nil { // stored in another type
		return layerAs(b, c.DType, v.Name, &anec.Copy{}, data), nil
	}
	p := &anec.DeQuant{}
	var scale, zero, table, mask *anec.Value
	if c.Scale != nil {
		scale = part("scale", c.Scale, c.Scale.Shape()...)
	}
	if c.Offset != nil {
		zero = part("offset", c.Offset, c.Offset.Shape()...)
	}
	if c.Palette != nil {
		shape := c.Palette.Table.Shape()
		p.Blocks, p.VectorAxis = anec.Dims(shape[:anec.NumAxes]), c.Palette.VectorAxis
		tables, _ := p.Blocks.Count() // the constant was checked
		table = part("table", tableOf(c.Palette), 1, 1, tables, shape[anec.NumAxes], shape[anec.NumAxes+1])
	}
	if c.Mask != nil {
		mask = part("mask", c.Mask, c.Mask.Shape()...)
	}
	return layerAs(b, c.DType, v.Name, p, data, scale, zero, table, mask), nil
}

// tableOf returns the tables of a palette. Those that are quantized are decoded here: they are small beside what
// they decode.
func tableOf(p *anec.Palette) *tensor.Tensor {
	if p.Scale == nil {
		return p.Table
	}
	shape, grid := p.Table.Shape(), p.Scale.Shape()
	entries, scales := p.Table.Float64s(), p.Scale.Float64s()
	zeros := make([]float64, len(scales))
	if p.Offset != nil {
		zeros = p.Offset.Float64s()
	}
	for i := range entries {
		block, rest, step := 0, i, 1 // the block that entry i is in, from the last axis on
		for a := len(shape) - 1; a >= 0; a-- {
			block += rest % shape[a] / (shape[a] / grid[a]) * step
			rest, step = rest/shape[a], step*grid[a]
		}
		entries[i] = (entries[i] - zeros[block]) * scales[block]
	}
	t, err := tensor.Of(entries, shape...).Convert(p.Scale.DType())
	if err != nil {
		panic("bug: " + err.Error()) // the scale is of floats
	}
	return t
}
