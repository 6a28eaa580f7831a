package strided

import "github.com/espalier-ane/espalier/internal/kernel/half"

// planeSource is where a convolution finds the channels that have a kernel of their own:
// rows of fp16 numbers, of which a plane is made at once, with its padding.
type planeSource struct {
	*mover
	whole bool // the plane has all elements of a channel
}

// newPlaneSource is nil if the source lies otherwise.
func newPlaneSource(m *mover, p *densePlane) *planeSource {
	if p == nil || !m.halves || m.interleave != 1 || m.pass != 0 && m.pass != passNaN|passFlush {
		return nil
	}
	s := p.shape
	if s.win > 1 && m.strides[axisW] != 2 || m.strides[axisH] < 0 || s.sx > 2 || s.px < 0 || s.py < 0 {
		return nil
	}
	return &planeSource{m, s.win <= p.row-s.px && s.hin+s.py <= p.floats/p.row}
}

// read makes the plane of a channel, but for its padding.
func (k *planeSource) read(w *Scratch, p *densePlane, area []float32, group, channel int) {
	s := p.shape
	rows, cols := min(s.hin, p.floats/p.row-s.py), min(s.win, p.row-s.px)
	if rows <= 0 || cols <= 0 {
		return
	}
	src, apart := k.memory(w)[k.offset+group*k.strides[axisN]+channel*k.strides[axisC]:], k.strides[axisH]
	if k.pass != 0 && k.flushes(src, apart, rows, cols) {
		for y := range rows {
			half.Flush(w.decoded[2*y*cols:], src[y*apart:][:2*cols])
		}
		src, apart = w.decoded, 2*cols
	}
	w.rows = half.Rows{
		Dst: area, At: s.py*p.row + p.column(s.px), DstApart: p.row, Src: src, SrcApart: apart, Count: rows, Cols: cols,
	}
	if s.sx == 2 {
		w.rows.Split = p.column(s.px+1) - p.column(s.px)
	}
	w.rows.Convert()
}

// flushes reports whether there is something to flush.
func (k *planeSource) flushes(src []byte, apart, rows, cols int) bool {
	if apart == 2*cols { // they follow each other
		rows, cols = 1, rows*cols
	}
	for y := range rows {
		if half.Flushes(src[y*apart:][:2*cols]) {
			return true
		}
	}
	return false
}

// clearPadding clears what read does not write.
func (p *densePlane) clearPadding(area []float32) {
	s := p.shape
	for y := range p.floats / p.row {
		row := area[y*p.row:][:p.row]
		if y < s.py || y >= s.py+s.hin {
			clear(row)
			continue
		}
		for x := range min(s.px, p.row) {
			row[p.column(x)] = 0
		}
		for x := s.px + s.win; x < p.row; x++ {
			row[p.column(x)] = 0
		}
	}
}
