package strided

import "github.com/espalier-ane/espalier/td"

// gather takes elements of x at indices along an axis, and 0 where an index points outside.
type gather struct {
	rowsOf
	sink    *sink
	x, y    array
	indices array
	along   int // the axis of the indices
	extent  int // of x along it

	// constant: the index is the same for a whole row, which is then read as
	// one.
	constant bool
}

func newGather(op *Op) *gather {
	y, x, axis := &op.Operands[0], &op.Operands[1], int(op.Params.(*td.Gather).Axis)
	k := &gather{
		sink: newSink(op), x: x.array(), y: y.array(), indices: op.Operands[2].array(),
		along: axis, extent: x.Dims[axis],
	}
	// Rows along which the index stays are read as a whole.
	still := td.Axes(0)
	for a := range td.NumAxes {
		if a != k.along && op.Operands[2].Dims[a] == 1 && y.Dims[a] > 1 {
			still |= 1 << a
		}
	}
	set := allAxes
	if still != 0 {
		set, k.constant = still, true
	}
	space := y.Dims
	k.rowsOf = newRows(space, rowAxis(space, set, &k.y))
	return k
}

// place returns where in x an element of y is taken from, given its index; false if that is outside.
func (k *gather) place(i index, at int64) (index, bool) {
	if at < 0 {
		at += int64(k.extent)
	}
	if at < 0 || at >= int64(k.extent) {
		return i, false
	}
	i[k.along] = int(at)
	return i, true
}

// wanted reads the indices of a row: one, or one for each element.
func (k *gather) wanted(w *Scratch, i index, n int) []int64 {
	if k.constant {
		n = 1
	}
	dst := w.int[len(w.int)-chunk:][:n] // the sink has the beginning
	k.indices.loadInts(w, dst, i, k.axis)
	return dst
}

func bindGather(op *Op) (Kernel, error) { return newGather(op), nil }

func (k *gather) Need() Need { return k.sink.need().Max(Need{Float: chunk, Int: chunk}) }

func (k *gather) Run(w *Scratch, lo, hi int) {
	for t := lo; t < hi; t++ {
		i, n := k.tile(t)
		v, at := w.float[:n], k.wanted(w, i, n)
		if !k.constant {
			from, src := i, k.x.memory(w)
			for j := range v {
				from[k.axis] = i[k.axis] + j
				v[j] = 0
				if place, ok := k.place(from, at[j]); ok {
					v[j] = k.x.readOne(src, k.x.at(&place))
				}
			}
		} else if place, ok := k.place(i, at[0]); ok {
			k.x.load(w, v, place, k.axis)
		} else {
			clear(v)
		}
		k.sink.put(w, v, i, k.axis)
	}
}

// gatherInt is gather of integers.
type gatherInt struct{ gather }

func bindGatherInt(op *Op) (Kernel, error) { return &gatherInt{*newGather(op)}, nil }

func (k *gatherInt) Need() Need {
	n := k.sink.needInts()
	n.Int += 2 * chunk
	return n
}

func (k *gatherInt) Run(w *Scratch, lo, hi int) {
	for t := lo; t < hi; t++ {
		i, n := k.tile(t)
		v, at := w.int[k.sink.needInts().Int:][:n], k.wanted(w, i, n)
		if !k.constant {
			from, src := i, k.x.memory(w)
			for j := range v {
				from[k.axis] = i[k.axis] + j
				v[j] = 0
				if place, ok := k.place(from, at[j]); ok {
					v[j] = intAt(k.x.typ, src, k.x.at(&place))
				}
			}
		} else if place, ok := k.place(i, at[0]); ok {
			k.x.loadInts(w, v, place, k.axis)
		} else {
			clear(v)
		}
		k.sink.putInts(w, v, i, k.axis)
	}
}

// gatherMove is gather of elements as they are.
type gatherMove struct{ gather }

func bindGatherMove(op *Op) (Kernel, error) { return &gatherMove{*newGather(op)}, nil }

func (k *gatherMove) Need() Need { return Need{Int: chunk} }

func (k *gatherMove) Run(w *Scratch, lo, hi int) {
	for t := lo; t < hi; t++ {
		i, n := k.tile(t)
		at := k.wanted(w, i, n)
		if place, ok := k.place(i, at[0]); ok && k.constant {
			moveRow(w, &k.y, i, &k.x, place, k.axis, n)
			continue
		}
		to, dst, src, size := i, k.y.memory(w), k.x.memory(w), sizeOf(k.y.typ)
		for j := range n {
			to[k.axis] = i[k.axis] + j
			y := dst[k.y.at(&to):][:size]
			if place, ok := k.place(to, at[min(j, len(at)-1)]); ok {
				moveElement(y, src[k.x.at(&place):][:size])
			} else {
				clear(y)
			}
		}
	}
}
