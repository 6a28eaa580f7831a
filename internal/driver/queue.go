package driver

import (
	"context"

	"github.com/espalier-ane/espalier/internal/engine"
)

// A Queue runs a program that the runtime above has loaded, in the memory that it has bound: what a Process does for a container that
// a client gave to the driver. It takes no slot, for the runtime may have as many programs as there is memory, and no addresses.
// It serves one goroutine at a time.
type Queue struct {
	lane     lane
	job      job
	requests [1]engineRequest
}

// NewQueue makes a queue of a client.
func (c *Client) NewQueue(p *engine.Program, memory *engine.Context) *Queue {
	q := &Queue{requests: [1]engineRequest{{program: p, context: memory, tasks: len(p.Tasks())}}}
	q.job.client, q.job.lane, q.job.priority, q.job.requests = c, &q.lane, defaultPriority, q.requests[:]
	q.job.grant = make(chan struct{}, 1)
	return q
}

// Run executes the program once, on this goroutine: at once if the engine is idle, else when its turn comes. It allocates nothing.
func (q *Queue) Run(ctx context.Context) error {
	q.job.ctx, q.job.priority = ctx, defaultPriority
	err := q.job.client.device.engine.do(&q.job)
	q.job.ctx = nil
	return err
}
