package strided

// Products of matrices, which convolution, matrix multiplication and attention
// have in common: a tile of rows and columns at a time.
//
// An element is the sum over k of left·right, computed in blocks of depth: the
// products of a block are added up one after the other, then the blocks. That
// depends on the number of products alone, not on how large a tile is, nor on
// what lies beside it.

const (
	depth    = 256
	maxLines = 256 // of a tile, on either side

	// pitch is the distance of panels in a buffer. Panels that lay a power of two
	// apart would be in each other's way in the cache.
	pitch = depth + 4
)

// factors are one of the two matrices of a product, by lines: the rows of the
// left one, the columns of the right one.
type factors interface {
	// fill makes panels of the factors k to k+d of lines. The panels are a
	// distance apart.
	fill(w *Scratch, panels []quad, distance int, l *lines, k, d int)
}

// lines are some lines of a matrix, at most maxLines.
type lines struct {
	at           index // of the matrix, among those of its operand
	group        int
	first, count int
}

// A side is one matrix of a product: packed, or packed as it is used.
type side struct {
	factors
	packed  packed
	careful *careful // of the left side: rules that look at each product; nil: none
}

// panels returns the panels of lines, and how far they are apart. A buffer that
// is needed is taken from buf.
func (s *side) panels(w *Scratch, buf []quad, l *lines, k, d int) (panels []quad, distance int) {
	if s.packed.there {
		return s.packed.panels(w, l, k, d), d
	}
	s.fill(w, buf, pitch, l, k, d)
	return buf, pitch
}

// gemmState is the tile that a thread works on.
type gemmState struct {
	left, right lines
	scores      []float32 // attention: the left factors
	scoresApart int       // of the positions, in them

	squaresA, squaresB [maxLines]float32 // rules: of the lengths of the lines

	image   []float32 // of dense products: what lies under the weights, of one group
	weights []float32 // likewise, if they are not packed: of all groups
}

// gemmRow is the scratch in which factors lie on their way into panels.
const gemmRow = panelLines * depth

// gemmFloats is how many floats of scratch a product takes, from the first on:
// a row to pack, and the tile.
func gemmFloats(rows, cols int) int { return gemmRow + roundUp(rows)*roundUp(cols) }

// gemmNeed is the scratch of products of tiles of up to rows and cols.
func gemmNeed(rows, cols int, left, right *side) Need {
	n := Need{Float: gemmFloats(rows, cols)}
	if !left.packed.there {
		n.Quads += panelsOf(rows) * pitch
	}
	if !right.packed.there {
		n.Quads += panelsOf(cols) * pitch
	}
	return n
}

// multiply computes a tile, of the lines in the state, of sums of n products. The
// sums of a row begin with its number in start, or with 0 where that is nil. It
// returns the tile, a part of the scratch, and how far its rows are apart.
func multiply(w *Scratch, left, right *side, n int, start []float32) (tile []float32, stride int) {
	rows, cols := w.gemm.left.count, w.gemm.right.count
	stride = roundUp(cols)
	tile = w.float[gemmRow:][:roundUp(rows)*stride]
	begin(tile, stride, start)
	bufA, bufB := w.quads, w.quads
	if !left.packed.there {
		bufB = bufB[panelsOf(rows)*pitch:]
	}
	for k := 0; k < n; k += depth {
		d := min(depth, n-k)
		a, distA := left.panels(w, bufA, &w.gemm.left, k, d)
		b, distB := right.panels(w, bufB, &w.gemm.right, k, d)
		if left.careful != nil {
			left.careful.measure(w, left, right, k, a, distA, b, distB, d)
		}
		switch {
		case rows == 1:
			addLines(tile[:stride], a[:d], b, distB, d)
			continue
		case cols == 1:
			addColumn(tile, stride, a, distA, b[:d], rows)
			continue
		}
		for c := 0; c < cols; c += panelLines {
			column := b[c/panelLines*distB:][:d]
			for r := 0; r < rows; r += panelLines {
				addBlock(tile[r*stride+c:], stride, a[r/panelLines*distA:][:d], column, rows-r)
			}
		}
	}
	if left.careful != nil {
		left.careful.review(w, left, right, n, tile, stride, start)
	}
	return tile, stride
}

