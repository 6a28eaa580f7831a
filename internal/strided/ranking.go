package strided

import (
	"fmt"

	"github.com/espalier-ane/espalier/td"
)

// ranking sorts lines along an axis and keeps the first elements of each. Equal
// elements keep their order, NaN comes last. It takes the elements of a line one
// by one into a heap of those that are kept.
type ranking struct {
	sink    indexSink
	x       array
	indices *array // where values and indices are wanted, that of the indices
	order   keying
	lines   grid
	axis, n int
	kept    int

	// With keys, elements along the axis vector stay together, and the keys are
	// those by which they are compared. So many of each vector go to y.
	keys     []int
	vector   int
	together int

	values func(k *ranking, w *Scratch, at []int64, i index)
}

// The operands of a ranking: y, then the indices beside values.
const (
	rankingIndices = 1
	rankingSource  = 2
)

// sortingOf are the fields of a class that sorts, and whether it does so from the
// greatest down.
func sortingOf(params td.Params) (s *td.Sorting, descending bool) {
	switch p := params.(type) {
	case *td.Sort:
		return &p.Sorting, p.Direction == td.Descending
	case *td.TopK:
		return &p.Sorting, p.Type == td.Max
	}
	panic("bug: " + td.ClassOf(params).String() + " does not sort")
}

func rankingMoves(op *Op) bool {
	x := &op.Operands[rankingSource]
	s, _ := sortingOf(op.Params)
	return s.Results != td.ResultIndices && len(op.Epilogue) == 0 && op.Operands[0].Type == x.Type && x.pass == 0
}

// rankingInts reports whether what goes to y is integer throughout.
func rankingInts(op *Op) bool {
	if s, _ := sortingOf(op.Params); s.Results == td.ResultIndices {
		return integersBut(op, rankingSource)
	}
	return integersBut(op, rankingIndices)
}

func bindRankingMove(op *Op) (Kernel, error)  { return newRanking(op, (*ranking).moveValues) }
func bindRankingInt(op *Op) (Kernel, error)   { return newRanking(op, (*ranking).intValues) }
func bindRankingFloat(op *Op) (Kernel, error) { return newRanking(op, (*ranking).floatValues) }

func newRanking(op *Op, values func(k *ranking, w *Scratch, at []int64, i index)) (Kernel, error) {
	y, x := &op.Operands[0], &op.Operands[rankingSource]
	p, descending := sortingOf(op.Params)
	axis := int(p.Axis)
	k := &ranking{
		sink: indexSink{newSink(op), rankingInts(op)}, x: x.array(), order: keyingOf(x, descending, nanLast),
		lines: newGrid(y.Dims, allAxes&^(1<<axis)), axis: axis, n: x.Dims[axis], kept: y.Dims[axis],
		values: values, keys: p.Keys[:p.NumKeys], vector: int(p.VectorAxis), together: 1,
	}
	if k.vectors() {
		k.together = y.Dims[k.vector]
		k.lines.dims[k.vector] = 1
	}
	if p.Results == td.ResultIndices {
		k.values = (*ranking).onlyIndices
	}
	if o := &op.Operands[rankingIndices]; o.Present() {
		if o.Type.SubByte() {
			return nil, fmt.Errorf("indices of %v, whose elements share bytes, cannot be written", o.Type)
		}
		a := o.array()
		k.indices = &a
	}
	return k, nil
}

func (k *ranking) vectors() bool { return len(k.keys) > 0 }

func (k *ranking) Tiles() (n, grain int) {
	if k.kept == 0 {
		return 0, 1
	}
	return k.lines.count(), max(1, 1<<9/k.n)
}

func (k *ranking) Need() Need {
	n := k.sink.need()
	n.Int += chunk + 2*k.kept
	return n
}

func (k *ranking) Run(w *Scratch, lo, hi int) {
	buf := w.int[k.sink.need().Int:]
	row, h := buf[:chunk], heap{first: buf[chunk:][:k.kept], at: buf[chunk+k.kept:][:k.kept]}
	h.of, h.src = k, k.x.memory(w)
	for t := lo; t < hi; t++ {
		h.line = k.lines.place(t)
		if !k.choose(w, &h, row) {
			return
		}
		h.sort(w)
		for start := 0; start < k.kept; start += chunk {
			if w.stop() {
				break
			}
			i := h.line
			i[k.axis] = start
			at := h.at[start:min(start+chunk, k.kept)]
			if k.indices != nil {
				k.storeIndices(w, at, i)
			}
			for e := range k.together {
				if k.vectors() {
					i[k.vector] = e
				}
				copy(row, at) // for they are overwritten
				k.values(k, w, row[:len(at)], i)
			}
		}
	}
}

