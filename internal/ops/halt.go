package ops

import (
	"context"
	"iter"
	"slices"
	"sync/atomic"

	"github.com/espalier-ane/espalier/internal/pool"
	"github.com/espalier-ane/espalier/tensor"
)

// A halt ends an evaluation in the middle of an operation, when its caller has given up. Loops ask it before each piece
// of their work, some 10 µs to a millisecond, and leave the rest undone. What the operation then returns means nothing:
// compute drops it.
//
// A nil halt never ends anything.
type halt struct {
	now     atomic.Bool
	threads int // that loops may use; 0: all
}

// haltWith makes a halt for a context. Release lets go of it.
func haltWith(ctx context.Context) (h *halt, release func() bool) {
	h = &halt{threads: pool.Threads(ctx)}
	return h, context.AfterFunc(ctx, func() { h.now.Store(true) })
}

// asked reports whether to end. It costs as much as a load from memory.
func (h *halt) asked() bool { return h != nil && h.now.Load() }

// For is pool.For, but for a body that is called for no more than grain items at a time, and no more once the halt is
// asked for.
func (h *halt) For(n, grain int, body func(lo, hi int)) {
	grain = max(grain, 1)
	threads := 0
	if h != nil {
		threads = h.threads
	}
	pool.ForUpTo(threads, n, grain, func(lo, hi int) {
		for ; lo < hi && !h.asked(); lo += grain {
			body(lo, min(lo+grain, hi))
		}
	})
}

// forRows calls f with ranges of rows of n elements each that together cover all count elements, concurrently. It
// counts rows by their elements: where there are none, the lengths beside one of zero may be beyond all loops.
func (h *halt) forRows(count, n int, f func(lo, hi int)) {
	if count > 0 {
		h.For(count/n, 1+(1<<12)/n, f)
	}
}

// piece is how many items of a plain loop are done between two questions.
const piece = 1 << 14

// pieces are the ranges of a plain loop over n items, in order:
//
//	for lo, hi := range h.pieces(len(out)) {
//		for i := lo; i < hi; i++ {
func (h *halt) pieces(n int) iter.Seq2[int, int] { return h.piecesOf(n, piece) }

// piecesOf are pieces of a given number of items, for those that are more than a few instructions each.
func (h *halt) piecesOf(n, size int) iter.Seq2[int, int] {
	size = max(size, 1)
	return func(yield func(lo, hi int) bool) {
		for lo := 0; lo < n && !h.asked() && yield(lo, min(lo+size, n)); lo += size {
		}
	}
}

// movePiece is how many elements are moved or converted between two questions.
const movePiece = 1 << 16

// dense is a tensor whose elements lie side by side in memory: t itself if it is small, or is one already.
func (h *halt) dense(t *tensor.Tensor) (*tensor.Tensor, error) { return h.convert(t, t.DType()) }

// convert is t.Convert, in pieces.
func (h *halt) convert(t *tensor.Tensor, d tensor.DType) (*tensor.Tensor, error) {
	if t.Len() <= movePiece || t.DType() == d && t.Contiguous() || d.SubByte() || t.DType().SubByte() {
		return t.Convert(d)
	}
	if _, err := tensor.New(t.DType()).Convert(d); err != nil {
		return nil, err // as of a number to a string
	}
	out := tensor.New(d, t.Shape()...)
	return out, h.copy(out, t)
}

// copy is dst.CopyFrom, in pieces and with a conversion. The pieces are slices along the first axis that has any.
func (h *halt) copy(dst, src *tensor.Tensor) error {
	if !slices.Equal(dst.Shape(), src.Shape()) || src.Len() <= movePiece || src.DType().SubByte() {
		part, err := src.Convert(dst.DType())
		if err != nil {
			return err
		}
		return dst.CopyFrom(part)
	}
	axis := slices.IndexFunc(src.Shape(), func(n int) bool { return n > 1 })
	n := src.Shape()[axis]
	inner := src.Len() / n
	var failed atomic.Pointer[error]
	each := func(lo, hi int) {
		to, err := dst.Slice(axis, lo, hi-lo, 1)
		if err == nil {
			var from *tensor.Tensor
			if from, err = src.Slice(axis, lo, hi-lo, 1); err == nil {
				err = h.copy(to, from)
			}
		}
		if err != nil {
			failed.Store(&err)
		}
	}
	if inner < movePiece {
		h.For(n, movePiece/inner, each)
	} else {
		for lo, hi := range h.piecesOf(n, 1) {
			each(lo, hi)
		}
	}
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}

// cloned is t.Clone, in pieces.
func (h *halt) cloned(t *tensor.Tensor) (*tensor.Tensor, error) {
	out := tensor.New(t.DType(), t.Shape()...)
	return out, h.copy(out, t)
}

// Copy copies the elements of src, converted to the type of dst, in pieces: it ends with the context.
func Copy(ctx context.Context, dst, src *tensor.Tensor) error {
	h, release := haltWith(ctx)
	defer release()
	if err := h.copy(dst, src); err != nil {
		return err
	}
	return ctx.Err()
}

// floats are the elements of a tensor, converted in pieces; they must not be changed.
func (h *halt) floats(t *tensor.Tensor) []float32 {
	if t.DType().IsFloat() {
		if all, err := h.convert(t, tensor.Float32); err == nil {
			return all.Float32s()
		}
	}
	return t.Float32s()
}

// ints are the elements of a tensor of integers, converted in pieces; they must not be changed.
func (h *halt) ints(t *tensor.Tensor) []int64 {
	if k := t.DType().Kind(); k == tensor.KindInt || k == tensor.KindUint {
		if all, err := h.convert(t, tensor.Int64); err == nil {
			return all.Int64s()
		}
	}
	return t.Int64s()
}

// A row is what an operation makes one number of. It may be a whole array.
type row[T any] struct {
	halt *halt
	all  []T
}

// parts are its elements in order, some thousands at a time, until the halt is asked for:
//
//	for part := range r.parts {
//		for _, v := range part {
func (r row[T]) parts(yield func([]T) bool) {
	for all := r.all; len(all) > 0 && !r.halt.asked(); {
		n := min(piece, len(all))
		if !yield(all[:n]) {
			return
		}
		all = all[n:]
	}
}
