package compiler

import (
	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/tensor"
)

// Scratch memory, for what lies between tasks. Tensors lie there as H13 has them: rows on 64 bytes, planes and groups dense.

// v7page is what pieces of scratch memory begin on.
const v7page = 0x4000

// takeScratch takes so many bytes of scratch memory.
func (b *v7build) takeScratch(bytes int) v7spot {
	at := v7spot{hwx.BaseScratch, b.scratch}
	b.scratch += v7align(bytes, v7page)
	return at
}

// scratchSurface takes scratch memory for a tensor of fp16.
func (b *v7build) scratchSurface(size v7size, groups int) *v7surface {
	s := denseRows(size, 2)
	at := b.takeScratch(s.group * groups)
	s.base, s.offset = at.base, at.offset
	return s
}

// scratchFor takes scratch memory for a value.
func (b *v7build) scratchFor(v *anec.Value) (*v7surface, bool) {
	s, ok := denseSurface(v.Type)
	if !ok {
		return nil, false
	}
	at := b.takeScratch(s.group * v.Type.Dims[anec.N])
	s.base, s.offset = at.base, at.offset
	b.surfaces[v] = s
	b.placed = append(b.placed, v)
	return s, true
}

// v7sizeOf is the extents of a value as a task has them, and its groups: batch and depth.
func v7sizeOf(d anec.Dims) (size v7size, groups int) {
	return v7size{w: d[anec.W], h: d[anec.H], d: 1, c: d[anec.C]}, d[anec.N] * d[anec.D]
}

// denseRows lays a tensor out whose elements have so many bytes.
func denseRows(size v7size, bytes int) *v7surface {
	s := &v7surface{row: v7align(bytes*size.w, v7row)}
	s.plane = s.row * size.h
	s.depth = s.plane * size.c
	s.group = s.depth * size.d
	return s
}

// denseSurface lays a value out; false if tasks have no such values.
func denseSurface(t anec.Type) (*v7surface, bool) {
	element, bytes := v7fp16, 2
	switch t.DType {
	case tensor.Float16:
	case tensor.Bool:
		element, bytes = v7byte, 1
	default:
		return nil, false
	}
	if t.Dims[anec.D] != 1 || t.Interleave > 1 {
		return nil, false
	}
	size, groups := v7sizeOf(t.Dims)
	s := denseRows(size, bytes)
	s.element = element
	return s, int64(s.group)*int64(groups) < 1<<31
}