// begin sets the rows of a tile to what their sums begin with.
func begin(tile []float32, stride int, start []float32) {
	clear(tile)
	for r, v := range start {
		if v == 0 {
			continue
		}
		row := tile[r*stride:][:stride]
		for j := range row {
			row[j] = v
		}
	}
}

// addLines adds the products of one row and all columns.
func addLines(row []float32, a, b []quad, distance, d int) {
	for len(row) >= 2*panelLines {
		addLine(row, a, b[:d], b[distance:][:d])
		row, b = row[2*panelLines:], b[min(2*distance, len(b)):]
	}
	if len(row) > 0 {
		var rest [2 * panelLines]float32 // the panel there is, twice
		copy(rest[:], row)
		addLine(rest[:], a, b[:d], b[:d])
		copy(row, rest[:])
	}
}

// addColumn adds the products of all rows and one column. The numbers are those
// of addBlock, which would compute three more columns that nobody asks for.
func addColumn(tile []float32, stride int, a []quad, distance int, b []quad, rows int) {
	d := len(b)
	for r := 0; r < rows; r += 2 * panelLines {
		first := a[r/panelLines*distance:][:d]
		second := first // the panel there is, twice
		if r+panelLines < rows {
			second = a[(r/panelLines+1)*distance:][:d]
		}
		var sums [2 * panelLines]float32
		addLine(sums[:], b, first, second)
		for j, v := range sums[:min(2*panelLines, rows-r)] {
			tile[(r+j)*stride] += v
		}
	}
}

// tileOf chooses the size of tiles for a result of rows and columns, of which
// there are so many, each element a sum of n products. A tile is large, since
// factors are packed once for each, unless that leaves too few to share among
// threads, or would take long.
func tileOf(rows, cols, results, n int) (tileRows, tileCols int) {
	const elements, width, enough, least, products = 1 << 14, 128, 8, 32, 1 << 28
	if rows == 0 || cols == 0 {
		return 1, 1
	}
	tileCols = min(cols, width)
	tileRows = min(rows, maxLines, elements/tileCols)
	for tileRows > least && results*tilesOf(rows, tileRows)*tilesOf(cols, tileCols) < enough {
		tileRows /= 2
	}
	for tileRows > panelLines && tileRows*tileCols > products/max(n, 1) {
		tileRows /= 2
	}
	if tileRows < rows {
		tileRows = roundUp(tileRows) // tiles begin with a panel
	}
	return tileRows, tileCols
}

// tilesOf is how many tiles there are of so many lines.
func tilesOf(lines, tile int) int { return (lines + tile - 1) / tile }

// A matrix is an operand of which two axes are a matrix: the lines along one of
// them, the factors of a line along the other. Neither is the one of interleaved
// channels.
type matrix struct {
	array
	line, inner int
}

func (m *matrix) fill(w *Scratch, panels []quad, distance int, l *lines, k, d int) {
	i := l.at
	i[m.line] += l.first
	i[m.inner] += k
	src, off := m.memory(w), m.at(&i)
	apart, step := m.strides[m.line], m.strides[m.inner]
	buf := w.float[:gemmRow]
	if max(apart, -apart) < max(step, -step) { // lines lie side by side
		row := buf[:roundUp(l.count)]
		clear(row[l.count:])
		for j := range d {
			loadFloats(row[:l.count], m.typ, src, off+j*step, apart)
			if m.pass != 0 {
				m.pass.apply(row[:l.count])
			}
			scatter(panels, distance, j, row)
		}
		return
	}
	for r := 0; r < l.count; r += panelLines {
		var line [panelLines][]float32
		for j := range line {
			line[j] = buf[j*depth:][:d]
			if r+j < l.count {
				loadFloats(line[j], m.typ, src, off+(r+j)*apart, step)
				if m.pass != 0 {
					m.pass.apply(line[j])
				}
			} else {
				clear(line[j])
			}
		}
		interleave(panels[r/panelLines*distance:][:d], line[0], line[1], line[2], line[3])
	}
}
