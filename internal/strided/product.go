package strided

import (
	"github.com/espalier-ane/espalier/internal/kernel/gemm"
	"github.com/espalier-ane/espalier/internal/kernel/vec"
)

// A product is a product of matrices that is bound, which convolution, matrix
// multiplication and attention have in common: a tile of rows and columns at a
// time, by a micro-kernel of package gemm.
//
//	memory ─ load ─ stage ─┐
//	memory ─ direct ───────┴─ pack ─ panels ─ run ─ tile
//
// The micro-kernel's row says how lines lie in panels, how deep the blocks of
// sums are, and what room a tile takes. Nothing here knows it otherwise.
type product struct {
	row         *gemm.Row
	left, right side
	n           int      // products of a sum
	careful     *careful // rules that look at each of them; nil: none
	other       *product // for lines that the row's panels cannot hold; nil: they hold all
	strip       *side    // of which the scratch holds all factors of the lines of a tile; nil: a block of them
	level       int      // 1 of the other product
	panelsAt    int      // where its panels begin in the scratch

	tileRows, tileCols int // the largest tile
	floats             int // of the scratch, from the first on: the stage, and the tile
	kept               int // where in the scratch a tile is kept while the other product computes
	decoded            int // bytes of scratch that coded factors take
}

// maxLines bounds the lines of a tile, on either side, in whole panels.
const maxLines = 256

// factors are one of the two matrices of a product, by lines: the rows of the
// left one, the columns of the right one.
type factors interface {
	// byLine says in which order load reads: line after line, or step after step,
	// which is factor k of all lines, then factor k+1 of all.
	byLine() bool

	// load reads the factors k to k+d of lines. Lines, or steps, are a pitch
	// apart.
	load(w *Scratch, dst []float32, pitch int, l *lines, k, d int)
}

// direct are factors that lie such that a micro-kernel may read them itself.
type direct interface {
	// elem is how they are stored; ok is false if they must be loaded.
	elem() (e gemm.Elem, ok bool)

	// prepare makes the factors from k on ready, of all lines, and returns of how
	// many of d steps. Of lines that are fresh, nothing is ready.
	prepare(w *Scratch, l *lines, k, d int, fresh bool) int

	// source is the factors k to k+d of lines.
	source(w *Scratch, l *lines, k, d int) gemm.Source
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
	panel  *gemm.Panel
	direct direct // nil: they are loaded first
	stage  int    // floats, to load them to
	packed packed
	whole  int // words of all panels, which the scratch holds; 0: it does not
	lines  int // likewise: all of them

	measured bool // rules want the squares of the lengths of the lines
	finite   bool // panels are of use only if all factors are finite
}

// newProduct binds a product of sums of n, in tiles of up to so many rows and
// columns.
func newProduct(row *gemm.Row, left, right factors, n int, c *careful, tileRows, tileCols int) product {
	p := product{row: row, n: n, careful: c, tileRows: tileRows, tileCols: tileCols}
	stage := stageFloats(row)
	p.left, p.right = newSide(&row.A, left, stage), newSide(&row.B, right, stage)
	p.left.measured = c != nil && c.limit != 0
	p.right.measured = p.left.measured
	room, _ := row.Room(tileRows, tileCols)
	p.floats = stage + room
	if row.Else != nil {
		other := newProduct(row.Else, left, right, n, c, tileRows, tileCols)
		other.level = 1
		p.other, p.kept = &other, max(p.floats, other.floats)
		p.floats = p.kept + room
	}
	return p
}

// keep has the scratch hold one side, the left or the right one, in whole strips:
// tile after tile with the same lines then find them packed. There must be room
// for it.
//
//	           right                     right, a strip
//	     ┌──┬──┬──┬──┐                        ┌──┐
//	left │ 1│ 2│ 3│ 4│   packed for    left   │ 1│   packed for 1,
//	     ├──┼──┼──┼──┤   each tile            ├──┤   there for 2
//	     │ 5│ 6│ 7│ 8│                        │ 2│
//	     └──┴──┴──┴──┘                        └──┘
func (p *product) keep(right bool) {
	s, lines := &p.left, p.tileRows
	if right {
		s, lines = &p.right, p.tileCols
	}
	if !s.packed.there && p.n > 0 && s.panel.RoundUp(lines)*p.n <= maxStrip {
		p.strip = s
	}
	if p.other != nil { // side by side, so that one does not drive out the other
		p.other.keep(right)
		p.other.panelsAt = p.panelWords(&p.left, p.tileRows) + p.panelWords(&p.right, p.tileCols)
	}
}

// maxStrip bounds the factors of a strip, to what a cache of the second level holds.
const maxStrip = 3 << 17

