package selection

import (
	"cmp"
	"slices"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/internal/units"
)

// through selects tasks that put elements apart in scratch memory and then together:
//
//	x [h][w]  ─ exchange ─  [h][w'][k]  ─ exchange ─  y [h'][w'']
//
// where k is an axis that lies well on both sides, or nothing.
//
// If the columns of the two sides cannot both follow each other there, elements take one more step.
func (b *builder) through(m move) ([]*units.Op, *diag.Reason) {
	scratch := b.scratch
	if apart, together, why := b.outAndBack(m); why == nil {
		return append(apart, together...), nil
	}
	b.scratch = scratch
	first, second, why := b.halfway(m, nil)
	if why != nil {
		return nil, why
	}
	ops, why1 := first.tasks(maxTasks)
	apart, together, why2 := b.outAndBack(second)
	if why := firstOf(why1, why2); why != nil {
		return nil, why
	}
	if ops = slices.Concat(ops, apart, together); len(ops) > maxTasks {
		return nil, tooManyTasks(maxTasks, len(ops))
	}
	return ops, nil
}

// outAndBack are the tasks that put elements apart, and those that put them together.
func (b *builder) outAndBack(m move) (in, out []*units.Op, why *diag.Reason) {
	y, why := m.closeAxes(func(a axis) int { return a.to })
	if why != nil {
		return nil, nil, why
	}
	first, second, why := b.halfway(m, y)
	if why != nil {
		return nil, nil, why
	}
	in, why1 := first.tasks(maxTasks)
	out, why2 := second.tasks(maxTasks)
	why = firstOf(why1, why2)
	if n := len(in) + len(out); why == nil && n > maxTasks {
		why = tooManyTasks(maxTasks, n)
	}
	return in, out, why
}

// halfway gives a move scratch memory to go through, in which axes y follow each other.
func (b *builder) halfway(m move, y []int) (first, second move, why *diag.Reason) {
	r, why := m.reading()
	if why != nil {
		return first, second, why
	}
	if !compatible(r.columns, y) {
		return first, second, diag.Decline(diag.NativeLayout, "the columns that are read and those that are written share axes, in another order")
	}
	apart, bytes, why := r.apart(y)
	if why != nil {
		return first, second, why
	}
	at := b.takeScratch(bytes)
	first, second = move{Machine: m.Machine, from: r.from, to: at}, move{Machine: m.Machine, from: at, to: m.to}
	for i, a := range r.axes {
		if a.to = apart[i]; a.n > 1 && a.to != 0 {
			first.axes = append(first.axes, a)
		}
		if i == len(m.axes) { // the window
			second.from.offset += r.skip * apart[i]
			continue
		}
		a = m.axes[i]
		if a.from = apart[i]; r.inWindow(m.axes[i]) {
			a.from = m.axes[i].from / 2 * apart[len(m.axes)]
		}
		second.axes = append(second.axes, a)
	}
	return first, second, nil
}

// A reading is what is read for a move that goes through scratch memory. Columns that do not follow each other, or do not
// begin on 64 bytes, are read as one window, with what is before them and in between.
//
//	skip
//	- - - x - - x - - x          a window of ten columns, of which three are moved
type reading struct {
	units.Machine
	from    origin
	axes    []axis // those of the move, and the window, if there is one: then those that are in it have one element
	columns []int  // axes that lie closer than 64 bytes, the innermost first
	window  bool
	skip    int
}

// inWindow reports whether the window has the elements along an axis.
func (r *reading) inWindow(a axis) bool { return r.window && a.from%r.RowAlign != 0 }

