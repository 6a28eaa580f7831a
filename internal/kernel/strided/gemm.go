package strided

// Products of matrices, which convolution, matrix multiplication and attention
// have in common: a tile of rows and columns at a time.
//
// An element is the sum over k of left·right, computed in blocks of depth: the
// products of a block are added up one after the other, then the blocks. That
// depends on the number of products alone.

const (
	tileRows = 32
	tileCols = 64
	depth    = 256

	panelRows = 4 // of the inner loop
	panelCols = 2
)

// A gemm says what the factors of a tile are. What identifies the tile is in the
// scratch.
type gemm interface {
	// left reads len(dst) factors of row r of the tile, from k on.
	left(w *Scratch, dst []float32, r, k int)

	// right reads the factors number k of len(dst) columns, the first of the
	// tile first.
	right(w *Scratch, dst []float32, k int)
}

// gemmState is the tile that a thread works on.
type gemmState struct {
	at         index // of the first element of the tile
	group      int
	first      int // row or place with which the tile begins
	rows, cols int
	scores     []float32 // attention: the left factors
	key        int       // attention: the first key of the block
}

// gemmNeed is the scratch of a product: packed factors, a row to pack, the tile.
const (
	gemmLeft  = tileRows * depth
	gemmRight = tileCols * depth
	gemmRow   = depth
	gemmTile  = tileRows * tileCols
	gemmNeed  = gemmLeft + gemmRight + gemmRow + gemmTile
)

// multiply computes a tile of rows by cols sums of n products. The result has
// rows of tileCols; it is a part of the scratch, from offset on.
func multiply(w *Scratch, g gemm, offset, rows, cols, n int) []float32 {
	buf := w.float[offset:][:gemmNeed]
	left, buf := buf[:gemmLeft], buf[gemmLeft:]
	right, buf := buf[:gemmRight], buf[gemmRight:]
	row, tile := buf[:gemmRow], buf[gemmRow:][:rows*tileCols]
	clear(tile)

	for k := 0; k < n; k += depth {
		d := min(depth, n-k)
		packLeft(w, g, left, row, rows, k, d)
		packRight(w, g, right, row, cols, k, d)
		for r := 0; r < rows; r += panelRows {
			a := left[r*depth:][:panelRows*d]
			height := min(panelRows, rows-r)
			for c := 0; c < cols; c += panelCols {
				b := right[c*depth:][:panelCols*d]
				out := tile[r*tileCols+c:]
				if height == panelRows {
					addPanel(out, a, b)
				} else {
					addRows(out, a, b, height)
				}
			}
		}
	}
	return tile
}

// packLeft lays out rows in panels: the factors k of four rows side by side.
// What lies beyond the last row is not used.
func packLeft(w *Scratch, g gemm, left, row []float32, rows, k, d int) {
	for r := range rows {
		g.left(w, row[:d], r, k)
		panel := left[r/panelRows*panelRows*depth+r%panelRows:]
		for i, v := range row[:d] {
			panel[i*panelRows] = v
		}
	}
}

// packRight lays out columns in panels: the factors k of two columns side by
// side. A second column that is not there has the factor 0.
func packRight(w *Scratch, g gemm, right, row []float32, cols, k, d int) {
	if cols%panelCols != 0 {
		row[cols] = 0
	}
	for i := range d {
		g.right(w, row[:cols], k+i)
		for c := 0; c < cols; c += panelCols {
			copy(right[c*depth+i*panelCols:][:panelCols], row[c:c+panelCols])
		}
	}
}

// addPanel adds the products of four rows and two columns to the tile. The
// conversions keep a product from being fused with the sum, which would round
// otherwise on other machines.
func addPanel(tile, a, b []float32) {
	var s00, s01, s10, s11, s20, s21, s30, s31 float32
	for len(a) >= panelRows && len(b) >= panelCols {
		b0, b1 := b[0], b[1]
		a0, a1, a2, a3 := a[0], a[1], a[2], a[3]
		s00 += float32(a0 * b0)
		s01 += float32(a0 * b1)
		s10 += float32(a1 * b0)
		s11 += float32(a1 * b1)
		s20 += float32(a2 * b0)
		s21 += float32(a2 * b1)
		s30 += float32(a3 * b0)
		s31 += float32(a3 * b1)
		a, b = a[panelRows:], b[panelCols:]
	}
	tile[0] += s00
	tile[1] += s01
	tile[tileCols] += s10
	tile[tileCols+1] += s11
	tile[2*tileCols] += s20
	tile[2*tileCols+1] += s21
	tile[3*tileCols] += s30
	tile[3*tileCols+1] += s31
}

// addRows does what addPanel does, for fewer rows.
func addRows(tile, a, b []float32, rows int) {
	for r := range rows {
		var s0, s1 float32
		for k := 0; k+panelCols <= len(b); k += panelCols {
			v := a[k*(panelRows/panelCols)+r]
			s0 += float32(v * b[k])
			s1 += float32(v * b[k+1])
		}
		tile[r*tileCols] += s0
		tile[r*tileCols+1] += s1
	}
}
