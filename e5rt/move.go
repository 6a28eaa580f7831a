package e5rt

import (
	"github.com/espalier-ane/espalier/internal/pool"
	"github.com/espalier-ane/espalier/tensor"
)

// A move brings the elements of one layout to another, in its element type, a run
// of neighbours at a time:
//
//	from  fp32   a b c d e f
//	to    fp16   a b c . . . . .
//	             d e f . . . . .
//
// What lies in the gaps stays as it is.
type move struct {
	from, to way
	elements int
}

// A way is how a layout is walked through.
type way struct {
	typ   tensor.DType
	size  int    // of an element
	run   int    // elements that lie side by side
	loops []loop // of runs
}

// maxLoops bounds the axes of a layout that no two of are one.
const maxLoops = 8

// newWay is that of a layout; false if it has too many axes, or elements of less
// than a byte that do not lie side by side.
func newWay(l *Layout) (way, bool) {
	w := way{typ: l.Type, size: l.Type.Size(), run: count(l.Shape)}
	if w.size == 0 {
		return w, true
	}
	w.loops = loopsOf(l.Shape, l.Strides)
	w.run = 1
	if k := len(w.loops) - 1; k >= 0 && w.loops[k].stride == w.size {
		w.run, w.loops = w.loops[k].n, w.loops[:k]
	}
	return w, len(w.loops) <= maxLoops
}

// newMove is nil if there is none between the layouts.
func newMove(to, from *Layout) *move {
	m := &move{elements: count(from.Shape)}
	var ok [2]bool
	m.from, ok[0] = newWay(from)
	m.to, ok[1] = newWay(to)
	if !ok[0] || !ok[1] || count(to.Shape) != m.elements || !converts(from.Type, to.Type) {
		return nil
	}
	return m
}

// bytes is how much a move reads.
func (m *move) bytes() int64 {
	n, _ := m.from.typ.ByteLen(m.elements)
	return int64(n)
}

// apart reports whether the result is the same if both lie in one place, or in places that share
// some memory: elements are not converted, and all lie side by side.
func (m *move) apart() bool {
	return m.from.typ == m.to.typ && len(m.from.loops)+len(m.to.loops) == 0
}

// do moves all elements, on up to so many goroutines. It allocates nothing unless
// there is work for them.
func (m *move) do(to, from []byte, threads int) {
	const worth = 1 << 17 // elements
	switch {
	case m.elements == 0:
	case m.from.size == 0: // they have one type, and no bytes of their own
		copy(to, from[:m.bytes()])
	case m.elements < 2*worth || threads == 1 || overlaps(to, from): // a part would write what another has to read
		m.part(to, from, 0, m.elements)
	default:
		pool.ForUpTo(threads, m.elements, worth, func(lo, hi int) { m.part(to, from, lo, hi) })
	}
}

// part moves some elements, counted through all axes.
func (m *move) part(to, from []byte, lo, hi int) {
	if len(m.from.loops)+len(m.to.loops) == 0 {
		convertPart(to[lo*m.to.size:hi*m.to.size], from[lo*m.from.size:hi*m.from.size], m.from.typ, m.to.typ)
		return
	}
	var a, b place
	a.seek(&m.from, lo)
	b.seek(&m.to, lo)
	for n := hi - lo; n > 0; {
		k := min(a.left, b.left, n)
		convertPart(to[b.at:b.at+k*m.to.size], from[a.at:a.at+k*m.from.size], m.from.typ, m.to.typ)
		a.step(&m.from, k)
		b.step(&m.to, k)
		n -= k
	}
}

// A place is where a walk through a layout is.
type place struct {
	at    int // byte
	left  int // elements of the run
	index [maxLoops]int
}

func (p *place) seek(w *way, element int) {
	run, within := element/w.run, element%w.run
	p.at, p.left = within*w.size, w.run-within
	for i := len(w.loops) - 1; i >= 0; i-- {
		p.index[i] = run % w.loops[i].n
		p.at += p.index[i] * w.loops[i].stride
		run /= w.loops[i].n
	}
}

// step goes on by some elements of the run, and to the next one behind its end.
func (p *place) step(w *way, elements int) {
	p.at += elements * w.size
	if p.left -= elements; p.left > 0 {
		return
	}
	p.at -= w.run * w.size
	p.left = w.run
	for i := len(w.loops) - 1; i >= 0; i-- {
		l := &w.loops[i]
		if p.index[i]++; p.index[i] < l.n {
			p.at += l.stride
			return
		}
		p.index[i] = 0
		p.at -= (l.n - 1) * l.stride
	}
}
