package compiler

import (
	"slices"

	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/td"
)

// Axes that tasks go along. A surface says how far apart the elements of an axis are, so a task may read any axis but W as
// its channels, its rows or its groups; what is left over becomes tasks one after the other.

// A v7path is an axis with more than one element: its extent, and its strides in source and result.
type v7path struct {
	axis        td.Axis // several that go as one: the innermost
	n, from, to int
}

// A v7work is what a layer with one source does, in the words of registers: columns of the source lie side by side.
type v7work struct {
	d        anec.Dims // of the source
	axes     td.Axes   // along which the layer works
	from, to *v7surface
	columns  td.Axis // what is W here

	// Where the result has other columns than the source, the axis that they are has a stride of 2 there, and W this one.
	apart int
}

// workOf reads the source and the result of a layer. Where another axis than W lies in columns, as in a transposed view,
// both change places.
func (b *v7build) workOf(l *anec.Layer, axes td.Axes) (w v7work, ok bool) {
	x, y := l.Bottoms[0], l.Top()
	if x.Const != nil {
		return w, false
	}
	from, ok1 := b.layout(x)
	to, ok2 := b.layout(y)
	if !ok1 || !ok2 {
		return w, false
	}
	w = v7work{d: x.Type.Dims, axes: axes, columns: anec.W}
	for _, a := range []td.Axis{anec.W, anec.C, anec.H, anec.D, anec.N} {
		if w.d[a] > 1 && from.strides[a] == 2 {
			w.columns = a
			break
		}
		if w.d[a] == 1 && w.d[w.columns] > 1 {
			w.columns = a // nothing lies in columns
		}
	}
	w.d = w.exchanged(w.d)
	if axes.Has(w.columns) != axes.Has(anec.W) {
		w.axes ^= td.AxesOf(w.columns, anec.W)
	}
	result := w.exchanged(y.Type.Dims)
	w.from, ok1 = w.surface(from, w.d)
	if w.to, ok2 = w.surface(to, result); !ok2 {
		w.to, ok2 = w.turned(to, result)
	}
	return w, ok1 && ok2 && to.base != hwx.BaseDerived
}

// exchanged are extents of the layer with the columns as W.
func (w *v7work) exchanged(d anec.Dims) anec.Dims {
	d[w.columns], d[anec.W] = d[anec.W], d[w.columns]
	return d
}

// surface is a layout in registers; false if they cannot say it.
func (w *v7work) surface(at v7layout, d anec.Dims) (*v7surface, bool) {
	s := at.strides
	s[w.columns], s[anec.W] = s[anec.W], s[w.columns]
	if at.offset < 0 || at.offset%v7row != 0 || d[anec.W] > 1 && s[anec.W] != 2 {
		return nil, false
	}
	// Along an axis of one element a stride leads nowhere; it is as a dense tensor would have it.
	next := v7align(2*d[anec.W], v7row)
	for a := int(anec.H); a >= 0; a-- {
		if d[a] == 1 {
			s[a] = next
		}
		if s[a] <= 0 || s[a]%v7row != 0 {
			return nil, false
		}
		next = s[a] * d[a]
	}
	return &v7surface{base: at.base, offset: at.offset, row: s[anec.H], plane: s[anec.C], depth: s[anec.D], group: s[anec.N]}, true
}

// turned is the surface of a result that has other columns than the source.
func (w *v7work) turned(at v7layout, d anec.Dims) (*v7surface, bool) {
	strides := at.strides
	strides[w.columns], strides[anec.W] = strides[anec.W], strides[w.columns]
	if w.apart = strides[anec.W]; d[anec.W] == 1 {
		w.apart = v7row
	}
	if w.apart <= 0 || w.apart%v7row != 0 {
		return nil, false
	}
	for a := range anec.W {
		if d[a] == 1 || strides[a] != 2 {
			continue
		}
		// Read with these columns, it is a surface.
		plain := v7work{columns: anec.W}
		turned := at
		turned.strides = strides
		turned.strides[a], turned.strides[anec.W] = w.apart, 2
		dims := d
		dims[a], dims[anec.W] = d[anec.W], d[a]
		s, ok := plain.surface(turned, dims)
		if !ok {
			return nil, false
		}
		*[anec.NumAxes]*int{&s.group, &s.depth, &s.plane, &s.row, new(int)}[a] = 2
		return s, true
	}
	return nil, false
}

// v7paths are the axes but W of a source, from the outermost: those of a set and the others.
func v7paths(d anec.Dims, axes td.Axes, from, to *v7surface) (kept, folded []v7path) {
	for _, a := range []v7path{
		{anec.N, d[anec.N], from.group, to.group}, {anec.D, d[anec.D], from.depth, to.depth},
		{anec.C, d[anec.C], from.plane, to.plane}, {anec.H, d[anec.H], from.row, to.row},
	} {
		switch {
		case a.n == 1:
		case axes.Has(a.axis):
			folded = append(folded, a)
		default:
			kept = append(kept, a)
		}
	}
	return kept, folded
}

// asOne makes one axis of the outermost neighbours that lie like one, until no more than so many are left.
func asOne(list []v7path, most int) []v7path {
	list = slices.Clone(list)
	for i := 0; i+1 < len(list) && len(list) > most; {
		outer, inner := list[i], list[i+1]
		if outer.from != inner.n*inner.from || outer.to != inner.n*inner.to {
			i++
			continue
		}
		inner.n *= outer.n
		list = slices.Replace(list, i, i+2, inner)
	}
	return list
}

