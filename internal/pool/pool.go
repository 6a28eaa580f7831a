// Package pool runs data-parallel loops on all processors.
//
// It cuts a loop into ranges by its length and grain alone, never by the
// number of threads, so a body that keeps a partial result per range gives the
// same bits on every machine. Which goroutine runs a range, and in which order
// ranges run, is left open.
package pool

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// maxRanges bounds the cost of handing out ranges when the grain is small. It
// leaves several ranges to each of 64 processors, to even out their speeds.
const maxRanges = 256

// helpers counts the goroutines that help a loop, in the whole process. Each
// loop runs on its caller's goroutine too, so there is always one that makes
// progress, and a loop inside a loop cannot deadlock: it gets the helpers that
// are free, often none.
var helpers atomic.Int64

// For calls body for contiguous ranges [lo, hi) that together cover [0, n)
// once, and returns when all calls have. Calls run concurrently, on up to
// GOMAXPROCS goroutines.
//
// Each range has at least grain items, unless n itself is smaller; a grain
// below 1 counts as 1. Choose it such that a range is worth some 10 µs of
// work. The ranges depend on n and grain only.
//
// If body panics, no further range is begun, and For panics with a *Panic for
// the lowest range that did: the one that a plain loop would have met. A fault in
// mapped memory is such a panic where a helper meets it; see osfile.Protect for the
// goroutine of the caller.
func For(n, grain int, body func(lo, hi int)) {
	ForUpTo(0, n, grain, body)
}

// A Panic is what For panics with when the body does.
type Panic struct {
	Value any    // what body panicked with
	Stack []byte // where
}

func (p *Panic) Error() string {
	return fmt.Sprintf("%v\n\nin the body of a parallel loop:\n%s", p.Value, p.Stack)
}

// Unwrap returns the value if it is an error.
func (p *Panic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

// ranges returns the number of ranges into which For cuts n > 0 items.
func ranges(n, grain int) int {
	return min(max(n/max(grain, 1), 1), maxRanges)
}

// bounds returns range i of count. The first n%count ranges have one item more
// than the others.
func bounds(n, count, i int) (lo, hi int) {
	size, rest := n/count, n%count
	lo = i*size + min(i, rest)
	hi = lo + size
	if i < rest {
		hi++
	}
	return lo, hi
}

// A job is one call of For. Ranges are handed out in rising order; those handed
// out are always completed, so the lowest one that panics does not depend on
// timing.
type job struct {
	n       int
	ranges  int
	threads int // that may work on it; 0: as many as there are
	body    func(lo, hi int)
	next    atomic.Int64 // the range to hand out next
	wg      sync.WaitGroup

	mu     sync.Mutex
	panic  *Panic // of range failed, nil if none failed
	failed int
}

func (j *job) runAll() {
	defer j.wg.Wait() // deferred for a body that calls runtime.Goexit, as t.Fatal does
	for range claim(helpersFor(j.ranges, j.threads)) {
		j.wg.Go(func() {
			defer helpers.Add(-1)
			debug.SetPanicOnFault(true) // the caller's goroutine is told, and decides
			j.work()
		})
	}
	j.work()
}

// claim reserves up to want helpers and returns how many it got.
func claim(want int) int {
	if want <= 0 {
		return 0
	}
	limit := runtime.GOMAXPROCS(0) - 1
	for {
		busy := helpers.Load()
		got := min(want, limit-int(busy))
		if got <= 0 {
			return 0
		}
		if helpers.CompareAndSwap(busy, busy+int64(got)) {
			return got
		}
	}
}

// work runs ranges until none is left.
func (j *job) work() {
	for {
		i := int(j.next.Add(1) - 1)
		if i >= j.ranges || !j.run(i) {
			return
		}
	}
}

// run runs range i and reports whether body returned.
func (j *job) run(i int) (returned bool) {
	defer func() {
		if !returned {
			j.fail(i, recover())
		}
	}()
	lo, hi := bounds(j.n, j.ranges, i)
	j.body(lo, hi)
	return true
}

// fail notes that range i panicked with v and hands out no more ranges. Called
// while the stack of the panic still stands.
func (j *job) fail(i int, v any) {
	j.next.Store(int64(j.ranges))
	p, nested := v.(*Panic)
	if !nested {
		if v == nil { // runtime.Goexit: a helper's must not pass for success
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
