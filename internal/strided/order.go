package strided

import (
	"encoding/binary"
	"math"

	"github.com/espalier-ane/espalier/tensor"
)

// Elements of any type are compared by keys: integers whose order is that of
// the elements, of which equal ones have equal keys.

// A keying is an order of elements: the one that comes first has the least key.
type keying struct {
	descending bool
	nan        int64 // the key of every NaN
	infinite   bool  // unless it is read as +inf
}

// keyingOf is the order of elements of an operand.
func keyingOf(o *Operand, descending bool, nan int64) keying {
	return keying{descending, nan, o.pass&passNaN != 0}
}

// Where NaN stands in an order.
const (
	nanFirst = math.MinInt64
	nanLast  = math.MaxInt64
)

// loadKeys reads the keys of elements from i on along an axis.
func (a *array) loadKeys(s *Scratch, dst []int64, i index, axis int, order keying) {
	src := a.memory(s)
	for len(dst) > 0 {
		n, stride := a.bundle(&i, axis, len(dst))
		off := a.at(&i)
		for j := range n {
			dst[j] = order.key(a.typ, src, off)
			off += stride
		}
		dst = dst[n:]
		i[axis] += n
	}
}

func (o keying) key(t tensor.DType, src []byte, off int) (key int64) {
	switch {
	case t == tensor.Float64:
		key = o.float(math.Float64frombits(binary.LittleEndian.Uint64(src[off:])))
	case t.IsFloat():
		key = o.float(float64(floatAt(t, src, off)))
	case t == tensor.UInt64:
		key = intAt(t, src, off) ^ math.MinInt64
	default:
		key = intAt(t, src, off)
	}
	if o.descending && !(t.IsFloat() && key == o.nan) {
		return ^key
	}
	return key
}

// float returns the key of a float. No number has that of NaN, nor its
// complement: they lie beyond infinity.
func (o keying) float(v float64) int64 {
	switch {
	case v != v && o.infinite:
		v = math.Inf(1)
	case v != v:
		return o.nan
	case v == 0: // of either sign
		return 0
	}
	b := int64(math.Float64bits(v))
	if b < 0 {
		b ^= math.MaxInt64
	}
	return b
}

// integersBut is integers, whatever the type of operand i, which is not counted
// with or stored by the sink.
func integersBut(op *Op, i int) bool {
	if i >= len(op.Operands) {
		return integers(op)
	}
	for _, m := range op.Epilogue {
		if from, ok := m.Source.Operand(); ok && from == i && op.Operands[i].Type.IsFloat() {
			return false
		}
	}
	rest := *op
	rest.Operands = append([]Operand(nil), op.Operands...)
	rest.Operands[i] = Operand{}
	return integers(&rest)
}

// indexSink takes indices, as integers where the epilogue and the result are.
type indexSink struct {
	*sink
	ints bool
}

func (s *indexSink) need() Need { return s.sink.need().Max(s.sink.needInts()).Max(Need{Float: chunk}) }

// putIndices is put for indices.
func (s *indexSink) putIndices(w *Scratch, at []int64, i index, axis int) {
	if s.ints {
		s.putInts(w, at, i, axis)
		return
	}
	v := w.float[:len(at)]
	for j, p := range at {
		v[j] = s.round(float64(p))
	}
	s.put(w, v, i, axis)
}
