package strided

import (
	"math"
	"unsafe"

	"github.com/espalier-ane/espalier/internal/kernel/gemm"
	"github.com/espalier-ane/espalier/internal/kernel/half"
	"github.com/espalier-ane/espalier/tensor"
)

// Packs are constant operands in panels, made once and shared by all that run.
// Operations that are bound with the same Packs and multiply with the same
// operand in the same way share what is packed.
//
// What is in the operands need not be known while binding: Fill reads it, and
// may be called again when it has changed.
type Packs struct {
	// Small leaves fp16 numbers where they lie, or keeps them as they are in panels, and
	// asks for rows whose panels can: a little slower, and no larger than what is stored.
	Small bool

	list  []pack
	slots map[packKey]int
	bytes int64
}

type packKey struct {
	panel   *gemm.Panel
	operand Operand
	weights *Weights // of a dense convolution
	lines   int      // of a group
	n       int      // factors of a line
	kind    packKind
}

// packKind tells apart the ways to read the lines of an operand.
type packKind uint8

const (
	packRows packKind = iota // of matrices along H and W
	packCols
	packConv
	packPlaces // of a convolution with one place
	packVector
	packTransformed // and the size of the tiles
)

type pack struct {
	memory  int      // that it is packed from
	weights *Weights // or these
	vector  *array   // elements along C, as floats; nil: panels
	side
	halves bool // the panels hold fp16 numbers, which they are made floats of again as they are used
	depth  int  // of a block
	panels int  // of a group
	lines  int  // of a group
	groups int
	n      int
}

// maxPacked bounds the memory of all panels. Weights beyond it are used as they
// are stored, which is slower: a network that has so many is made for a machine
// that is short of memory rather than of time.
const maxPacked = 512 << 20

// packed is an operand in panels: in blocks of depth, for each block the panels
// one after the other.
type packed struct {
	there    bool
	halves   bool
	slot     int
	panel    *gemm.Panel
	perGroup int // panels of a group
	lines    int // of a group
	n        int
}

// add asks for an operand in panels, as a side of a product wants it. It answers
// with nothing if the operand is not constant, if there is no room, or if
// elements of the operand share memory so much that the panels would be far
// larger than all that is stored.
func (p *Packs) add(o *Operand, kind packKind, s *side, depth, groups, lines, n int) packed {
	if p == nil || !o.Constant || n == 0 || lines == 0 || groups == 0 || !o.spread() {
		return packed{}
	}
	return p.slot(packKey{operand: *o, lines: lines, n: n, kind: kind}, s, depth, groups, o.Type == tensor.Float16 && kind < packTransformed)
}

// addWeights asks for weights of a dense convolution in panels, which are shared
// by all that multiply with the same ones. It answers as add.
func (p *Packs) addWeights(weights *Weights, s *side, depth, groups, lines, n int) packed {
	if p == nil {
		return packed{}
	}
	return p.slot(packKey{weights: weights, lines: lines, n: n}, s, depth, groups, true)
}

// addVector asks for the elements of a constant operand along C as floats, so that
// nothing has to be read where the file has them. It answers as add.
func (p *Packs) addVector(o *Operand) packed {
	if p == nil || !o.Constant || o.Dims[axisC] == 0 {
		return packed{}
	}
	key := packKey{operand: *o, kind: packVector}
	slot, known := p.slots[key]
	if !known {
		bytes := int64(4 * o.Dims[axisC])
		if bytes > maxPacked-p.bytes {
			return packed{}
		}
		if p.slots == nil {
			p.slots = make(map[packKey]int)
		}
		slot = len(p.list)
		p.slots[key] = slot
		a := o.array()
		p.list = append(p.list, pack{memory: o.Memory, vector: &a, lines: o.Dims[axisC]})
		p.bytes += bytes
	}
	return packed{there: true, slot: slot}
}

// leaves reports whether an operand, fp16 numbers that can be packed from where they
// lie, is left there: in little memory, what is packed is packed as it is used.
func (p *Packs) leaves(o *Operand) bool {
	return p != nil && p.Small && o.Constant && o.Type == tensor.Float16
}

// elements are the elements of a vector, from one on.
func (p *packed) elements(w *Scratch, first, count int) []float32 {
	return w.Packed[p.slot].panels[first:][:count]
}

// fewPacked is how many factors of a group may lie in panels as floats, though they
// are fp16 numbers: what a cache of the second level holds of them. More would have
// to come from memory, twice the bytes each time.
const fewPacked = 1 << 18

