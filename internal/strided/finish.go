package strided

import (
	"github.com/espalier-ane/espalier/internal/kernel/half"
	"github.com/espalier-ane/espalier/internal/kernel/vec"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// quick is an epilogue that is done in one pass over a tile, while it is in the
// cache: add another operand, or not, then bound the sum, or not, and store fp16.
// Those are most of them, after a product. If there is a function instead of bounds,
// the sums and it are done row by row first.
type quick struct {
	is       bool
	other    *array    // nil: none
	function *sinkStep // nil: none
	lo, hi   float32
}

// quick recognises such an epilogue. What lies where is for putTile to see.
func (s *sink) quick(op *Op) quick {
	q := quick{is: op.Rules == nil && s.slots == 0 && s.out.typ == tensor.Float16 && s.out.pass == 0}
	q.lo, q.hi = -infinity, infinity
	steps := s.steps
	if len(steps) > 0 && steps[0].adds() {
		q.other, steps = &steps[0].operand, steps[1:]
	}
	if len(steps) > 0 && steps[0].Code == td.MicroActivation && steps[0].plain {
		known := true
		switch st := &steps[0]; td.Function(st.Function) {
		case td.FuncReLU:
			q.lo = 0
		case td.FuncReLUN:
			q.lo, q.hi = 0, st.A
		case td.FuncClip:
			q.lo, q.hi = st.A, st.B
		default:
			if known = st.vectored; known {
				q.function = st
			}
		}
		if known {
			steps = steps[1:]
		}
	}
	q.is = q.is && len(steps) == 0
	return q
}

// adds reports whether a step does nothing but add fp16 numbers of an operand.
func (st *sinkStep) adds() bool {
	return st.Code == td.MicroEW && st.loads && st.pair.kind == td.EWAdd && !st.pair.ruled && st.operand.typ == tensor.Float16 && st.operand.pass == 0
}

// inRows reports whether the elements of an array lie side by side along W, in
// rows along an axis.
func (a *array) inRows(axis int) bool {
	return a.interleave == 1 && a.strides[axisW] == 2 && a.strides[axis] >= 0
}

// putTile hands on the rows of a tile, whose first element belongs at i. Elements
// of a row follow each other along W, rows along another axis. The bias, of each
// row, is added first; nil is none. It overwrites the tile.
func (s *sink) putTile(w *Scratch, tile []float32, stride, rows, cols int, bias []float32, i index, axis int) {
	q := &s.fast
	if !q.is || !s.out.inRows(axis) || q.other != nil && !q.other.inRows(axis) {
		some := max(chunk/max(cols, 1), 1) // rows at a time
		for r := 0; r < rows; r += some {
			n := min(some, rows-r)
			v := tile[r*stride:][:n*cols]
			if n > 1 && stride != cols {
				v = w.steps[chunk*(1+s.slots):][:n*cols]
			}
			for j := range n {
				row := tile[(r+j)*stride:][:cols]
				if bias != nil {
					vec.Plus(row, bias[r+j])
				}
				if n > 1 && stride != cols {
					copy(v[j*cols:], row)
				}
			}
			s.putRows(w, v, n, &i, axisW, axis)
			i[axis] += n
		}
		return
	}
	f := &w.finish
	*f = vec.Finish{
		Tile: tile, Stride: stride, Rows: rows, Cols: cols, Bias: bias,
		Out: s.out.memory(w)[s.out.at(&i):], OutApart: s.out.strides[axis], Lo: q.lo, Hi: q.hi,
	}
	if q.other != nil {
		f.Other, f.OtherApart = q.other.memory(w)[q.other.at(&i):], q.other.strides[axis]
	}
	if q.function != nil {
		q.apply(f, w.steps)
	}
	f.Run()
}

// apply does what comes before the store of a tile: the sums, and the function. The
// rows are not handed on one by one, since the store of each would have to wait for
// the memory.
func (q *quick) apply(f *vec.Finish, other []float32) {
	for r := range f.Rows {
		row := f.Tile[r*f.Stride:][:f.Cols]
		if f.Bias != nil {
			vec.Plus(row, f.Bias[r])
		}
		if f.Other != nil {
			if r == 0 || f.OtherApart != 0 {
				half.Floats(other[:f.Cols], f.Other[r*f.OtherApart:])
			}
			vec.Add(row, row, other)
		}
		q.function.applyFunction(row)
	}
	f.Bias, f.Other = nil, nil
}
