package strided

import (
	"fmt"
	"math/bits"

	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// Decoding of compressed constants: class DeQuant with a table, a mask, or blocks
// of elements that share a scale. See td.DeQuant for what it computes.

// The operands.
const (
	decodeX = 1 + iota
	decodeScale
	decodeZero
	decodeTable
	decodeMask
)

// A blocked array has one element for a block of elements of the result:
// element i of the result goes with the one at
//
//	offset + Σ i[a]/block[a] * strides[a]
//
// The elements themselves are what blocks of 1 are.
type blocked struct {
	array
	present bool
	block   [td.NumAxes]int
}

// newBlocked is an operand whose extents divide those of the result.
func newBlocked(o *Operand, space [td.NumAxes]int) blocked {
	b := blocked{array: o.array(), present: true}
	for a, n := range o.Dims {
		b.block[a] = max(1, space[a]/max(1, n))
	}
	return b
}

// at is the offset of the element that place i goes with.
func (b *blocked) at(i *index) int {
	off := b.offset
	for a, n := range b.block {
		if b.strides[a] != 0 { // a division takes longer
			off += i[a] / n * b.strides[a]
		}
	}
	return off
}

// run is how many of n places from i on along an axis go with one element.
func (b *blocked) run(i *index, axis, n int) int {
	if b.strides[axis] == 0 {
		return n
	}
	return min(n, b.block[axis]-i[axis]%b.block[axis])
}

// join makes two neighbouring axes of the space one, the inner, if blocks of the
// joint axis have one length and one distance:
//
//	inner extent 1      nothing changes
//	one block inside    blocks are as long as all of the inner axis times those of the outer
//	no blocks outside   blocks of the inner axis go on where a row of them ends
func (b *blocked) join(outer, inner int, space *[td.NumAxes]int, try bool) bool {
	still := space[inner] == 1 || b.strides[inner] == 0 // along inner, it stays where it is
	inRow := space[inner] / b.block[inner]
	switch {
	case still && b.strides[outer] == 0:
	case still:
		if !try {
			b.block[inner], b.strides[inner] = b.block[outer]*space[inner], b.strides[outer]
		}
	case b.block[outer] != 1 || b.strides[outer] != b.strides[inner]*inRow:
		return false
	}
	if !try {
		b.strides[outer], b.block[outer] = 0, 1
	}
	return true
}

// joinAxes is merge for a space over which blocked arrays walk too. The axis keep
// stays what it is.
func joinAxes(space *[td.NumAxes]int, keep int, arrays []*array, blocks []*blocked) {
	bundled := false // channels have more than one distance
	for _, a := range arrays {
		bundled = bundled || a.interleave > 1
	}
	joint := func(outer, inner int) bool {
		if outer == keep || inner == keep || bundled && (inner == axisC || outer == axisC) {
			return false
		}
		for _, a := range arrays {
			if space[inner] != 1 && a.strides[outer] != a.strides[inner]*space[inner] {
				return false
			}
		}
		for _, b := range blocks {
			if !b.join(outer, inner, space, true) {
				return false
			}
		}
		return true
	}
	for inner := td.NumAxes - 1; inner > 0; inner-- {
		for outer := inner - 1; outer >= 0; outer-- {
			if space[outer] == 1 {
				continue
			}
			if !joint(outer, inner) {
				break
			}
			for _, b := range blocks {
				b.join(outer, inner, space, false)
			}
			for _, a := range arrays {
				if space[inner] == 1 {
					a.strides[inner] = a.strides[outer]
				}
				a.strides[outer] = 0
			}
			space[inner] *= space[outer]
			space[outer] = 1
		}
	}
}

// decode is the kernel.
type decode struct {
	rowsOf
	sink        *sink
	x           blocked // with a mask not blocked: the elements one after the other
	stored      int     // with a mask: how many x has
	scale, zero blocked

	table           array
	tables          blocked // offset, in tables, of the one for a block
	entries, vector int
	vectorAxis      int

	mask   array
	masked bool
}

// maskTiles is how many tiles there are where a mask decides which element comes
// next: each of them counts what the mask selects before it.
const maskTiles = 16

// maxTable is how many numbers of a table are kept ready.
const maxTable = 1 << 12

// decodes reports whether an operation is more than a broadcast scale and zero.
func decodes(op *Op) bool {
	if len(op.Operands) > decodeTable && op.Operands[decodeTable].Present() || len(op.Operands) > decodeMask && op.Operands[decodeMask].Present() {
		return true
	}
	if len(op.Operands) <= decodeScale || !op.Operands[decodeScale].Present() {
		return true
	}
	for _, o := range op.Operands[decodeScale:min(len(op.Operands), decodeZero+1)] {
		for a, n := range o.Dims {
			if o.Present() && n != 1 && n != op.Operands[0].Dims[a] {
				return true
			}
		}
	}
	return false
}

func bindDecode(op *Op) (Kernel, error) {
	present := func(i int) bool { return i < len(op.Operands) && op.Operands[i].Present() }
	for i := decodeX; i < min(len(op.Operands), decodeMask); i++ {
		if o := &op.Operands[i]; o.Present() && o.array().interleave > 1 {
			return nil, fmt.Errorf("operand %d has %d channels side by side, want 1", i, o.Interleave)
		}
	}
	p, space := op.Params.(*td.DeQuant), op.Operands[0].Dims
	k := &decode{sink: newSink(op), vector: 1, vectorAxis: -1}
	arrays := k.sink.arrays()
	var blocks []*blocked
	for _, b := range []struct {
		operand int
		to      *blocked
	}{{decodeX, &k.x}, {decodeScale, &k.scale}, {decodeZero, &k.zero}} {
		if present(b.operand) {
			*b.to = newBlocked(&op.Operands[b.operand], space)
			if b.operand != decodeX || !present(decodeMask) {
				blocks = append(blocks, b.to)
			}
		}
	}
	keep := -1
	if present(decodeTable) {
		t := &op.Operands[decodeTable]
		k.table, k.entries, k.vector = t.array(), t.Dims[axisH], t.Dims[axisW]
		k.tables = tableBlocks(p, space)
		blocks = append(blocks, &k.tables)
		if k.vector > 1 {
			keep, k.vectorAxis = int(p.VectorAxis), int(p.VectorAxis)
		}
	}
	if present(decodeMask) {
		k.mask, k.masked, k.stored = op.Operands[decodeMask].array(), true, op.Operands[decodeX].Dims[axisW]
		arrays = append(arrays, &k.mask)
	}
	joinAxes(&space, keep, arrays, blocks)
	axis := rowAxis(space, allAxes, &k.sink.out)
	if k.masked { // elements in their order
		for axis = td.NumAxes - 1; axis > 0 && space[axis] == 1; {
			axis--
		}
	}
	k.rowsOf = newRows(space, axis)
	return k, nil
}

func (k *decode) Need() Need {
	return k.sink.need().Max(Need{Float: 2*chunk + maxTable})
}

// Tiles are chunks of rows; with a mask, as many chunks as maskTiles leave to
// each.
func (k *decode) Tiles() (n, grain int) {
	n, grain = k.rowsOf.Tiles()
	if k.masked {
		return min(n, maskTiles), 1
	}
	return n, grain
}

func (k *decode) Run(w *Scratch, lo, hi int) {
	d := decoder{decode: k, w: w, values: w.float[:chunk], selected: w.float[chunk:][:chunk], ready: w.float[2*chunk:][:maxTable], number: -1}
	if k.masked {
		chunks, _ := k.rowsOf.Tiles()
		tiles := min(chunks, maskTiles)
		lo, hi = lo*chunks/tiles, hi*chunks/tiles
		d.next = k.before(w, lo)
	}
	for t := lo; t < hi; t++ {
		d.chunk(t)
	}
}

// before counts what the mask selects before chunk t.
func (k *decode) before(w *Scratch, t int) int {
	if k.mask.typ == tensor.UInt1 { // packed in order
		start := t/k.perRow*k.length + t%k.perRow*chunk
		return ones(k.mask.memory(w), start)
	}
	total := 0
	for u := range t {
		i, n := k.tile(u)
		selected := w.float[:n]
		k.mask.load(w, selected, i, k.axis)
		for _, v := range selected {
			if v != 0 {
				total++
			}
		}
	}
	return total
}

// ones counts the first n bits that are set.
func ones(b []byte, n int) int {
	total := 0
	for ; n >= 64; n -= 64 {
		total += bits.OnesCount64(uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
			uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56)
		b = b[8:]
	}
	for ; n >= 8; n -= 8 {
		total += bits.OnesCount8(b[0])
		b = b[1:]
	}
	if n > 0 {
		total += bits.OnesCount8(b[0] & (1<<n - 1))
	}
	return total
}

// A decoder is one Run of the kernel.
type decoder struct {
	*decode
	w *Scratch

	values, selected []float32
	next             int // with a mask: the stored element that comes next

	ready  []float32 // the table with this number
	number int
}

// chunk decodes the elements of chunk t.
func (d *decoder) chunk(t int) {
	i, n := d.tile(t)
	v, selected := d.values[:n], d.selected[:n]
	if d.masked {
		d.mask.load(d.w, selected, i, d.axis)
		d.spread(v, selected)
	} else {
		d.loadStored(v, i)
	}
	if d.entries > 0 {
		d.look(v, i)
	}
	if d.scale.present {
		d.scaleBlocks(v, i)
	}
	if d.masked {
		for j, s := range selected {
			if s == 0 {
				v[j] = 0
			}
		}
	}
	d.sink.put(d.w, v, i, d.axis)
}

// spread puts the stored elements that come next where the mask selects them.
func (d *decoder) spread(v, selected []float32) {
	count := 0
	for _, s := range selected {
		if s != 0 {
			count++
		}
	}
	have := max(0, min(count, d.stored-d.next))
	if have > 0 {
		d.x.load(d.w, v[:have], index{axisW: d.next}, axisW)
	}
	d.next += count
	// From the end on, so that nothing is overwritten before it has moved.
	from := count
	for j := len(v) - 1; j >= 0; j-- {
		switch {
		case selected[j] == 0:
			v[j] = 0
		default:
			from--
			if from < have {
				v[j] = v[from]
			} else {
				v[j], selected[j] = 0, 0
			}
		}
	}
}

// loadStored reads the stored elements; each serves as many as an entry of the
// table has along the row.
func (d *decoder) loadStored(v []float32, i index) {
	block := d.x.block[d.axis]
	if block == 1 || d.x.strides[d.axis] == 0 {
		loadFloats(v, d.x.typ, d.x.memory(d.w), d.x.at(&i), d.x.strides[d.axis])
		return
	}
	for len(v) > 0 {
		n := d.x.run(&i, d.axis, len(v))
		loadFloats(v[:n], d.x.typ, d.x.memory(d.w), d.x.at(&i), 0)
		v = v[n:]
		i[d.axis] += n
	}
}

// look replaces indices by entries.
func (d *decoder) look(v []float32, i index) {
	last := float32(d.entries - 1)
	for len(v) > 0 {
		n := d.tables.run(&i, d.axis, len(v))
		number := d.tables.at(&i)
		part := v[:n]
		switch {
		case d.makeReady(number, n):
			element, step := d.elementOf(&i)
			for j, x := range part {
				part[j] = d.ready[int(min(max(x, 0), last))*d.vector+element]
				if element += step; element == d.vector {
					element = 0
				}
			}
		default:
			memory := d.table.memory(d.w)
			start := d.table.offset + number*d.table.strides[axisC]
			element, step := d.elementOf(&i)
			for j, x := range part {
				part[j] = floatAt(d.table.typ, memory, start+int(min(max(x, 0), last))*d.table.strides[axisH]+element*d.table.strides[axisW])
				if element += step; element == d.vector {
					element = 0
				}
			}
		}
		v = v[n:]
		i[d.axis] += n
	}
}

// elementOf is the element of an entry that place i takes, and how far it is to
// that of the next place of the row.
func (d *decoder) elementOf(i *index) (element, step int) {
	if d.vector == 1 {
		return 0, 0
	}
	if d.axis == d.vectorAxis {
		step = 1
	}
	return i[d.vectorAxis] % d.vector, step
}

// makeReady loads a table for n elements, if that is worth while and there is
// room.
func (d *decoder) makeReady(number, n int) bool {
	size := d.entries * d.vector
	if d.number == number {
		return true
	}
	if size > maxTable || size > 4*n {
		return false
	}
	d.number = number
	for e := range d.entries {
		d.table.load(d.w, d.ready[e*d.vector:][:d.vector], index{axisC: number, axisH: e}, axisW)
	}
	return true
}

// scaleBlocks is (v - zero) * scale.
func (d *decoder) scaleBlocks(v []float32, i index) {
	for len(v) > 0 {
		n := d.scale.run(&i, d.axis, len(v))
		scale := float64(floatAt(d.scale.typ, d.scale.memory(d.w), d.scale.at(&i)))
		zero := 0.0
		if d.zero.present {
			n = d.zero.run(&i, d.axis, n)
			zero = float64(floatAt(d.zero.typ, d.zero.memory(d.w), d.zero.at(&i)))
		}
		for j, x := range v[:n] {
			v[j] = d.sink.round((float64(x) - zero) * scale)
		}
		v = v[n:]
		i[d.axis] += n
	}
}
