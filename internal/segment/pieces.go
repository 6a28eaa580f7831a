package segment

import "github.com/espalier-ane/espalier/internal/anec"

// CommonPieces cuts the axes of two tensors of the same elements in the same order into the same pieces, the innermost
// last; false if they have none, or more than a task has axes.
func CommonPieces(from anec.Dims, fromStrides [anec.NumAxes]int64, to anec.Dims, toStrides [anec.NumAxes]int64) (
	dims anec.Dims, x, y [anec.NumAxes]int64, ok bool) {
	type side struct {
		dims    anec.Dims
		strides [anec.NumAxes]int64
		axis    int
		left    int   // of the axis
		step    int64 // from piece to piece
	}
	next := func(s *side) {
		for s.left == 1 && s.axis > 0 {
			s.axis--
			s.left, s.step = s.dims[s.axis], s.strides[s.axis]
		}
	}
	a := &side{from, fromStrides, anec.NumAxes, 1, 0}
	b := &side{to, toStrides, anec.NumAxes, 1, 0}
	for i := range dims {
		dims[i] = 1
	}
	at := anec.NumAxes
	for next(a); a.left > 1; next(a) {
		next(b)
		n := min(a.left, b.left)
		if n <= 1 || a.left%n != 0 || b.left%n != 0 {
			return dims, x, y, false
		}
		if at < anec.NumAxes && x[at]*int64(dims[at]) == a.step && y[at]*int64(dims[at]) == b.step {
			dims[at] *= n // it goes on where the piece before ends, on both sides
		} else {
			if at--; at < 0 {
				return dims, x, y, false
			}
			dims[at], x[at], y[at] = n, a.step, b.step
		}
		a.left, b.left = a.left/n, b.left/n
		a.step, b.step = a.step*int64(n), b.step*int64(n)
	}
	for i := at - 1; i >= 0; i-- { // axes of one piece lead nowhere; they are made to look dense
		if i+1 < anec.NumAxes {
			x[i], y[i] = x[i+1]*int64(dims[i+1]), y[i+1]*int64(dims[i+1])
		} else {
			x[i], y[i] = fromStrides[anec.W], toStrides[anec.W]
		}
	}
	return dims, x, y, true
}
