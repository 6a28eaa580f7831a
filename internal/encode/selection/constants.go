package selection

import (
	"encoding/binary"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/internal/units"
	"github.com/espalier-ane/espalier/tensor"
)

// Reading the constants of a graph, and packing those that tasks read as tensors.

// constantSurface puts a constant of fp16 numbers into the constant section, with batch and depth as the groups.
func (b *builder) constantSurface(v *anec.Value) (*units.Surface, *diag.Reason) {
	values, why := elements(v)
	if why != nil {
		return nil, why
	}
	if why := halfOnly(v); why != nil {
		return nil, why
	}
	d := v.Type.Dims
	if bytes := len(values) / d[anec.W] * b.RowBytes(d[anec.W]); bytes > maxExpand {
		return nil, tooMuchMemory(bytes)
	}
	return b.constantImage(values, d[anec.W], d[anec.H], d[anec.C]), nil
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

// elements returns the fp16 elements of a constant that is a tensor: as many as its extents say, and one at least.
func elements(v *anec.Value) ([]uint16, *diag.Reason) {
	values, why := halves(v)
	n := 1
	for _, extent := range v.Type.Dims {
		n *= extent
	}
	if why == nil && (n == 0 || n != len(values)) {
		why = about(v, diag.Decline(diag.NativeConstant, "has not the elements that its extents say").Measure(n, len(values)))
	}
	return values, why
}

// halves returns the fp16 elements of a constant, plain or decoded from others. They may be the memory of the weight file:
// nobody writes there.
func halves(v *anec.Value) ([]uint16, *diag.Reason) {
	switch {
	case segment.IsDecoded(v):
		return decodeHalves(v.Def)
	case v.Const == nil:
		return nil, notConstant(v)
	case !v.Const.Plain():
		return nil, compressed(v)
	}
	if stored := v.Const.Stored; stored.DType() == tensor.Float16 {
		if bits, err := stored.Alias(tensor.UInt16); err == nil {
			return tensor.Data[uint16](bits), nil
		}
	}
	values := v.Const.Stored.Float32s()
	list := make([]uint16, len(values))
	for i, x := range values {
		if list[i] = tensor.ToF16(x); tensor.F16(list[i]) != x && x == x {
			return nil, about(v, diag.Decline(diag.NativeConstant, "is a constant of %v with a number that fp16 does not hold", v.Type.DType).Measure(tensor.Float16, x))
		}
	}
	return list, nil
}

// scalarHalf is the one element of a constant as fp16.
func scalarHalf(v *anec.Value) (uint16, bool) {
	f, ok := loneNumber(v)
	return tensor.ToF16(f), ok
}

// roundedHalves is the elements of a plain constant in fp16, rounded where they are wider: the chip has gains and offsets
// in nothing else.
func roundedHalves(v *anec.Value) ([]uint16, *diag.Reason) {
	if why := numbers(v); why != nil {
		return nil, why
	}
	values := v.Const.Stored.Float32s()
	list := make([]uint16, len(values))
	for i, x := range values {
		list[i] = tensor.ToF16(x)
	}
	return list, nil
}

// numbers declines a value that is no plain constant of floating-point numbers.
func numbers(v *anec.Value) *diag.Reason {
	switch {
	case v.Const == nil:
		return notConstant(v)
	case !v.Const.Plain():
		return compressed(v)
	case !v.Type.DType.IsFloat():
		return about(v, diag.Decline(diag.NativeConstant, "is a constant of another type than tasks have").Measure(tensor.Float16, v.Type.DType))
	}
	return nil
}

func notConstant(v *anec.Value) *diag.Reason {
	return about(v, diag.Decline(diag.NativeOperand, "is live, and the task has constants there"))
}

// mutableNumbers declines a weight that may change where a task has something that is computed of it.
func mutableNumbers(v *anec.Value) *diag.Reason {
	return about(v, diag.Decline(diag.NativeConstant, "is a weight that may change, and the task would have numbers that are computed of it"))
}

// loneNumber is the one element of a constant.
func loneNumber(v *anec.Value) (float32, bool) {
	if v == nil || v.Const == nil {
		return 0, false
	}
	f, ok := v.Const.Scalar()
	return float32(f), ok
}
