package ops

// broadcast walks dense arrays that meet under NumPy's rule, a run of the result's last axis at a time.
type broadcast struct {
	shape   []int   // of the result
	strides [][]int // per operand, 0 on the axes that it repeats
}

// newBroadcast prepares a walk over operands of the given shapes, which must broadcast to shape.
func newBroadcast(shape []int, operands ...[]int) *broadcast {
	b := &broadcast{shape: shape}
	for _, dims := range operands {
		strides, n := make([]int, len(shape)), 1
		for i := len(dims) - 1; i >= 0; i-- {
			if dims[i] != 1 {
				strides[i+len(shape)-len(dims)] = n
			}
			n *= dims[i]
		}
		b.strides = append(b.strides, strides)
	}
	return b
}

// stretch is a part of the result, the n elements from out on. Its element i comes from the element
// at[k] + i·step[k] of operand k.
type stretch struct {
	out, n   int
	at, step []int
}

// each calls f for all stretches, concurrently, or for none any more once the halt is asked for. A long row of the
// result is several stretches.
func (b *broadcast) each(h *halt, f func(s stretch)) {
	n, rows := 1, 1
	for i, d := range b.shape {
		if i == len(b.shape)-1 {
			n = d
		} else {
			rows *= d
		}
	}
	if n == 0 {
		return
	}
	h.For(rows, 1+(1<<13)/n, func(lo, hi int) {
		s := stretch{at: make([]int, len(b.strides)), step: make([]int, len(b.strides))}
		for k, strides := range b.strides {
			if len(strides) > 0 {
				s.step[k] = strides[len(strides)-1]
			}
		}
		for row := lo; row < hi; row++ {
			s.out, s.n = row*n, min(n, piece)
			clear(s.at)
			for i, rest := len(b.shape)-2, row; i >= 0; i-- {
				for k := range s.at {
					s.at[k] += rest % b.shape[i] * b.strides[k][i]
				}
				rest /= b.shape[i]
			}
			for end := s.out + n; s.out < end && !h.asked(); {
				f(s)
				s.out += s.n
				for k, step := range s.step {
					s.at[k] += s.n * step
				}
				s.n = min(s.n, end-s.out)
			}
		}
	})
}
