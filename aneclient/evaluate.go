package aneclient

import (
	"context"
	"time"

	"github.com/espalier-ane/espalier/firmware"
	"github.com/espalier-ane/espalier/internal/driver"
)

// Evaluate has a request executed and waits for it: -evaluateWithQoS:options:request:error:, -evaluateWithModel:options:request:qos:error:.
func (m *Model) Evaluate(ctx context.Context, qos int, r *Request) error {
	p, err := m.loaded()
	if err != nil {
		return err
	}
	r.mask = m.StatsMask()
	_, err = p.ProcessRequest(ctx, r, qos, 0, "")
	return err
}

// EvaluateRealTime is Evaluate before all that is not of the system: -evaluateRealTimeWithModel:options:request:error:. The client
// must be granted it.
func (m *Model) EvaluateRealTime(ctx context.Context, r *Request) error {
	return m.Evaluate(ctx, QoSRealTime, r)
}

// EvaluateAsync has a request executed and returns at once; done is called once. An error of EvaluateAsync itself is about the request.
func (m *Model) EvaluateAsync(ctx context.Context, qos int, r *Request, done func(error)) error {
	p, err := m.loaded()
	if err != nil {
		return err
	}
	r.mask = m.StatsMask()
	d, q, err := p.prepare(r, qos)
	if err != nil {
		return err
	}
	process, err := q.unit.queue(0, p.QueueDepth())
	if err == nil {
		_, err = process.Submit(ctx, d, func(reply driver.Reply) {
			if reply.Err == nil {
				r.finish(q)
			}
			done(ErrInference.because(reply.Err))
		})
	}
	return ErrInference.because(err)
}

// EvaluateDirect is Evaluate by the kernel's own call, past the driver's Go form: a structure of 2376 bytes to selector 2 of the
// direct-path client, and a reply of 40: -doEvaluateDirectWithModel:options:request:qos:error:.
func (m *Model) EvaluateDirect(qos int, r *Request) error {
	p, err := m.loaded()
	if err != nil {
		return err
	}
	r.mask = m.StatsMask()
	d, q, err := p.prepare(r, qos)
	if err != nil {
		return err
	}
	conn, sequence, err := p.client.directPath()
	if err != nil {
		return ErrInference.because(err)
	}
	in, err := directRequest(q.unit.program.Token(), sequence, d, r)
	if err != nil {
		return err
	}
	out := make([]byte, firmware.SendReply.Size)
	if _, err := conn.Call(2, []uint64{0}, in, out); err != nil {
		return ErrInference.because(err)
	}
	r.finish(q)
	return nil
}

// directRequest is a request as the kernel's call has it.
func directRequest(token, sequence uint64, d *driver.Request, r *Request) ([]byte, error) {
	l := firmware.SendRequest
	in := make([]byte, l.Size)
	set := func(l *firmware.Layout, data []byte, field string, v uint64) {
		if err := l.Set(data, field, v); err != nil {
			panic("bug: " + err.Error())
		}
	}
	part := func(field string) []byte {
		b, err := l.Bytes(in, field)
		if err != nil {
			panic("bug: " + err.Error())
		}
		return b
	}
	set(l, in, "token", token)
	set(l, in, "sequence", sequence)
	set(l, in, "priority", 1<<32-1) // that of the quality of service
	set(l, in, "qos", uint64(d.QoS))
	set(l, in, "category", 2)
	set(l, in, "procedure", uint64(d.Procedure))
	set(l, in, "inputs", uint64(len(d.Inputs)))
	set(l, in, "outputs", uint64(len(d.Outputs)))
	records := part("surfaces")
	record := firmware.SurfaceRecord
	if n := len(d.Inputs) + len(d.Outputs); n > len(records)/record.Size {
		return nil, ErrBadArgument.saying("%d surfaces: a request has %d", n, len(records)/record.Size)
	}
	for _, side := range [][]driver.Buffer{d.Inputs, d.Outputs} {
		for _, b := range side {
			one := records[:record.Size]
			set(record, one, "surface", uint64(b.Surface.ID()))
			set(record, one, "symbol", uint64(b.Symbol))
			set(record, one, "offset", uint64(b.Offset))
			records = records[record.Size:]
		}
	}
	if d.Stats != nil {
		set(l, in, "stats", uint64(d.Stats.ID()))
	}
	if !r.Deadline.IsZero() {
		set(l, in, "deadline", uint64(max(time.Until(r.Deadline).Microseconds(), 1)))
	}
	if r.SharedEvents == nil {
		return in, nil
	}
	waits, signals := part("waitEvents"), part("signalEvents")
	event := firmware.Event
	if most := len(waits) / event.Size; len(d.Waits) > most || len(d.Signals) > most {
		return nil, ErrBadArgument.saying("%d events are waited for, %d are signalled: a request has %d of each", len(d.Waits), len(d.Signals), most)
	}
	set(l, in, "waits", uint64(len(d.Waits)))
	set(l, in, "signals", uint64(len(d.Signals)))
	for i, w := range r.SharedEvents.Waits {
		one := waits[i*event.Size:][:event.Size]
		set(event, one, "id", w.Event.id)
		set(event, one, "value", w.Value)
	}
	for i, s := range r.SharedEvents.Signals {
		one := signals[i*event.Size:][:event.Size]
		set(event, one, "type", uint64(s.Type))
		set(event, one, "targetMask", uint64(s.AgentMask))
		set(event, one, "id", s.Event.id)
		set(event, one, "value", s.Value)
	}
	return in, nil
}