// slot finds the panels of a key, or makes some. The factors may be fp16 numbers.
func (p *Packs) slot(key packKey, s *side, depth, groups int, halves bool) packed {
	key.panel = s.panel
	panels := s.panel.Panels(key.lines)
	slot, known := p.slots[key]
	halves = halves && s.panel.Floats && (p.Small || key.lines*key.n > fewPacked)
	if !known {
		bytes := float64(s.panel.Lines*s.panel.Bytes) * float64(groups) * float64(panels) * float64(key.n+s.panel.KR)
		if halves {
			bytes /= 2
		}
		if bytes > float64(maxPacked-p.bytes) {
			return packed{}
		}
		if p.slots == nil {
			p.slots = make(map[packKey]int)
		}
		slot = len(p.list)
		p.slots[key] = slot
		p.list = append(p.list, pack{key.operand.Memory, key.weights, nil, *s, halves, depth, panels, key.lines, groups, key.n})
		p.bytes += int64(bytes)
	}
	p.list[slot].measured = p.list[slot].measured || s.measured
	return packed{true, halves, slot, s.panel, panels, key.lines, key.n}
}

// spread reports whether the elements of an operand have about as much room as
// they need. A few bytes can be any number of elements otherwise.
func (o *Operand) spread() bool {
	if o.Type.SubByte() {
		return true
	}
	elements, room := 1.0, 1.0
	for a, d := range o.Dims {
		elements *= float64(d)
		room += float64(d-1) * math.Abs(float64(o.Strides[a])) / float64(sizeOf(o.Type))
	}
	return elements <= 2*room
}

// Bytes is the size of all panels.
func (p *Packs) Bytes() int64 { return p.bytes }

// Packed are the operands in panels, as Scratch takes them.
type Packed []packedOperand

// A packedOperand is the panels of an operand, and the squares of the lengths of
// its lines, for careful.
type packedOperand struct {
	panels  []float32
	halves  []byte // instead of panels
	squares []float32
	bad     []bool // by line: the panels do not hold it; nil: they hold all
}

// words are those of a group.
func (c *pack) words() int { return c.panels * c.panel.Words(c.n) }

// row is the micro-kernel to multiply by, where another was chosen.
func (p *Packs) row(r *gemm.Row) *gemm.Row {
	if p != nil && p.Small {
		return r.ForFloats()
	}
	return r
}

// Room is how many bytes New takes.
func (p *Packs) Room() int {
	bytes := 0
	for i := range p.list {
		bytes += p.RoomOf(i)
	}
	return bytes
}

// RoomOf is how many bytes Place takes for operand i.
func (p *Packs) RoomOf(i int) int {
	panels, squares := p.list[i].bytes()
	return panels + squares
}

// Source is what operand i is packed from: weights of the units, or if they are nil a
// memory.
func (p *Packs) Source(i int) (memory int, weights *Weights) {
	return p.list[i].memory, p.list[i].weights
}

// bytes are those of the panels, and of the squares, in whole lines of the cache.
func (c *pack) bytes() (panels, squares int) {
	const line = 64
	up := func(n int) int { return (n + line - 1) / line * line }
	if c.vector != nil {
		return up(4 * c.lines), 0
	}
	words := c.groups * c.words()
	if panels = up(4 * words); c.halves {
		panels = up(2 * words)
	}
	if c.measured {
		squares = up(4 * c.groups * c.panels * c.panel.Lines)
	}
	return panels, squares
}

// New lays all panels out in memory, which is Room bytes, all of them 0.
func (p *Packs) New(memory []byte) Packed {
	made := make(Packed, len(p.list))
	for i := range p.list {
		p.Place(made, i, memory)
		memory = memory[p.RoomOf(i):]
	}
	return made
}

// Place lays the panels of operand i out in memory, RoomOf bytes of which are 0.
func (p *Packs) Place(made Packed, i int, memory []byte) {
	c := &p.list[i]
	panels, squares := c.bytes()
	var to packedOperand
	if c.halves {
		to.halves = memory[:2*c.groups*c.words()]
	} else {
		to.panels = floatsOf(memory[:panels])
	}
	to.squares = floatsOf(memory[panels:][:squares])
	made[i] = to
}

// floatsOf is memory as floats.
func floatsOf(memory []byte) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(memory))), len(memory)/4)
}

