package strided

import "github.com/espalier-ane/espalier/td"

// ringWriter writes an update into a window of a state. Its tiles are of the
// result; of the update where the result is known to lie on the state.
type ringWriter struct {
	rowsOf
	y, state, update array
	start            array
	params           *td.RingBufferWriter
	extent, window   [td.NumAxes]int // of the state, of the update
	congruent        bool            // state and result have the same layout
	inPlace          bool            // and are in the same memory
}

func bindRingWriter(op *Op) (Kernel, error) {
	y, state, update := &op.Operands[0], &op.Operands[1], &op.Operands[2]
	k := &ringWriter{
		y: y.array(), state: state.array(), update: update.array(),
		params: op.Params.(*td.RingBufferWriter), extent: y.Dims, window: update.Dims,
	}
	if len(op.Operands) > 3 && op.Operands[3].Present() {
		k.start = op.Operands[3].array()
	}
	moved := k.state
	moved.number = k.y.number
	k.congruent = moved == k.y
	k.inPlace = k.state == k.y
	space := y.Dims
	if k.inPlace {
		space = update.Dims
	}
	k.rowsOf = newRows(space, rowAxis(space, allAxes, &k.y))
	return k, nil
}

func (k *ringWriter) Need() Need { return Need{} }

// outside is further than any extent or offset reaches, so that a sum with it
// does not wrap.
const outside = 1 << 40

// begin returns where the window begins.
func (k *ringWriter) begin(w *Scratch) (at index) {
	for a := range at {
		offset, start, extent := int64(k.params.Offset[a]), int64(0), int64(k.extent[a])
		if live := k.params.Live[a]; live > 0 {
			place := index{axisW: live - 1}
			start = intAt(k.start.typ, k.start.memory(w), k.start.at(&place))
		}
		var from int64
		if k.circular(a) && extent > 0 {
			from = ((start%extent+offset)%extent + extent) % extent
		} else {
			from = offset + min(max(start, -outside), outside)
			if from < 0 {
				from += extent
			}
		}
		at[a] = int(from)
	}
	return at
}

func (k *ringWriter) circular(a int) bool { return k.params.Circular.Has(td.Axis(a)) }

func (k *ringWriter) Run(w *Scratch, lo, hi int) {
	begin := k.begin(w)
	for t := lo; t < hi; t++ {
		i, n := k.tile(t)
		if k.inPlace {
			k.write(w, begin, i, n)
		} else {
			k.fill(w, begin, i, n)
		}
	}
}

// write moves n elements of the update, from i on, to their places, unless these are outside the state.
func (k *ringWriter) write(w *Scratch, begin, i index, n int) {
	to := begin.plus(i)
	for a := range to {
		switch {
		case k.circular(a):
			if to[a] >= k.extent[a] {
				to[a] -= k.extent[a]
			}
		case a == k.axis:
			before := min(max(0, -to[a]), n)
			i[a] += before
			to[a] += before
			n = min(n-before, max(0, k.extent[a]-to[a]))
		case to[a] < 0 || to[a] >= k.extent[a]:
			return
		}
	}
	for n > 0 {
		m := min(n, k.extent[k.axis]-to[k.axis])
		moveRow(w, &k.y, to, &k.update, i, k.axis, m)
		i[k.axis] += m
		to[k.axis] = 0
		n -= m
	}
}

// fill makes n elements of the result, from i on: those of the window from the
// update, the others from the state, unless they are there already.
func (k *ringWriter) fill(w *Scratch, begin, i index, n int) {
	inside, stays := true, k.congruent && sameMemory(k.y.memory(w), k.state.memory(w))
	var from index // in the update
	for a := range from {
		from[a] = k.relative(a, i[a], begin[a])
		inside = inside && (a == k.axis || from[a] >= 0 && from[a] < k.window[a])
	}
	for n > 0 {
		r := k.relative(k.axis, i[k.axis], begin[k.axis])
		m, taken := n, false
		switch {
		case !inside:
		case r < 0: // up to the window
			m = min(n, -r)
		case r < k.window[k.axis]:
			m, taken = min(n, k.window[k.axis]-r), true
		case k.circular(k.axis): // up to where it begins again
			m = min(n, k.extent[k.axis]-r)
		}
		if taken {
			from[k.axis] = r
			moveRow(w, &k.y, i, &k.update, from, k.axis, m)
		} else if !stays {
			moveRow(w, &k.y, i, &k.state, i, k.axis, m)
		}
		i[k.axis] += m
		n -= m
	}
}

// relative is how far a place lies after the beginning of the window.
func (k *ringWriter) relative(a, place, begin int) int {
	r := place - begin
	if r < 0 && k.circular(a) {
		r += k.extent[a]
	}
	return r
}

// sameMemory reports whether two memories, which are bound to both sides of a
// state, begin at the same byte.
func sameMemory(a, b []byte) bool { return len(a) > 0 && len(b) > 0 && &a[0] == &b[0] }
