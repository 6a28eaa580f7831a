package strided

import (
	"github.com/espalier-ane/espalier/internal/kernel/gemm"
	"github.com/espalier-ane/espalier/internal/kernel/half"
	"github.com/espalier-ane/espalier/tensor"
)

// A stage reads what lies under the weights by way of a copy: of one channel,
// all elements that the places of a tile meet, as float32 and with the padding
// around them. There, what a place meets is as far from the place for every
// place:
//
//	x, padded        places (stride 1)   tap (1,2)
//	0 0 0 0 0 0      + + + +              . . . . . .
//	0 a b c d 0      + + + +              . . 0 1 2 3
//	0 e f g h 0      + + + +              . . 4 5 6 7
//
// so that a panel is gathered with one table of places and one of taps. With a
// stride of 2, the elements of a row are sorted, the even ones before the odd ones:
// the places of a row then follow each other here too.
type stage struct {
	*convolution
	row, plane int    // floats from row to row, from plane to plane
	sorted     int    // floats from the even elements of a row to the odd ones; 0: they are not sorted
	used       []bool // by row of the stage: a tap may meet it
	shift      []int  // by tap: how far it is from the place
	floats     int
}

// placed is which places those in the scratch are, and what the stage has room for.
type placed struct {
	of           *stage
	first, count int
	column       int   // along W, of the first
	from, to     index // the first and the last that the stage is for
}

// maxStage bounds the floats of a stage: what a cache holds beside the panels.
const maxStage = 1 << 15

// newStage binds the stage of a convolution, nil if it would be too large.
func newStage(k *convolution) *stage {
	if k.places == 0 || k.taps == 0 {
		return nil
	}
	// The extents of the places of a tile.
	span := [3]int{1, 1, k.out[axisW]}
	if perPlane := k.out[axisH] * k.out[axisW]; k.out[axisD] > 1 {
		span[0] = min(k.out[axisD], (k.tileCols+perPlane-2)/perPlane+1)
		span[1] = k.out[axisH]
	} else {
		span[1] = min(k.out[axisH], (k.tileCols+k.out[axisW]-2)/k.out[axisW]+1)
	}
	floats := 1.0
	for s := range span {
		floats *= float64(span[s]-1)*float64(k.Stride[s]) + float64(k.Kernel[s]-1)*float64(k.Dilation[s]) + 1
	}
	if floats > maxStage {
		return nil
	}
	s := &stage{convolution: k, shift: make([]int, k.taps)}
	s.row = k.reach(2, span[2])
	if k.Stride[2] == 2 && k.x.inRows(axisH) && k.x.typ == tensor.Float16 {
		s.sorted = (s.row + 1) / 2
		s.row = 2 * s.sorted
	}
	s.used = make([]bool, k.reach(1, span[1]))
	for o := range span[1] {
		for t := range k.Kernel[1] {
			s.used[o*k.Stride[1]+t*k.Dilation[1]] = true
		}
	}
	s.plane = s.row * len(s.used)
	for t := range s.shift {
		var i index
		k.tap(&i, t)
		s.shift[t] = i[axisD]*k.Dilation[0]*s.plane + i[axisH]*k.Dilation[1]*s.row + s.column(i[axisW]*k.Dilation[2])
	}
	s.floats = k.reach(0, span[0]) * s.plane
	return s
}

// column is where in a row of the stage an element is.
func (s *stage) column(x int) int {
	if s.sorted == 0 {
		return x
	}
	return x%2*s.sorted + x/2
}

// reach is how many elements n places meet along a spatial axis, from the first
// to the last.
func (win *window) reach(s, n int) int {
	return (n-1)*win.Stride[s] + (win.Kernel[s]-1)*win.Dilation[s] + 1
}

func (s *stage) byLine() bool { return false }

// load is for micro-kernels that do not read from places.
func (s *stage) load(w *Scratch, dst []float32, pitch int, l *lines, from, d int) {
	for n, fresh := 0, true; d > 0; d, fresh = d-n, false {
		n = s.prepare(w, l, from, d, fresh)
		w.gemm.places.Read(dst, 0, pitch, s.area(w), s.shift[from%len(s.shift):][:n])
		dst = dst[min(n*pitch, len(dst)):]
		from += n
	}
}

func (s *stage) elem() (gemm.Elem, bool) { return gemm.Placed, true }

// prepare loads a channel. The taps of another wait.
func (s *stage) prepare(w *Scratch, l *lines, from, d int, fresh bool) int {
	if p := &w.gemm.placed; fresh && (p.of != s || p.first != l.first || p.count != l.count) {
		s.place(w, l)
	}
	p := &w.gemm.placed
	i := l.at
	i[axisC] += from / len(s.shift)
	s.loadChannel(w, s.area(w), i, &p.from, &p.to)
	return min(d, len(s.shift)-from%len(s.shift))
}

