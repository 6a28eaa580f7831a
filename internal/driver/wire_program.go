package driver

import (
	"bytes"
	"encoding/binary"
	"time"

	"github.com/espalier-ane/espalier/firmware"
)

// The calls about programs and requests.

func (w *wireCall) programCreate() error {
	l := firmware.ProgramCreate
	if size := get(l, w.in, "argsSize"); size != uint64(firmware.ProgramCreateArgs.Size) {
		return fail(BadArgument, "%s has %d bytes, got %d", firmware.ProgramCreateArgs.Name, firmware.ProgramCreateArgs.Size, size)
	}
	if size := get(l, w.in, "outputSize"); size != uint64(firmware.ProgramCreateOutput.Size) {
		return fail(BadArgument, "%s has %d bytes, got %d", firmware.ProgramCreateOutput.Name, firmware.ProgramCreateOutput.Size, size)
	}
	args, err := w.memory(get(l, w.in, "args"), uint64(firmware.ProgramCreateArgs.Size))
	if err != nil {
		return err
	}
	output, err := w.memory(get(l, w.in, "output"), uint64(firmware.ProgramCreateOutput.Size))
	if err != nil {
		return err
	}
	args = bytes.Clone(args) // the client may write there meanwhile
	l = firmware.ProgramCreateArgs
	container, err := w.memory(get(l, args, "container"), get(l, args, "containerSize"))
	if err != nil {
		return err
	}
	o := ProgramOptions{
		Name:      string(bytes.TrimRight(part(l, args, "name"), "\x00")),
		Signature: [32]byte(part(l, args, "hash")),
		QoS:       int(get(l, args, "qos")),
	}
	if size := get(l, args, "weightsSize"); size > 0 {
		weights, err := w.memory(get(l, args, "weights"), size)
		if err != nil {
			return err
		}
		o.Weights = bytes.Clone(weights) // they may not change
	}
	p, err := w.client.CreateProgram(container, o)
	if err != nil {
		return err
	}
	l = firmware.ProgramCreateOutput
	clear(output)
	set(l, output, "token", p.token)
	set(l, output, "queueDepth", uint64(w.client.device.target.Driver.QueueDepth))
	copy(part(l, output, "signature"), p.signature[:])
	return nil
}

func (w *wireCall) programPrepare() error {
	l := firmware.ProgramPrepare
	p, err := find[*Program](w.client, get(l, w.in, "token"))
	if err != nil {
		return err
	}
	q, err := p.Prepare(w.client.ctx)
	if err != nil {
		return err
	}
	copy(w.out, w.in)
	c := w.client
	c.mu.Lock()
	defer c.mu.Unlock()
	if p.image == nil {
		return fail(NotReady, "the program was unloaded")
	}
	set(l, w.out, "programId", uint64(p.slot))
	set(l, w.out, "processId", uint64(q.slot))
	set(l, w.out, "procedures", uint64(len(p.procedures)))
	set(l, w.out, "segments", uint64(len(p.image.Segments)))
	set(l, w.out, "size", uint64(len(p.image.Bytes)))
	if len(p.image.Segments) > 0 {
		set(l, w.out, "address", p.image.Segments[0].Address)
	}
	set(l, w.out, "intermediate", 0)
	return nil
}

func (w *wireCall) programUnprepare() error {
	p, err := find[*Program](w.client, get(firmware.ProgramPrepare, w.in, "token"))
	if err != nil {
		return err
	}
	return p.Unprepare()
}

func (w *wireCall) programDestroy() error {
	p, err := find[*Program](w.client, get(firmware.ProgramDestroy, w.in, "token"))
	if err != nil {
		return err
	}
	return p.Destroy()
}

func (w *wireCall) createInstance() error {
	l := firmware.ProgramCreateInstance
	p, err := find[*Program](w.client, get(l, w.in, "token"))
	if err != nil {
		return err
	}
	output, err := w.memory(get(l, w.in, "output"), 8)
	if err != nil {
		return err
	}
	q, err := p.NewInstance()
	if err != nil {
		return err
	}
	binary.LittleEndian.PutUint64(output, q.token)
	return nil
}

// process finds an instance, or the first one of a program.
func (w *wireCall) process(token uint64) (*Process, error) {
	c := w.client
	if err := c.lock(); err != nil {
		return nil, err
	}
	defer c.mu.Unlock()
	if q, ok := c.handles[token].(*Process); ok {
		return q, nil
	}
	p, err := findLocked[*Program](c, token)
	if err != nil {
		return nil, err
	}
	if len(p.processes) == 0 {
		return nil, fail(NotReady, "the program is not loaded")
	}
	return p.processes[0], nil
}

// surfaces reads surface records, and returns what is behind them. The client's lock is held.
func (c *Client) surfaceRecords(src []byte, n int) (list []Buffer, rest []byte, err error) {
	l := firmware.SurfaceRecord
	for range n {
		if len(src) < l.Size {
			return nil, nil, fail(BadArgument, "%d bytes of surface records are missing", l.Size-len(src))
		}
		record := src[:l.Size]
		src = src[l.Size:]
		s, err := c.surface(get32(l, record, "surface"))
		if err != nil {
			return nil, nil, err
		}
		list = append(list, Buffer{s, int(get32(l, record, "symbol")), int(get32(l, record, "offset"))})
	}
	return list, src, nil
}

