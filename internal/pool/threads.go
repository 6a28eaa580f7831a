package pool

import "context"

// ForUpTo is For on at most so many goroutines, the caller's among them. 0 leaves it to For. The ranges are the same, and
// so are the results.
func ForUpTo(threads, n, grain int, body func(lo, hi int)) {
	if n <= 0 {
		return
	}
	j := &job{n: n, ranges: ranges(n, grain), threads: threads, body: body}
	j.runAll()
	if j.panic != nil {
		panic(j.panic) // re-raise
	}
}

// helpersFor is how many goroutines may help the caller with so many ranges.
func helpersFor(ranges, threads int) int {
	if threads > 0 {
		ranges = min(ranges, threads)
	}
	return ranges - 1
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
