package driver

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/espalier-ane/espalier/firmware"
	"github.com/espalier-ane/espalier/internal/engine"
)

// A Process is an instance of a loaded program, with the memory of one dispatch. Its requests run one at a time, by priority and then in
// the order in which they come; those of other processes run beside them as far as the engine takes more than one.
type Process struct {
	program  *Program
	token    uint64
	slot     int
	lane     lane
	contexts []*engine.Context // by procedure; made when it is first called
	surfaces [][][]byte
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

func (q *Process) busy() bool {
	c := q.program.client.device.engine
	c.mu.Lock()
	defer c.mu.Unlock()
	return q.lane.current != nil
}

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

// A call is a request on its way.
type call struct {
	job
	process  *Process
	request  *Request
	mapped   []uint64 // addresses for this call alone
	requests [1]engineRequest
	began    time.Time
	pending  int // events that are waited for
	waiting  sync.Mutex
	given    bool // up, while it waited for events
	reply    func(Reply)
	above    context.Context    // the caller's, without the deadline
	cancel   context.CancelFunc // of the deadline; nil: there is none
	forget   func() bool        // ends listening to the context; nil: nobody does
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
		err = c.outcome(q.program.client.device.engine.do(&c.job))
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
	if len(r.Waits) == 0 {
		if err := client.device.engine.submit(&c.job); err != nil {
			c.finish(err)
			client.over(&c.job)
			return nil, err
		}
	}
	c.pending = len(r.Waits)
	for i := range r.Waits {
		r.Waits[i].Event.listen(r.Waits[i].Value, c, c.settled)
	}
	if c.ctx.Done() != nil {
		c.waiting.Lock()
		c.forget = context.AfterFunc(c.ctx, func() { c.giveUp(context.Cause(c.ctx)) })
		c.waiting.Unlock()
	}
	return &Submission{c}, nil
}

// outcome is what has become of a call whose time may be over by now: its deadline is no end of the caller's context.
func (c *call) outcome(err error) error {
	if !c.deadline.IsZero() && errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, Timeout) && c.above.Err() == nil {
		return fail(Timeout, "the request was aborted at its deadline, before it had the engine")
	}
	return err
}

// giveUp ends a call that has not begun.
func (c *call) giveUp(err error) {
	if !c.endWait(err) {
		c.process.program.client.device.engine.abandon(&c.job, err)
	}
}

// endWait ends a call that waits for events.
func (c *call) endWait(err error) bool {
	c.waiting.Lock()
	if c.pending == 0 || c.given {
		c.waiting.Unlock()
		return false
	}
	c.given = true
	c.waiting.Unlock()
	for i := range c.request.Waits {
		c.request.Waits[i].Event.forget(c)
	}
	c.done(err)
	return true
}

// settled is called for each event that a request waits for.
func (c *call) settled(err error) {
	c.waiting.Lock()
	if c.given {
		c.waiting.Unlock()
		return
	}
	c.pending--
	last := c.pending == 0
	if err != nil {
		c.given = true
	}
	c.waiting.Unlock()
	switch {
	case err != nil:
		go c.done(err)
	case last:
		if err := c.process.program.client.device.engine.submit(&c.job); err != nil {
			go c.done(err)
		}
	}
}

// accept makes a job of a request: the driver's side writes the command, the controller's side reads it.
func (q *Process) accept(ctx context.Context, r *Request) (*call, error) {
	client := q.program.client
	priority, err := client.priorityOf(r.Priority, r.QoS)
	if err != nil {
		return nil, err
	}
	if err := checkEvents(r); err != nil {
		return nil, err
	}
	if err := client.lock(); err != nil {
		return nil, err
	}
	defer client.mu.Unlock()
	c := &call{process: q, request: r, began: time.Now()}
	body := callBody{sequence: r.Sequence}
	if err := q.bars(r, c, &body); err != nil {
		c.unmap()
		return nil, err
	}
	for _, w := range r.Waits {
		body.waits = append(body.waits, wireEvent{value: w.Value})
	}
	for _, s := range r.Signals {
		body.signals = append(body.signals, wireEvent{uint32(s.Type), s.Agents, s.ID, s.Value})
	}
	id := command(0x204)
	if len(body.signals) > 0 {
		id = command(0x211)
	}
	h, sent, err := client.device.ring.send(id, firmware.Header{
		Priority: uint32(priority), ProgramID: int32(q.program.slot), ProcessID: int32(q.slot), ProcedureID: uint32(r.Procedure),
	}, body.encode())
	if err == nil {
		err = client.device.procedureCall(c, h, sent)
	}
	if err != nil {
		c.unmap()
		return nil, err
	}
	c.ctx, c.above, c.deadline = ctx, ctx, r.Deadline
	if !r.Deadline.IsZero() {
		c.ctx, c.cancel = context.WithDeadline(ctx, r.Deadline)
	}
	return c, nil
}

func checkEvents(r *Request) error {
	if len(r.Signals) > maxEvents || len(r.Waits) > maxEvents {
		return fail(BadArgument, "nbrOfSignalEvents > 0 && nbrOfSignalEvents <= 16: %d are waited for, %d are signalled", len(r.Waits), len(r.Signals))
	}
	for _, w := range r.Waits {
		if w.Event == nil {
			return fail(BadArgument, "a wait without an event")
		}
	}
	for _, s := range r.Signals {
		switch {
		case s.Event == nil:
			return fail(BadArgument, "a signal without an event")
		case s.Type < 0 || s.Type >= EventTypes:
			return fail(BadArgument, "an event of type %d: want 0, 1 or 2", s.Type)
		case s.Agents>>agents != 0:
			return fail(BadArgument, "agents %#x: there are %d", s.Agents, agents)
		}
	}
	return nil
}