// choose puts the elements of a line that are kept into a heap. It reports false
// if it was ended before all were there.
func (k *ranking) choose(w *Scratch, h *heap, row []int64) bool {
	i, size := h.line, 0
	if k.vectors() {
		i[k.vector] = k.keys[0]
	}
	for start := 0; start < k.n; start += chunk {
		if w.stop() {
			return false
		}
		i[k.axis] = start
		part := row[:min(chunk, k.n-start)]
		k.x.loadKeys(w, part, i, k.axis, k.order)
		for j, key := range part {
			switch at := int64(start + j); {
			case size < k.kept:
				h.first[size], h.at[size] = key, at
				if size++; size == k.kept {
					h.build()
				}
			case h.ordered(key, at, h.first[0], h.at[0]):
				h.first[0], h.at[0] = key, at
				h.lower(0, k.kept)
			}
		}
	}
	return true
}

// onlyIndices puts the indices themselves.
func (k *ranking) onlyIndices(w *Scratch, at []int64, i index) {
	k.sink.putIndices(w, at, i, k.axis)
}

func (k *ranking) moveValues(w *Scratch, at []int64, i index) {
	y := &k.sink.out
	dst, src, size, from := y.memory(w), k.x.memory(w), sizeOf(y.typ), i
	for _, p := range at {
		from[k.axis] = int(p)
		moveElement(dst[y.at(&i):][:size], src[k.x.at(&from):][:size])
		i[k.axis]++
	}
}

func (k *ranking) intValues(w *Scratch, at []int64, i index) {
	src, from := k.x.memory(w), i
	for j, p := range at {
		from[k.axis] = int(p)
		at[j] = intAt(k.x.typ, src, k.x.at(&from))
	}
	k.sink.putInts(w, at, i, k.axis)
}

func (k *ranking) floatValues(w *Scratch, at []int64, i index) {
	v, src, from := w.float[:len(at)], k.x.memory(w), i
	for j, p := range at {
		from[k.axis] = int(p)
		v[j] = k.x.readOne(src, k.x.at(&from))
	}
	k.sink.put(w, v, i, k.axis)
}

func (k *ranking) storeIndices(w *Scratch, at []int64, i index) {
	if !k.indices.typ.IsFloat() {
		k.indices.storeInts(w, at, i, k.axis)
		return
	}
	v := w.float[:len(at)]
	for j, p := range at {
		v[j] = float32(p)
	}
	k.indices.store(w, v, i, k.axis)
}

// A heap has the element that comes last at its root. No two are equal: their
// indices differ.
type heap struct {
	first, at []int64 // the first key of each element, and its index

	of   *ranking
	line index
	src  []byte // of x
}

// before reports whether element a comes before element b.
func (h *heap) before(a, b int) bool { return h.ordered(h.first[a], h.at[a], h.first[b], h.at[b]) }

// ordered reports whether the element with a first key and an index comes before
// another.
func (h *heap) ordered(key, at, otherKey, otherAt int64) bool {
	if key != otherKey {
		return key < otherKey
	}
	if k := h.of; len(k.keys) > 1 {
		i, j := h.line, h.line
		i[k.axis], j[k.axis] = int(at), int(otherAt)
		for _, e := range k.keys[1:] {
			i[k.vector], j[k.vector] = e, e
			a, b := k.order.key(k.x.typ, h.src, k.x.at(&i)), k.order.key(k.x.typ, h.src, k.x.at(&j))
			if a != b {
				return a < b
			}
		}
	}
	return at < otherAt
}

func (h *heap) swap(a, b int) {
	h.first[a], h.first[b] = h.first[b], h.first[a]
	h.at[a], h.at[b] = h.at[b], h.at[a]
}

// lower lets the element at a down to its place among the first n.
func (h *heap) lower(a, n int) {
	for {
		child := 2*a + 1
		if child >= n {
			return
		}
		if child+1 < n && h.before(child, child+1) {
			child++
		}
		if !h.before(a, child) {
			return
		}
		h.swap(a, child)
		a = child
	}
}

func (h *heap) build() {
	for a := len(h.first)/2 - 1; a >= 0; a-- {
		h.lower(a, len(h.first))
	}
}

// sort makes a heap a list, the element that comes first at its beginning.
func (h *heap) sort(w *Scratch) {
	for n := len(h.first) - 1; n > 0 && !w.stop(); n-- {
		h.swap(0, n)
		h.lower(0, n)
	}
}
