package compiler

import (
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/units"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// moving are the kinds of layers that compute nothing: to them all axes are alike.
var moving = map[anec.Kind]bool{
	anec.KindCopy: true, anec.KindReshape: true, anec.KindTranspose: true, anec.KindInputView: true, anec.KindBroadcast: true,
	anec.KindConcat: true, anec.KindPadding: true, anec.KindTile: true, anec.KindGather: true,
}

// A v7layout is where the elements of a value lie: so many bytes apart along N, D, C, H, W. Unlike a surface it may be any
// view of a memory.
type v7layout struct {
	v7spot
	strides [anec.NumAxes]int
}

// source is where a value lies that is moved: anywhere. A constant is put among the packed ones, in rows of whole 64 bytes.
func (b *v7build) source(v *anec.Value) (v7layout, bool) {
	if v.Const != nil || b.surfaces[v] != nil {
		return b.layout(v)
	}
	at, ok := b.spot(v)
	switch {
	case !ok || v.Type.DType != tensor.Float16:
		return v7layout{}, false
	case b.addressed(at.buffer) || at.buffer.region == InDerived:
		b.touched = append(b.touched, v)
		return layoutAt(at), true
	}
	// A view of a constant, perhaps.
	if v.Def == nil || !isView(v.Def) {
		return v7layout{}, false
	}
	from, ok := b.source(v.Def.Bottoms[0])
	if !ok {
		return from, false
	}
	return viewLayout(v.Def, from)
}

// layout is where a value lies that tasks may write, too.
func (b *v7build) layout(v *anec.Value) (v7layout, bool) {
	if v == nil || v.Type.DType != tensor.Float16 || v.Type.Interleave > 1 {
		return v7layout{}, false
	}
	if v.Const != nil {
		return b.constantLayout(v)
	}
	if s := b.surfaces[v]; s != nil {
		return v7layout{v7spot{s.Base, s.Offset}, s.Strides()}, true
	}
	at, ok := b.lies(v)
	if !ok || !b.addressed(at.buffer) {
		return v7layout{}, false
	}
	return layoutAt(at), true
}

// layoutAt is a spot.
func layoutAt(at spot) v7layout {
	l := v7layout{v7spot: v7spot{at.buffer.id, int(at.offset)}}
	for a, stride := range at.strides {
		l.strides[a] = int(stride)
	}
	return l
}

// constantLayout lays a constant into the constant section.
func (b *v7build) constantLayout(v *anec.Value) (v7layout, bool) {
	values, ok := halves(v)
	d := v.Type.Dims
	n := 1
	for _, extent := range d {
		n *= extent
	}
	if !ok || len(values) != n || n == 0 || n > v7maxExpand {
		return v7layout{}, false
	}
	s := b.constantImage(values, d[anec.W], d[anec.H], d[anec.C])
	s.Group = s.Depth * d[anec.D]
	return v7layout{v7spot{s.Base, s.Offset}, s.Strides()}, true
}

// same reports whether two layouts of a value are one: strides along which there is but one element do not count.
func (p v7layout) same(o v7layout, d anec.Dims) bool {
	for a, n := range d {
		if n > 1 && p.strides[a] != o.strides[a] {
			return false
		}
	}
	return p.v7spot == o.v7spot
}

// permuted is a layout with other axes: axis i is axis perm[i].
func (p v7layout) permuted(perm anec.Perm) v7layout {
	of := p.strides
	for i, a := range perm {
		p.strides[i] = of[a]
	}
	return p
}

// moveOf is the move of all elements of a value.
func (b *v7build) moveOf(d anec.Dims, from, to v7layout) v7move {
	m := v7move{Machine: b.Machine, from: from.v7spot, to: to.v7spot}
	for a, n := range d {
		m.axes = append(m.axes, v7axis{td.Axis(a), n, from.strides[a], to.strides[a]})
	}
	return m
}

// isSurface reports whether registers can say where a value lies, and how.
func (b *v7build) isSurface(p v7layout, d anec.Dims) (*units.Surface, bool) {
	m := b.moveOf(d, p, p)
	if p.offset%m.RowAlign != 0 || d[anec.D] != 1 || d[anec.W] > 1 && p.strides[anec.W] != 2 {
		return nil, false
	}
	for _, a := range m.axes[:anec.W] {
		if a.n > 1 && (a.from <= 0 || a.from%m.RowAlign != 0) {
			return nil, false
		}
	}
	slot := func(a td.Axis) int {
		if d[a] == 1 {
			return -1
		}
		return int(a)
	}
	from := func(a v7axis) int { return a.from }
	s := m.surface(v7slots{w: slot(anec.W), c: slot(anec.C), h: slot(anec.H), group: slot(anec.N)}, p.v7spot, from)
	return s, true
}

// inRows reports whether what lies before an element, back to a multiple of 64 bytes, and between it and others, is of the
// same value, or of one that it is a view of.
func (b *v7build) inRows(v *anec.Value) bool {
	for v.Def != nil && b.isView(v.Def) {
		v = v.Def.Bottoms[0]
	}
	at, _ := b.spot(v)
	return v.Const != nil || at.offset%int64(b.RowAlign) == 0
}

// viewLayout is a layout as the top of a view has it; false if no strides express it.
func viewLayout(l *anec.Layer, x v7layout) (v7layout, bool) {
	s, ok := viewOf(l, spot{offset: int64(x.offset), strides: wide(x.strides)})
	x.offset = int(s.offset)
	for a, stride := range s.strides {
		x.strides[a] = int(stride)
	}
	return x, ok
}

func wide(strides [anec.NumAxes]int) (list [anec.NumAxes]int64) {
	for a, stride := range strides {
		list[a] = int64(stride)
	}
	return list
}
