package selection

import (
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/internal/units"
	"github.com/espalier-ane/espalier/tensor"
)

// Memory that the tasks of a layer keep between them. Tensors lie there as H13 has them: rows on 64 bytes, planes and groups dense.

// takeScratch takes so many bytes of scratch memory.
func (b *builder) takeScratch(bytes int) origin {
	at := origin{segment.Temporaries, b.scratch}
	b.scratch += units.Align(bytes, b.PageSize)
	return at
}

// scratchSurface takes scratch memory for a tensor of fp16.
func (b *builder) scratchSurface(size units.Size, groups int) *units.Surface {
	s := b.denseRows(size, 2)
	at := b.takeScratch(s.Group * groups)
	s.Base, s.Offset = at.base, at.offset
	return s
}

// scratchFor takes scratch memory for a value.
func (b *builder) scratchFor(v *anec.Value) (*units.Surface, *diag.Reason) {
	s, why := b.denseSurface(v.Type)
	if why != nil {
		return nil, about(v, why)
	}
	at := b.takeScratch(s.Group * v.Type.Dims[anec.N])
	s.Base, s.Offset = at.base, at.offset
	b.surfaces[v] = s
	b.placed = append(b.placed, v)
	return s, nil
}

// sizeOf is the extents of a value as a task has them, and its groups: batch and depth.
func sizeOf(d anec.Dims) (size units.Size, groups int) {
	return units.Size{W: d[anec.W], H: d[anec.H], D: 1, C: d[anec.C]}, d[anec.N] * d[anec.D]
}

// denseRows lays a tensor out whose elements have so many bytes.
func (b *builder) denseRows(size units.Size, bytes int) *units.Surface {
	return denseRows(b.Machine, size, bytes)
}

func denseRows(m units.Machine, size units.Size, bytes int) *units.Surface {
	s := &units.Surface{Row: units.Align(bytes*size.W, m.RowAlign)}
	s.Plane = s.Row * size.H
	s.Depth = s.Plane * size.C
	s.Group = s.Depth * size.D
	return s
}

// denseSurface lays a value out, if tasks have such values. The reason is about the value, which its caller names.
func (b *builder) denseSurface(t anec.Type) (*units.Surface, *diag.Reason) {
	return denseSurface(b.Machine, t)
}

func denseSurface(m units.Machine, t anec.Type) (*units.Surface, *diag.Reason) {
	element, bytes := units.FP16, 2
	switch t.DType {
	case tensor.Float16:
	case tensor.Bool:
		element, bytes = units.Byte, 1
	default:
		return nil, otherType(t)
	}
	if t.Dims[anec.D] != 1 {
		return nil, diag.Decline(diag.NativeDepth, "has depth").Measure(1, t.Dims[anec.D])
	}
	if t.Interleave > 1 {
		return nil, interleaved(t)
	}
	size, groups := sizeOf(t.Dims)
	s := denseRows(m, size, bytes)
	s.Element = element
	if total := int64(s.Group) * int64(groups); total >= maxSurface {
		return s, diag.Decline(diag.NativeSize, "takes more bytes than a surface may").Measure(maxSurface, total)
	}
	return s, nil
}
