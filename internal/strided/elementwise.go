package strided

import (
	"fmt"

	"github.com/espalier-ane/espalier/td"
)

// elementwise combines one or two sources; a copy has one and no kind.
type elementwise struct {
	rowsOf
	sink   *sink
	pair   pair
	x, z   array
	binary bool
}

// bindPairs fixes the loops of an elementwise operation. All operands are
// walked over together, so axes merge where they do for all of them.
func bindPairs(op *Op) (*elementwise, error) {
	kind := td.EWNone
	if p, ok := op.Params.(*td.ElementWise); ok {
		kind = p.Kind
	}
	p, ok := pairOf(kind)
	if !ok {
		return nil, fmt.Errorf("%v is not known", kind)
	}
	k := &elementwise{sink: newSink(op), pair: op.Rules.classPair(p), x: op.Operands[1].array()}
	arrays := append(k.sink.arrays(), &k.x)
	if !kind.Unary() {
		k.z, k.binary = op.Operands[2].array(), true
		arrays = append(arrays, &k.z)
	}
	space := op.Operands[0].Dims
	merge(&space, allAxes, arrays...)
	k.rowsOf = newRows(space, rowAxis(space, allAxes, &k.sink.out))
	return k, nil
}

func bindElementWise(op *Op) (Kernel, error) { return bindPairs(op) }

func (k *elementwise) Need() Need { return k.sink.need().Max(Need{Float: 2 * chunk}) }

func (k *elementwise) Run(w *Scratch, lo, hi int) {
	var i index
	for t := lo; t < hi; t++ {
		n := k.tileAt(&i, t)
		v, second := w.float[:n], w.float[chunk:][:n]
		k.x.loadAt(w, v, &i, k.axis)
		if k.binary {
			k.z.loadAt(w, second, &i, k.axis)
		}
		k.pair.apply(v, v, second, k.sink.first)
		k.sink.putAt(w, v, &i, k.axis)
	}
}

// elementwiseInt is elementwise on integers.
type elementwiseInt struct{ elementwise }

func bindElementWiseInt(op *Op) (Kernel, error) {
	k, err := bindPairs(op)
	if err != nil {
		return nil, err
	}
	return &elementwiseInt{*k}, nil
}

func (k *elementwiseInt) Need() Need {
	n := k.sink.needInts()
	n.Int += 2 * chunk
	return n
}

func (k *elementwiseInt) Run(w *Scratch, lo, hi int) {
	buf := w.int[k.sink.needInts().Int:]
	for t := lo; t < hi; t++ {
		i, n := k.tile(t)
		v, second := buf[:n], buf[chunk:][:n]
		k.x.loadInts(w, v, i, k.axis)
		if k.binary {
			k.z.loadInts(w, second, i, k.axis)
		}
		k.pair.applyInts(v, v, second)
		k.sink.putInts(w, v, i, k.axis)
	}
}

// move copies elements as they are.
type move struct {
	rowsOf
	x, y array
}

func bindMove(op *Op) (Kernel, error) {
	k := &move{x: op.Operands[1].array(), y: op.Operands[0].array()}
	space := op.Operands[0].Dims
	merge(&space, allAxes, &k.y, &k.x)
	k.rowsOf = newRows(space, rowAxis(space, allAxes, &k.y))
	return k, nil
}

func (k *move) Need() Need { return Need{} }

func (k *move) Run(w *Scratch, lo, hi int) {
	for t := lo; t < hi; t++ {
		i, n := k.tile(t)
		moveRow(w, &k.y, i, &k.x, i, k.axis, n)
	}
}

// moveRow copies n elements along an axis.
func moveRow(w *Scratch, y *array, to index, x *array, from index, axis, n int) {
	dst, src, size := y.memory(w), x.memory(w), sizeOf(y.typ)
	for n > 0 {
		m, step := y.bundle(&to, axis, n)
		m, stride := x.bundle(&from, axis, m)
		at, off := y.at(&to), x.at(&from)
		to[axis] += m
		from[axis] += m
		n -= m
		if step == size && stride == size {
			copy(dst[at:at+m*size], src[off:off+m*size])
			continue
		}
		for range m {
			moveElement(dst[at:at+size], src[off:off+size])
			at += step
			off += stride
		}
	}
}

func moveElement(dst, src []byte) {
	if len(dst) == 2 && len(src) == 2 { // by far the most frequent
		dst[0], dst[1] = src[0], src[1]
		return
	}
	copy(dst, src)
}
