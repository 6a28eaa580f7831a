package selection

import (
	"slices"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/internal/units"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// Layers that only read elements otherwise: views, and the copies that stand for those that registers cannot say.

// view is the copy that a view becomes where its bottom lies such that no strides express it, or where it is wanted elsewhere.
func (b *builder) view(l *anec.Layer) ([]*units.Op, *diag.Reason) {
	if why := asIs(l); why != nil {
		return nil, why
	}
	x, why := b.source(l.Bottoms[0])
	if why != nil {
		return nil, why
	}
	p, slice := l.Params.(*anec.InputView)
	if slice && p.Size == 0 {
		return nil, diag.Decline(diag.NativeSize, "the slice is empty")
	}
	viewed, ok := viewLayout(l, x)
	if !ok {
		return b.reshape(l, x)
	}
	if slice && p.Crop {
		return b.crop(l, viewed)
	}
	d := l.Top().Type.Dims
	y, why := b.layout(l.Top())
	if why != nil {
		return nil, why
	}
	m := b.moveOf(d, viewed, y)
	m.before = b.inRows(l.Bottoms[0])
	return b.moves(m)
}

// crop is a slice that begins inside of a row. No word is known for the format that the chip has it in on the way, but for what
// becomes of the numbers: what the gain takes beyond fp16 is infinite (hal.Numerics.WidthSliceGain). The tasks say so: one
// multiplies, one divides.
//
//	x [h][w] ─ exchange, *16 ─ [w][h] ─ exchange, /16 ─ y [h][w']
func (b *builder) crop(l *anec.Layer, viewed layout) ([]*units.Op, *diag.Reason) {
	y, why := b.layout(l.Top())
	if why != nil {
		return nil, why
	}
	m := b.moveOf(l.Top().Type.Dims, viewed, y)
	m.axes = slices.DeleteFunc(m.axes, func(a axis) bool { return a.n == 1 })
	m.before = b.inRows(l.Bottoms[0])
	apart, together, why := b.outAndBack(m)
	if why != nil {
		return nil, why
	}
	ops, gain := append(apart, together...), b.Target.Numerics.WidthSliceGain
	for i, o := range ops {
		if o.Planar {
			return nil, diag.Decline(diag.NativeRecord, "a slice along W repeats elements, and no recorded task of the planar engine has its gain")
		}
		o.Cropped = true
		if o.Post = tensor.ToF16(gain); i >= len(apart) {
			o.Post = tensor.ToF16(1 / gain)
		}
	}
	return ops, nil
}

// carry is a copy between places of any kind.
func (b *builder) carry(l *anec.Layer) ([]*units.Op, *diag.Reason) {
	x := l.Bottoms[0]
	from, why1 := b.source(x)
	to, why2 := b.layout(l.Top())
	if why := firstOf(why1, why2, asIs(l)); why != nil {
		return nil, why
	}
	m := b.moveOf(x.Type.Dims, from, to)
	m.before = b.inRows(x)
	return b.moves(m)
}

// reshape selects the tasks of a reshape that no strides express. Both shapes may be cut into the same pieces; if not, elements
// lie in scratch memory such that both are views of it:
//
//	x [16][4·8]  =  [16][4][8]  =  y [16][4][8]            in pieces
//	x [2][3·4] ─ exchange ─ [24], 64 bytes apart ─ exchange ─ y [4][6]
func (b *builder) reshape(l *anec.Layer, x layout) ([]*units.Op, *diag.Reason) {
	y, why := b.layout(l.Top())
	if why != nil {
		return nil, why
	}
	if l.Kind() != anec.KindReshape {
		return nil, diag.Decline(diag.NativeLayout, "no strides express the view of %q, and no copy is known that does", l.Bottoms[0].Name)
	}
	from, to := l.Bottoms[0].Type.Dims, l.Top().Type.Dims
	if dims, xs, ys, ok := segment.CommonPieces(from, wide(x.strides), to, wide(y.strides)); ok {
		m := move{Machine: b.Machine, from: x.origin, to: y.origin, before: b.inRows(l.Bottoms[0])}
		for a, n := range dims {
			m.axes = append(m.axes, axis{td.Axis(a), n, int(xs[a]), int(ys[a])})
		}
		return b.moves(m)
	}
	apart, bytes := b.spreadOut(from)
	together, _ := b.spreadOut(to)
	if bytes > maxExpand {
		return nil, tooMuchMemory(bytes)
	}
	apart.origin = b.takeScratch(bytes)
	together.origin = apart.origin
	in, why1 := b.moves(b.moveOf(from, x, apart))
	out, why2 := b.moves(b.moveOf(to, together, y))
	if why := firstOf(why1, why2); why != nil {
		return nil, why
	}
	if n := len(in) + len(out); n > maxTasks {
		return nil, tooManyTasks(maxTasks, n)
	}
	return append(in, out...), nil
}

// spreadOut is the layout of elements one after the other, 64 bytes apart, and how many bytes they take.
func (b *builder) spreadOut(d anec.Dims) (at layout, bytes int) {
	bytes = b.RowAlign
	for a := anec.NumAxes - 1; a >= 0; a-- {
		if at.strides[a] = bytes; bytes <= maxExpand {
			bytes *= d[a]
		}
	}
	return at, bytes
}
