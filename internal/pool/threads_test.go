package pool

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
)

// A loop with a bound never has more goroutines at a time, whatever the process may have, and visits each item once.
func TestForUpTo(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(16))
	for _, threads := range []int{0, 1, 2, 3, 100} {
		var now, most, visits atomic.Int64
		ForUpTo(threads, 2000, 1, func(lo, hi int) {
			n := now.Add(1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			visits.Add(int64(hi - lo))
			runtime.Gosched()
			now.Add(-1)
		})
		if visits.Load() != 2000 {
			t.Errorf("%d threads: %d items were visited", threads, visits.Load())
		}
		if threads > 0 && most.Load() > int64(threads) {
			t.Errorf("%d threads: %d ran at a time", threads, most.Load())
		}
	}
	left(t)
}

func TestThreadsOfContext(t *testing.T) {
	ctx := context.Background()
	if got := Threads(ctx); got != 0 {
		t.Errorf("%d without a bound", got)
	}
	if got := Threads(WithThreads(ctx, 3)); got != 3 {
		t.Errorf("%d, want 3", got)
	}
	if got := WithThreads(ctx, 0); got != ctx {
		t.Error("no bound is a context of its own")
	}
}
