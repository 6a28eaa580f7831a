package pool

import (
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// A job is one call of Worker.For, on the worker that called. The caller takes ranges
// from the front, the others from the back, so that each has ranges side by side and
// finds in its cache what they have in common:
//
//	0 1 2 3 4 5 6 7 8 9
//	caller ►     ◄ helpers
//
// Those taken are always completed, and one that panics ends only what lies behind it,
// so the lowest one that panics does not depend on timing.
//
// A job is used again for the next loop, while others may still look at it. What
// decides is seats: who takes one belongs to the loop that put it there, and reads
// the rest only then.
//
//	caller  open: seats = s ──── ranges ────── close: seats = 0 ── wait ── return
//	others              └ take one ── ranges ── inside - 1 ─────────┘
type job struct {
	n, ranges int
	body      Body
	place     int // among the open jobs

	_      [64]byte      // counters of their own cache lines
	left   atomic.Uint64 // the ranges that nobody has taken: see between
	_      [56]byte
	seats  atomic.Int64 // for others to take; 0: the job is not open
	inside atomic.Int64 // who took one and has not left; counted from the close on, below 0 before
	_      [48]byte

	waiting atomic.Bool   // the caller has stopped spinning
	done    chan struct{} // tells it that nobody is inside

	mu     sync.Mutex
	panic  *Panic // of range failed, nil if none failed
	failed int
}

// take takes a seat, if there is one.
func (j *job) take() bool {
	for {
		n := j.seats.Load()
		if n <= 0 {
			return false
		}
		if j.seats.CompareAndSwap(n, n-1) {
			return true
		}
	}
}

// leave gives the job back to its caller.
func (j *job) leave() {
	if j.inside.Add(-1) == 0 && j.waiting.CompareAndSwap(true, false) {
		j.done <- struct{}{}
	}
}

// wait waits for those who took one of so many seats: for a short time without
// giving up the processor. Nobody takes a seat any more.
func (j *job) wait(taken int64) {
	if j.inside.Add(taken) == 0 {
		return
	}
	t := spinTime{limit: spinFor}
	for t.left() {
		if j.inside.Load() == 0 {
			return
		}
	}
	for {
		j.waiting.Store(true)
		if j.inside.Load() == 0 && j.waiting.CompareAndSwap(true, false) {
			return
		}
		<-j.done
		if j.inside.Load() == 0 { // otherwise it was someone who left an earlier loop
			return
		}
	}
}

// between is a word that stands for the ranges from lo up to hi.
func between(lo, hi int) uint64 { return uint64(hi)<<32 | uint64(lo) }

// takeRange takes a range, from the front or the back; it is negative if none is left.
func (j *job) takeRange(back bool) int {
	for {
		left := j.left.Load()
		lo, hi := int(uint32(left)), int(left>>32)
		if lo >= hi {
			return -1
		}
		i, rest := lo, between(lo+1, hi)
		if back {
			i, rest = hi-1, between(lo, hi-1)
		}
		if j.left.CompareAndSwap(left, rest) {
			return i
		}
	}
}

// work runs ranges until none is left. One who helps leaves the rest to others if
// there are too many at work.
func (j *job) work(w *Worker, helps bool) {
	for {
		i := j.takeRange(helps)
		if i < 0 || !j.run(w, i) || helps && crowded() {
			return
		}
	}
}

// run runs range i and reports whether the body returned.
func (j *job) run(w *Worker, i int) (returned bool) {
	defer func() {
		if !returned {
			j.fail(i, recover())
		}
	}()
	lo, hi := bounds(j.n, j.ranges, i)
	j.body.Work(w, lo, hi)
	return true
}

// fail notes that range i panicked with v. Ranges behind it are left out. Called while
// the stack of the panic still stands.
func (j *job) fail(i int, v any) {
	for left := j.left.Load(); int(uint32(left)) > i && !j.left.CompareAndSwap(left, 0); left = j.left.Load() {
	}
	p, nested := v.(*Panic)
	if !nested {
		if v == nil { // runtime.Goexit: a worker's must not pass for success
			v = "bug: the body of a parallel loop called runtime.Goexit"
		}
		p = &Panic{Value: v, Stack: debug.Stack()}
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.panic == nil || i < j.failed {
		j.panic, j.failed = p, i
	}
}
