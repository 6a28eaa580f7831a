package e5rt

import (
	"sync/atomic"
	"time"
)

// Work is what a run does beside computing on the host, counted as it happens.
type Work struct {
	Dispatches int64 // on the engine: one for each of its segments
	Tasks      int64 // of them
	Copied     int64 // bytes, as they are read: casts, and inputs that a run would otherwise write over
}

func (w *Work) add(other *Work) {
	w.Dispatches += other.Dispatches
	w.Tasks += other.Tasks
	w.Copied += other.Copied
}

// A Dispatch is what it took to run what a stream had encoded, once.
type Dispatch struct {
	Queued     time.Duration // from Submit until the stream's goroutine began; 0 of Execute
	Waited     time.Duration // for events
	Ran        time.Duration // the rest
	Operations int           // that were done
	Work
}

// StreamStats are sums over all that a stream has run.
type StreamStats struct {
	Runs   int64 // Execute and Submit
	Failed int64 // of them
	Dispatch
}

func (s *StreamStats) add(d *Dispatch, err error) {
	s.Runs++
	if err != nil {
		s.Failed++
	}
	s.Queued += d.Queued
	s.Waited += d.Waited
	s.Ran += d.Ran
	s.Operations += d.Operations
	s.Work.add(&d.Work)
}

// Last is what the last run took. What each task takes, Function.Profile knows, of runs whose context asks for it.
func (s *Stream) Last() Dispatch {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// Stats are sums over all runs.
func (s *Stream) Stats() StreamStats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.total
}

// OperationStats are sums over all runs of an operation.
type OperationStats struct {
	Runs int64
	Work
}

// operationCounts are those sums as they grow.
type operationCounts struct{ runs, dispatches, tasks, copied atomic.Int64 }

func (c *operationCounts) add(w *Work) {
	c.runs.Add(1)
	c.dispatches.Add(w.Dispatches)
	c.tasks.Add(w.Tasks)
	if w.Copied != 0 {
		c.copied.Add(w.Copied)
	}
}

// Stats are sums over all runs of the operation, those of streams too.
func (o *Operation) Stats() OperationStats {
	c := &o.counts
	return OperationStats{c.runs.Load(), Work{c.dispatches.Load(), c.tasks.Load(), c.copied.Load()}}
}
