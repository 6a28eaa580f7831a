package driver

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/espalier-ane/espalier/firmware"
)

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
	c.ignoreEvents()
	c.done(err)
	return true
}

// ignoreEvents ends listening to events.
func (c *call) ignoreEvents() {
	for i := range c.request.Waits {
		c.request.Waits[i].Event.forget(c)
	}
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
	q.under++
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
	c.process.under--
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
		took{time.Since(c.began), c.request.Procedure, c.request.Sequence, c.requests[0].tasks}.writeStats(c.request.Stats.memory)
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
