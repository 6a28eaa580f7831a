package strided

import (
	kernel "github.com/espalier-ane/espalier/internal/kernel/decode"
	"github.com/espalier-ane/espalier/internal/kernel/gemm"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// coded are weights as they are stored: what an operation of class DeQuant makes fp16
// numbers of. They are decoded a few at a time, where they are used, into the same
// numbers:
//
//	codes ──► decode ──► derived memory ──► multiply      all, when the program is loaded
//	codes ──────────► decode, multiply                    some, whenever they are used
//
// Codes lie one after the other, in the order of the axes, and a weight is known by its
// number in that order: whoever multiplies may see other axes than the operation that
// decodes. A run is codes side by side that share a table or a scale.
type coded struct {
	x           array // of which only where it begins counts
	bits        int
	signed      bool
	scale, zero blocked
	blocks4     int // length of blocks of codes of 4 bits, which are decoded many at a time; 0: none

	table   array
	tables  blocked
	entries int

	// Codes of 8 bits in rows, of which each has one scale: bytes from a row's scale,
	// and zero, to the next one's.
	scaled              bool
	whole               bool // they are the numbers themselves, without a scale
	scaleStep, zeroStep int

	space grid // of the codes, with as few axes as there can be
	axis  int  // the last of them
	run   int  // codes of a run, but for the last of a row
}

// codedAlways: weights are decoded again and again also where that is slow. Tests set it.
var codedAlways bool

// leastRun is how long runs must be to be decoded one by one, where a weight is used
// once; leastRunOfPanel where a panel of them is used with many columns.
const (
	leastRun        = 128
	leastRunOfPanel = 16
)

// newCoded returns the weights that an operand was made of, if they can be read in rows
// of so many, from multiples of a number on, and runs are long enough; nil if not.
func newCoded(o *Operand, row, from, least int) *coded {
	op := o.Origin
	if op == nil || op.Rules != nil || op.class() != td.ClassDeQuant || len(op.Epilogue) > 0 || !sameOrder(o, &op.Operands[0]) {
		return nil
	}
	present := func(i int) bool { return i < len(op.Operands) && op.Operands[i].Present() }
	x, space := &op.Operands[decodeX], op.Operands[0].Dims
	if present(decodeMask) || x.Dims != space || !x.inOrder() {
		return nil
	}
	c := &coded{x: x.array(), bits: x.Type.Bits()}
	c.signed = x.Type == tensor.Int8 || x.Type == tensor.Int4
	if c.x.pass != 0 || row == 0 {
		return nil
	}
	var blocks []*blocked
	switch {
	case present(decodeTable):
		p, t := op.Params.(*td.DeQuant), &op.Operands[decodeTable]
		c.table, c.entries = t.array(), t.Dims[axisH]
		if c.signed || c.bits > 8 || t.Dims[axisW] != 1 || t.Type != tensor.Float16 || c.entries > 1<<c.bits || present(decodeScale) || c.table.pass != 0 {
			return nil
		}
		c.tables = tableBlocks(p, space)
		blocks = append(blocks, &c.tables)
	case present(decodeScale):
		s := &op.Operands[decodeScale]
		if c.bits != 8 && c.bits != 4 || s.Type != tensor.Float16 || s.array().interleave > 1 {
			return nil
		}
		c.scale = newBlocked(s, space)
		blocks = append(blocks, &c.scale)
		if present(decodeZero) {
			z := &op.Operands[decodeZero]
			switch z.Type {
			case tensor.Int8, tensor.UInt8, tensor.Int4, tensor.UInt4:
			default:
				return nil
			}
			if z.array().interleave > 1 {
				return nil
			}
			c.zero = newBlocked(z, space)
			blocks = append(blocks, &c.zero)
		}
	default:
		return nil
	}
	joinAxes(&space, -1, nil, blocks)
	for c.axis = td.NumAxes - 1; c.axis > 0 && space[c.axis] == 1; {
		c.axis--
	}
	c.space = newGrid(space, allAxes)
	c.run = space[c.axis]
	for _, b := range blocks {
		c.run = min(c.run, b.along(c.axis, c.run))
	}
	if sides := c.scale.strides[c.axis] == 2 && (!c.zero.present || c.zero.block == c.scale.block); c.scale.present && c.bits == 4 &&
		c.run < leastRun && c.run%32 == 0 && row%c.run == 0 && from%c.run == 0 && sides && (kernel.LookIsFast(8) || codedAlways) {
		c.blocks4, c.run = c.run, space[c.axis]
	}
	if c.scale.present && c.bits == 8 {
		var of [2]bool
		c.scaleStep, of[0] = c.scale.perRow(space, c.axis, row)
		c.zeroStep, of[1] = 0, true
		if c.zero.present {
			c.zeroStep, of[1] = c.zero.perRow(space, c.axis, row)
		}
		c.scaled = of[0] && of[1]
	}
	// Runs begin with a byte.
	if c.run < min(least, row, space[c.axis]) || c.run*c.bits%8 != 0 && c.run < elements(space) || row*c.bits%8 != 0 || from*c.bits%8 != 0 {
		return nil
	}
	return c
}

// integerCodes are constant integers of 8 bits, which are codes of themselves; nil if an
// operand is something else.
func integerCodes(o *Operand) *coded {
	if !o.Constant || o.pass != 0 || o.Type != tensor.Int8 && o.Type != tensor.UInt8 || !o.inOrder() {
		return nil
	}
	n := elements(o.Dims)
	return &coded{
		x: o.array(), bits: 8, signed: o.Type == tensor.Int8, scaled: true, whole: true,
		space: grid{[td.NumAxes]int{1, 1, 1, 1, n}}, axis: axisW, run: n,
	}
}

// perRow reports whether rows of so many elements, in their order, have one element
// each, and how far it is from one to the next. What can be joined is.
func (b *blocked) perRow(space [td.NumAxes]int, axis, row int) (step int, ok bool) {
	one := elements(space) == space[axis]
	switch {
	case b.strides[axis] != 0:
		return b.strides[axis], one && b.block[axis] == row
	case one:
		return 0, true
	}
	for outer := range axis {
		if space[outer] > 1 {
			return b.strides[outer], b.block[outer] == 1 && space[axis] == row && elements(space) == space[outer]*space[axis]
		}
	}
	return 0, false
}

// isFast reports whether there is machine code that decodes such weights.
func (c *coded) isFast() bool {
	if c.entries > 0 {
		return kernel.LookIsFast(c.bits) || codedAlways
	}
	return kernel.LookIsFast(4) || codedAlways
}

// inOrder reports whether the elements of an operand lie one after the other, in the
// order of its axes.
func (o *Operand) inOrder() bool {
	if o.Type.SubByte() {
		return true
	}
	a, stride := o.array(), sizeOf(o.Type)
	if a.interleave > 1 {
		return false
	}
	for x := td.NumAxes - 1; x >= 0; x-- {
		if o.Dims[x] != 1 && a.strides[x] != stride {
			return false
		}
		stride *= o.Dims[x]
	}
	return true
}

// sameOrder reports whether an operand is what an operation has made, or a view of all
// of it, as fp16 numbers in their order.
func sameOrder(o, made *Operand) bool {
	return o.Type == tensor.Float16 && made.Type == tensor.Float16 && o.pass == 0 && o.Memory == made.Memory && o.Offset == made.Offset &&
		elements(o.Dims) == elements(made.Dims) && o.inOrder() && made.inOrder()
}

// tableBlocks are the tables of an operation, in tables.
func tableBlocks(p *td.DeQuant, space [td.NumAxes]int) blocked {
	b := newBlocked(&Operand{Operand: td.Operand{Type: tensor.UInt8, Dims: p.Blocks}}, space)
	stride := 1
	for a := td.NumAxes - 1; a >= 0; a-- {
		if n := p.Blocks[a]; n > 1 {
			b.strides[a] = stride
			stride *= n
		}
	}
	return b
}

// along is how long runs are along an axis, of at most so many.
func (b *blocked) along(axis, most int) int {
	if b.strides[axis] == 0 {
		return most
	}
	return min(most, b.block[axis])
}

// codedState is what a thread keeps of the last run.
type codedState struct {
	table  kernel.Table
	of     *coded // nil: no table is there
	number int
	scale  kernel.Scale
	zeros  [chunk]float32

	factors, offsets [maxLines]float32 // of rows
	lines            kernel.Lines8

	palette   gemm.Palette // of the table
	isPalette bool         // it is there
}

// decode writes n weights as fp16 numbers, from one on. A block of four bits is not cut.
func (c *coded) decode(w *Scratch, dst []byte, from, n int) {
	var i index
	for n > 0 {
		c.space.placeAt(&i, from)
		codes, m := c.codes(w, from), min(n, c.space.dims[c.axis]-i[c.axis])
		switch {
		case c.entries > 0:
			m = c.tables.run(&i, c.axis, m)
			c.look(w, &i)
			kernel.Look(dst, codes, c.bits, &w.coded.table, m)
		case c.blocks4 > 0:
			m = min(m, chunk*c.blocks4)
			factors := c.scale.memory(w)[c.scale.at(&i):][:2*m/c.blocks4]
			var zeros []float32
			if c.zero.present {
				zeros = w.coded.zeros[:m/c.blocks4]
				loadFloats(zeros, c.zero.typ, c.zero.memory(w), c.zero.at(&i), c.zero.strides[c.axis])
			}
			kernel.Blocks4(dst, codes, c.signed, c.blocks4, factors, zeros)
		default:
			m = c.scale.run(&i, c.axis, m)
			s := &w.coded.scale
			*s = kernel.Scale{Signed: c.signed, Factor: floatAt(tensor.Float16, c.scale.memory(w), c.scale.at(&i))}
			if c.zero.present {
				m = c.zero.run(&i, c.axis, m)
				s.Zero = floatAt(c.zero.typ, c.zero.memory(w), c.zero.at(&i))
			}
			if c.bits == 8 {
				s.Bytes8(dst, codes[:m])
				break
			}
			w.coded.of, w.coded.isPalette = nil, false
			s.Table4(&w.coded.table)
			kernel.Look(dst, codes, 4, &w.coded.table, m)
		}
		dst, from, n = dst[2*m:], from+m, n-m
	}
}

// decodeRows decodes n weights of each of so many rows, of which one begins so many
// after the other, and writes them a pitch of bytes apart. Rows that are wanted whole,
// and lie side by side, are one.
func (c *coded) decodeRows(w *Scratch, dst []byte, pitch, from, rows, apart, n int) {
	if c.scaled {
		for ; rows > 0; rows -= maxLines {
			w.coded.lines = c.lines8(w, from, min(rows, maxLines), apart, n)
			w.coded.lines.Dst, w.coded.lines.Line = dst, pitch
			w.coded.lines.Write()
			if rows > maxLines {
				dst, from = dst[maxLines*pitch:], from+maxLines*apart
			}
		}
		return
	}
	if apart == n && pitch == 2*n {
		rows, n = 1, rows*n
	}
	for r := range rows {
		c.decode(w, dst[r*pitch:], from+r*apart, n)
	}
}

// lines8 is codes of rows that have a scale each, from one on, with the scales.
func (c *coded) lines8(w *Scratch, from, rows, apart, n int) kernel.Lines8 {
	st := &w.coded
	l := kernel.Lines8{Codes: c.codes(w, from), Apart: apart, N: n, Signed: c.signed, Factors: st.factors[:rows], Zeros: st.offsets[:rows]}
	if c.whole {
		clear(l.Zeros)
		repeat(l.Factors, 1)
		return l
	}
	var i index
	c.space.placeAt(&i, from)
	loadFloats(l.Factors, tensor.Float16, c.scale.memory(w), c.scale.at(&i), c.scaleStep)
	if clear(l.Zeros); c.zero.present {
		loadFloats(l.Zeros, c.zero.typ, c.zero.memory(w), c.zero.at(&i), c.zeroStep)
	}
	return l
}

// codes are those from one on.
func (c *coded) codes(w *Scratch, from int) []byte {
	return c.x.memory(w)[c.x.offset+from*c.bits/8:]
}

// look makes the table of a place ready.
func (c *coded) look(w *Scratch, i *index) {
	st, number := &w.coded, c.tables.at(i)
	if st.of == c && st.number == number {
		return
	}
	st.of, st.number, st.isPalette = c, number, false
	src, at := c.table.memory(w), c.table.offset+number*c.table.strides[axisC]
	for e := range st.table[:1<<c.bits] { // the last entry stands for those that are not there
		st.table[e] = uint16(intAt(tensor.UInt16, src, at+min(e, c.entries-1)*c.table.strides[axisH]))
	}
}