func newSide(panel *gemm.Panel, f factors, stage int) side {
	if c, ok := f.(*codedLines); ok {
		f = c.forPanel(panel)
	}
	s := side{factors: f, panel: panel, stage: stage}
	if d, ok := f.(direct); ok {
		if e, ok := d.elem(); ok && panel.Reads(e) {
			s.direct = d
		}
	}
	return s
}

// stageFloats is the scratch in which factors lie on their way into panels: some
// steps of all lines, or some lines. Rules take two lines there.
func stageFloats(row *gemm.Row) int {
	return max(1024, 2*row.Depth, row.A.KR*maxLines, row.B.KR*maxLines)
}

// apart is how many words panels in the scratch are apart. If it were a power of
// two, they would be in each other's way in the cache.
func (p *product) apart(s *side) int { return s.panel.Words(p.row.Depth) + 16 }

// panelWords are the words that the panels of a side take in the scratch.
func (p *product) panelWords(s *side, lines int) int {
	switch {
	case s.packed.there && !s.packed.halves:
		return 0
	case s.whole > 0:
		return s.panel.Panels(lines)*p.apart(s) + s.whole
	case s == p.strip:
		return tilesOf(p.n, p.row.Depth) * s.panel.Panels(lines) * p.apart(s)
	}
	return s.panel.Panels(lines) * p.apart(s)
}

// tileLines is how many lines of a side the largest tile has.
func (p *product) tileLines(s *side) int {
	if s == &p.right {
		return p.tileCols
	}
	return p.tileRows
}

// need is the scratch of the product.
func (p *product) need() Need {
	n := Need{Float: p.floats, Decoded: p.decoded, Panels: p.panelWords(&p.left, p.tileRows) + p.panelWords(&p.right, p.tileCols)}
	if p.other != nil {
		other := p.other.need()
		other.Panels += p.other.panelsAt
		n = n.Max(other)
	}
	return n
}

// fill makes panels of the factors k to k+d of lines, so many words apart, and
// marks those that the panels do not hold.
func (s *side) fill(w *Scratch, panels []float32, apart int, l *lines, k, d int, bad *marks) {
	size, src := s.panel.Lines, &w.gemm.source
	switch {
	case s.direct != nil:
		for j, n := 0, 0; j < d; j += n {
			n = s.direct.prepare(w, l, k+j, d-j, j == 0)
			*src = s.direct.source(w, l, k+j, n)
			s.pack(panels[s.panel.Words(j):], apart, src, 0, bad)
		}
	case s.byLine():
		part, steps := &w.gemm.part, s.steps(size)
		for i := 0; i < l.count; i += size {
			*part = *l
			part.first, part.count = l.first+i, min(size, l.count-i)
			for j := 0; j < d; j += steps {
				n := min(steps, d-j)
				s.load(w, w.float[:s.stage], n, part, k+j, n)
				*src = gemm.Source{Floats: w.float[:s.stage], Line: n, Step: 1, Lines: part.count, Depth: n}
				s.pack(panels[i/size*apart+s.panel.Words(j):], apart, src, i, bad)
			}
		}
	default:
		steps := s.steps(l.count)
		for j := 0; j < d; j += steps {
			n := min(steps, d-j)
			s.load(w, w.float[:s.stage], l.count, l, k+j, n)
			*src = gemm.Source{Floats: w.float[:s.stage], Line: 1, Step: l.count, Lines: l.count, Depth: n}
			s.pack(panels[s.panel.Words(j):], apart, src, 0, bad)
		}
	}
}

// pack packs a source, of which the first line has a number, and marks lines that
// the panels do not hold.
func (s *side) pack(panels []float32, apart int, src *gemm.Source, first int, bad *marks) {
	if !s.panel.Pack(panels, apart, src) {
		s.panel.Unheld(src, func(l int) { bad.set(first + l) })
	}
}

// marks are some of the lines of a tile.
type marks struct {
	any  bool
	bits [maxLines / 64]uint64
}

func (m *marks) set(i int) {
	m.any = true
	m.bits[i/64] |= 1 << (i % 64)
}

func (m *marks) has(i int) bool { return m.bits[i/64]>>(i%64)&1 != 0 }

// all reports whether the first lines all are.
func (m *marks) all(lines int) bool {
	if !m.any {
		return false
	}
	for i := range lines {
		if !m.has(i) {
			return false
		}
	}
	return true
}

// add adds others, which may be none.
func (m *marks) add(o *marks) {
	if !o.any {
		return
	}
	m.any = true
	for i, b := range o.bits {
		m.bits[i] |= b
	}
}

// steps is how many factors of so many lines the stage holds, in whole groups.
func (s *side) steps(lines int) int { return s.stage / lines / s.panel.KR * s.panel.KR }

