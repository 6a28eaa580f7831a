package driver

import (
	"context"
	"errors"
	"time"

	"github.com/espalier-ane/espalier/internal/engine"
)

// A Process is an instance of a loaded program, with the memory of one dispatch. Its requests run one at a time, by priority and then in
// the order in which they come; those of other processes run beside them as far as the engine takes more than one.
type Process struct {
	program  *Program
	token    uint64
	slot     int
	lane     lane
	contexts []*engine.Context         // by procedure; made when it is first called
	under    int                       // requests under way, with the client's lock
	gone     bool                      // the program was unloaded
	cached   map[cachedSymbol]*Surface // what MemoryMapRequest has bound, with the client's lock
}

// A cachedSymbol is an input or output of a process.
type cachedSymbol struct {
	output bool
	symbol int
}

// Token is the process's name in calls.
func (q *Process) Token() uint64 { return q.token }

// Slot is the processId.
func (q *Process) Slot() int { return q.slot }

// Program is what it runs.
func (q *Process) Program() *Program { return q.program }

// A Buffer is memory for an input or output of a request.
type Buffer struct {
	Surface *Surface
	Symbol  int // index among the procedure's inputs, or outputs
	Offset  int // where it begins in the surface
}

// A Wait has a request wait until an event has a value.
type Wait struct {
	Event *Event
	Value uint64
}

// A Signal has a request raise an event when it is done, and rings the doorbells of agents.
type Signal struct {
	Event  *Event
	Value  uint64
	Type   EventType
	Agents uint32 // mask
	ID     uint64 // that the agents are told; see ShareEvent
}

// agents is how many doorbells a completion may ring (guide 29): the client, another agent that waits, and telemetry.
const agents = 3

// A Request is one call of a procedure.
type Request struct {
	Procedure       int
	Sequence        uint64 // echoed by the reply
	QoS             int    // 0 to 63
	Priority        int    // 0 to 7 instead; ByQoS: that of QoS
	Inputs, Outputs []Buffer
	Waits           []Wait
	Signals         []Signal
	Deadline        time.Time // when it is aborted; zero: never
	Stats           *Surface  // that a record of firmware.StatsHeader is written to; nil: none
}

// A Reply is what becomes of a request.
type Reply struct {
	Token    uint64
	Sequence uint64
	Err      error
	Ran      time.Duration // from when it was submitted until it was done
	Serial   uint64        // of its end among all requests that the engine has run; 0 if it did not
}

// Run has a request executed and waits for it: on this goroutine, at once if the engine is idle.
func (q *Process) Run(ctx context.Context, r *Request) error {
	if err := checkEvents(r); err != nil {
		return err
	}
	for i := range r.Waits {
		if err := r.Waits[i].wait(ctx, r.Deadline); err != nil {
			q.settle(r, err)
			return err
		}
	}
	c, err := q.accept(ctx, r)
	if err != nil {
		return err
	}
	c.grant = make(chan struct{}, 1)
	if err = q.program.client.under(&c.job, c.abort); err == nil {
		err = c.outcome(q.program.client.device.engine.protectedDo(&c.job))
		q.program.client.over(&c.job)
	}
	c.finish(err)
	q.settle(r, err)
	return err
}

// wait waits for an event, no longer than to the deadline of the request.
func (w *Wait) wait(ctx context.Context, deadline time.Time) error {
	if deadline.IsZero() {
		return w.Event.Wait(ctx, w.Value)
	}
	within, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	err := w.Event.Wait(within, w.Value)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return fail(Timeout, "the request was aborted at its deadline, before the event had the value %d", w.Value)
	}
	return err
}

// settle says to the events of a request what has become of it.
func (q *Process) settle(r *Request, err error) {
	for _, s := range r.Signals {
		if err != nil {
			s.Event.Fail(s.Value, err)
			continue
		}
		s.Event.Signal(s.Value)
		q.program.client.ring(&s)
	}
}

// ring rings the doorbells of agents.
func (c *Client) ring(s *Signal) {
	for a := range agents {
		if s.Agents>>a&1 == 0 {
			continue
		}
		c.mu.Lock()
		f := c.agents[a]
		c.mu.Unlock()
		if f != nil {
			f(s.ID, s.Value, s.Type)
		}
	}
}

// Listen has f called when a request of the client signals an event to an agent, 0 to 2.
func (c *Client) Listen(agent int, f func(id, value uint64, t EventType)) error {
	if agent < 0 || agent >= agents {
		return fail(BadArgument, "agent %d: there are %d", agent, agents)
	}
	if err := c.lock(); err != nil {
		return err
	}
	defer c.mu.Unlock()
	c.agents[agent] = f
	return nil
}

// ShareEvent gives an event a number by which calls name it.
func (c *Client) ShareEvent(e *Event) (uint64, error) {
	if err := c.lock(); err != nil {
		return 0, err
	}
	defer c.mu.Unlock()
	id := c.device.tokens.Add(1)
	c.events[id] = e
	return id, nil
}

// A Submission is a request that is under way.
type Submission struct{ call *call }

// Abort ends the request, whether it waits or runs. It reports whether it came in time; the reply says so too.
func (s *Submission) Abort() bool { return s.call.end() }

func (c *call) abort() { c.end() }

func (c *call) end() bool {
	return c.endWait(errAborted) || c.process.program.client.device.engine.abort(&c.job)
}

// Submit has a request executed and returns at once. The reply is called once, from another goroutine, before the process's next
// request begins: it should return soon. An error of Submit itself is about the request; then there is no reply.
func (q *Process) Submit(ctx context.Context, r *Request, reply func(Reply)) (*Submission, error) {
	client := q.program.client
	c, err := q.accept(ctx, r)
	if err != nil {
		return nil, err
	}
	c.reply = reply
	c.done = func(err error) {
		err = c.outcome(err)
		c.finish(err)
		q.settle(r, err)
		client.over(&c.job)
		if c.reply != nil {
			c.reply(Reply{Token: q.token, Sequence: r.Sequence, Err: err, Ran: time.Since(c.began), Serial: c.serial})
		}
	}
	if err := client.under(&c.job, c.abort); err != nil {
		c.finish(err)
		return nil, err
	}
	c.pending = len(r.Waits)
	if c.ctx.Done() != nil {
		c.waiting.Lock() // finish may come before it is set
		c.forget = context.AfterFunc(c.ctx, func() { c.giveUp(context.Cause(c.ctx)) })
		c.waiting.Unlock()
	}
	if len(r.Waits) == 0 {
		if err := client.device.engine.submit(&c.job); err != nil {
			c.finish(err)
			client.over(&c.job)
			return nil, err
		}
		return &Submission{c}, nil
	}
	for i := range r.Waits {
		r.Waits[i].Event.listen(r.Waits[i].Value, c, c.settled)
	}
	c.waiting.Lock()
	given := c.given
	c.waiting.Unlock()
	if given { // before all were listened to
		c.ignoreEvents()
	}
	return &Submission{c}, nil
}
