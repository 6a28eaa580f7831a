package units

import (
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// The tensors of a task as operands, with a stride along each axis.

// Operand is a surface, as an operand that has strides, and no base and no extents yet:
//
//	base + g·group + (c div I)·plane + d·depth + h·row + size·(w·I + c mod I)
func (s *Surface) Operand() td.Operand {
	interleave := max(s.Interleave, 1)
	o := td.Operand{Offset: int64(s.Offset), Type: tensor.Float16, Interleave: uint8(interleave)}
	if s.Element == Byte {
		o.Type = tensor.UInt8
	}
	o.Strides = [td.NumAxes]int64{
		td.AxisN: int64(s.Group), td.AxisD: int64(s.Depth), td.AxisC: int64(s.Plane), td.AxisH: int64(s.Row),
		td.AxisW: int64(interleave * o.Type.Size()),
	}
	return o
}

// Extents are those of a tensor of so many groups. Axes that broadcast have one element.
func (s Size) Extents(groups int, broadcast uint32) [td.NumAxes]int {
	dims := [td.NumAxes]int{td.AxisN: groups, td.AxisD: s.D, td.AxisC: s.C, td.AxisH: s.H, td.AxisW: s.W}
	for bit, a := range [...]td.Axis{td.AxisW, td.AxisH, td.AxisD, td.AxisC} { // BroadcastW and on
		if broadcast>>bit&1 != 0 {
			dims[a] = 1
		}
	}
	return dims
}

// Size2 is the extent of what the task reads as its second source. That of a gain is an image of two rows of single elements,
// the offsets above the gains (h13 4.1).
func (o *Op) Size2() Size {
	if o.Planar && o.Kind == td.TypePlanarGain {
		return Size{W: 1, H: 2, D: 1, C: o.In.C}
	}
	return o.In
}
