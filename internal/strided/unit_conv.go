package strided

import (
	"github.com/espalier-ane/espalier/internal/kernel/gemm"
	"github.com/espalier-ane/espalier/internal/kernel/half"
	"github.com/espalier-ane/espalier/td"
)

// A movedConv is the way of a convolution from memory and back to it, where source
// and result share none: a tile reads what it meets, and its result goes through
// the array's output and is stored while it is at hand.
type movedConv struct {
	from    *mover // nil: the source is a dense array
	to      *mover
	out     *arrayOutput // nil: nothing
	leave   leave
	plane   *planeSource // nil: a channel by itself is read whole, then copied
	scratch Need
	floats  int // of the scratch, before those of a channel by itself
}

// strips is from how many of them on the threads read their own: of fewer, which
// several threads work on, all would read the same.
const strips = 6

// mostMoved bounds the elements of a channel by itself, of source and result.
const mostMoved = 1 << 17

// moves has a convolution read and write memory, and reports whether it can.
func (k *denseConv) moves(u *Unit, out *arrayOutput) bool {
	s := &k.shape
	if u.In.D != 1 || u.Out.D != 1 || u.ResultSize() != u.Out {
		return false
	}
	m := &movedConv{from: u.source1(), to: u.result(), out: out}
	m.leave = newLeave(out, m.to, s.cout)
	if s.unicast {
		m.floats = k.Need().Float
		room := s.inputs*s.hin*s.win + k.places
		if room > mostMoved {
			return false
		}
		m.scratch = Need{Float: m.floats + room}.Max(m.to.need())
		if m.plane = newPlaneSource(m.from, k.plane); m.plane != nil && k.careful != nil && !m.plane.whole {
			m.plane = nil // the rules look at all of a channel
		}
		if m.plane != nil {
			m.scratch.Decoded = max(m.scratch.Decoded, 2*s.hin*s.win)
		}
		k.moved = m
		return true
	}
	if u.Source1 == u.Result || !m.to.halves {
		return false
	}
	m.scratch = k.product.need()
	var under factors
	switch staged := k.stage(u); {
	case s.isPointwise() && m.from.halves && (u.Groups*k.colTiles >= strips || m.from.direct(s.hin*s.win) && k.right.panel.Reads(gemm.F16)):
		under = (*movedUnder)(k)
	case !s.isPointwise() && staged != nil:
		under = staged
		m.scratch.Float += staged.floats
		m.scratch.Int = k.tileCols
	default:
		m.from = nil
	}
	k.moved = m
	if under != nil {
		k.right = newSideLike(&k.right, under)
		if k.other != nil {
			k.other.right = newSideLike(&k.other.right, under)
		}
	}
	room, _ := k.row.Room(k.tileRows, k.tileCols)
	depth := k.row.Depth
	if k.other != nil {
		other, _ := k.other.row.Room(k.tileRows, k.tileCols)
		room, depth = max(room, other), max(depth, k.other.row.Depth)
	}
	m.scratch.Decoded = max(2*room, 2*depth*k.tileCols)
	return true
}

// newSideLike is a side with other factors.
func newSideLike(s *side, f factors) side {
	to := newSide(s.panel, f, s.stage)
	to.measured, to.finite = s.measured, s.finite
	return to
}

// stage is what lies under the weights by way of a copy of each channel, nil if
// that would be too large.
func (k *denseConv) stage(u *Unit) *stage {
	s := &k.shape
	x := u.Source1.array()
	x.pass = u.reading(1)
	if x.interleave != 1 {
		return nil
	}
	c := &convolution{
		window: window{td.Window{
			Kernel: [3]int{1, s.kh, s.kw}, Stride: [3]int{1, s.sy, s.sx}, Dilation: [3]int{1, 1, 1}, PadBefore: [3]int{0, s.py, s.px},
		}},
		x:    x,
		in:   [td.NumAxes]int{axisN: u.Groups, axisD: 1, axisC: s.cin, axisH: s.hin, axisW: s.win},
		out:  [td.NumAxes]int{axisN: u.Groups, axisD: 1, axisC: s.cout, axisH: s.hout, axisW: s.wout},
		taps: s.kh * s.kw, places: k.places,
	}
	c.tileCols, c.floats = k.tileCols, k.product.need().Float
	return newStage(c)
}

// add is what a convolution needs, and what moving does. Nothing moves dense arrays.
func (m *movedConv) add(n Need) Need {
	if m == nil {
		return n
	}
	return n.Max(m.scratch)
}