// panels returns the panels of lines, and how many words they are apart; it marks
// lines that they do not hold. A buffer that is needed is taken from buf.
func (p *product) panels(w *Scratch, s *side, buf []float32, l *lines, k, d int, bad *marks) (panels []float32, apart int) {
	if s.packed.there {
		s.packed.unheld(w, l, bad)
		return s.packed.panels(w, buf, l, k, d), s.panel.Words(d)
	}
	apart = p.apart(s)
	if s.whole > 0 {
		if whole := p.wholePanels(w, s, buf[p.panelWords(s, p.tileLines(s))-s.whole:], l, k, d); whole != nil {
			return whole, s.panel.Words(d)
		}
	}
	if s != p.strip {
		s.fill(w, buf, apart, l, k, d, bad)
		return buf, apart
	}
	if strip := &w.gemm.strips[p.level]; strip.of != p || strip.lines != *l {
		p.fillStrip(w, buf, l)
	}
	bad.add(&w.gemm.strips[p.level].bad)
	return buf[k/p.row.Depth*s.panel.Panels(l.count)*apart:], apart
}

// fillStrip packs all factors of lines, block by block.
func (p *product) fillStrip(w *Scratch, buf []float32, l *lines) {
	s, apart, strip := p.strip, p.apart(p.strip), &w.gemm.strips[p.level]
	strip.bad = marks{}
	if s.measured {
		clear(strip.squares[:])
	}
	for k := 0; k < p.n; k += p.row.Depth {
		block, d := buf[k/p.row.Depth*s.panel.Panels(l.count)*apart:], min(p.row.Depth, p.n-k)
		s.fill(w, block, apart, l, k, d, &strip.bad)
		if s.measured {
			addSquares(s.panel, strip.squares[:], block, apart, l.count, d)
		}
	}
	strip.of, strip.lines = p, *l
}

// A strip is what the panels in the scratch are of.
type strip struct {
	of      *product
	lines   lines
	bad     marks             // lines that the panels do not hold
	squares [maxLines]float32 // of the lengths of the lines
}

// gemmState is the tile that a thread works on.
type gemmState struct {
	left, right lines
	part        lines    // of one of them, on its way into panels
	strips      [2]strip // by level
	held        held
	whole       lines // likewise, of a side that is held whole

	badLeft, badRight marks // lines that the panels do not hold
	source            gemm.Source
	places            vec.Places // of what is read by way of a stage
	placed            placed
	tile              gemm.Tile
	scores            []float32 // attention: the left factors
	scoresApart       int       // of the positions, in them

	squaresA, squaresB [maxLines]float32               // rules: of the lengths of the lines
	again              [maxLines][maxLines / 64]uint64 // rules: which elements are added up again

	image   []float32 // of dense products: what lies under the weights, of one group
	weights []float32 // likewise, if they are not packed: of all groups
}

// multiply computes a tile, of the lines in the state, of sums of n products. The sums of a row begin
// with its number in start, or with 0 where that is nil. It returns the tile, a
// part of the scratch, and how far its rows are apart.
func (p *product) multiply(w *Scratch, n int, start []float32) (tile []float32, stride int) {
	g := &w.gemm
	room, stride := p.row.Room(g.left.count, g.right.count)
	tile = w.float[p.left.stage:][:room]
	fresh := p.row.Sets && start == nil && n > 0
	if !fresh {
		begin(tile, stride, start)
	}
	g.badLeft, g.badRight = marks{}, marks{}
	for k := 0; k < n; k += p.row.Depth {
		if w.stop() {
			return tile, stride
		}
		p.block(w, k, n)
		if p.strip != nil && k == 0 && g.strips[p.level].bad.all(g.strips[p.level].lines.count) {
			return p.other.multiply(w, n, start) // there is nothing to keep
		}
		if p.careful != nil {
			p.careful.measure(w, p, k)
		}
		g.tile.C, g.tile.Stride, g.tile.Fresh = tile, stride, fresh && k == 0
		p.row.Run(&g.tile)
	}
	if p.careful != nil {
		p.careful.review(w, p, n, tile, stride, start)
	}
	if g.badLeft.any || g.badRight.any {
		return p.mend(w, n, start, tile, stride)
	}
	return tile, stride
}

// mend has the other product compute the elements of lines that the panels do not
// hold. An element is made by the one or the other as its own two lines are: what
// lies beside it does not matter.
func (p *product) mend(w *Scratch, n int, start, tile []float32, stride int) (mended []float32, apart int) {
	g := &w.gemm
	kept := w.float[p.kept:][:len(tile)]
	copy(kept, tile)
	left, right := g.badLeft, g.badRight
	mended, apart = p.other.multiply(w, n, start)
	for r := range g.left.count {
		if left.has(r) {
			continue
		}
		row, from := mended[r*apart:][:g.right.count], kept[r*stride:]
		for c := range row {
			if !right.has(c) {
				row[c] = from[c]
			}
		}
	}
	return mended, apart
}