func (m *move) reading() (r reading, why *diag.Reason) {
	r = reading{Machine: m.Machine, from: m.from, axes: slices.Clone(m.axes)}
	if r.columns, why = m.closeAxes(func(a axis) int { return a.from }); why == nil && m.from.offset%m.RowAlign == 0 {
		return r, nil
	}
	if !m.before || m.from.offset%2 != 0 {
		if why == nil {
			why = diag.Decline(diag.NativeLayout, "what is read begins where no row may, in bytes, behind another value").In("Base").Measure(multiplesOf(m.RowAlign), m.from.offset)
		}
		return r, why
	}
	r.window = true
	lowest, highest := m.from.offset, m.from.offset
	for i, a := range m.axes {
		if !r.inWindow(a) {
			continue
		}
		if a.from%2 != 0 {
			return r, diag.Decline(diag.NativeLayout, "columns do not follow each other by whole elements, in bytes").Measure(multiplesOf(2), a.from)
		}
		last := (a.n - 1) * a.from
		lowest, highest = lowest+min(last, 0), highest+max(last, 0)
		r.axes[i].n = 1
	}
	if lowest < 0 {
		return r, diag.Decline(diag.NativeLayout, "what is read begins before its memory, in bytes").Measure(0, lowest)
	}
	r.from.offset = lowest / m.RowAlign * m.RowAlign
	r.skip = (m.from.offset - r.from.offset) / 2
	r.columns = []int{len(r.axes)}
	r.axes = append(r.axes, axis{axis: anec.W, n: (highest-r.from.offset)/2 + 1, from: 2})
	return r, nil
}

// apart lays what is read into scratch memory, such that columns of both sides follow each other: how far apart elements lie
// along each axis, and how many bytes they take. What is repeated lies there once, unless it is a column of the result.
func (r *reading) apart(y []int) (apart []int, bytes int, why *diag.Reason) {
	order := slices.Clone(r.columns)
	if len(y) > len(order) {
		order = slices.Clone(y)
	}
	for _, chain := range [][]int{r.columns, y} {
		for _, i := range chain {
			if !slices.Contains(order, i) {
				order = append(order, i)
			}
		}
	}
	columns := len(order)
	for i, a := range r.axes {
		if !slices.Contains(order, i) && a.from != 0 {
			order = append(order, i)
		}
	}
	size := func(inner int) int {
		n := r.RowAlign
		if inner >= 0 {
			n = r.RowBytes(r.axes[inner].n)
		}
		for _, i := range order {
			if i != inner && n <= maxExpand {
				n *= r.axes[i].n
			}
		}
		return n
	}
	inner := -1
	for _, i := range order[columns:] {
		if a := r.axes[i]; a.n > 1 && a.from > 0 && a.to%r.RowAlign == 0 && size(i) < size(inner) {
			inner = i
		}
	}
	if bytes = size(inner); bytes > maxExpand {
		return nil, 0, tooMuchMemory(bytes)
	}
	apart = make([]int, len(r.axes))
	width := r.RowAlign
	if inner >= 0 {
		apart[inner], width = 2, r.RowBytes(r.axes[inner].n)
	}
	for _, i := range order {
		if i != inner {
			apart[i] = width
			width *= r.axes[i].n
		}
	}
	return apart, bytes, nil
}

// closeAxes are the axes of a side whose elements lie closer than 64 bytes, the innermost first. They have to follow each other.
func (m *move) closeAxes(stride func(axis) int) (chain []int, why *diag.Reason) {
	for i, a := range m.axes {
		if stride(a)%m.RowAlign != 0 {
			chain = append(chain, i)
		}
	}
	slices.SortStableFunc(chain, func(i, j int) int { return cmp.Compare(stride(m.axes[i]), stride(m.axes[j])) })
	next := 2
	for _, i := range chain {
		if found := stride(m.axes[i]); found != next {
			return chain, diag.Decline(diag.NativeLayout, "elements that lie closer than %d bytes do not follow each other, in bytes", m.RowAlign).Measure(next, found)
		}
		next *= m.axes[i].n
	}
	return chain, nil
}

// compatible reports whether axes can lie one after the other for both: the two have none in common, or one begins as the
// other is.
func compatible(x, y []int) bool {
	shared := slices.ContainsFunc(x, func(i int) bool { return slices.Contains(y, i) })
	n := min(len(x), len(y))
	return !shared || slices.Equal(x[:n], y[:n])
}
