package strided

import (
	kernel "github.com/espalier-ane/espalier/internal/kernel/decode"
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
// A run is codes side by side that share a table or a scale.
type coded struct {
	x           array // without the offset of elements that share bytes
	bits        int
	signed      bool
	scale, zero blocked
	blocks4     int // length of blocks of codes of 4 bits, which are decoded many at a time; 0: none

	table   array
	tables  blocked
	entries int

	axis int // along which codes lie side by side
}

// codedAlways: weights are decoded again and again also where that is slow. Tests set it.
var codedAlways bool

// leastRun is how long runs must be to be decoded one by one.
const leastRun = 128

// newCoded returns the weights that an operand was made of, if it pays to read them
// along an axis from multiples of a number on; nil if not.
func newCoded(o *Operand, axis, from int) *coded {
	op := o.Origin
	if op == nil || op.Rules != nil || op.class() != td.ClassDeQuant || len(op.Epilogue) > 0 || op.Operands[0].Type != tensor.Float16 {
		return nil
	}
	present := func(i int) bool { return i < len(op.Operands) && op.Operands[i].Present() }
	x, space := &op.Operands[decodeX], op.Operands[0].Dims
	if present(decodeMask) || x.Dims != space || x.array().interleave > 1 {
		return nil
	}
	c := &coded{x: x.array(), bits: x.Type.Bits(), axis: axis}
	c.signed = x.Type == tensor.Int8 || x.Type == tensor.Int4
	if c.x.strides[axis] != 1 && space[axis] > 1 || c.x.pass != 0 {
		return nil
	}
	run := space[axis]
	switch {
	case present(decodeTable):
		p, t := op.Params.(*td.DeQuant), &op.Operands[decodeTable]
		c.table, c.entries = t.array(), t.Dims[axisH]
		if c.signed || c.bits > 8 || t.Dims[axisW] != 1 || t.Type != tensor.Float16 || c.entries > 1<<c.bits || present(decodeScale) || !kernel.LookIsFast(c.bits) && !codedAlways {
			return nil
		}
		c.tables = newTables256(p, space)
		run = c.tables.along(axis, run)
	case present(decodeScale):
		s := &op.Operands[decodeScale]
		if c.bits != 8 && c.bits != 4 || s.Type != tensor.Float16 || s.array().interleave > 1 || !kernel.LookIsFast(4) && !codedAlways {
			return nil
		}
		c.scale = newBlocked(s, space)
		run = c.scale.along(axis, run)
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
			run = min(run, c.zero.along(axis, run))
		}
		sides := c.scale.strides[axis] == 2 && (!c.zero.present || c.zero.block == c.scale.block)
		if c.bits == 4 && run < leastRun && run%32 == 0 && from%run == 0 && sides && (kernel.LookIsFast(8) || codedAlways) {
			c.blocks4, run = run, space[axis]
		}
	default:
		return nil
	}
	// Runs begin with a byte.
	if run < min(leastRun, space[axis]) || run*c.bits%8 != 0 || space[axis]*c.bits%8 != 0 || from%8 != 0 {
		return nil
	}
	return c
}

// newTables256 are the tables of an operation, in tables.
func newTables256(p *td.DeQuant, space [td.NumAxes]int) blocked {
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
}

// decode writes n weights from i on as fp16 numbers. A block of four bits is not cut.
func (c *coded) decode(w *Scratch, dst []byte, i index, n int) {
	for n > 0 {
		codes, m := c.codes(w, &i), n
		switch {
		case c.entries > 0:
			m = c.tables.run(&i, c.axis, n)
			c.look(w, &i)
			kernel.Look(dst, codes, c.bits, &w.coded.table, m)
		case c.blocks4 > 0:
			m = min(n, chunk*c.blocks4)
			factors := c.scale.memory(w)[c.scale.at(&i):][:2*m/c.blocks4]
			var zeros []float32
			if c.zero.present {
				zeros = w.coded.zeros[:m/c.blocks4]
				loadFloats(zeros, c.zero.typ, c.zero.memory(w), c.zero.at(&i), c.zero.strides[c.axis])
			}
			kernel.Blocks4(dst, codes, c.signed, c.blocks4, factors, zeros)
		default:
			m = c.scale.run(&i, c.axis, n)
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
			w.coded.of = nil
			s.Table4(&w.coded.table)
			kernel.Look(dst, codes, 4, &w.coded.table, m)
		}
		dst, n = dst[2*m:], n-m
		i[c.axis] += m
	}
}

// decodeLines decodes so many lines, of which each is a step further along an axis, n
// weights of each. Where one table is for all and whole lines are wanted, they are one
// run.
func (c *coded) decodeLines(w *Scratch, dst []byte, i index, line, lines, n int) {
	if c.entries > 0 && c.tables.strides == ([td.NumAxes]int{}) && (c.x.strides[line] == n || lines == 1) {
		c.look(w, &i)
		kernel.Look(dst, c.codes(w, &i), c.bits, &w.coded.table, lines*n)
		return
	}
	for j := range lines {
		c.decode(w, dst[2*j*n:], i, n)
		i[line]++
	}
}

// codes are those from i on.
func (c *coded) codes(w *Scratch, i *index) []byte {
	at := c.x.at(i)
	if c.x.typ.SubByte() {
		at = at * c.bits / 8
	}
	return c.x.memory(w)[at:]
}

// look makes the table of a place ready.
func (c *coded) look(w *Scratch, i *index) {
	st, number := &w.coded, c.tables.at(i)
	if st.of == c && st.number == number {
		return
	}
	st.of, st.number = c, number
	src, at := c.table.memory(w), c.table.offset+number*c.table.strides[axisC]
	for e := range st.table[:1<<c.bits] { // the last entry stands for those that are not there
		st.table[e] = uint16(intAt(tensor.UInt16, src, at+min(e, c.entries-1)*c.table.strides[axisH]))
	}
}
