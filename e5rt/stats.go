package e5rt

import "sync/atomic"

// Work is what a run does beside computing on the host, counted as it happens.
type Work struct {
	Dispatches int64 // on the engine: one for each of its segments
	Tasks      int64 // of them
	Copied     int64 // bytes, as they are read: casts, and inputs that a run would otherwise write over
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

// Stats are sums over all runs of the operation.
func (o *Operation) Stats() OperationStats {
	c := &o.counts
	return OperationStats{c.runs.Load(), Work{c.dispatches.Load(), c.tasks.Load(), c.copied.Load()}}
}
