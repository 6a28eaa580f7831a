package selection

import (
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/internal/units"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// A layout is where the elements of a value lie: so many bytes apart along N, D, C, H, W. Unlike a surface it may be any
// view of a memory.
type layout struct {
	origin
	strides [anec.NumAxes]int
}

// source is where a value lies that is moved: anywhere. A constant is put among the packed ones, in rows of whole 64 bytes.
func (b *builder) source(v *anec.Value) (layout, *diag.Reason) {
	if v.Const != nil || b.surfaces[v] != nil {
		return b.layout(v)
	}
	at, ok := b.Spot(v)
	switch {
	case !ok:
		return layout{}, noPlace(v)
	case v.Type.DType != tensor.Float16:
		return layout{}, halfOnly(v)
	case addressed(at.Buffer) || at.Buffer.Region == segment.InDerived:
		b.Touched = append(b.Touched, v)
		return layoutAt(at), nil
	}
	// A view of a constant, perhaps.
	if v.Def == nil || !segment.IsView(v.Def) {
		return layout{}, notAddressed(v, at.Buffer)
	}
	from, why := b.source(v.Def.Bottoms[0])
	if why != nil {
		return from, why
	}
	viewed, ok := viewLayout(v.Def, from)
	if !ok {
		return viewed, about(v, diag.Decline(diag.NativeLayout, "is a view of a constant that no strides express"))
	}
	return viewed, nil
}

// layout is where a value lies that tasks may write, too.
func (b *builder) layout(v *anec.Value) (layout, *diag.Reason) {
	switch {
	case v.Type.DType != tensor.Float16:
		return layout{}, halfOnly(v)
	case v.Type.Interleave > 1:
		return layout{}, about(v, interleaved(v.Type))
	}
	if v.Const != nil {
		return b.constantLayout(v)
	}
	if s := b.surfaces[v]; s != nil {
		return layout{origin{s.Base, s.Offset}, s.Strides()}, nil
	}
	at, why := b.lies(v)
	if why != nil {
		return layout{}, why
	}
	if !addressed(at.Buffer) {
		return layout{}, notAddressed(v, at.Buffer)
	}
	return layoutAt(at), nil
}

// interleaved declines a type whose channels lie side by side. The caller names the value.
func interleaved(t anec.Type) *diag.Reason {
	return diag.Decline(diag.NativeLayout, "has interleaved channels").In("Interleave").Measure(1, t.Interleave)
}

// layoutAt is a spot.
func layoutAt(at segment.Spot) layout {
	l := layout{origin: origin{at.Buffer.ID, int(at.Offset)}}
	for a, stride := range at.Strides {
		l.strides[a] = int(stride)
	}
	return l
}

// constantLayout lays a constant into the constant section.
func (b *builder) constantLayout(v *anec.Value) (layout, *diag.Reason) {
	values, why := elements(v)
	if why != nil {
		return layout{}, why
	}
	if len(values) > maxExpand {
		return layout{}, tooMuchMemory(len(values))
	}
	d := v.Type.Dims
	s := b.constantImage(values, d[anec.W], d[anec.H], d[anec.C])
	s.Group = s.Depth * d[anec.D]
	return layout{origin{s.Base, s.Offset}, s.Strides()}, nil
}

// same reports whether two layouts of a value are one: strides along which there is but one element do not count.
func (p layout) same(o layout, d anec.Dims) bool {
	for a, n := range d {
		if n > 1 && p.strides[a] != o.strides[a] {
			return false
		}
	}
	return p.origin == o.origin
}

// permuted is a layout with other axes: axis i is axis perm[i].
func (p layout) permuted(perm anec.Perm) layout {
	of := p.strides
	for i, a := range perm {
		p.strides[i] = of[a]
	}
	return p
}

// moveOf is the move of all elements of a value.
func (b *builder) moveOf(d anec.Dims, from, to layout) move {
	m := move{Machine: b.Machine, from: from.origin, to: to.origin}
	for a, n := range d {
		m.axes = append(m.axes, axis{td.Axis(a), n, from.strides[a], to.strides[a]})
	}
	return m
}

// surfaceOf is a layout as registers have it; nil if they cannot say it.
func (b *builder) surfaceOf(p layout, d anec.Dims) *units.Surface {
	m := b.moveOf(d, p, p)
	if p.offset%m.RowAlign != 0 || d[anec.D] != 1 || d[anec.W] > 1 && p.strides[anec.W] != 2 {
		return nil
	}
	for _, a := range m.axes[:anec.W] {
		if a.n > 1 && (a.from <= 0 || a.from%m.RowAlign != 0) {
			return nil
		}
	}
	slot := func(a td.Axis) int {
		if d[a] == 1 {
			return -1
		}
		return int(a)
	}
	from := func(a axis) int { return a.from }
	return m.surface(slots{w: slot(anec.W), c: slot(anec.C), h: slot(anec.H), group: slot(anec.N)}, p.origin, from)
}

// inRows reports whether what lies before an element, back to a multiple of 64 bytes, and between it and others, is of the
// same value, or of one that it is a view of.
func (b *builder) inRows(v *anec.Value) bool {
	for v.Def != nil && b.IsView(v.Def) {
		v = v.Def.Bottoms[0]
	}
	at, _ := b.Spot(v)
	return v.Const != nil || at.Offset%int64(b.RowAlign) == 0
}

// viewLayout is a layout as the top of a view has it; false if no strides express it.
func viewLayout(l *anec.Layer, x layout) (layout, bool) {
	s, ok := segment.ViewOf(l, segment.Spot{Offset: int64(x.offset), Strides: wide(x.strides)})
	x.offset = int(s.Offset)
	for a, stride := range s.Strides {
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
