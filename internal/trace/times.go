// Package trace measures where the time of runs goes: sums (Times), and the timeline, if it is recorded. A run finds in its
// context who wants to know; most have nobody, and measure nothing.
package trace

import (
	"context"
	"sync"
	"time"
)

// Times sum up how long the parts of runs took. They are safe for concurrent use: the sums are over all runs with the context.
type Times struct {
	mu   sync.Mutex
	sums map[part]*Sum

	record  bool // the timeline, too
	spans   []Span
	dropped int // of them, because there were too many
}

// A part is one of the parts of something that runs: a task of a program, a step of a function.
type part struct {
	of    any
	index int
}

// A Sum is what a part took in all its runs.
type Sum struct {
	Runs        int
	Total, Best time.Duration
}

type timesKey struct{}

// With makes runs with the context add to t.
func With(ctx context.Context, t *Times) context.Context {
	return context.WithValue(ctx, timesKey{}, t)
}

// Of is what the context wants runs to add to, nil if nobody wants to know.
func Of(ctx context.Context) *Times {
	t, _ := ctx.Value(timesKey{}).(*Times)
	return t
}

// Begin is when a part begins: the zero time if t is nil.
func (t *Times) Begin() time.Time {
	if t == nil {
		return time.Time{}
	}
	return time.Now()
}

// End adds what a part took since it began. It does nothing if t is nil.
func (t *Times) End(of any, index int, began time.Time) {
	if t == nil {
		return
	}
	ended := time.Now()
	took := ended.Sub(began)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.sums == nil {
		t.sums = map[part]*Sum{}
	}
	s := t.sums[part{of, index}]
	if s == nil {
		s = &Sum{Best: took}
		t.sums[part{of, index}] = s
	}
	s.Runs++
	s.Total += took
	s.Best = min(s.Best, took)
	t.keep(Span{Begin: began, End: ended, of: of, index: index})
}

// Sum is what a part took until now.
func (t *Times) Sum(of any, index int) Sum {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := t.sums[part{of, index}]; s != nil {
		return *s
	}
	return Sum{}
}
