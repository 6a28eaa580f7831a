// Package pool runs data-parallel loops on all processors. The whole process has
// one set of workers (workers.go), which all loops share.
//
// It cuts a loop into ranges by its length and grain alone, never by the
// number of threads, so a body that keeps a partial result per range gives the
// same bits on every machine. Which goroutine runs a range, and in which order
// ranges run, is left open.
package pool

import "fmt"

// maxRanges bounds the cost of handing out ranges when the grain is small. It
// leaves several ranges to each of 64 processors, to even out their speeds.
const maxRanges = 256

// For calls body for contiguous ranges [lo, hi) that together cover [0, n)
// once, and returns when all calls have. Calls run concurrently, on up to
// GOMAXPROCS goroutines.
//
// Each range has at least grain items, unless n itself is smaller; a grain
// below 1 counts as 1. Choose it such that a range is worth some 10 µs of
// work. The ranges depend on n and grain only.
//
// If body panics, no range behind is begun, and For panics with a *Panic for
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
