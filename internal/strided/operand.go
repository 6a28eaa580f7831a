package strided

import (
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// The axes as indices.
const (
	axisN = int(td.AxisN)
	axisD = int(td.AxisD)
	axisC = int(td.AxisC)
	axisH = int(td.AxisH)
	axisW = int(td.AxisW)

	allAxes = td.Axes(1<<td.NumAxes - 1)
)

// An Operand is an operand of an operation in its place. The offset counts from
// the beginning of the memory; the base, which has led there, has no meaning any
// more. Strides of an axis that leads nowhere are 0.
type Operand struct {
	td.Operand
	Memory   int
	Constant bool // it may be packed once, with Packs

	// Origin is the operation that has made the operand of constants, nil if it is
	// not known. A kernel may read these instead; see ReadsOrigin.
	Origin *Op

	// Exchanged says that C and W have changed places, so that elements that are
	// interleaved are such along W.
	Exchanged bool

	pass passage // what rules do to its floats; for Bind to set
}

// index is a place in a tensor.
type index [td.NumAxes]int

// An array is an operand as loops see it. Of a packed type, offsets and strides
// count elements, from bit 8*skip on.
type array struct {
	number     int // of the memory
	skip       int
	offset     int
	typ        tensor.DType
	interleave int
	lane       int // the axis that is interleaved
	strides    [td.NumAxes]int
	pass       passage
}

// array returns the operand for loops. Along an axis where it has extent 1, it
// stays where it is, whatever the index: it broadcasts.
func (o *Operand) array() array {
	a := array{number: o.Memory, offset: int(o.Offset), typ: o.Type, interleave: max(int(o.Interleave), 1), lane: axisC, pass: o.pass}
	if o.Exchanged {
		a.lane = axisW
	}
	for x, stride := range o.Strides {
		a.strides[x] = int(stride)
	}
	if o.Type.SubByte() {
		a.skip, a.offset, a.interleave = int(o.Offset), 0, 1
		stride := 1
		for x := td.NumAxes - 1; x >= 0; x-- {
			a.strides[x] = stride
			stride *= max(o.Dims[x], 1)
		}
	}
	for x, d := range o.Dims {
		if d == 1 {
			a.strides[x] = 0
		}
	}
	if o.Dims[a.lane] == 1 {
		a.interleave = 1
	}
	return a
}

func (a *array) memory(s *Scratch) []byte { return s.Memory[a.number][a.skip:] }

// at is the offset of an element.
func (a *array) at(i *index) int {
	off := a.offset + i[axisN]*a.strides[axisN] + i[axisD]*a.strides[axisD] + i[axisC]*a.strides[axisC] + i[axisH]*a.strides[axisH] + i[axisW]*a.strides[axisW]
	if a.interleave == 1 {
		return off
	}
	lane := i[a.lane]
	return off + (lane/a.interleave-lane)*a.strides[a.lane] + lane%a.interleave*sizeOf(a.typ)
}

// bundle returns how many of n elements from i on along an axis have one
// distance, and which.
func (a *array) bundle(i *index, axis, n int) (count, stride int) {
	if axis != a.lane || a.interleave == 1 {
		return n, a.strides[axis]
	}
	return min(n, a.interleave-i[axis]%a.interleave), sizeOf(a.typ)
}

// read is loadFloats, and what rules do to elements that are read.
func (a *array) read(dst []float32, src []byte, off, stride int) {
	loadFloats(dst, a.typ, src, off, stride)
	if a.pass != 0 {
		a.pass.apply(dst)
	}
}

// readOne is read of one element.
func (a *array) readOne(src []byte, off int) float32 {
	if a.pass == 0 {
		return floatAt(a.typ, src, off)
	}
	one := [1]float32{floatAt(a.typ, src, off)}
	a.pass.apply(one[:])
	return one[0]
}

// load reads elements from i on along an axis.
func (a *array) load(s *Scratch, dst []float32, i index, axis int) { a.loadAt(s, dst, &i, axis) }

// loadAt is load for loops over rows. A place is not copied there: it was written
// index by index, and to copy it whole waits until that, and the results before it,
// have reached the memory.
func (a *array) loadAt(s *Scratch, dst []float32, i *index, axis int) {
	if n, stride := a.bundle(i, axis, len(dst)); n == len(dst) {
		loadFloats(dst, a.typ, a.memory(s), a.at(i), stride)
	} else {
		a.loadBundles(s, dst, *i, axis)
	}
	if a.pass != 0 {
		a.pass.apply(dst)
	}
}

func (a *array) loadBundles(s *Scratch, dst []float32, i index, axis int) {
	src := a.memory(s)
	for len(dst) > 0 {
		n, stride := a.bundle(&i, axis, len(dst))
		loadFloats(dst[:n], a.typ, src, a.at(&i), stride)
		dst = dst[n:]
		i[axis] += n
	}
}

func (a *array) loadInts(s *Scratch, dst []int64, i index, axis int) {
	src := a.memory(s)
	for len(dst) > 0 {
		n, stride := a.bundle(&i, axis, len(dst))
		loadInts(dst[:n], a.typ, src, a.at(&i), stride)
		dst = dst[n:]
		i[axis] += n
	}
}

// store writes elements from i on along an axis. Rules may change them.
func (a *array) store(s *Scratch, src []float32, i index, axis int) { a.storeAt(s, src, &i, axis) }

// storeAt is to store what loadAt is to load.
func (a *array) storeAt(s *Scratch, src []float32, i *index, axis int) {
	if a.pass != 0 {
		a.pass.apply(src)
	}
	if n, stride := a.bundle(i, axis, len(src)); n == len(src) {
		storeFloats(a.typ, a.memory(s), a.at(i), stride, src)
		return
	}
	a.storeBundles(s, src, *i, axis)
}

func (a *array) storeBundles(s *Scratch, src []float32, i index, axis int) {
	dst := a.memory(s)
	for len(src) > 0 {
		n, stride := a.bundle(&i, axis, len(src))
		storeFloats(a.typ, dst, a.at(&i), stride, src[:n])
		src = src[n:]
		i[axis] += n
	}
}

// loadRows reads some rows, each along an axis, that follow each other along a second
// one.
func (a *array) loadRows(s *Scratch, dst []float32, rows int, i *index, axis, next int) {
	n := len(dst) / rows
	switch {
	case rows == 1 || a.joins(n, axis, next):
		a.loadAt(s, dst, i, axis)
	case a.strides[next] == 0 && a.interleave == 1: // all of them are the first
		a.loadAt(s, dst[:n], i, axis)
		for n < len(dst) {
			n += copy(dst[n:], dst[:n])
		}
	default:
		for at := *i; len(dst) > 0; dst = dst[n:] {
			a.loadAt(s, dst[:n], &at, axis)
			at[next]++
		}
	}
}

// storeRows likewise.
func (a *array) storeRows(s *Scratch, src []float32, rows int, i *index, axis, next int) {
	n := len(src) / rows
	if rows == 1 || a.joins(n, axis, next) {
		a.storeAt(s, src, i, axis)
		return
	}
	for at := *i; len(src) > 0; src = src[n:] {
		a.storeAt(s, src[:n], &at, axis)
		at[next]++
	}
}

// joins reports whether rows of so many elements are one that is longer.
func (a *array) joins(n, axis, next int) bool {
	return a.interleave == 1 && a.strides[next] == n*a.strides[axis]
}

func (a *array) storeInts(s *Scratch, src []int64, i index, axis int) {
	dst := a.memory(s)
	for len(src) > 0 {
		n, stride := a.bundle(&i, axis, len(src))
		storeInts(a.typ, dst, a.at(&i), stride, src[:n])
		src = src[n:]
		i[axis] += n
	}
}

// elements is the number of those of a space; the extents of a result fit its
// memory, so it cannot overflow.
func elements(dims [td.NumAxes]int) int {
	n := 1
	for _, d := range dims {
		n *= d
	}
	return n
}

// merge joins neighbouring axes of a space, of which all are in the set or none,
// where every array walks over them at one distance. The space keeps its number
// of elements and their order.
func merge(space *[td.NumAxes]int, set td.Axes, arrays ...*array) {
	bundled := false // channels have more than one distance
	for _, a := range arrays {
		bundled = bundled || a.interleave > 1
	}
	for inner := td.NumAxes - 1; inner > 0; inner-- {
		for outer := inner - 1; outer >= 0; outer-- {
			if space[outer] == 1 {
				continue
			}
			if set>>outer&1 != set>>inner&1 || bundled && (inner == axisC || outer == axisC) {
				break
			}
			joint := true
			for _, a := range arrays {
				joint = joint && (space[inner] == 1 || a.strides[outer] == a.strides[inner]*space[inner])
			}
			if !joint {
				break
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

// rowAxis chooses the axis along which a space is taken in rows: one of the set,
// where the first array, the result, has the smallest stride, unless that makes
// rows short and another makes them long.
func rowAxis(space [td.NumAxes]int, set td.Axes, a *array) int {
	const long = 16
	best, step := -1, 0
	longest := -1
	for x := td.NumAxes - 1; x >= 0; x-- {
		if set>>x&1 == 0 || space[x] == 1 {
			continue
		}
		stride := max(a.strides[x], -a.strides[x])
		if x == a.lane && a.interleave > 1 {
			stride = sizeOf(a.typ)
		}
		if best < 0 || stride < step {
			best, step = x, stride
		}
		if longest < 0 || space[x] > space[longest] {
			longest = x
		}
	}
	switch {
	case best < 0:
		for x := td.NumAxes - 1; x >= 0; x-- {
			if set>>x&1 != 0 {
				return x
			}
		}
		return axisW
	case space[best] < long && space[longest] >= long:
		return longest
	}
	return best
}

// A grid counts the places of some axes of a space, the last axis fastest.
type grid struct {
	dims [td.NumAxes]int
}

// newGrid is the grid over the axes of the set; along the others it stays at 0.
func newGrid(space [td.NumAxes]int, set td.Axes) grid {
	g := grid{dims: space}
	for x := range g.dims {
		if set>>x&1 == 0 {
			g.dims[x] = 1
		}
	}
	return g
}

func (g *grid) count() int { return elements(g.dims) }

// place returns place number t.
func (g *grid) place(t int) (i index) {
	g.placeAt(&i, t)
	return i
}

// placeAt sets i to place number t.
func (g *grid) placeAt(i *index, t int) {
	for x := td.NumAxes - 1; x >= 0; x-- {
		if i[x] = 0; g.dims[x] != 1 { // a division takes long
			i[x] = t % g.dims[x]
			t /= g.dims[x]
		}
	}
}

// next moves to the next place, back to the first after the last.
func (g *grid) next(i *index) {
	for x := td.NumAxes - 1; x >= 0; x-- {
		if i[x]++; i[x] < g.dims[x] {
			return
		}
		i[x] = 0
	}
}

// plus returns the place i displaced by j.
func (i index) plus(j index) index {
	for x := range i {
		i[x] += j[x]
	}
	return i
}

// chunk is how many elements of a row are taken at once.
const chunk = 512

// rowsOf cuts a space into rows along an axis and these into chunks.
type rowsOf struct {
	axis, length int
	outer        grid
	perRow       int // chunks of a row
}

func newRows(space [td.NumAxes]int, axis int) rowsOf {
	r := rowsOf{axis: axis, length: space[axis], outer: newGrid(space, allAxes&^(1<<axis))}
	r.perRow = (r.length + chunk - 1) / chunk
	return r
}

// Tiles returns the number of chunks, and how many are worth a thread.
func (r *rowsOf) Tiles() (n, grain int) {
	return r.outer.count() * r.perRow, max(1, 8192/max(1, min(r.length, chunk)))
}

// tile returns where chunk t begins and how long it is.
func (r *rowsOf) tile(t int) (i index, n int) {
	n = r.tileAt(&i, t)
	return i, n
}

// tileAt sets i to where chunk t begins, and returns how long it is.
func (r *rowsOf) tileAt(i *index, t int) (n int) {
	start := 0
	if r.perRow > 1 {
		start = t % r.perRow * chunk
		t /= r.perRow
	}
	r.outer.placeAt(i, t)
	i[r.axis] = start
	return min(chunk, r.length-start)
}
