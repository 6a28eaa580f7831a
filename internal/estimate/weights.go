package estimate

import (
	"fmt"
	"slices"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/tensor"
)

// storedWeight is what is known of a weight's form, without its elements.
type Weight struct {
	Compressed bool
	Form       hal.WeightForm // if compressed
	Bits       int            // of a stored element
	Dense      float64        // bytes as fp16
	Stored     float64        // bytes as the model has them
}

// WeightOf classifies the form of a weight. The pass fuseGains makes plain integers of weights with one scale for each
// output channel, so that these are int8 weights too.
func WeightOf(v *anec.Value) Weight {
	s := Weight{Dense: 2 * v.Type.Dims.Elements()}
	if segment.IsDecoded(v) {
		return s.decoded(v.Def)
	}
	c := v.Const
	s.Stored = DenseBytes(v.Type.DType, v.Type.Dims.Elements())
	if c == nil || c.Stored == nil {
		return s.quantized(v.Type.DType, false)
	}
	s.Stored = float64(c.StoredBytes())
	switch {
	case c.Mask != nil:
		return s.sparse(c.Stored.DType(), c.Palette != nil, c.Scale != nil)
	case c.Palette != nil:
		return s.as(hal.Palette, c.Stored.DType().Bits())
	case c.Scale != nil:
		return s.quantized(c.Stored.DType(), isBlockwise(c.Scale.Shape(), c.Dims))
	}
	s.Stored = DenseBytes(c.Stored.DType(), v.Type.Dims.Elements())
	return s.quantized(c.Stored.DType(), false)
}

// decoded is weightOf for a layer DeQuant(x, scale, zero, table, mask).
func (s Weight) decoded(l *anec.Layer) Weight {
	part := func(i int) *anec.Value {
		if i < len(l.Bottoms) {
			return l.Bottoms[i]
		}
		return nil
	}
	for i := range l.Bottoms {
		if b := part(i); b != nil {
			s.Stored += DenseBytes(b.Type.DType, b.Type.Dims.Elements())
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

func (s Weight) as(f hal.WeightForm, bits int) Weight {
	s.Compressed, s.Form, s.Bits = true, f, bits
	return s
}

// quantized is the form of plain or scaled elements.
func (s Weight) quantized(d tensor.DType, blockwise bool) Weight {
	switch {
	case blockwise:
		return s.as(hal.Blockwise, d.Bits())
	case d.IsInteger():
		return s.as(hal.Int8Affine, d.Bits())
	}
	return s
}

// sparse is the form of elements that a mask selects.
func (s Weight) sparse(d tensor.DType, palette, scaled bool) Weight {
	switch {
	case palette:
		return s.as(hal.SparsePalette, d.Bits())
	case scaled:
		return s.as(hal.SparseBlockwise, d.Bits())
	}
	return s.as(hal.Sparse, d.Bits())
}

// String names the form as the table does.
func (s Weight) String() string {
	for _, f := range hal.WeightForms() {
		if s.Compressed && f.Form == s.Form {
			return fmt.Sprintf("%s, %d bits", f.Name, s.Bits)
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

// Streams reports whether a target reads weights of this form as they are stored, and how that is known; if not they
// fold: they are made dense fp16 before a dispatch and save no bandwidth. A palette has the widths of the target's
// descriptors.
func (s Weight) Streams(t *hal.Target) (bool, hal.Status) {
	if !s.Compressed {
		return false, hal.Decoded
	}
	if bits := t.Weights.PaletteBits; s.Form == hal.Palette && bits != nil && !slices.Contains(bits, s.Bits) {
		return false, t.Weights.Status
	}
	return t.Streams(s.Form)
}

// KeepsFromStreaming says what of a layer keeps its weights from streaming, whatever their form; empty if nothing does
// (guide 25, the streaming check).
func KeepsFromStreaming(l *anec.Layer) string {
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

// StreamsIn reports whether the weights of a layer reach a target as they are stored.
func StreamsIn(l *anec.Layer, t *hal.Target) bool {
	streams, _ := WeightOf(segment.WeightBottom(l)).Streams(t)
	return streams && KeepsFromStreaming(l) == ""
}

// KernelBytes is what crosses the memory boundary for the weights of a layer.
func KernelBytes(l *anec.Layer, t *hal.Target) float64 {
	w := WeightOf(segment.WeightBottom(l))
	if StreamsIn(l, t) {
		return w.Stored
	}
	return w.Dense
}
