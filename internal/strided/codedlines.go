package strided

import (
	kernel "github.com/espalier-ane/espalier/internal/kernel/decode"
	"github.com/espalier-ane/espalier/internal/kernel/gemm"
	"github.com/espalier-ane/espalier/internal/kernel/half"
)

// codedLines are coded weights as a matrix of a product. They are in no panel that
// lasts: what a tile needs is decoded and packed as it is used, or, where all weights in
// panels fit into the cache, once for a task on each thread. See whole.
//
//	codes ─ decode ─ some lines of fp16 numbers ─ pack ─ panels ─ run
type codedLines struct {
	*coded
	columns bool // lines lie side by side, factor by factor; otherwise line by line
	lines   int  // of a group
	n       int  // factors of a line
	looked  bool // panels are made of codes themselves, where lines have one table
	split   bool // likewise, where they have a scale each
}

// codedFor is the weights of a product that an operand was made of, in groups of lines,
// if the row may read them so; nil if not.
func (op *Op) codedFor(operand int, row *gemm.Row, panel *gemm.Panel, columns bool, groups, lines, n int) *codedLines {
	o := &op.Operands[operand]
	if op.Rules != nil || lines == 0 || n == 0 || elements(o.Dims) != groups*lines*n {
		return nil
	}
	length, from := n, row.Depth
	if columns {
		length, from = lines, panel.Lines
	}
	c := newCoded(o, length, from, leastRunOfPanel)
	if c == nil {
		c = integerCodes(o)
	}
	if c == nil || !c.isFast() && row.Needs != 0 {
		return nil
	}
	return &codedLines{coded: c, columns: columns, lines: lines, n: n}
}

// forPanel is the weights for panels.
func (c *codedLines) forPanel(p *gemm.Panel) *codedLines {
	of := *c
	of.split = p.Reads(gemm.Scaled) && c.scaled && !c.columns
	of.looked = p.Reads(gemm.Looked) && c.entries > 0 && c.bits <= 6 && !c.columns && c.n%32 == 0
	return &of
}

// look makes the palette of lines ready, if panels are made of codes and it is one.
func (c *codedLines) look(w *Scratch, l *lines) bool {
	if !c.looked {
		return false
	}
	var first, last index
	from := (l.group*c.lines + l.first) * c.n
	c.space.placeAt(&first, from)
	c.space.placeAt(&last, from+l.count*c.n-1)
	if c.tables.at(&first) != c.tables.at(&last) {
		return false
	}
	c.coded.look(w, &first)
	st := &w.coded
	if !st.isPalette {
		st.isPalette = true
		st.palette.Set(&st.table, c.bits)
	}
	return st.palette.Splits
}

// scales makes the codes of lines ready, and their scales, if panels are made of these
// and all numbers are finite.
func (c *codedLines) scales(w *Scratch, l *lines, k, d int) bool {
	if !c.split {
		return false
	}
	w.coded.lines = c.lines8(w, (l.group*c.lines+l.first)*c.n+k, l.count, c.n, d)
	return kernel.Finite(w.coded.lines.Factors)
}

func (c *codedLines) byLine() bool { return !c.columns }

func (c *codedLines) elem() (gemm.Elem, bool) { return gemm.F16, true }

// prepare decodes what source is asked for next.
func (c *codedLines) prepare(w *Scratch, l *lines, k, d int, _ bool) int {
	switch {
	case c.look(w, l), c.scales(w, l, k, d):
	case c.columns:
		c.decodeRows(w, w.decoded, 2*l.count, k*c.lines+l.first, d, c.lines, l.count)
	default:
		c.decodeRows(w, w.decoded, 2*d, (l.group*c.lines+l.first)*c.n+k, l.count, c.n, d)
	}
	return d
}

func (c *codedLines) source(w *Scratch, l *lines, k, d int) gemm.Source {
	if c.look(w, l) {
		codes := c.codes(w, (l.group*c.lines+l.first)*c.n+k)
		return gemm.Source{Elem: gemm.Looked, Bytes: codes, Line: c.n, Step: 1, Palette: &w.coded.palette, Lines: l.count, Depth: d}
	}
	if c.scales(w, l, k, d) {
		return gemm.Source{Elem: gemm.Scaled, Codes: &w.coded.lines, Line: c.n, Step: 1, Lines: l.count, Depth: d}
	}
	s := gemm.Source{Elem: gemm.F16, Bytes: w.decoded[:2*l.count*d], Line: d, Step: 1, Lines: l.count, Depth: d}
	if c.columns {
		s.Line, s.Step = 1, l.count
	}
	return s
}

// load is for panels that do not take fp16 numbers.
func (c *codedLines) load(w *Scratch, dst []float32, pitch int, l *lines, k, d int) {
	c.prepare(w, l, k, d, false)
	count, length := l.count, d
	if c.columns {
		count, length = d, l.count
	}
	for j := range count {
		half.Floats(dst[j*pitch:][:length], w.decoded[2*j*length:])
	}
}

// need is the room for what is decoded at a time.
func (c *codedLines) need(lines, depth int) int { return 2 * max(lines, wholeLines) * depth }

// maxWhole bounds the words of weights that a thread keeps whole in panels while it
// works on a task: beside the strip of the other side, in a cache of the second level.
const maxWhole = 3 << 16

// wholeLines is how many lines are decoded at a time where all are.
const wholeLines = 48

// keepWhole has the scratch hold a side whole, where there are so many strips of the
// other and it fits.
func (s *side) keepWhole(strips, groups, lines, n int) {
	if words := s.panel.Panels(lines) * s.panel.Words(n); strips > 1 && groups == 1 && words <= maxWhole {
		s.whole, s.lines = words, lines
	}
}

// fitsWhole reports whether keepWhole would, for some strips.
func fitsWhole(p *gemm.Panel, groups, lines, n int) bool {
	return groups == 1 && p.Panels(lines)*p.Words(n) <= maxWhole
}

// A held is the side that the scratch holds whole.
type held struct {
	of  *side
	bad bool // panels do not hold all lines: they are not used
}

// wholePanels returns the panels of lines, of a block that begins at k and has d
// factors, in a buffer that has room for all. It returns nil if panels do not hold all
// lines.
func (p *product) wholePanels(w *Scratch, s *side, buf []float32, l *lines, k, d int) []float32 {
	h, panels := &w.gemm.held, s.panel.Panels(s.lines)
	if h.of != s {
		some, part := wholeLines/s.panel.Lines*s.panel.Lines, &w.gemm.whole
		var bad marks
		for k := 0; k < p.n; k += p.row.Depth {
			d := min(p.row.Depth, p.n-k)
			for first := 0; first < s.lines; first += some {
				*part = lines{first: first, count: min(some, s.lines-first)}
				s.fill(w, buf[panels*s.panel.Words(k)+s.panel.Panels(first)*s.panel.Words(d):], s.panel.Words(d), part, k, d, &bad)
			}
		}
		h.of, h.bad = s, bad.any
	}
	if h.bad {
		return nil
	}
	return buf[panels*s.panel.Words(k)+s.panel.Panels(l.first)*s.panel.Words(d):]
}