// putTile hands on a tile of so many rows and columns. Its first element is that of
// the result with this number; the next row is so many further.
func (m *movedConv) putTile(w *Scratch, tile []float32, stride, rows, cols, first, apart int) {
	tile = tile[:rows*stride]
	if m.leave.is {
		m.leave.tile(w, m.to, tile, stride, rows, cols, first, apart)
		return
	}
	if m.out != nil {
		m.out.apply(tile)
	}
	if m.to.pass != 0 {
		m.to.pass.apply(tile)
	}
	half.Put(w.decoded, tile)
	for r := range rows {
		m.to.put(w, w.decoded[2*r*stride:][:2*cols], first+r*apart)
	}
}

// channel reads elements of the source, from one on, and has room for so many of
// the result.
func (m *movedConv) channel(w *Scratch, first, count, places int) (src, out []float32) {
	src = w.float[m.floats:][:count]
	m.from.read(w, src, first)
	return src, m.result(w, count, places)
}

// result is the room for so many elements of it, beside so many of the source.
func (m *movedConv) result(w *Scratch, count, places int) []float32 {
	return w.float[m.floats+count:][:places]
}

// put hands on elements of the result, from one on.
func (m *movedConv) put(w *Scratch, v []float32, first int) {
	if m.leave.is {
		m.leave.tile(w, m.to, v, len(v), 1, len(v), first, len(v))
		return
	}
	inBlocks(0, len(v), func(lo, hi int) {
		if m.out != nil {
			m.out.apply(v[lo:hi])
		}
		m.to.write(w, v[lo:hi], first+lo)
	})
}

// movedUnder are the right factors of a convolution in which each place meets itself: a
// step is a channel of the source.
type movedUnder denseConv

func (k *movedUnder) byLine() bool { return false }

func (k *movedUnder) load(w *Scratch, dst []float32, pitch int, l *lines, from, d int) {
	m := k.moved.from
	for j := range d {
		m.readHalves(w, dst[j*pitch:][:l.count], k.first(l, from+j))
	}
	if m.pass != 0 { // steps follow each other
		m.pass.apply(dst[:(d-1)*pitch+l.count])
	}
}

// first is the element that the first line meets in a channel.
func (k *movedUnder) first(l *lines, channel int) int {
	return (l.group*k.shape.cin+channel)*k.places + l.first
}

// elem: fp16 numbers as they lie, or flushed.
func (k *movedUnder) elem() (gemm.Elem, bool) { return gemm.F16, k.moved.from.direct(k.places) }

// source is what lies in memory, unless it had to be flushed.
func (k *movedUnder) source(w *Scratch, l *lines, from, d int) gemm.Source {
	if w.flushed {
		s := gemm.Source{Elem: gemm.F16, Bytes: w.decoded, Line: 1, Step: l.count, Lines: l.count, Depth: d}
		if k.byPlace() {
			s.Line, s.Step = d, 1
		}
		return s
	}
	m := k.moved.from
	off, line := k.at(l, from)
	return gemm.Source{Elem: gemm.F16, Bytes: m.memory(w)[off:], Line: line / 2, Step: m.strides[axisC] / 2, Lines: l.count, Depth: d}
}

// at is where the first line meets a channel, and how many bytes it is from line to line.
func (k *movedUnder) at(l *lines, channel int) (off, line int) {
	m := k.moved.from
	line, _ = m.placeStride(m.dims.extents())
	return m.offset + l.group*m.strides[axisN] + channel*m.strides[axisC] + l.first*line, line
}

// byPlace: the channels of a place lie side by side.
func (k *movedUnder) byPlace() bool {
	step, _ := k.moved.from.placeStride(k.moved.from.dims.extents())
	return step != 2
}

// prepare flushes what has to be, next to what packs it.
func (k *movedUnder) prepare(w *Scratch, l *lines, from, d int, _ bool) int {
	m := k.moved.from
	if w.flushed = false; m.pass == 0 {
		return d
	}
	off, line := k.at(l, from)
	src, apart, rows, n := m.memory(w)[off:], m.strides[axisC], d, 2*l.count
	if k.byPlace() {
		apart, rows, n = line, l.count, 2*d
	}
	if apart == n { // they follow each other
		apart, rows, n = 0, 1, rows*n
	}
	for j := 0; j < rows && !w.flushed; j++ {
		w.flushed = half.Flushes(src[j*apart:][:n])
	}
	for j := 0; j < rows && w.flushed; j++ {
		half.Flush(w.decoded[j*n:], src[j*apart:][:n])
	}
	return d
}