// place makes the stage ready for the places of lines. Where a row of places begins as
// that of the lines before did, they lie as they did.
func (s *stage) place(w *Scratch, l *lines) {
	p := &w.gemm.placed
	var from, to index
	s.resultPlace(&from, l.first)
	s.resultPlace(&to, l.first+l.count-1)
	alike := p.of == s && p.count == l.count && p.column == from[axisW] && s.out[axisD] == 1
	*p = placed{of: s, first: l.first, count: l.count, column: from[axisW], from: from, to: to}
	if from[axisD] != to[axisD] {
		p.from[axisH], p.to[axisH] = 0, s.out[axisH]-1
	}
	if !alike {
		s.findPlaces(w.int[:l.count], l.first, p.from)
		w.gemm.places.Set(w.int[:l.count])
	}
	clear(s.area(w)) // what is outside of x stays 0
}

func (s *stage) source(w *Scratch, l *lines, from, d int) gemm.Source {
	return gemm.Source{
		Elem: gemm.Placed, Floats: s.area(w), Places: &w.gemm.places, Shifts: s.shift[from%len(s.shift):], Lines: l.count, Depth: d,
	}
}

func (s *stage) area(w *Scratch) []float32 { return w.float[s.product.floats:][:s.floats] }

// findPlaces computes where in the stage the first tap of each place is.
func (s *stage) findPlaces(places []int64, p int, first index) {
	var o index
	s.resultPlace(&o, p)
	for j := range places {
		at := (o[axisD]-first[axisD])*s.Stride[0]*s.plane + (o[axisH]-first[axisH])*s.Stride[1]*s.row
		places[j] = int64(at + s.column(o[axisW]*s.Stride[2]))
		if o[axisW]++; o[axisW] == s.out[axisW] {
			o[axisW] = 0
			if o[axisH]++; o[axisH] == s.out[axisH] {
				o[axisH] = 0
				o[axisD]++
			}
		}
	}
}

// loadChannel fills the stage with a channel of x, which begins at i.
func (s *stage) loadChannel(w *Scratch, area []float32, i index, first, last *index) {
	planes := s.reach(0, last[axisD]-first[axisD]+1)
	rows := s.reach(1, last[axisH]-first[axisH]+1)
	above := s.under(1, first[axisH], 0)
	for z := range planes {
		i[axisD] = s.under(0, first[axisD], 0) + z
		if s.x.typ == tensor.Float16 && s.x.inRows(axisH) {
			s.loadRows(w, area[z*s.plane:], i, above, rows)
			continue
		}
		for r := range rows {
			if !s.used[r] {
				continue
			}
			i[axisH] = above + r
			s.loadRow(w, area[z*s.plane+r*s.row:][:s.row], i)
		}
	}
}

// loadRows reads what there is of rows of x, all at once: of fp16 numbers, as they
// lie. The first may be above x.
func (s *stage) loadRows(w *Scratch, area []float32, i index, above, rows int) {
	lo, hi := max(0, -above), min(rows, s.in[axisH]-above)
	before := s.PadBefore[2]
	skip := max(0, -before) // elements that no place meets
	cols := min(s.in[axisW], s.reach(2, s.out[axisW])-before) - skip
	if i[axisD] < 0 || i[axisD] >= s.in[axisD] || lo >= hi || cols <= 0 {
		return
	}
	i[axisH], i[axisW] = above+lo, skip
	at := before + skip
	w.rows = half.Rows{
		Dst: area, At: lo*s.row + s.column(at), DstApart: s.row,
		Src: s.x.memory(w)[s.x.at(&i):], SrcApart: s.x.strides[axisH], Count: hi - lo, Cols: cols,
	}
	if s.sorted > 0 {
		w.rows.Split = s.column(at+1) - s.column(at)
	}
	w.rows.Convert()
	if s.x.pass != 0 { // which leaves padding as it is
		s.x.pass.apply(area[lo*s.row : hi*s.row])
	}
}

// loadRow reads a row of x, with what the window meets outside of it as 0.
func (k *convolution) loadRow(w *Scratch, dst []float32, i index) {
	if i[axisD] < 0 || i[axisD] >= k.in[axisD] || i[axisH] < 0 || i[axisH] >= k.in[axisH] {
		clear(dst)
		return
	}
	before := k.PadBefore[2]
	lo := min(max(before, 0), len(dst))
	hi := max(lo, min(len(dst), before+k.in[axisW]))
	clear(dst[:lo])
	clear(dst[hi:])
	if lo < hi {
		i[axisW] = lo - before
		k.x.read(dst[lo:hi], k.x.memory(w), k.x.at(&i), k.x.strides[axisW])
	}
}
