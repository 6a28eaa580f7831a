package strided

import (
	"encoding/binary"
	"math"

	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// A relocation is an operation each of whose elements is one of x, from another
// place, or, where there is none, one value for all.
type relocation struct {
	rowsOf
	sink *sink
	x, y array

	// from tells, for each axis, what an index of y adds to the place in x.
	// Places along different axes add up.
	from [td.NumAxes]func(w *Scratch, i int) spot

	// known has what from tells, for axes that are short enough to keep it. A
	// live relocation, whose places depend on data, has none.
	known [td.NumAxes][]spot
	live  bool

	outside    float32 // the value where there is no element
	outsideInt int64
}

// A spot is a part of a place in x: the bytes that it is further, and the
// channels, of which interleave makes no bytes before all parts are there.
type spot struct {
	offset   int
	channels int
	outside  bool
}

// newRelocation fixes the loops; the caller sets where elements come from. An
// axis that nothing is said about is the same in x and y.
func newRelocation(op *Op) *relocation {
	y, x := &op.Operands[0], &op.Operands[1]
	k := &relocation{sink: newSink(op), x: x.array(), y: y.array()}
	k.rowsOf = newRows(y.Dims, rowAxis(y.Dims, allAxes, &k.y))
	for a := range k.from {
		k.from[a] = func(_ *Scratch, i int) spot { return k.along(a, i) }
	}
	return k
}

// keepKnown keeps what is known before the operation runs.
func (k *relocation) keepKnown() {
	const most = 2048 // indices of an axis that are kept
	space := k.sink.space
	if k.live || elements(space) == 0 {
		return
	}
	for a, n := range space {
		if n <= most {
			k.known[a] = make([]spot, n)
			for i := range n {
				k.known[a][i] = k.from[a](nil, i)
			}
		}
	}
}

// spot is what index i of y along an axis adds to the place in x.
func (k *relocation) spot(w *Scratch, axis, i int) spot {
	if known := k.known[axis]; known != nil {
		return known[i]
	}
	return k.from[axis](w, i)
}

// along is the spot of index i of x along an axis.
func (k *relocation) along(axis, i int) spot {
	if axis == axisC && k.x.interleave > 1 {
		return spot{channels: i}
	}
	return spot{offset: i * k.x.strides[axis]}
}

func (s spot) plus(t spot) spot {
	return spot{s.offset + t.offset, s.channels + t.channels, s.outside || t.outside}
}

// setOutside says what stands where there is no element: the value of a padding
// mode.
func (k *relocation) setOutside(mode td.PaddingMode, background float32) {
	switch mode {
	case td.PadBackground:
		k.outside, k.outsideInt = background, toInt(float64(background))
	case td.PadNegative:
		k.outside, k.outsideInt = least(k.x.typ)
	}
}

// nowhere is the offset of an element that is not there: those of elements are
// 0 or more.
const nowhere = -1

// offsets finds the elements of a row.
func (k *relocation) offsets(w *Scratch, i *index, n int) []int64 {
	at := w.int[len(w.int)-chunk:][:n] // the sink has the beginning
	row := k.rowSpot(w, i)
	first := i[k.axis]
	if known := k.known[k.axis]; known != nil && k.x.interleave == 1 && !row.outside {
		for j, s := range known[first : first+n] {
			at[j] = int64(row.offset + s.offset)
			if s.outside {
				at[j] = nowhere
			}
		}
		return at
	}
	for j := range at {
		s := row
		if !s.outside {
			s = s.plus(k.spot(w, k.axis, first+j))
		}
		switch {
		case s.outside:
			at[j] = nowhere
		case k.x.interleave > 1:
			at[j] = int64(s.offset + s.channels/k.x.interleave*k.x.strides[axisC] + s.channels%k.x.interleave*sizeOf(k.x.typ))
		default:
			at[j] = int64(s.offset)
		}
	}
	return at
}

// rowSpot is what all elements of a row have in common.
func (k *relocation) rowSpot(w *Scratch, i *index) spot {
	row := spot{offset: k.x.offset}
	for a := range td.NumAxes {
		if a != k.axis {
			row = row.plus(k.spot(w, a, i[a]))
		}
	}
	return row
}

// stretch returns how many offsets from the first on have one distance, and
// which; or how many are nowhere.
func stretch(at []int64) (n, step int) {
	n = 1
	if at[0] == nowhere {
		for n < len(at) && at[n] == nowhere {
			n++
		}
		return n, 0
	}
	if len(at) == 1 || at[1] == nowhere {
		return 1, 1
	}
	step = int(at[1] - at[0])
	for n < len(at) && at[n] != nowhere && at[n]-at[n-1] == int64(step) {
		n++
	}
	return n, step
}

func (k *relocation) Need() Need { return k.sink.need().Max(Need{Float: chunk, Int: chunk}) }

func (k *relocation) Run(w *Scratch, lo, hi int) {
	src := k.x.memory(w)
	var i index
	for t := lo; t < hi; t++ {
		n := k.tileAt(&i, t)
		v, at := w.float[:n], k.offsets(w, &i, n)
		for j := 0; j < n; {
			m, step := stretch(at[j:])
			if part := v[j : j+m]; at[j] != nowhere {
				k.x.read(part, src, int(at[j]), step)
			} else {
				for e := range part {
					part[e] = k.outside
				}
			}
			j += m
		}
		k.sink.putAt(w, v, &i, k.axis)
	}
}

// relocationInt is relocation of integers.
type relocationInt struct{ *relocation }

func (k relocationInt) Need() Need {
	n := k.sink.needInts()
	n.Int += 2 * chunk
	return n
}

func (k relocationInt) Run(w *Scratch, lo, hi int) {
	src := k.x.memory(w)
	for t := lo; t < hi; t++ {
		i, n := k.tile(t)
		v, at := w.int[k.sink.needInts().Int:][:n], k.offsets(w, &i, n)
		for j := 0; j < n; {
			m, step := stretch(at[j:])
			if part := v[j : j+m]; at[j] != nowhere {
				loadInts(part, k.x.typ, src, int(at[j]), step)
			} else {
				for e := range part {
					part[e] = k.outsideInt
				}
			}
			j += m
		}
		k.sink.putInts(w, v, i, k.axis)
	}
}

// relocationMove is relocation of elements as they are.
type relocationMove struct {
	*relocation
	filler  [8]byte // an element that is not there
	doubled bool    // a row of y is a row of x, each element of two bytes twice
}

func (k *relocationMove) Need() Need { return Need{Int: chunk} }

func (k *relocationMove) Run(w *Scratch, lo, hi int) {
	src, dst, size := k.x.memory(w), k.y.memory(w), sizeOf(k.y.typ)
	filler := k.filler[:size]
	var i index
	for t := lo; t < hi; t++ {
		n := k.tileAt(&i, t)
		if k.doubled {
			if row := k.rowSpot(w, &i); !row.outside {
				double(dst[k.y.at(&i):][:2*n], src[row.offset+i[k.axis]:])
				continue
			}
		}
		at := k.offsets(w, &i, n)
		for j := 0; j < n; {
			m, step := stretch(at[j:])
			count, stride := k.y.bundle(&i, k.axis, m)
			to, from := k.y.at(&i), int(at[j])
			i[k.axis] += count
			j += count
			switch {
			case from == nowhere:
				for range count {
					moveElement(dst[to:to+size], filler)
					to += stride
				}
			case step == size && stride == size:
				copy(dst[to:to+count*size], src[from:from+count*size])
			default:
				for range count {
					moveElement(dst[to:to+size], src[from:from+size])
					to += stride
					from += step
				}
			}
		}
	}
}

// isDoubled reports whether rows of y are rows of x of which each element comes
// twice, as a picture's that is enlarged by 2.
func (k *relocation) isDoubled() bool {
	known := k.known[k.axis]
	if len(known) == 0 || len(known)%2 != 0 || sizeOf(k.y.typ) != 2 || k.x.interleave > 1 || k.y.interleave > 1 || k.y.strides[k.axis] != 2 {
		return false
	}
	for j, s := range known {
		if s.outside || s.offset != j/2*2 {
			return false
		}
	}
	return true
}

// double writes each element of two bytes twice.
func double(dst, src []byte) {
	for len(dst) >= 8 && len(src) >= 4 {
		v := binary.LittleEndian.Uint32(src)
		low, high := uint64(v&0xffff), uint64(v>>16)
		binary.LittleEndian.PutUint64(dst, (low|high<<32)*0x10001)
		dst, src = dst[8:], src[4:]
	}
	for len(dst) >= 4 {
		binary.LittleEndian.PutUint32(dst, uint32(binary.LittleEndian.Uint16(src))*0x10001)
		dst, src = dst[4:], src[2:]
	}
}

// A relocator makes the relocation of a class.
type relocator func(*Op) (*relocation, error)

// rows are the three ways to do what a class relocates.
func (bind relocator) rows(name string, class td.Class, takes func(*Op) bool) []Row {
	both := func(f func(*Op) bool) func(*Op) bool {
		return func(op *Op) bool { return (takes == nil || takes(op)) && f(op) }
	}
	return []Row{
		{name + "-move", class, Bound{}, both(moves), bind.move, "bytes"},
		{name + "-int", class, Bound{}, both(integers), bind.ints, "integers, in int64"},
		{name, class, Bound{2, 0}, takes, bind.floats, "with conversion or epilogue"},
	}
}

func (bind relocator) floats(op *Op) (Kernel, error) {
	k, err := bind(op)
	if err != nil {
		return nil, err
	}
	k.keepKnown()
	return k, nil
}

func (bind relocator) ints(op *Op) (Kernel, error) {
	k, err := bind(op)
	if err != nil {
		return nil, err
	}
	k.keepKnown()
	return relocationInt{k}, nil
}

func (bind relocator) move(op *Op) (Kernel, error) {
	k, err := bind(op)
	if err != nil {
		return nil, err
	}
	k.keepKnown()
	m := &relocationMove{relocation: k, doubled: k.isDoubled()}
	if t := k.y.typ; t.IsFloat() {
		putFloat(t, m.filler[:], k.outside)
	} else {
		putInt(t, m.filler[:], k.outsideInt)
	}
	return m, nil
}

// least is the least number of a type.
func least(t tensor.DType) (float32, int64) {
	switch t {
	case tensor.Float8E4M3FN: // has no infinity
		return -448, -448
	case tensor.Int4, tensor.Int8, tensor.Int16, tensor.Int32, tensor.Int64:
		v := int64(math.MinInt64) >> (64 - t.Bits())
		return float32(v), v
	}
	if t.IsFloat() {
		return float32(math.Inf(-1)), math.MinInt64
	}
	return 0, 0
}

// doubleAt reads an element without rounding what a float64 holds.
func doubleAt(t tensor.DType, src []byte, off int) float64 {
	switch {
	case t == tensor.Float64:
		return math.Float64frombits(binary.LittleEndian.Uint64(src[off:]))
	case t == tensor.UInt64:
		return float64(binary.LittleEndian.Uint64(src[off:]))
	case t.IsFloat():
		return float64(floatAt(t, src, off))
	}
	return float64(intAt(t, src, off))
}
