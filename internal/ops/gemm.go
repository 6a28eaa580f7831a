package ops

import (
	"sync"

	"github.com/espalier-ane/espalier/internal/pool"
)

// matrix is a view of a matrix: element (i, j) is data[i·row + j·col].
type matrix struct {
	data     []float32
	row, col int
}

// transposed swaps rows and columns.
func (a matrix) transposed() matrix { return matrix{a.data, a.col, a.row} }

// gemm adds a·b to c: c[i·n+j] += Σ a(i,p)·b(p,j), for m×k by k×n. Products and sums are fp32, each sum
// starts at zero and goes in the order of p, so results depend neither on the blocking nor on the number
// of threads.
func gemm(h *halt, m, n, k int, a, b matrix, c []float32) {
	switch {
	case m == 0 || n == 0 || k == 0:
	case m < thin:
		for i := range m {
			gemv(h, n, k, column(k, a.data[i*a.row:], a.col), b, c[i*n:], 1)
		}
	case n < thin:
		for j := range n {
			gemv(h, m, k, column(k, b.data[j*b.col:], b.row), a.transposed(), c[j:], n)
		}
	default:
		pack := func(dst [][tileCols]float32, lo, hi int) { packColumns(dst, k, b, lo, hi) }
		packPanels(h, m, k, a).multiply(h, n, pack, c)
	}
}

// thin is the number of rows or columns below which packing costs more than it saves.
const thin = 4

// The shape of a tile, the sums that are computed together. Eight of them, their factors and the products fit
// the registers of every machine that Go compiles for without spilling.
const (
	tileRows = 2
	tileCols = 4
)

// panels is the left factor of a product, packed for tiles: the two rows of a panel side by side, an odd last row
// beside zeros.
//
//	data[r·k+p] = {a(2r, p), a(2r+1, p)}
type panels struct {
	rows, k int
	data    [][tileRows]float32
}

func packPanels(h *halt, m, k int, a matrix) *panels {
	count := (m + tileRows - 1) / tileRows
	out := &panels{rows: m, k: k, data: make([][tileRows]float32, count*k)}
	h.For(count, 1+(1<<14)/max(1, k), func(lo, hi int) {
		for r := lo; r < hi; r++ {
			panel := out.data[r*k : (r+1)*k]
			for i := 0; i < tileRows && r*tileRows+i < m; i++ {
				at := (r*tileRows + i) * a.row
				for p := range panel {
					panel[p][i] = a.data[at]
					at += a.col
				}
			}
		}
	})
	return out
}

// packColumns packs columns lo to hi of the right factor as strips of four, in which the elements of a row lie side
// by side:
//
//	dst[s·k+p] = {b(p, lo+4s), …, b(p, lo+4s+3)}
//
// What stands in the columns of the last strip beyond hi does not matter.
func packColumns(dst [][tileCols]float32, k int, b matrix, lo, hi int) {
	for j := lo; j < hi; j += tileCols {
		strip := dst[(j-lo)/tileCols*k:][:k]
		if b.col == 1 && j+tileCols <= hi {
			at := j
			for p := range strip {
				strip[p] = [tileCols]float32(b.data[at : at+tileCols])
				at += b.row
			}
			continue
		}
		for i := 0; i < min(tileCols, hi-j); i++ {
			at := (j + i) * b.col
			for p := range strip {
				strip[p][i] = b.data[at]
				at += b.row
			}
		}
	}
}

// How a product is cut into blocks, each one the work of one goroutine at a time: a block's columns, packed, stay in the
// second-level cache while the panels pass by.
const (
	blockFloats = 1 << 16 // of packed columns
	blockRows   = 1 << 8
	blockWork   = 1 << 21 // products, unless a tile has more: a millisecond or so
)

var blockBuffers = sync.Pool{New: func() any { return new([][tileCols]float32) }}

// multiply adds the product to c, an a.rows×n matrix. pack fills a buffer with columns lo to hi of
// the right factor as packColumns does; it is called concurrently, and more than once for a column when
// there are many rows.
func (a *panels) multiply(h *halt, n int, pack func(dst [][tileCols]float32, lo, hi int), c []float32) {
	if a.rows == 0 || n == 0 || a.k == 0 {
		return
	}
	rows := min(blockRows, a.rows)
	cols := min(n, blockFloats/a.k, blockWork/a.k/rows)
	cols = (max(cols, 1) + tileCols - 1) / tileCols * tileCols
	down, across := (a.rows+rows-1)/rows, (n+cols-1)/cols
	pool.For(down*across, 1, func(lo, hi int) {
		buf := blockBuffers.Get().(*[][tileCols]float32)
		defer blockBuffers.Put(buf)
		if need := cols / tileCols * a.k; cap(*buf) < need {
			*buf = make([][tileCols]float32, need)
		}
		strips := (*buf)[:cols/tileCols*a.k]
		packed := -1
		for b := lo; b < hi; b++ {
			// The blocks of one set of columns follow each other.
			x, y := b/down, b%down
			j0, j1 := x*cols, min((x+1)*cols, n)
			if h.asked() {
				return
			}
			if packed != x {
				pack(strips, j0, j1)
				packed = x
			}
			a.block(h, y*rows, min((y+1)*rows, a.rows), strips, n, j0, j1, c)
		}
	})
}

// block computes rows i0 to i1 and columns j0 to j1 of the product. i0 is even.
func (a *panels) block(h *halt, i0, i1 int, strips [][tileCols]float32, n, j0, j1 int, c []float32) {
	for i := i0; i < i1; i += tileRows {
		panel := a.data[i/tileRows*a.k:][:a.k]
		for j := j0; j < j1 && !h.asked(); j += tileCols {
			sums := tile(panel, strips[(j-j0)/tileCols*a.k:][:a.k])
			for r := 0; r < min(tileRows, i1-i); r++ {
				out := c[(i+r)*n+j:][:min(tileCols, j1-j)]
				for s := range out {
					out[s] += sums[r][s]
				}
			}
		}
	}
}

// tile computes the sums of a panel and a strip. Slices of arrays spare it all bounds checks.
func tile(panel [][tileRows]float32, strip [][tileCols]float32) [tileRows][tileCols]float32 {
	var s00, s01, s02, s03, s10, s11, s12, s13 float32
	strip = strip[:len(panel)]
	for p := range panel {
		a, b := &panel[p], &strip[p]
		x, y := a[0], a[1]
		s00 += float32(b[0] * x)
		s10 += float32(b[0] * y)
		s01 += float32(b[1] * x)
		s11 += float32(b[1] * y)
		s02 += float32(b[2] * x)
		s12 += float32(b[2] * y)
		s03 += float32(b[3] * x)
		s13 += float32(b[3] * y)
	}
	return [tileRows][tileCols]float32{{s00, s01, s02, s03}, {s10, s11, s12, s13}}
}