const maxEvents = 16 // guide 29

// bars finds the addresses of a request's buffers. The client's lock is held.
func (q *Process) bars(r *Request, c *call, body *callBody) error {
	p := q.program
	if q.gone || p.image == nil {
		return fail(NotReady, "CSNE_CMD_INFERENCE_CALL dropped. prog %d process %d not running.", p.slot, q.slot)
	}
	if r.Procedure < 0 || r.Procedure >= len(p.procedures) {
		return fail(BadArgument, "getProcedureCallType(): invalid procedureId=%d, tot=%d", r.Procedure, len(p.procedures))
	}
	proc := &p.procedures[r.Procedure]
	bound := make([]*Buffer, len(proc.ports))
	for side, list := range [][]Buffer{r.Inputs, r.Outputs} {
		ports, what := proc.inputs, "input"
		if side == 1 {
			ports, what = proc.outputs, "output"
		}
		if list == nil {
			for symbol, port := range ports {
				if s := q.cached[cachedSymbol{side == 1, symbol}]; s != nil {
					bound[port] = &Buffer{Surface: s, Symbol: symbol}
				}
			}
		}
		for i := range list {
			b := &list[i]
			if b.Symbol < 0 || b.Symbol >= len(ports) {
				return fail(BadArgument, "%s symbol %d: procedure %d has %d", what, b.Symbol, r.Procedure, len(ports))
			}
			port := ports[b.Symbol]
			if other := bound[port]; other != nil && (other.Surface != b.Surface || other.Offset != b.Offset) {
				return fail(BadArgument, "%s symbol %d, port %q, has two buffers", what, b.Symbol, proc.ports[port].Name)
			}
			bound[port] = b
		}
	}
	for port, b := range bound {
		size := uint64(proc.ports[port].Bytes())
		if b == nil || b.Surface == nil {
			return fail(BadArgument, "%v port %q has no buffer", proc.ports[port].Direction, proc.ports[port].Name)
		}
		if b.Surface.client != p.client {
			return fail(NotFound, "the surface is none of this client")
		}
		if b.Offset < 0 || b.Offset > len(b.Surface.memory) || size > uint64(len(b.Surface.memory)-b.Offset) {
			return fail(BadArgument, "%v port %q needs %d bytes, and surface %d has %d from byte %d on", proc.ports[port].Direction, proc.ports[port].Name, size, b.Surface.id, len(b.Surface.memory), b.Offset)
		}
		at, err := q.address(b.Surface, c)
		if err != nil {
			return err
		}
		body.bars = append(body.bars, bar{port, at + uint64(b.Offset), size})
	}
	return nil
}

// address is where the engine sees a surface: if nobody has mapped it, it is for this call.
func (q *Process) address(s *Surface, c *call) (uint64, error) {
	client := q.program.client
	if m := client.mappingOf(s); m != nil {
		return m.Address, nil
	}
	at, err := client.space.take(uint64(len(s.memory)))
	if err != nil {
		return 0, err
	}
	client.space.put(at, s.memory)
	c.mapped = append(c.mapped, at)
	return at, nil
}

// unmap ends what was mapped for the call. The client's lock is held.
func (c *call) unmap() {
	for _, at := range c.mapped {
		c.process.program.client.space.give(at)
	}
	c.mapped = nil
}

// finish is what is left to do for a call that is over, however it ended.
func (c *call) finish(err error) {
	client := c.process.program.client
	client.mu.Lock()
	c.unmap()
	client.mu.Unlock()
	c.waiting.Lock()
	forget := c.forget
	c.waiting.Unlock()
	if forget != nil {
		forget()
	}
	if c.cancel != nil {
		c.cancel()
	}
	if c.request.Stats != nil && err == nil {
		c.writeStats(c.request.Stats.memory)
	}
}

// procedureCall is the controller's side of a procedure call: it finds the process, translates the addresses and makes the engine
// request. The lock of the client whose process it is is held.
func (d *Device) procedureCall(c *call, h firmware.Header, body []byte) error {
	b, err := decodeCall(body)
	if err != nil {
		return err
	}
	d.mu.Lock()
	program, okProgram := d.programs.at(int(h.ProgramID))
	process, okProcess := d.processes.at(int(h.ProcessID))
	d.mu.Unlock()
	if !okProgram || !okProcess || process.program != program {
		return fail(NotFound, "CSNE_CMD_INFERENCE_CALL dropped. prog %d process %d not running.", h.ProgramID, h.ProcessID)
	}
	if h.ProcedureID >= uint32(len(program.procedures)) {
		return fail(BadArgument, "getProcedureCallType(): invalid procedureId=%d, tot=%d", h.ProcedureID, len(program.procedures))
	}
	proc := &program.procedures[h.ProcedureID]
	surfaces := make([][]byte, len(proc.ports))
	for _, r := range b.bars {
		if r.index < 0 || r.index >= len(surfaces) {
			return fail(BadArgument, "bar[%d]: the procedure has %d", r.index, len(surfaces))
		}
		if surfaces[r.index], err = program.client.space.translate(r.address, r.size); err != nil {
			return err
		}
	}
	if process.contexts[h.ProcedureID] == nil {
		process.contexts[h.ProcedureID] = proc.program.NewContext()
	}
	c.requests[0] = engineRequest{proc.program, process.contexts[h.ProcedureID], proc.tasks, surfaces}
	c.client, c.lane, c.priority, c.job.requests = program.client, &process.lane, int(h.Priority), c.requests[:]
	return nil
}
