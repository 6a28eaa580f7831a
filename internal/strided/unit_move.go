package strided

import (
	"encoding/binary"
	"math"

	"github.com/espalier-ane/espalier/internal/kernel/half"
	"github.com/espalier-ane/espalier/internal/kernel/vec"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// A mover reads or writes an operand in the order of a dense array: element e of
// the one is element e of the other. Axes that the operand walks over at one
// distance are one axis.
//
//	dense    a b c d e f g h i …
//	operand  a b c . . . d e f . . . g h i     axes: 3 elements, 2 bytes apart;
//	                                                 rows, 12 bytes apart
type mover struct {
	array
	dims   denseDims
	halves bool                     // fp16 numbers, at one distance along each axis
	axes   [6]struct{ n, step int } // the innermost first
}

// moveBlock is how many elements are moved at once: they stay in the fastest cache.
const moveBlock = 2048

func newMover(o *Operand, p passage, d denseDims) *mover { return newMoverBy(o, p, d, denseOrder) }

// denseOrder is the order of the axes in dense arrays, the innermost first.
var denseOrder = [td.NumAxes]int{axisW, axisH, axisD, axisC, axisN}

// newMoverBy is newMover with the axes in another order.
func newMoverBy(o *Operand, p passage, d denseDims, order [td.NumAxes]int) *mover {
	m := &mover{array: o.array(), dims: d}
	m.pass = p
	extents := d.extents()
	m.halves = m.typ == tensor.Float16 && extents[m.lane]%m.interleave == 0
	at := 0
	join := func(n, step int) {
		switch a := &m.axes[at]; {
		case n == 1:
		case a.n == 0:
			a.n, a.step = n, step
		case step == a.step*a.n:
			a.n *= n
		default:
			at++
			m.axes[at].n, m.axes[at].step = n, step
		}
	}
	for _, axis := range order {
		n := extents[axis]
		if axis == m.lane && m.halves && m.interleave > 1 { // bundles, and elements of a bundle
			join(m.interleave, sizeOf(m.typ))
			n /= m.interleave
		}
		join(n, m.strides[axis])
	}
	for i := range m.axes {
		m.axes[i].n = max(m.axes[i].n, 1)
	}
	return m
}

// extents are those of the axes of an operand.
func (d denseDims) extents() [td.NumAxes]int {
	return [td.NumAxes]int{axisN: d.groups, axisC: d.C, axisD: d.D, axisH: d.H, axisW: d.W}
}

// orderOf is the order of axes in which elements are best taken where it does not
// matter otherwise: if elements of the result, taken as they are in dense arrays,
// would each have a line of the cache to themselves, the axis along which they are
// nearest to each other comes first.
func orderOf(u *Unit) [td.NumAxes]int {
	order := denseOrder
	const line = 64
	to := u.result()
	if !to.halves || to.axes[0].step < line || to.axes[1].step <= 0 {
		return order
	}
	for _, o := range []*Operand{&u.Source1, &u.Result, u.Source2} {
		if o != nil && (o.Type != tensor.Float16 || o.Interleave > 1) {
			return order
		}
	}
	extents := denseDims{u.Groups, u.ResultSize()}.extents()
	best := 0
	for i, axis := range order {
		if first := order[best]; extents[axis] > 1 && to.strides[axis] > 0 && (extents[first] == 1 || to.strides[axis] < to.strides[first]) {
			best = i
		}
	}
	first := order[best]
	copy(order[1:best+1], denseOrder[:best])
	order[0] = first
	return order
}

// elements is the number of all.
func (m *mover) elements() int { return m.dims.rows() * m.dims.W }

// row is where row r begins, of the innermost axis.
func (m *mover) row(r int) int {
	off := m.offset
	for i := 1; r > 0; i++ {
		a := &m.axes[i]
		off += r % a.n * a.step
		r /= a.n
	}
	return off
}

// read reads elements, from one on.
func (m *mover) read(w *Scratch, dst []float32, from int) {
	if !m.halves {
		m.eachRow(len(dst), from, func(lo, hi int, at index) { m.load(w, dst[lo:hi], at, axisW) })
		return
	}
	if m.pass&^passFlush == passNaN && m.axes[0].step == 2 {
		if off, n := m.part(from, len(dst)); n == len(dst) {
			half.FloatsFlushed(dst, m.memory(w)[off:], m.pass&passFlush != 0)
			return
		}
	}
	m.readHalves(w, dst, from)
	if m.pass != 0 {
		m.pass.apply(dst)
	}
}

// readHalves is read of fp16 numbers, as they are.
func (m *mover) readHalves(w *Scratch, dst []float32, from int) {
	src := m.memory(w)
	in, next := &m.axes[0], &m.axes[1]
	for len(dst) > 0 {
		r, first := from/in.n, from%in.n
		off, n := m.row(r)+first*in.step, min(len(dst), in.n-first)
		if rows := min(len(dst)/in.n, next.n-r%next.n); first == 0 && rows > 1 && in.step == 2 && next.step >= 0 {
			w.rows = half.Rows{Dst: dst, DstApart: in.n, Src: src[off:], SrcApart: next.step, Count: rows, Cols: in.n}
			w.rows.Convert()
			n = rows * in.n
		} else if first == 0 && rows >= 8 && next.step == 2 && in.step > 0 && 2*rows*in.n <= len(w.decoded) { // columns, side by side
			n = rows * in.n
			half.Transpose(w.decoded, 2*in.n, src[off:], in.step, in.n, rows)
			half.Floats(dst[:n], w.decoded)
		} else {
			readRow(w, dst[:n], src, off, in.step)
		}
		dst, from = dst[n:], from+n
	}
}

// readRow reads fp16 numbers so many bytes apart: brought together first, they are
// made floats many at a time.
func readRow(w *Scratch, dst []float32, src []byte, off, step int) {
	const few = 8
	if step == 2 || step <= 0 || len(dst) < few || 2*len(dst) > len(w.decoded) {
		loadFloats(dst, tensor.Float16, src, off, step)
		return
	}
	halves := w.decoded[:2*len(dst)]
	src = src[off:][:(len(dst)-1)*step+2]
	rest, at := halves, 0
	for ; len(rest) >= 8; rest = rest[8:] {
		a, b := binary.LittleEndian.Uint16(src[at:]), binary.LittleEndian.Uint16(src[at+step:])
		c, d := binary.LittleEndian.Uint16(src[at+2*step:]), binary.LittleEndian.Uint16(src[at+3*step:])
		binary.LittleEndian.PutUint64(rest, uint64(a)|uint64(b)<<16|uint64(c)<<32|uint64(d)<<48)
		at += 4 * step
	}
	for ; len(rest) >= 2; rest = rest[2:] {
		binary.LittleEndian.PutUint16(rest, binary.LittleEndian.Uint16(src[at:]))
		at += step
	}
	half.Floats(dst, halves)
}

// write writes elements, from one on, at most moveBlock. It overwrites them.
func (m *mover) write(w *Scratch, src []float32, from int) {
	if !m.halves {
		m.eachRow(len(src), from, func(lo, hi int, at index) { m.store(w, src[lo:hi], at, axisW) })
		return
	}
	if m.pass == passNaN {
		w.leave = vec.Leave{Limits: vec.Limits{Most: float32(math.NaN()), None: infinity}, Scale: 1, Tile: src, Rows: 1, Cols: len(src), Out: w.decoded}
		if m.axes[0].step == 2 {
			if off, n := m.part(from, len(src)); n == len(src) {
				w.leave.Out = m.memory(w)[off:]
				w.leave.Run()
				return
			}
		}
		w.leave.Run()
		m.put(w, w.decoded[:2*len(src)], from)
		return
	}
	if m.pass != 0 {
		m.pass.apply(src)
	}
	const long = 64
	if in := &m.axes[0]; in.step != 2 || in.n < long {
		half.Put(w.decoded, src)
		m.put(w, w.decoded[:2*len(src)], from)
		return
	}
	dst := m.memory(w)
	for len(src) > 0 {
		off, n := m.part(from, len(src))
		half.Put(dst[off:], src[:n])
		src, from = src[n:], from+n
	}
}

// part is where an element lies, and how many of n from there on lie along the
// innermost axis.
func (m *mover) part(from, n int) (off, count int) {
	in := &m.axes[0]
	first := from % in.n
	return m.row(from/in.n) + first*in.step, min(n, in.n-first)
}

// put writes fp16 numbers, from an element on, as they are.
func (m *mover) put(w *Scratch, halves []byte, from int) {
	dst, in, next := m.memory(w), &m.axes[0], &m.axes[1]
	for len(halves) > 0 {
		off, n := m.part(from, len(halves)/2)
		rows := 1
		if n == in.n { // those that follow
			rows = min(len(halves)/2/n, next.n-from/n%next.n)
		}
		if next.step == 2 && rows > 1 && in.step > 0 { // columns, side by side
			half.Transpose(dst[off:], in.step, halves, 2*n, rows, n)
			halves, from = halves[2*n*rows:], from+rows*n
			continue
		}
		for range rows {
			putRow(dst[off:], in.step, halves[:2*n])
			halves, off = halves[2*n:], off+next.step
		}
		from += rows * n
	}
}

// putRow writes fp16 numbers so many bytes apart.
func putRow(dst []byte, step int, halves []byte) {
	if step == 2 {
		copy(dst[:len(halves)], halves)
		return
	}
	at := 0
	for ; len(halves) >= 8; halves = halves[8:] {
		four := binary.LittleEndian.Uint64(halves)
		binary.LittleEndian.PutUint16(dst[at:], uint16(four))
		binary.LittleEndian.PutUint16(dst[at+step:], uint16(four>>16))
		binary.LittleEndian.PutUint16(dst[at+2*step:], uint16(four>>32))
		binary.LittleEndian.PutUint16(dst[at+3*step:], uint16(four>>48))
		at += 4 * step
	}
	for ; len(halves) >= 2; halves = halves[2:] {
		binary.LittleEndian.PutUint16(dst[at:], binary.LittleEndian.Uint16(halves))
		at += step
	}
}

// eachRow cuts elements into parts of rows along W.
func (m *mover) eachRow(count, from int, do func(lo, hi int, at index)) {
	for lo := 0; lo < count; {
		at := m.dims.place((from + lo) / m.dims.W)
		at[axisW] = (from + lo) % m.dims.W
		hi := min(count, lo+m.dims.W-at[axisW])
		do(lo, hi, at)
		lo = hi
	}
}

// need is the scratch of a mover.
func (*mover) need() Need { return Need{Decoded: 2 * moveBlock} }

// inBlocks calls do for parts of lo to hi.
func inBlocks(lo, hi int, do func(lo, hi int)) {
	for ; lo < hi; lo += moveBlock {
		do(lo, min(lo+moveBlock, hi))
	}
}