// block sets the panels of the tile to the factors from k on, of n.
func (p *product) block(w *Scratch, k, n int) {
	g := &w.gemm
	d := min(p.row.Depth, n-k)
	panels := w.panels[p.panelsAt:]
	a, apartA := p.panels(w, &p.left, panels, &g.left, k, d, &g.badLeft)
	b, apartB := p.panels(w, &p.right, panels[p.panelWords(&p.left, p.tileRows):], &g.right, k, d, &g.badRight)
	g.tile = gemm.Tile{A: a, DistA: apartA, B: b, DistB: apartB, Depth: d, Rows: g.left.count, Cols: g.right.count}
	switch {
	case p.right.packed.there:
		g.tile.Ahead = p.right.packed.ahead(w, &g.right, k+d, p.row.Depth)
	case p.left.packed.there:
		g.tile.Ahead = p.left.packed.ahead(w, &g.left, k+d, p.row.Depth)
	}
}

// begin sets the rows of a tile to what their sums begin with.
func begin(tile []float32, stride int, start []float32) {
	for r, v := range start {
		if row := tile[r*stride:][:stride]; v == 0 {
			clear(row)
		} else {
			repeat(row, v)
		}
	}
	clear(tile[len(start)*stride:])
}

// tileOf chooses the size of tiles for a result of rows and columns, of which
// there are so many, each element a sum of n products. A tile is large, since
// factors are packed once for each, unless that leaves too few to share among
// threads, or would take long. Tiles begin with a panel on both sides.
func tileOf(row *gemm.Row, rows, cols, results, n int) (tileRows, tileCols int) {
	const elements, width, enough, least, products = 1 << 14, 128, 8, 32, 1 << 26
	if rows == 0 || cols == 0 {
		return 1, 1
	}
	whole := func(lines int, p *gemm.Panel) int { return max(lines/p.Lines, 1) * p.Lines }
	tileCols = min(cols, whole(width, &row.B))
	tileRows = min(rows, whole(maxLines, &row.A), elements/tileCols)
	for tileRows > least && results*tilesOf(rows, tileRows)*tilesOf(cols, tileCols) < enough {
		tileRows /= 2
	}
	for tileRows > row.A.Lines && tileRows*tileCols > products/max(n, 1) {
		tileRows /= 2
	}
	for tileCols > row.B.Lines && tileRows*tileCols > products/max(n, 1) {
		tileCols /= 2
	}
	if tileRows < rows {
		tileRows = row.A.RoundUp(tileRows)
	}
	if tileCols < cols {
		tileCols = row.B.RoundUp(tileCols)
	}
	return tileRows, tileCols
}

// stripTiles chooses the size of tiles where one side, the right one or the left
// one, stays in the scratch as a strip: some lines of it, as many as a cache holds
// the factors of, and of the other side as many as keep the tile in the fastest
// one. Strips are about equal. If there is no room for one, it chooses as tileOf.
//
// If the other side is not packed either, it is packed for each strip anew, so
// that strips are as wide as can be.
func stripTiles(row *gemm.Row, rows, cols, results, n int, right, packed bool) (tileRows, tileCols int) {
	stay := 128 // lines
	if !packed {
		stay = maxLines
	}
	kept, other, lines, others, pass := &row.A, &row.B, rows, cols, 128
	if right {
		kept, other, lines, others, pass = other, kept, cols, rows, 48
		if row.Else != nil { // fast: larger tiles, which take as long
			pass = 96
		}
	}
	most := min(stay, maxStrip/max(n, 1)) / kept.Lines * kept.Lines
	if most == 0 || lines == 0 || others == 0 {
		return tileOf(row, rows, cols, results, n)
	}
	strips := tilesOf(lines, most)
	stays := min(kept.RoundUp(tilesOf(lines, strips)), lines)
	passes := min(max(pass/other.Lines, 1)*other.Lines, others)
	if right {
		return passes, stays
	}
	return stays, passes
}

// stripGrain is how many tiles of strips are worth a thread: whole strips, if
// there are enough for many threads.
func stripGrain(strips, perStrip, work int) int {
	const enough, least = 8, 1 << 18
	grain := max(1, least/max(work, 1))
	if strips >= enough {
		return tilesOf(grain, perStrip) * perStrip
	}
	return max(grain, strips*perStrip/enough)
}

// tilesOf is how many tiles there are of so many lines.
func tilesOf(lines, tile int) int { return (lines + tile - 1) / tile }
