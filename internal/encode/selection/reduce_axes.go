package selection

import (
	"slices"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/internal/units"
	"github.com/espalier-ane/espalier/td"
)

// Axes that tasks go along. A surface says how far apart the elements of an axis are, so a task may read any axis but W as
// its channels, its rows or its groups; what is left over becomes tasks one after the other.

// A path is an axis with more than one element: its extent, and its strides in source and result.
type path struct {
	axis        td.Axis // several that go as one: the innermost
	n, from, to int
}

// A work is what a layer with one source does, in the words of registers: columns of the source lie side by side.
type work struct {
	units.Machine
	d        anec.Dims // of the source
	axes     td.Axes   // along which the layer works
	from, to *units.Surface
	columns  td.Axis // what is W here

	// Where the result has other columns than the source, the axis that they are has a stride of 2 there, and W this one.
	apart int
}

// workOf reads the source and the result of a layer. Where another axis than W lies in columns, as in a transposed view,
// both change places.
func (b *builder) workOf(l *anec.Layer, axes td.Axes) (w work, why *diag.Reason) {
	x, y := l.Bottoms[0], l.Top()
	if x.Const != nil {
		return w, allConstant()
	}
	from, why1 := b.layout(x)
	to, why2 := b.layout(y)
	if why := firstOf(why1, why2); why != nil {
		return w, why
	}
	w = work{Machine: b.Machine, d: x.Type.Dims, axes: axes, columns: anec.W}
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
	if w.from, why = w.surface(from, w.d); why != nil {
		return w, about(x, why)
	}
	if w.to, why = w.surface(to, result); why != nil {
		if w.to = w.otherColumns(to, result); w.to == nil {
			return w, about(y, why)
		}
	}
	return w, nil
}

// exchanged are extents of the layer with the columns as W.
func (w *work) exchanged(d anec.Dims) anec.Dims {
	d[w.columns], d[anec.W] = d[anec.W], d[w.columns]
	return d
}

// surface is a layout in registers, if they can say it. The reason is about the value, which its caller names.
func (w *work) surface(at layout, d anec.Dims) (*units.Surface, *diag.Reason) {
	s := at.strides
	s[w.columns], s[anec.W] = s[anec.W], s[w.columns]
	if at.offset < 0 || at.offset%w.RowAlign != 0 {
		return nil, diag.Decline(diag.NativeLayout, "begins where no row may, in bytes").In("Base").Measure(multiplesOf(w.RowAlign), at.offset)
	}
	if d[anec.W] > 1 && s[anec.W] != 2 {
		return nil, diag.Decline(diag.NativeLayout, "has elements along %v that do not lie side by side, in bytes", w.columns).Measure(2, s[anec.W])
	}
	// Along an axis of one element a stride leads nowhere; it is as a dense tensor would have it.
	next := w.RowBytes(d[anec.W])
	for a := int(anec.H); a >= 0; a-- {
		if d[a] == 1 {
			s[a] = next
		}
		if s[a] <= 0 || s[a]%w.RowAlign != 0 {
			return nil, diag.Decline(diag.NativeLayout, "has a stride along %v that registers do not hold, in bytes", td.Axis(a)).Measure(multiplesOf(w.RowAlign), s[a])
		}
		next = s[a] * d[a]
	}
	return &units.Surface{Base: at.base, Offset: at.offset, Row: s[anec.H], Plane: s[anec.C], Depth: s[anec.D], Group: s[anec.N]}, nil
}

// otherColumns is the surface of a result that has other columns than the source; nil if it has none of them.
func (w *work) otherColumns(at layout, d anec.Dims) *units.Surface {
	strides := at.strides
	strides[w.columns], strides[anec.W] = strides[anec.W], strides[w.columns]
	if w.apart = strides[anec.W]; d[anec.W] == 1 {
		w.apart = w.RowAlign
	}
	if w.apart <= 0 || w.apart%w.RowAlign != 0 {
		return nil
	}
	for a := range anec.W {
		if d[a] == 1 || strides[a] != 2 {
			continue
		}
		// Read with these columns, it is a surface.
		plain := work{Machine: w.Machine, columns: anec.W}
		other := at
		other.strides = strides
		other.strides[a], other.strides[anec.W] = w.apart, 2
		dims := d
		dims[a], dims[anec.W] = d[anec.W], d[a]
		s, why := plain.surface(other, dims)
		if why != nil {
			return nil
		}
		*[anec.NumAxes]*int{&s.Group, &s.Depth, &s.Plane, &s.Row, new(int)}[a] = 2
		return s
	}
	return nil
}

