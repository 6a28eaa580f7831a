package strided

import (
	"slices"

	"github.com/espalier-ane/espalier/td"
)

// selects reports whether an elementwise operation is of three values: the second
// where the first is not 0, else the third.
func selects(op *Op) bool { return op.Params.(*td.ElementWise).Kind == td.EWSelect }

// selectsBytes reports whether a select only moves elements.
func selectsBytes(op *Op) bool {
	if !selects(op) || len(op.Operands) < 4 || len(op.Epilogue) > 0 {
		return false
	}
	y, a, b := op.Operands[0].Type, op.Operands[2].Type, op.Operands[3].Type
	return y == a && y == b && op.Operands[0].pass == 0
}

// selectsInts reports whether a select can be done on integers, whatever its
// condition is.
func selectsInts(op *Op) bool {
	if !selects(op) || len(op.Operands) < 4 {
		return false
	}
	if slices.ContainsFunc(op.Epilogue, func(m td.MicroOp) bool { return m.Source == td.FromOperand(1) }) {
		return integers(op)
	}
	rest := *op
	rest.Operands = slices.Clone(op.Operands)
	rest.Operands[1] = Operand{}
	return integers(&rest)
}

func bindSelect(op *Op) (Kernel, error) { return bindRowwise(op, 3, selectFloats) }

func selectFloats(_ *sink, condition, a, b []float32) {
	a, b = a[:len(condition)], b[:len(condition)]
	for j, c := range condition {
		if c != 0 {
			condition[j] = a[j]
		} else {
			condition[j] = b[j]
		}
	}
}

// selectInt is select of integers.
type selectInt struct{ rowwise }

func bindSelectInt(op *Op) (Kernel, error) { return &selectInt{*newRowwise(op, 3)}, nil }

func (k *selectInt) Need() Need {
	n := k.sink.needInts()
	n.Int += 2 * chunk
	n.Float = chunk
	return n
}

func (k *selectInt) Run(w *Scratch, lo, hi int) {
	buf := w.int[k.sink.needInts().Int:]
	for t := lo; t < hi; t++ {
		i, n := k.tile(t)
		condition, a, b := w.float[:n], buf[:n], buf[chunk:][:n]
		k.sources[0].load(w, condition, i, k.axis)
		k.sources[1].loadInts(w, a, i, k.axis)
		k.sources[2].loadInts(w, b, i, k.axis)
		for j, c := range condition {
			if c == 0 {
				a[j] = b[j]
			}
		}
		k.sink.putInts(w, a, i, k.axis)
	}
}

// selectMove is select of elements as they are.
type selectMove struct{ rowwise }

func bindSelectMove(op *Op) (Kernel, error) { return &selectMove{*newRowwise(op, 3)}, nil }

func (k *selectMove) Need() Need { return Need{Float: chunk} }

func (k *selectMove) Run(w *Scratch, lo, hi int) {
	for t := lo; t < hi; t++ {
		i, n := k.tile(t)
		condition := w.float[:n]
		k.sources[0].load(w, condition, i, k.axis)
		// Neighbours that come from one source are moved together.
		for at := 0; at < n; {
			holds := condition[at] != 0
			end := at + 1
			for end < n && (condition[end] != 0) == holds {
				end++
			}
			from := &k.sources[2]
			if holds {
				from = &k.sources[1]
			}
			j := i
			j[k.axis] += at
			moveRow(w, &k.sink.out, j, from, j, k.axis, end-at)
			at = end
		}
	}
}
