package pool

import (
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// A Team runs loops, one at a time, as For does, but allocates nothing: it is
// made once by whoever runs many loops. Each goroutine that helps has a number,
// so that it can have scratch of its own.
type Team struct {
	size int
	body func(worker, lo, hi int)

	n, ranges int
	next      atomic.Int64 // the range to hand out next
	worker    atomic.Int64 // the number to hand out next
	wg        sync.WaitGroup
	help      func() // made once: a go statement with arguments would allocate

	mu     sync.Mutex
	panic  *Panic
	failed int
}

// NewTeam makes a team of up to size goroutines, at least 1, for loops over a
// body. The workers are numbered from 0 to size-1, and no two at the same time
// have one number.
func NewTeam(size int, body func(worker, lo, hi int)) *Team {
	t := &Team{size: max(size, 1), body: body}
	t.help = func() {
		defer t.wg.Done()
		defer helpers.Add(-1)
		debug.SetPanicOnFault(true) // as in For
		t.work(int(t.worker.Add(1)))
	}
	return t
}

// Size is the number of workers.
func (t *Team) Size() int { return t.size }

// For calls the body for ranges that together cover [0, n) once, cut as by For.
// It must not be called by two goroutines at the same time.
func (t *Team) For(n, grain int) {
	if n <= 0 {
		return
	}
	t.n, t.ranges, t.panic = n, ranges(n, grain), nil
	t.next.Store(0)
	t.worker.Store(0)
	for range claim(min(t.size, t.ranges) - 1) {
		t.wg.Add(1)
		go t.help()
	}
	t.finish()
	if t.panic != nil {
		panic(t.panic) // re-raise
	}
}

// finish works as the first of the team and waits for the others, even if a
// body ends its goroutine.
func (t *Team) finish() {
	defer t.wg.Wait()
	t.work(0)
}

func (t *Team) work(worker int) {
	for {
		i := int(t.next.Add(1) - 1)
		if i >= t.ranges || !t.run(worker, i) {
			return
		}
	}
}

// run runs range i and reports whether the body returned.
func (t *Team) run(worker, i int) (returned bool) {
	defer func() {
		if !returned {
			t.fail(i, recover())
		}
	}()
	lo, hi := bounds(t.n, t.ranges, i)
	t.body(worker, lo, hi)
	return true
}

func (t *Team) fail(i int, v any) {
	t.next.Store(int64(t.ranges))
	p, nested := v.(*Panic)
	if !nested {
		if v == nil {
			v = fmt.Sprintf("bug: the body of a parallel loop called runtime.Goexit in range %d", i)
		}
		p = &Panic{Value: v, Stack: debug.Stack()}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.panic == nil || i < t.failed {
		t.panic, t.failed = p, i
	}
}
