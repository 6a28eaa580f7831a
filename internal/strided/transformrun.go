package strided

import (
	"encoding/binary"

	"github.com/espalier-ane/espalier/internal/kernel/gemm"
	"github.com/espalier-ane/espalier/internal/kernel/transform"
)

func (k *transformed) Run(w *Scratch, lo, hi int) {
	s := &w.transform
	w.begins()
	for t := lo; t < hi; t++ {
		first := t % k.sections * k.sectionRows
		count := min(k.sectionRows, k.outputs-first)
		block, n := t/k.sections%k.blocks, t/k.sections/k.blocks
		row := block * k.blockRows
		rows := min(k.blockRows, k.down-row)
		if w.Packed[k.transforms.slot].bad != nil {
			k.plainly(w, n, first, count, row, rows)
			continue
		}
		if s.of != k || s.block != t/k.sections {
			k.forward(w, n, row, rows)
			s.of, s.block = k, t/k.sections
		}
		for c := first; c < first+count && !w.stop(); c += k.some {
			some := min(k.some, first+count-c)
			k.multiplyAll(w, c, some, rows*k.across)
			k.backward(w, n, c, some, row, rows)
		}
		for y, plain := range s.plain {
			if plain != 0 {
				k.plainly(w, n, first, count, row+y, 1)
			}
		}
	}
}

// forward transforms what the rows of tiles from one on meet.
func (k *transformed) forward(w *Scratch, n, first, rows int) {
	s := &w.transform
	m, side := k.form.Tile, k.form.Side
	planes := w.float[k.planes:][:m*side*k.plane]
	s.plain = w.int[k.flags:][:rows]
	clear(s.plain)
	top, height := first*m-k.PadBefore[1], m*rows+2 // of x
	for r := range height {
		if y := top + r; y < 0 || y >= k.in[axisH] {
			for j := range side {
				clear(planes[(r%m*side+j)*k.plane+r/m*k.across:][:k.across])
			}
		}
	}
	for q := range m {
		lo := max(0, tilesOf(-top-q, m))
		hi := max(lo, tilesOf(min(height, k.in[axisH]-top)-q, m))
		s.first[q] = q + lo*m
		s.across[q] = transform.Across{
			Pitch: m * k.x.strides[axisH], Rows: hi - lo, Width: k.in[axisW], Pad: k.PadBefore[2],
			Dst: planes[q*side*k.plane+lo*k.across:], Plane: k.plane, Tiles: k.across,
		}
	}
	s.down = transform.Down{
		Src: planes, Plane: k.plane, Shift: k.across,
		Apart: k.element, To: k.toPanels[:tilesOf(k.by.B.RoundUp(rows*k.across), k.form.Lanes)],
	}
	x, i := k.x.memory(w), index{axisN: n}
	for c := range k.inputs {
		i[axisC], i[axisH] = c, top
		at := k.x.at(&i)
		for q := range m {
			a := &s.across[q]
			if a.Rows == 0 {
				continue
			}
			a.Src = x[at+s.first[q]*k.x.strides[axisH]:]
			if !k.form.Across(a) {
				k.markPlain(s, q, rows)
			}
		}
		s.down.Dst = w.panels[c/k.by.Depth*k.deep+c%k.by.Depth*k.by.B.Lines:]
		k.form.Down(&s.down)
	}
}

// markPlain marks the rows of tiles that meet an infinity or a NaN in the rows of x
// that have just been transformed.
func (k *transformed) markPlain(s *transformState, q, rows int) {
	m, a := k.form.Tile, &s.across[q]
	for i := range a.Rows {
		row := a.Src[i*a.Pitch:][:2*a.Width]
		for ; len(row) > 0; row = row[2:] {
			if binary.LittleEndian.Uint16(row)&0x7c00 == 0x7c00 {
				break
			}
		}
		if len(row) == 0 {
			continue
		}
		for y := range rows {
			if at := s.first[q] + i*m - y*m; at >= 0 && at < k.form.Side {
				s.plain[y] = 1
			}
		}
	}
}

// multiplyAll computes the products of some output channels with all tiles.
func (k *transformed) multiplyAll(w *Scratch, first, count, tiles int) {
	elements := k.form.Side * k.form.Side
	l, tile := &w.gemm.left, &w.gemm.tile
	room, _ := k.by.Room(count, k.lanes)
	for e := range elements {
		sums := w.float[k.sums+e*k.products:][:room]
		if !k.by.Sets {
			clear(sums)
		}
		for from := 0; from < k.inputs; from += k.by.Depth {
			d := min(k.by.Depth, k.inputs-from)
			*l = lines{group: e, first: first, count: count}
			*tile = gemm.Tile{
				A: k.transforms.panels(w, nil, l, from, d), DistA: k.by.A.Words(d),
				B: w.panels[from/k.by.Depth*k.deep+e*k.element:], DistB: k.apart,
				Depth: d, Rows: count, Cols: tiles, C: sums, Stride: k.lanes, Fresh: from == 0,
			}
			k.by.Run(tile)
		}
	}
}

// backward makes places of the products of some output channels, and hands on
// those of the rows of tiles that are not plain.
func (k *transformed) backward(w *Scratch, n, first, count, firstRow, rows int) {
	s := &w.transform
	m, width := k.form.Tile, k.out[axisW]
	pitch := k.across * m
	all := w.float[k.at:][:count*k.room]
	for r := range count {
		places := all[r*k.room:][:k.room]
		s.back = transform.Back{
			Src: w.float[k.sums+r*k.lanes:][:k.form.Side*k.form.Side*k.products-r*k.lanes], Apart: k.products,
			Dst: places, Pitch: pitch, To: k.toPlaces[:rows*k.across],
		}
		k.form.Back(&s.back)
		if pitch != width { // the last tiles of each row reach beyond it
			for y := range rows * m {
				copy(places[y*width:], places[y*pitch:][:width])
			}
		}
	}
	i := index{axisN: n, axisC: first}
	bias := k.biasOf(w, first, w.float[k.biases:][:count])
	w.gemm.left.count = count
	for y := 0; y < rows; {
		if s.plain[y] != 0 {
			y++
			continue
		}
		from := y * m * width
		for y < rows && s.plain[y] == 0 {
			y++
		}
		end := min(y*m, k.out[axisH]-firstRow*m) * width
		for ; from < end; from += chunk {
			w.gemm.right.first, w.gemm.right.count = firstRow*m*width+from, min(chunk, end-from)
			k.finish(w, all[from:], k.room, bias, i)
		}
	}
}

// plainly computes rows of tiles as the plain convolution does, with panels of its
// own in the place of ours.
func (k *transformed) plainly(w *Scratch, n, first, count, firstRow, rows int) {
	m, width := k.form.Tile, k.out[axisW]
	w.forget()
	from, end := firstRow*m*width, min((firstRow+rows)*m, k.out[axisH])*width
	for p := from; p < end && !w.stop(); p += k.tileCols {
		for c := first; c < first+count; c += k.tileRows {
			k.part(w, n, 0, c, min(k.tileRows, first+count-c), p, min(k.tileCols, end-p))
		}
	}
}
