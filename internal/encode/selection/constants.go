package selection

import (
	"encoding/binary"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/internal/units"
	"github.com/espalier-ane/espalier/tensor"
)

// Reading the constants of a graph, and packing those that tasks read as tensors.

// constantSurface puts a constant of fp16 numbers into the constant section, with batch and depth as the groups.
func (b *builder) constantSurface(v *anec.Value) (*units.Surface, bool) {
	values, ok := halves(v)
	d := v.Type.Dims
	n := 1
	for _, extent := range d {
		n *= extent
	}
	if !ok || n == 0 || n != len(values) || v.Type.DType != tensor.Float16 || n/d[anec.W]*b.RowBytes(d[anec.W]) > maxExpand {
		return nil, false
	}
	return b.constantImage(values, d[anec.W], d[anec.H], d[anec.C]), true
}

// constantImage puts numbers into the constant section: groups of c planes of h rows of w.
func (b *builder) constantImage(values []uint16, w, h, c int) *units.Surface {
	s := b.denseRows(units.Size{W: w, H: h, D: 1, C: c}, 2)
	image := make([]byte, len(values)/w*s.Row)
	for i, v := range values {
		binary.LittleEndian.PutUint16(image[i/w*s.Row+i%w*2:], v)
	}
	s.Base, s.Offset = segment.Packed, b.constants.Add(image)
	return s
}

// halves returns the fp16 elements of a constant, plain or decoded from others. They may be the memory of the weight file:
// nobody writes there.
func halves(v *anec.Value) ([]uint16, bool) {
	if v != nil && segment.IsDecoded(v) {
		return decodeHalves(v.Def)
	}
	if v == nil || v.Const == nil || !v.Const.Plain() {
		return nil, false
	}
	if stored := v.Const.Stored; stored.DType() == tensor.Float16 {
		if bits, err := stored.Alias(tensor.UInt16); err == nil {
			return tensor.Data[uint16](bits), true
		}
	}
	values := v.Const.Stored.Float32s()
	list := make([]uint16, len(values))
	for i, x := range values {
		if list[i] = tensor.ToF16(x); tensor.F16(list[i]) != x && x == x {
			return nil, false // it is wider than fp16
		}
	}
	return list, true
}

// scalarHalf is the one element of a constant as fp16.
func scalarHalf(v *anec.Value) (uint16, bool) {
	f, ok := loneNumber(v)
	return tensor.ToF16(f), ok
}

// roundedHalves is the elements of a plain constant in fp16, rounded where they are wider: the chip has gains and offsets
// in nothing else.
func roundedHalves(v *anec.Value) ([]uint16, bool) {
	if v.Const == nil || !v.Const.Plain() || !v.Type.DType.IsFloat() {
		return nil, false
	}
	values := v.Const.Stored.Float32s()
	list := make([]uint16, len(values))
	for i, x := range values {
		list[i] = tensor.ToF16(x)
	}
	return list, true
}

// loneNumber is the one element of a constant.
func loneNumber(v *anec.Value) (float32, bool) {
	if v == nil || v.Const == nil {
		return 0, false
	}
	f, ok := v.Const.Scalar()
	return float32(f), ok
}