// Fill packs operand number i of len(made), which it reads in the memory, or among
// the weights: see Scratch.Weights. Calls for different operands may run at the same
// time.
func (p *Packs) Fill(made Packed, i int, memory [][]byte, weights []*Weights) {
	c, to := &p.list[i], &made[i]
	if c.vector != nil {
		c.vector.load(&Scratch{Memory: memory}, to.panels[:c.lines], index{}, axisC)
		return
	}
	some := c.panel.RoundUp(64) // lines, so that what is read stays in the cache
	w := NewScratch(Need{Float: c.stage})
	w.Memory, w.Weights = memory, weights
	clear(to.squares)
	to.bad = nil
	var floats []float32 // of panels that hold fp16 numbers
	if c.halves {
		floats = make([]float32, c.panel.Panels(some)*c.panel.Words(c.depth))
	}
	for g := range c.groups {
		var squares []float32
		if c.measured {
			squares = to.squares[g*c.panels*c.panel.Lines:]
		}
		for k := 0; k < c.n; k += c.depth {
			d := min(c.depth, c.n-k)
			size := c.panel.Words(d)
			for first := 0; first < c.lines; first += some {
				l := lines{group: g, first: first, count: min(some, c.lines-first)}
				at, words := g*c.words()+c.panels*c.panel.Words(k)+c.panel.Panels(first)*size, c.panel.Panels(l.count)*size
				panels := floats
				if !c.halves {
					panels = to.panels[at:]
				}
				var bad marks
				c.fill(w, panels, size, &l, k, d, &bad)
				if c.finite && !allFinite(panels[:words]) {
					bad.set(0)
				}
				to.mark(&bad, c.groups*c.lines, g*c.lines+first)
				if c.halves {
					half.Put(to.halves[2*at:], panels[:words])
				}
				if c.measured {
					addSquares(c.panel, squares[first:], panels, size, l.count, d)
				}
			}
		}
	}
}

// panels returns panels of a block that begins at k and has d factors. The buffer is
// for those that are made floats.
func (p *packed) panels(w *Scratch, buf []float32, l *lines, k, d int) []float32 {
	size := p.panel.Words(d)
	at, words := p.perGroup*(l.group*p.panel.Words(p.n)+p.panel.Words(k))+p.panel.Panels(l.first)*size, p.panel.Panels(l.count)*size
	if p.halves {
		half.Floats(buf[:words], w.Packed[p.slot].halves[2*at:])
		return buf
	}
	return w.Packed[p.slot].panels[at:][:words]
}

// ahead is where panels lie of the block that begins at k, or, after the last one, of
// the first block of the lines that follow.
func (p *packed) ahead(w *Scratch, l *lines, k, depth int) []byte {
	first, count := l.first, l.count
	if k >= p.n {
		if first += count; first >= p.lines {
			return nil
		}
		k, count = 0, min(count, p.lines-first)
	}
	size := p.panel.Words(min(depth, p.n-k))
	at, words := p.perGroup*(l.group*p.panel.Words(p.n)+p.panel.Words(k))+p.panel.Panels(first)*size, p.panel.Panels(count)*size
	if p.halves {
		return w.Packed[p.slot].halves[2*at:][:2*words]
	}
	panels := w.Packed[p.slot].panels[at:][:words]
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(panels))), 4*words)
}

// halvesAt returns panels of fp16 numbers from that of a line on, of a block that
// begins at k and has d factors, and how many bytes they are apart.
func (p *packed) halvesAt(w *Scratch, line, k, d int) (panels []byte, apart int) {
	size := p.panel.Words(d)
	return w.Packed[p.slot].halves[2*(p.perGroup*p.panel.Words(k)+p.panel.Panels(line)*size):], 2 * size
}

// mark notes lines that the panels do not hold, from one of all on.
func (o *packedOperand) mark(bad *marks, all, first int) {
	if !bad.any {
		return
	}
	if o.bad == nil {
		o.bad = make([]bool, all)
	}
	for i := range min(maxLines, all-first) {
		o.bad[first+i] = o.bad[first+i] || bad.has(i)
	}
}

// unheld marks lines that the panels do not hold.
func (p *packed) unheld(w *Scratch, l *lines, bad *marks) {
	list := w.Packed[p.slot].bad
	if list == nil {
		return
	}
	for i := range l.count {
		if list[l.group*p.lines+l.first+i] {
			bad.set(i)
		}
	}
}

// squares returns those of the lengths of lines.
func (p *packed) squares(w *Scratch, l *lines) []float32 {
	return w.Packed[p.slot].squares[l.group*p.perGroup*p.panel.Lines+l.first:][:l.count]
}

// allFinite reports whether there is no infinity and no NaN.
func allFinite(v []float32) bool {
	for _, x := range v {
		if x-x != 0 {
			return false
		}
	}
	return true
}
