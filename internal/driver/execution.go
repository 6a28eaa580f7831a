package driver

import (
	"context"
	"slices"
	"time"
)

// An execution is a run of the chain.
type execution struct {
	job
	chain  *Chain
	inputs InputsReady
	to     enqueued
	began  time.Time
	reply  func(Reply)
	ready  bool          // it has an output set
	wait   chan struct{} // of who runs it itself: closed when there is one
	failed error         // instead
}

// An OutputSet is one that may be written: _ANEOutputSetEnqueue.
type OutputSet struct {
	Set               int
	SignalValue       uint64
	SignalNotRequired bool
	OpenLoop          bool // it is enqueued again by itself when it is written
}

// EnqueueOutputSet gives an output set to the chain: command 0x20a.
func (h *Chain) EnqueueOutputSet(s OutputSet) error {
	if s.Set < 0 || s.Set >= len(h.sets) {
		return fail(BadArgument, "outputBufferSetId < nbrOfOutputBufferSets: %d of %d", s.Set, len(h.sets))
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.state != ChainInUse {
		return h.wrongState("recycle")
	}
	if h.sets[s.Set].executing {
		return fail(Busy, "output set %d is enqueued or in execution", s.Set)
	}
	if err := h.post(0x20a, 0, s.Set, 0); err != nil {
		return err
	}
	h.sets[s.Set].executing = true
	to := enqueued{s.Set, s.SignalValue, s.SignalNotRequired, s.OpenLoop}
	h.after(h.args.EnqueueDelay, func() {
		h.enqueued = append(h.enqueued, to)
		h.match()
	})
	return nil
}

// after does something under the chain's lock, which is held now, at once or later.
func (h *Chain) after(delay time.Duration, do func()) {
	if delay <= 0 {
		do()
		return
	}
	var t *time.Timer
	t = time.AfterFunc(delay, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if _, ok := h.delayed[t]; ok {
			delete(h.delayed, t)
			do()
		}
	})
	h.delayed[t] = struct{}{}
}

func (h *Chain) wrongState(what string) error {
	return fail(NotReady, "cacheHandler (0x%x) in wrong state (%d) for %s. %s dropped", h.token, h.state, what, what)
}

// InputsReady says that inputs may be read: _ANEInputBuffersReady.
type InputsReady struct {
	Buffers        []int    // input symbols of the first link
	FreeValues     []uint64 // by buffer: that its event gets when it may be written again; nil: none
	ExecutionDelay time.Duration
	Timestamp      uint64 // above that of the trigger before; 0: the driver counts
	Sequence       uint64 // echoed by the reply
}

const maxInputs = 16 // guide 30: nbrOfInputBuffers <= (16)

// InputsReady triggers an execution, as soon as there is an output set: command 0x209. The reply is called once when it is done.
func (h *Chain) InputsReady(ctx context.Context, in InputsReady, reply func(Reply)) error {
	x, err := h.trigger(ctx, in)
	if err != nil {
		return err
	}
	x.reply = reply
	x.done = x.finish
	return h.let(x)
}

// let lets an execution wait for its output set.
func (h *Chain) let(x *execution) error {
	if err := h.client.under(&x.job, func() { h.client.device.engine.abort(&x.job) }); err != nil {
		return err
	}
	h.mu.Lock()
	if h.state != ChainInUse {
		h.mu.Unlock()
		h.client.over(&x.job)
		return h.wrongState("trigger")
	}
	defer h.mu.Unlock()
	h.under++
	h.after(x.inputs.ExecutionDelay, func() {
		h.triggers = append(h.triggers, x)
		h.match()
	})
	return nil
}

// Execute triggers an execution and runs it on this goroutine: at once if an output set is there and the engine is idle.
func (h *Chain) Execute(ctx context.Context, in InputsReady) error {
	x, err := h.trigger(ctx, in)
	if err != nil {
		return err
	}
	x.grant, x.wait = make(chan struct{}, 1), make(chan struct{})
	if err := h.let(x); err != nil {
		return err
	}
	select {
	case <-x.wait:
		err = x.failed
	case <-ctx.Done():
		h.mu.Lock()
		at := slices.Index(h.triggers, x)
		if at >= 0 {
			h.triggers = slices.Delete(h.triggers, at, at+1)
		}
		h.mu.Unlock()
		if at >= 0 {
			err = ctx.Err()
			break
		}
		<-x.wait
		err = x.failed
	}
	if err == nil {
		err = h.client.device.engine.protectedDo(&x.job)
	}
	x.finish(err)
	return err
}