// pathsOf are the axes but W of a source, from the outermost: those of a set and the others.
func pathsOf(d anec.Dims, axes td.Axes, from, to *units.Surface) (kept, folded []path) {
	for _, a := range []path{
		{anec.N, d[anec.N], from.Group, to.Group}, {anec.D, d[anec.D], from.Depth, to.Depth},
		{anec.C, d[anec.C], from.Plane, to.Plane}, {anec.H, d[anec.H], from.Row, to.Row},
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
func asOne(list []path, most int) []path {
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

// forEach selects tasks for each element of some axes, one after the other.
func forEach(axes []path, from, to *units.Surface, selection func(from, to *units.Surface) ([]*units.Op, *diag.Reason)) ([]*units.Op, *diag.Reason) {
	if len(axes) == 0 {
		return selection(from, to)
	}
	var all []*units.Op
	for i := range axes[0].n {
		ops, why := forEach(axes[1:], from.Moved(i*axes[0].from), to.Moved(i*axes[0].to), selection)
		if why != nil {
			return nil, why
		}
		if all = append(all, ops...); len(all) > maxTasks {
			return nil, tooManyTasks(maxTasks, len(all))
		}
	}
	return all, nil
}

// inPieces selects tasks for as many elements of an axis at a time as there is room for on chip. The last of them may leave
// with C and W exchanged.
func (f *workForm) inPieces(axis path, from, to *units.Surface, bytes func(n int) int, selection func(from, to *units.Surface, n int) []*units.Op) ([]*units.Op, *diag.Reason) {
	return inPieces(f.Machine, axis, from, to, bytes, func(from, to *units.Surface, n int) []*units.Op {
		ops := selection(from, to, n)
		if f.exchange {
			f.Exchanged(ops[len(ops)-1])
		}
		return ops
	})
}

// inPieces selects tasks for as many elements of an axis at a time as there is room for on chip.
func inPieces(m units.Machine, axis path, from, to *units.Surface, bytes func(n int) int, selection func(from, to *units.Surface, n int) []*units.Op) ([]*units.Op, *diag.Reason) {
	room := axis.n
	for bytes(room) >= m.OnChip {
		if room == 1 {
			return nil, noRoom("what goes together", m.OnChip, bytes(1))
		}
		room = (room + 1) / 2
	}
	if axis.to == 2 && room < axis.n {
		room = room / (m.RowAlign / 2) * (m.RowAlign / 2) // they are columns of the result
	}
	if room == 0 {
		return nil, noRoom("a row of the result, whose columns are channels of the source,", m.OnChip, bytes(min(axis.n, m.RowAlign/2)))
	}
	var all []*units.Op
	for at := 0; at < axis.n; at += room {
		all = append(all, selection(from.Moved(at*axis.from), to.Moved(at*axis.to), min(room, axis.n-at))...)
		if len(all) > maxTasks {
			return nil, tooManyTasks(maxTasks, len(all))
		}
	}
	return all, nil
}

// A workForm is how a layer with channels and rows of its own reads a surface.
type workForm struct {
	units.Machine
	channels, rows path // n is 1 if there are none
	outside        []path
	exchange       bool // channels are the columns of the result
}

// formOfRows chooses channels and rows among the axes beside W when W is the only axis that a layer works along. Channels
// that have rows keep them (norm_softmax_a3_1x64x8x8); else all are channels.
func formOfRows(kept []path) workForm {
	f := workForm{channels: path{n: 1}, rows: path{n: 1}}
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
func formOfPlanes(kept []path, along path, asChannels bool) workForm {
	f := workForm{channels: path{n: 1}, rows: along}
	if asChannels {
		kept = asOne(kept, 1)
	}
	if n := len(kept); n > 0 {
		f.outside, f.channels = kept[:n-1], kept[n-1]
	}
	return f
}

// formOfChannels is that of a layer along another axis than W, its channels.
func formOfChannels(kept []path, along path) workForm {
	f := workForm{channels: along, rows: path{n: 1}}
	if n := len(kept); n > 0 {
		f.outside, f.rows = kept[:n-1], kept[n-1]
	}
	return f
}

// tasks selects the tasks of a form for each element of what is outside of it.
func (f *workForm) tasks(w *work, selection func(from, to *units.Surface) ([]*units.Op, *diag.Reason)) ([]*units.Op, *diag.Reason) {
	f.Machine = w.Machine
	if f.exchange = f.channels.n > 1 && f.channels.to == 2; !f.exchange && w.apart != 0 {
		return nil, otherColumns(w)
	}
	from, to := f.read(w.from, w.to)
	if f.exchange {
		to.Plane, to.Depth, to.Group = w.apart, w.apart, w.apart
		if f.rows.n == 1 {
			to.Row = w.apart
		}
	}
	return forEach(f.outside, from, to, selection)
}

// read is the surface as the form reads it.
func (f *workForm) read(from, to *units.Surface) (*units.Surface, *units.Surface) {
	source, result := *from, *to
	if c := f.channels; c.n > 1 {
		source.Plane, result.Plane = c.from, c.to
		if c.axis != anec.C && f.rows.n == 1 { // nothing lies between channels
			source.Row, source.Depth, source.Group = c.n*c.from, c.n*c.from, c.n*c.from
			result.Row, result.Depth, result.Group = c.n*c.to, c.n*c.to, c.n*c.to
		}
	}
	if f.rows.n > 1 {
		source.Row, result.Row = f.rows.from, f.rows.to
	}
	return &source, &result
}
