package driver

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/espalier-ane/espalier/internal/engine"
)

// A job is what the controller runs: engine requests, one for each partition of tasks.
type job struct {
	client   *Client
	lane     *lane
	priority int
	ctx      context.Context
	requests []engineRequest
	at, task int                // where it goes on
	started  bool               // the engine request there has begun
	deadline time.Time          // zero: none
	between  func(at int) error // called before each engine request begins, and after the last; nil: there is nothing to do
	done     func(error)        // of a job that nobody waits for
	grant    chan struct{}      // of who waits

	now    atomic.Pointer[engine.Context] // that it runs in
	halted atomic.Bool                    // it is to leave the engine

	// The rest belongs to the controller's lock.
	state jobState
	stop  stopReason
	began time.Time // since when it has the engine, as far as somebody waits
	err   error     // why it was given up before it ran

	serial uint64 // of its end among all of the device
}

// An engineRequest is a partition of tasks with its memory. All of a program's tasks are one (guide 30: 1 == nbrOfTdPartition).
type engineRequest struct {
	program  *engine.Program
	context  *engine.Context
	tasks    int
	surfaces [][]byte // that the ports are bound to first; nil: they are
}

type jobState uint8

const (
	outside jobState = iota
	inLane           // another of the lane is before it
	queued
	onEngine
)

type stopReason uint8

const (
	goOn   stopReason = iota
	yields            // to a more urgent one
	sliceOver
	aborted
)

// run runs what is left of a job.
func (c *controller) run(j *job) (yielded bool, err error) {
	until := j.deadline
	if t, ok := j.ctx.Deadline(); ok && (until.IsZero() || t.Before(until)) {
		until = t
	}
	for ; j.at < len(j.requests); j.at++ {
		r := &j.requests[j.at]
		if !j.started {
			if err := j.start(r); err != nil {
				return false, err
			}
		}
		r.context.StopAt(until)
		j.now.Store(r.context)
		for err = engine.ErrStopped; err != nil; {
			if !j.halted.Load() {
				j.task, err = r.program.Run(j.ctx, r.context, j.task, r.tasks)
			}
			if err == nil {
				break
			}
			if !errors.Is(err, engine.ErrStopped) {
				return false, err
			}
			switch why := c.reason(j); {
			case why == aborted:
				return false, errAborted
			case !until.IsZero() && !time.Now().Before(until):
				return false, j.late()
			case why != goOn:
				return true, nil
			}
		}
		j.started = false
	}
	if j.between != nil {
		return false, j.between(j.at)
	}
	return false, nil
}

// start begins an engine request.
func (j *job) start(r *engineRequest) error {
	if j.between != nil {
		if err := j.between(j.at); err != nil {
			return err
		}
	}
	if r.surfaces != nil {
		if err := r.context.BindAll(r.surfaces); err != nil {
			return because(BadArgument, err, "the surfaces of engine request %d", j.at)
		}
	}
	r.context.Reset()
	j.task, j.started = 0, true
	return nil
}

// reason is why a job was stopped: it may also be that the one before it in this memory was, too late.
func (c *controller) reason(j *job) stopReason {
	c.mu.Lock()
	defer c.mu.Unlock()
	return j.stop
}

// late is the error of a job whose time is over.
func (j *job) late() error {
	if !j.deadline.IsZero() && !time.Now().Before(j.deadline) {
		return fail(Timeout, "the request was aborted at its deadline, in engine request %d of %d at task %d", j.at+1, len(j.requests), j.task)
	}
	return context.DeadlineExceeded
}

// errAborted is what becomes of a job that somebody has aborted.
var errAborted = &Error{Code: Aborted, Msg: "the request was aborted"}
