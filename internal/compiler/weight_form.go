package compiler

import (
	"fmt"
	"slices"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/tensor"
)

// storedWeight is what is known of a weight's form, without its elements.
type storedWeight struct {
	compressed bool
	form       hal.WeightForm // if compressed
	bits       int            // of a stored element
	dense      float64        // bytes as fp16
	stored     float64        // bytes as the model has them
}

// weightOf classifies the form of a weight. The pass fuseGains makes plain integers of weights with one scale for each
// output channel, so that these are int8 weights too.
func weightOf(v *anec.Value) storedWeight {
	s := storedWeight{dense: 2 * v.Type.Dims.Elements()}
	if segment.IsDecoded(v) {
		return s.decoded(v.Def)
	}
	c := v.Const
	s.stored = denseBytes(v.Type.DType, v.Type.Dims.Elements())
	if c == nil || c.Stored == nil {
		return s.quantized(v.Type.DType, false)
	}
	s.stored = float64(c.StoredBytes())
	switch {
	case c.Mask != nil:
		return s.sparse(c.Stored.DType(), c.Palette != nil, c.Scale != nil)
	case c.Palette != nil:
		return s.as(hal.Palette, c.Stored.DType().Bits())
	case c.Scale != nil:
		return s.quantized(c.Stored.DType(), isBlockwise(c.Scale.Shape(), c.Dims))
	}
	s.stored = denseBytes(c.Stored.DType(), v.Type.Dims.Elements())
	return s.quantized(c.Stored.DType(), false)
}

// decoded is weightOf for a layer DeQuant(x, scale, zero, table, mask).
func (s storedWeight) decoded(l *anec.Layer) storedWeight {
	part := func(i int) *anec.Value {
		if i < len(l.Bottoms) {
			return l.Bottoms[i]
		}
		return nil
	}
	for i := range l.Bottoms {
		if b := part(i); b != nil {
			s.stored += denseBytes(b.Type.DType, b.Type.Dims.Elements())
		}
	}
	x := l.Bottoms[0].Type.DType
	switch scale := part(1); {
	case part(4) != nil:
		return s.sparse(x, part(3) != nil, scale != nil)
	case part(3) != nil:
		return s.as(hal.Palette, x.Bits())
	case scale != nil:
		return s.quantized(x, isBlockwise(scale.Type.Dims[:], l.Top().Type.Dims))
	}
	return s
}

func (s storedWeight) as(f hal.WeightForm, bits int) storedWeight {
	s.compressed, s.form, s.bits = true, f, bits
	return s
}

// quantized is the form of plain or scaled elements.
func (s storedWeight) quantized(d tensor.DType, blockwise bool) storedWeight {
	switch {
	case blockwise:
		return s.as(hal.Blockwise, d.Bits())
	case d.IsInteger():
		return s.as(hal.Int8Affine, d.Bits())
	}
	return s
}

// sparse is the form of elements that a mask selects.
func (s storedWeight) sparse(d tensor.DType, palette, scaled bool) storedWeight {
	switch {
	case palette:
		return s.as(hal.SparsePalette, d.Bits())
	case scaled:
		return s.as(hal.SparseBlockwise, d.Bits())
	}
	return s.as(hal.Sparse, d.Bits())
}

// String names the form as the table does.
func (s storedWeight) String() string {
	for _, f := range hal.WeightForms() {
		if s.compressed && f.Form == s.form {
			return fmt.Sprintf("%s, %d bits", f.Name, s.bits)
		}
	}
	return "dense"
}

// isBlockwise reports whether scales are for less than a whole channel: along several axes, or several elements of one.
func isBlockwise(scale []int, dims anec.Dims) bool {
	axes := 0
	for i, n := range scale {
		if n == 1 {
			continue
		}
		axes++
		if n != dims[i] {
			return true
		}
	}
	return axes > 1
}

// streams reports whether a target reads weights of this form as they are stored, and how that is known; if not they
// fold: they are made dense fp16 before a dispatch and save no bandwidth. A palette has the widths of the target's
// descriptors.
func (s storedWeight) streams(t *hal.Target) (bool, hal.Status) {
	if !s.compressed {
		return false, hal.Decoded
	}
	if bits := t.Weights.PaletteBits; s.form == hal.Palette && bits != nil && !slices.Contains(bits, s.bits) {
		return false, t.Weights.Status
	}
	return t.Streams(s.form)
}

// keepsFromStreaming says what of a layer keeps its weights from streaming, whatever their form; empty if nothing does
// (guide 25, the streaming check).
func keepsFromStreaming(l *anec.Layer) string {
	if p, ok := l.Params.(*anec.Conv); ok {
		switch {
		case p.Stride != [3]int{1, 1, 1}:
			return "a stride"
		case p.Dilation != [3]int{1, 1, 1}:
			return "dilation"
		}
	}
	return ""
}

// streamsIn reports whether the weights of a layer reach a target as they are stored.
func streamsIn(l *anec.Layer, t *hal.Target) bool {
	streams, _ := weightOf(segment.WeightBottom(l)).streams(t)
	return streams && keepsFromStreaming(l) == ""
}

// kernelBytes is what crosses the memory boundary for the weights of a layer.
func kernelBytes(l *anec.Layer, t *hal.Target) float64 {
	w := weightOf(segment.WeightBottom(l))
	if streamsIn(l, t) {
		return w.stored
	}
	return w.dense
}
