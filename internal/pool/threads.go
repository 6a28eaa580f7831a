package pool

import (
	"context"
	"runtime"
)

// ForUpTo is For on at most so many goroutines, the caller's among them. 0 leaves it to For. The ranges are the same, and
// so are the results.
func ForUpTo(threads, n, grain int, body func(lo, hi int)) {
	if n <= 0 {
		return
	}
	w := Enter(threads)
	defer w.Leave()
	w.For(n, grain, true, loopBody(body))
}

// A loopBody is a body that needs no scratch.
type loopBody func(lo, hi int)

// Work implements Body.
func (f loopBody) Work(_ *Worker, lo, hi int) { f(lo, hi) }

// Processors is how many goroutines compute at the same time: GOMAXPROCS, as it was when somebody last computed.
func Processors() int {
	if n := set.procs.Load(); n > 0 {
		return int(n)
	}
	return runtime.GOMAXPROCS(0)
}

type threadsKey struct{}

// WithThreads bounds the goroutines of loops that know a context: see Threads.
func WithThreads(ctx context.Context, threads int) context.Context {
	if threads <= 0 {
		return ctx
	}
	return context.WithValue(ctx, threadsKey{}, threads)
}

// Threads is the bound that a context has for ForUpTo, 0 if it has none.
func Threads(ctx context.Context) int {
	threads, _ := ctx.Value(threadsKey{}).(int)
	return threads
}