// trigger makes an execution.
func (h *Chain) trigger(ctx context.Context, in InputsReady) (*execution, error) {
	if h.client.device.chainingOff.Load() {
		return nil, fail(Unsupported, "cache requests are disabled")
	}
	if len(in.Buffers) > maxInputs {
		return nil, fail(BadArgument, "nbrOfInputBuffers <= (16): %d", len(in.Buffers))
	}
	if in.FreeValues != nil && len(in.FreeValues) != len(in.Buffers) {
		return nil, fail(BadArgument, "%d free values for %d buffers", len(in.FreeValues), len(in.Buffers))
	}
	for _, b := range in.Buffers {
		if b < 0 || b >= len(h.links[0].proc.inputs) {
			return nil, fail(BadArgument, "input symbol %d: the chain has %d", b, len(h.links[0].proc.inputs))
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.state != ChainInUse || !h.active:
		return nil, h.wrongState("trigger")
	case in.Timestamp != 0 && in.Timestamp <= h.timestamp:
		return nil, fail(BadArgument, "execTimestamp %d, lastTriggerExecTimestamp %d. trigger dropped", in.Timestamp, h.timestamp)
	case h.under > h.lane.depth && h.lane.depth > 0:
		return nil, fail(NoResources, "[isHWReady] priority queue is full! %d executions wait", h.under)
	}
	if in.Timestamp == 0 {
		in.Timestamp = h.timestamp + 1
	}
	h.timestamp = in.Timestamp
	if err := h.post(0x209, in.Timestamp, 0, len(in.Buffers)); err != nil {
		return nil, err
	}
	x := &execution{chain: h, inputs: in, began: time.Now()}
	x.client, x.lane, x.priority, x.ctx = h.client, &h.lane, h.args.Priority, ctx
	x.between = x.bind
	for i := range h.links {
		r := h.links[i].request
		x.requests = append(x.requests, r)
	}
	return x, nil
}

// match starts executions for which all is there. The chain's lock is held.
func (h *Chain) match() {
	for len(h.triggers) > 0 && len(h.enqueued) > 0 && h.state == ChainInUse {
		x := h.triggers[0]
		h.triggers = slices.Delete(h.triggers, 0, 1)
		x.to, x.ready = h.enqueued[0], true
		h.enqueued = slices.Delete(h.enqueued, 0, 1)
		if x.wait != nil {
			close(x.wait)
			continue
		}
		if err := h.client.device.engine.submit(&x.job); err != nil {
			go x.finish(err)
		}
	}
}

// bind gives the links of an execution their memory of this time: the output set, and what the execution before has looped back; and when all
// are done it says what that is. It is called when the execution has the engine: the lane lets one in at a time.
func (x *execution) bind(at int) error {
	h := x.chain
	last := len(h.links) - 1
	switch at {
	case len(h.links):
		for i := range h.loops {
			h.loops[i].memory = h.sets[x.to.set].surfaces[h.loops[i].output]
		}
		return nil
	case 0:
	default:
		return nil
	}
	x.requests[last].surfaces = slices.Clone(h.sets[x.to.set].surfaces)
	for _, l := range h.loops {
		if l.memory == nil {
			continue
		}
		if last > 0 {
			x.requests[0].surfaces = slices.Clone(x.requests[0].surfaces)
		}
		x.requests[0].surfaces[l.input] = l.memory
	}
	return nil
}

// finish is what is left to do when an execution is over, however it ended.
func (x *execution) finish(err error) {
	h := x.chain
	if err == nil && len(h.args.Stats) > 0 && h.args.Stats[x.to.set] != nil {
		tasks := 0
		for i := range h.links {
			tasks += h.links[i].proc.tasks
		}
		took{time.Since(x.began), h.procedure, x.inputs.Sequence, tasks}.writeStats(h.args.Stats[x.to.set].memory)
	}
	h.mu.Lock()
	h.under--
	switch {
	case !x.ready:
	case x.to.open && h.state == ChainInUse:
		h.enqueued = append(h.enqueued, x.to)
		h.match()
	default:
		h.sets[x.to.set].executing = false
	}
	h.mu.Unlock()
	h.client.over(&x.job)
	for _, e := range h.args.Events {
		value, ok := x.value(&e)
		switch {
		case !ok:
		case err != nil:
			e.Event.Fail(value, err)
		default:
			e.Event.Signal(value)
			h.client.ring(&Signal{Event: e.Event, Value: value, Type: e.Type, Agents: e.Agents, ID: e.ID})
		}
	}
	if x.reply != nil {
		x.reply(Reply{Token: h.token, Sequence: x.inputs.Sequence, Err: err, Ran: time.Since(x.began), Serial: x.serial})
	}
}

// value is what an event is raised to by an execution.
func (x *execution) value(e *ChainEvent) (uint64, bool) {
	if e.Output {
		return x.to.value, x.ready && !x.to.quiet
	}
	at := slices.Index(x.inputs.Buffers, e.Symbol)
	if at < 0 || x.inputs.FreeValues == nil {
		return 0, false
	}
	return x.inputs.FreeValues[at], true
}
