package compiler

import (
	"encoding/binary"
	"slices"

	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/internal/anec"
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

// source is where a value lies that is moved: anywhere, as far as the plan is concerned. A constant is put into the constant
// section, in rows of whole 64 bytes.
func (b *v7build) source(v *anec.Value) (v7layout, bool) {
	if b.plan == nil {
		touched := len(b.touched)
		at, ok := b.layout(v)
		b.touched = b.touched[:touched]
		return at, ok
	}
	place := b.plan.Places[v]
	switch {
	case v.Const != nil || place.Region == InScratch || place.Region == InPort:
		return b.layout(v)
	case v.Type.DType != tensor.Float16:
		return v7layout{}, false
	case place.Region == InDerived:
		b.touched = append(b.touched, v)
		return place.layout(hwx.BaseDerived), true
	}
	// A view of a constant, perhaps.
	if v.Def == nil || !isView(v.Def) {
		return v7layout{}, false
	}
	at, ok := b.source(v.Def.Bottoms[0])
	if !ok {
		return at, false
	}
	return viewLayout(v.Def, at)
}

// layout is where a value lies that tasks may write, too.
func (b *v7build) layout(v *anec.Value) (v7layout, bool) {
	if v == nil || v.Type.DType != tensor.Float16 || v.Type.Interleave > 1 {
		return v7layout{}, false
	}
	if v.Const != nil {
		return b.constantLayout(v)
	}
	if b.plan == nil || b.surfaces[v] != nil {
		s, ok := b.surface(v)
		if !ok {
			return v7layout{}, false
		}
		return v7layout{v7spot{s.base, s.offset}, s.strides()}, true
	}
	b.touched = append(b.touched, v)
	place, ok := b.plan.Places[v]
	switch {
	case !ok:
	case place.Region == InScratch:
		return place.layout(hwx.BaseScratch), true
	case place.Region == InPort:
		port := &b.plan.Ports[place.Port]
		return place.layout(hwx.BasePorts + place.Port), !(port.In && port.Out) // no record has a state
	}
	return v7layout{}, false
}

// layout is the place, as far as it is one that counts from a base.
func (p Place) layout(base int) v7layout {
	at := v7layout{v7spot: v7spot{base, int(p.Offset)}}
	for a, stride := range p.Strides {
		at.strides[a] = int(stride)
	}
	return at
}

// strides of a surface along the axes of a value.
func (s *v7surface) strides() [anec.NumAxes]int {
	return [anec.NumAxes]int{s.group, s.depth, s.plane, s.row, 2}
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
	row := v7align(2*d[anec.W], v7row)
	data := make([]byte, n/d[anec.W]*row)
	for i, x := range values {
		binary.LittleEndian.PutUint16(data[i/d[anec.W]*row+i%d[anec.W]*2:], x)
	}
	at := v7layout{v7spot: v7spot{v7const, b.constants.add(data)}}
	at.strides[anec.W] = 2
	for a, step := int(anec.H), row; a >= 0; a-- {
		at.strides[a] = step
		step *= d[a]
	}
	return at, true
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

// moveOf is the move of all elements of a value.
func moveOf(d anec.Dims, from, to v7layout) v7move {
	m := v7move{from: from.v7spot, to: to.v7spot}
	for a, n := range d {
		m.axes = append(m.axes, v7axis{td.Axis(a), n, from.strides[a], to.strides[a]})
	}
	return m
}

// isSurface reports whether registers can say where a value lies, and how.
func (p v7layout) isSurface(d anec.Dims) (*v7surface, bool) {
	m := moveOf(d, p, p)
	if p.offset%v7row != 0 || d[anec.D] != 1 || d[anec.W] > 1 && p.strides[anec.W] != 2 {
		return nil, false
	}
	for _, a := range m.axes[:anec.W] {
		if a.n > 1 && (a.from <= 0 || a.from%v7row != 0) {
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

// view selects what moves nothing but names: the top is the same memory, read otherwise. If it leaves the segment, or
// registers cannot say how it is read, a copy is made.
func (b *v7build) view(l *anec.Layer) ([]*v7op, bool) {
	if !bare(l) {
		return nil, false
	}
	x, ok := b.source(l.Bottoms[0])
	if !ok {
		return nil, false
	}
	p, slice := l.Params.(*anec.InputView)
	if slice && p.Size == 0 {
		return nil, false
	}
	viewed, ok := viewLayout(l, x)
	if !ok {
		return b.reshape(l, x)
	}
	if slice && p.Crop {
		return b.crop(l, viewed)
	}
	d := l.Top().Type.Dims
	if s, ok := viewed.isSurface(d); ok && b.plan == nil && b.surfaces[l.Top()] == nil {
		b.surfaces[l.Top()] = s
		return nil, true
	}
	y, ok := b.layout(l.Top())
	if !ok {
		return nil, false
	}
	m := moveOf(d, viewed, y)
	m.before = b.inRows(l.Bottoms[0])
	return b.moves(m)
}

// v7crop is what H13 multiplies a slice with an offset along W by, and divides it by again (hal.Numerics.WidthSliceGain).
const v7crop = 16

// crop is a slice that begins inside of a row. No word is known for the format that H13 has it in on the way, but for what
// becomes of the numbers: what the gain takes beyond fp16 is infinite. The tasks say so: one multiplies, one divides.
//
//	x [h][w] ─ turn, *16 ─ [w][h] ─ turn, /16 ─ y [h][w']
func (b *v7build) crop(l *anec.Layer, viewed v7layout) ([]*v7op, bool) {
	y, ok := b.layout(l.Top())
	if !ok {
		return nil, false
	}
	m := moveOf(l.Top().Type.Dims, viewed, y)
	m.axes = slices.DeleteFunc(m.axes, func(a v7axis) bool { return a.n == 1 })
	m.before = b.inRows(l.Bottoms[0])
	apart, together, ok := b.turns(m)
	ops := append(apart, together...)
	for i, o := range ops {
		if o.planar {
			return nil, false
		}
		o.cropped = true
		if o.post = tensor.ToF16(v7crop); i >= len(apart) {
			o.post = tensor.ToF16(1.0 / v7crop)
		}
	}
	return ops, ok
}

// carry is a copy between places of any kind.
func (b *v7build) carry(l *anec.Layer) ([]*v7op, bool) {
	x := l.Bottoms[0]
	from, ok1 := b.source(x)
	to, ok2 := b.layout(l.Top())
	if !ok1 || !ok2 || !bare(l) {
		return nil, false
	}
	m := moveOf(x.Type.Dims, from, to)
	m.before = b.inRows(x)
	return b.moves(m)
}

// inRows reports whether what lies before an element, back to a multiple of 64 bytes, and between it and others, is of the
// same value, or of one that it is a view of.
func (b *v7build) inRows(v *anec.Value) bool {
	if b.plan == nil {
		return true
	}
	for v.Def != nil && isView(v.Def) && !slices.Contains(b.plan.Layers, v.Def) {
		v = v.Def.Bottoms[0]
	}
	return v.Const != nil || b.plan.Places[v].Offset%v7row == 0
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

// reshape selects the tasks of a reshape that no strides express. Both shapes may be cut into the same pieces; if not, elements
// lie in scratch memory such that both are views of it:
//
//	x [16][4·8]  =  [16][4][8]  =  y [16][4][8]            in pieces
//	x [2][3·4] ─ turn ─ [24], 64 bytes apart ─ turn ─ y [4][6]
func (b *v7build) reshape(l *anec.Layer, x v7layout) ([]*v7op, bool) {
	y, ok := b.layout(l.Top())
	if !ok || l.Kind() != anec.KindReshape {
		return nil, false
	}
	from, to := l.Bottoms[0].Type.Dims, l.Top().Type.Dims
	if dims, xs, ys, ok := commonPieces(from, wide(x.strides), to, wide(y.strides)); ok {
		m := v7move{from: x.v7spot, to: y.v7spot, before: b.inRows(l.Bottoms[0])}
		for a, n := range dims {
			m.axes = append(m.axes, v7axis{td.Axis(a), n, int(xs[a]), int(ys[a])})
		}
		return b.moves(m)
	}
	apart, bytes := spreadOut(from)
	together, _ := spreadOut(to)
	if bytes > v7maxExpand {
		return nil, false
	}
	apart.v7spot = v7spot{hwx.BaseScratch, b.scratch}
	together.v7spot = apart.v7spot
	b.scratch += v7align(bytes, 0x4000)
	in, ok1 := b.moves(moveOf(from, x, apart))
	out, ok2 := b.moves(moveOf(to, together, y))
	return append(in, out...), ok1 && ok2 && len(in)+len(out) <= v7maxMoves
}

// spreadOut is the layout of elements one after the other, 64 bytes apart, and how many bytes they take.
func spreadOut(d anec.Dims) (at v7layout, bytes int) {
	bytes = v7row
	for a := anec.NumAxes - 1; a >= 0; a-- {
		if at.strides[a] = bytes; bytes <= v7maxExpand {
			bytes *= d[a]
		}
	}
	return at, bytes
}

func wide(strides [anec.NumAxes]int) (list [anec.NumAxes]int64) {
	for a, stride := range strides {
		list[a] = int64(stride)
	}
	return list
}