func (w *wireCall) sendRequest() error {
	l := firmware.SendRequest
	token := get(l, w.in, "token")
	q, err := w.process(token)
	if err != nil {
		return err
	}
	r, err := w.request()
	if err != nil {
		return err
	}
	w.mu.Lock()
	wake := w.wake
	w.mu.Unlock()
	reference := w.scalars[0]
	if reference == 0 {
		began := time.Now()
		err := q.Run(w.client.ctx, r)
		reply(w.out, Reply{Token: token, Sequence: r.Sequence, Err: err, Ran: time.Since(began)})
		return err
	}
	if wake == nil {
		return fail(BadArgument, "a request with a reference, and no wake port")
	}
	_, err = q.Submit(w.client.ctx, r, func(answer Reply) {
		answer.Token = token
		done := make([]byte, firmware.SendReply.Size)
		reply(done, answer)
		wake(reference, done)
	})
	if err != nil {
		return err
	}
	reply(w.out, Reply{Token: token, Sequence: r.Sequence})
	set(firmware.SendReply, w.out, "status", 1)
	return nil
}

// reply writes what has become of a request.
func reply(dst []byte, r Reply) {
	l := firmware.SendReply
	clear(dst)
	set(l, dst, "sequence", r.Sequence)
	set(l, dst, "token", r.Token)
	set(l, dst, "result", uint64(CodeOf(r.Err)))
	set(l, dst, "time", uint64(r.Ran))
	if r.Err != nil {
		set(l, dst, "status", 2)
	}
}

// request reads the structure of a request.
func (w *wireCall) request() (*Request, error) {
	l := firmware.SendRequest
	r := &Request{
		Sequence: get(l, w.in, "sequence"), Procedure: int(get(l, w.in, "procedure")),
		QoS: int(get(l, w.in, "qos")), Priority: int(int32(get32(l, w.in, "priority"))),
	}
	if r.Priority < ByQoS {
		return nil, fail(BadArgument, "fwPriority < 8: priority is %d", uint32(r.Priority))
	}
	w.mu.Lock()
	timeout := time.Duration(w.timeout) * time.Millisecond
	w.mu.Unlock()
	if d := get(l, w.in, "deadline"); d > 0 {
		timeout = microseconds(d)
	}
	if timeout > 0 {
		r.Deadline = time.Now().Add(timeout)
	}
	inputs, outputs, others := get(l, w.in, "inputs"), get(l, w.in, "outputs"), get(l, w.in, "intermediates")
	records := part(l, w.in, "surfaces")
	if most := uint64(len(records) / firmware.SurfaceRecord.Size); inputs+outputs+others > most {
		return nil, fail(BadArgument, "%d inputs, %d outputs and %d intermediates: there are %d records", inputs, outputs, others, most)
	}
	waits, signals := get(l, w.in, "waits"), get(l, w.in, "signals")
	if waits > maxEvents || signals > maxEvents {
		return nil, fail(BadArgument, "nbrOfSignalEvents > 0 && nbrOfSignalEvents <= 16: %d are waited for, %d are signalled", waits, signals)
	}
	c := w.client
	if err := c.lock(); err != nil {
		return nil, err
	}
	defer c.mu.Unlock()
	var err error
	if r.Inputs, records, err = c.surfaceRecords(records, int(inputs)); err != nil {
		return nil, err
	}
	if r.Outputs, records, err = c.surfaceRecords(records, int(outputs)); err != nil {
		return nil, err
	}
	if _, _, err = c.surfaceRecords(records, int(others)); err != nil { // the driver has this memory itself
		return nil, err
	}
	if id := get32(l, w.in, "stats"); id != 0 {
		if r.Stats, err = c.surface(id); err != nil {
			return nil, err
		}
	}
	for i := range int(waits) {
		e := readEvent(part(l, w.in, "waitEvents")[i*firmware.Event.Size:])
		event, err := c.event(e)
		if err != nil {
			return nil, err
		}
		r.Waits = append(r.Waits, Wait{event, e.value})
	}
	for i := range int(signals) {
		e := readEvent(part(l, w.in, "signalEvents")[i*firmware.Event.Size:])
		event, err := c.event(e)
		if err != nil {
			return nil, err
		}
		r.Signals = append(r.Signals, Signal{event, e.value, EventType(e.kind), e.mask, e.id})
	}
	return r, nil
}

// event finds a shared event. The client's lock is held.
func (c *Client) event(e wireEvent) (*Event, error) {
	switch event := c.events[e.id]; {
	case event == nil:
		return nil, fail(NotFound, "event %#x is none of this client", e.id)
	case e.kind >= EventTypes:
		return nil, fail(BadArgument, "an event of type %d: want 0, 1 or 2", e.kind)
	case e.mask>>agents != 0:
		return nil, fail(BadArgument, "agents %#x: there are %d", e.mask, agents)
	default:
		return event, nil
	}
}

// microseconds is a time on the wire; a long one is an hour.
func microseconds(n uint64) time.Duration {
	return time.Duration(min(n, uint64(time.Hour/time.Microsecond))) * time.Microsecond
}