// moved is the surface from so many bytes on.
func (s *v7surface) moved(bytes int) *v7surface {
	m := *s
	m.offset += bytes
	return &m
}

// forEach selects tasks for each element of some axes, one after the other.
func forEach(axes []v7path, from, to *v7surface, selection func(from, to *v7surface) ([]*v7op, bool)) ([]*v7op, bool) {
	if len(axes) == 0 {
		return selection(from, to)
	}
	var all []*v7op
	for i := range axes[0].n {
		ops, ok := forEach(axes[1:], from.moved(i*axes[0].from), to.moved(i*axes[0].to), selection)
		if all = append(all, ops...); !ok || len(all) > v7maxTasks {
			return nil, false
		}
	}
	return all, true
}

// inPieces selects tasks for as many elements of an axis at a time as there is room for on chip. The last of them may leave
// with C and W exchanged.
func (f *v7form) inPieces(axis v7path, from, to *v7surface, bytes func(n int) int, selection func(from, to *v7surface, n int) []*v7op) ([]*v7op, bool) {
	return inPieces(axis, from, to, bytes, func(from, to *v7surface, n int) []*v7op {
		ops := selection(from, to, n)
		if f.exchange {
			ops[len(ops)-1].exchanged()
		}
		return ops
	})
}

// inPieces selects tasks for as many elements of an axis at a time as there is room for on chip.
func inPieces(axis v7path, from, to *v7surface, bytes func(n int) int, selection func(from, to *v7surface, n int) []*v7op) ([]*v7op, bool) {
	room := axis.n
	for bytes(room) >= v7chipBytes {
		if room == 1 {
			return nil, false
		}
		room = (room + 1) / 2
	}
	if axis.to == 2 && room < axis.n {
		room = room / (v7row / 2) * (v7row / 2) // they are columns of the result
	}
	if room == 0 {
		return nil, false
	}
	var all []*v7op
	for at := 0; at < axis.n; at += room {
		all = append(all, selection(from.moved(at*axis.from), to.moved(at*axis.to), min(room, axis.n-at))...)
		if len(all) > v7maxTasks {
			return nil, false
		}
	}
	return all, true
}

// A v7form is how a layer with channels and rows of its own reads a surface.
type v7form struct {
	channels, rows v7path // n is 1 if there are none
	outside        []v7path
	exchange       bool // channels are the columns of the result
}

// formOfRows chooses channels and rows among the axes beside W when W is the only axis that a layer works along. Channels
// that have rows keep them (norm_softmax_a3_1x64x8x8); else all are channels.
func formOfRows(kept []v7path) v7form {
	f := v7form{channels: v7path{n: 1}, rows: v7path{n: 1}}
	planes := len(kept) == 2 && kept[0].axis == anec.C && kept[1].axis == anec.H
	if !planes {
		kept = asOne(kept, 1)
	}
	if n := len(kept); n > 2 {
		f.outside, kept = kept[:n-2], kept[n-2:]
	}
	switch {
	case planes:
		f.channels, f.rows = kept[0], kept[1]
	case len(kept) == 2:
		f.rows, f.channels = kept[0], kept[1]
	case len(kept) == 1:
		f.channels = kept[0]
	}
	return f
}

// formOfPlanes is that of a layer along W and another axis, its rows: the rest are channels, as one if they may.
func formOfPlanes(kept []v7path, along v7path, asChannels bool) v7form {
	f := v7form{channels: v7path{n: 1}, rows: along}
	if asChannels {
		kept = asOne(kept, 1)
	}
	if n := len(kept); n > 0 {
		f.outside, f.channels = kept[:n-1], kept[n-1]
	}
	return f
}

// formOfChannels is that of a layer along another axis than W, its channels.
func formOfChannels(kept []v7path, along v7path) v7form {
	f := v7form{channels: along, rows: v7path{n: 1}}
	if n := len(kept); n > 0 {
		f.outside, f.rows = kept[:n-1], kept[n-1]
	}
	return f
}

// tasks selects the tasks of a form for each element of what is outside of it.
func (f *v7form) tasks(w *v7work, selection func(from, to *v7surface) ([]*v7op, bool)) ([]*v7op, bool) {
	if f.exchange = f.channels.n > 1 && f.channels.to == 2; !f.exchange && w.apart != 0 {
		return nil, false
	}
	from, to := f.read(w.from, w.to)
	if f.exchange {
		to.plane, to.depth, to.group = w.apart, w.apart, w.apart
		if f.rows.n == 1 {
			to.row = w.apart
		}
	}
	return forEach(f.outside, from, to, selection)
}

// read is the surface as the form reads it.
func (f *v7form) read(from, to *v7surface) (*v7surface, *v7surface) {
	source, result := *from, *to
	if c := f.channels; c.n > 1 {
		source.plane, result.plane = c.from, c.to
		if c.axis != anec.C && f.rows.n == 1 { // nothing lies between channels
			source.row, source.depth, source.group = c.n*c.from, c.n*c.from, c.n*c.from
			result.row, result.depth, result.group = c.n*c.to, c.n*c.to, c.n*c.to
		}
	}
	if f.rows.n > 1 {
		source.row, result.row = f.rows.from, f.rows.to
	}
	return &source, &result
}
