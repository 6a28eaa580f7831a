package driver

import (
	"bytes"
	"encoding/binary"

	"github.com/espalier-ane/espalier/firmware"
)

// The calls about chains.

func (w *wireCall) chainingPrepare() error {
	l := firmware.ChainingPrepare
	args, err := w.memory(get(l, w.in, "args"), get(l, w.in, "size"))
	if err != nil {
		return err
	}
	if len(args) > maxChainArgs {
		return fail(BadArgument, "the description of a chain has %d bytes; want %d or less", len(args), maxChainArgs)
	}
	a, err := w.client.chainArgs(bytes.Clone(args)) // the client may write there meanwhile
	if err != nil {
		return err
	}
	h, err := w.client.PrepareChain(*a)
	if err != nil {
		return err
	}
	l = firmware.ChainingPrepared
	set(l, w.out, "cacheHandler", h.token)
	set(l, w.out, "links", uint64(len(a.Links)))
	set(l, w.out, "outputSets", uint64(len(a.OutputSets)))
	set(l, w.out, "transaction", a.Transaction)
	return nil
}

const maxChainArgs = 1 << 20

// chainArgs reads the description of a chain.
func (c *Client) chainArgs(src []byte) (*ChainArgs, error) {
	if err := c.lock(); err != nil {
		return nil, err
	}
	defer c.mu.Unlock()
	var short error
	take := func(n int) []byte {
		if n > len(src) {
			if short == nil {
				short = fail(BadArgument, "the description of the chain ends %d bytes too soon", n-len(src))
			}
			return make([]byte, n)
		}
		taken := src[:n]
		src = src[n:]
		return taken
	}
	l := firmware.ChainingArgs
	head := take(l.Size)
	if short != nil {
		return nil, short
	}
	a := &ChainArgs{
		Procedure: int(get32(l, head, "procedure")), QoS: int(get32(l, head, "qos")), Priority: int(int32(get32(l, head, "priority"))),
		MemoryPool: get32(l, head, "memoryPoolID"), Transaction: get(l, head, "transaction"), EnqueueDelay: microseconds(get(l, head, "enqueueDelay")),
	}
	if a.Priority < ByQoS {
		return nil, fail(BadArgument, "fwPriority < 8: priority is %d", uint32(a.Priority))
	}
	links, sets, loops, events := get32(l, head, "links"), get32(l, head, "outputSets"), get32(l, head, "loops"), get32(l, head, "events")
	if links > maxLinks || sets > maxLinks || loops > maxLinks || events > maxEvents {
		return nil, fail(BadArgument, "%d links, %d output sets, %d loop-backs and %d events are too many", links, sets, loops, events)
	}
	type counts struct{ inputs, outputs uint32 }
	var buffers []counts
	for range links {
		record, l := take(firmware.ChainingLink.Size), firmware.ChainingLink
		if short != nil {
			return nil, short
		}
		p, err := findLocked[*Program](c, get(l, record, "token"))
		if err != nil {
			return nil, err
		}
		a.Links = append(a.Links, Link{Program: p, Procedure: int(get32(l, record, "procedure"))})
		buffers = append(buffers, counts{get32(l, record, "inputs"), get32(l, record, "outputs")})
	}
	for range sets {
		buffers = append(buffers, counts{0, binary.LittleEndian.Uint32(take(4))})
	}
	for range loops {
		pair := take(8)
		a.LoopInputs = append(a.LoopInputs, int(binary.LittleEndian.Uint32(pair)))
		a.LoopOutputs = append(a.LoopOutputs, int(binary.LittleEndian.Uint32(pair[4:])))
	}
	for range events {
		record, l := take(firmware.ChainingEvent.Size), firmware.ChainingEvent
		if short != nil {
			return nil, short
		}
		e := wireEvent{get32(l, record, "type"), get32(l, record, "targetMask"), get(l, record, "id"), 0}
		event, err := c.event(e)
		if err != nil {
			return nil, err
		}
		a.Events = append(a.Events, ChainEvent{event, e.id, get32(l, record, "output") != 0, int(get32(l, record, "symbol")), EventType(e.kind), e.mask})
	}
	if short != nil {
		return nil, short
	}
	for i, n := range buffers {
		if uint64(n.inputs)+uint64(n.outputs) > uint64(len(src)/firmware.SurfaceRecord.Size) {
			return nil, fail(BadArgument, "%d surface records, and %d bytes are left", uint64(n.inputs)+uint64(n.outputs), len(src))
		}
		var inputs, outputs []Buffer
		var err error
		if inputs, src, err = c.surfaceRecords(src, int(n.inputs)); err != nil {
			return nil, err
		}
		if outputs, src, err = c.surfaceRecords(src, int(n.outputs)); err != nil {
			return nil, err
		}
		if i < len(a.Links) {
			a.Links[i].Inputs, a.Links[i].Outputs = inputs, outputs
		} else {
			a.OutputSets = append(a.OutputSets, outputs)
		}
	}
	if len(src) > 0 {
		return nil, fail(BadArgument, "%d bytes follow the description of the chain", len(src))
	}
	return a, nil
}

// chain finds a chain by a program and its number.
func (w *wireCall) chain(l *firmware.Layout) (*Chain, error) {
	p, err := find[*Program](w.client, get(l, w.in, "token"))
	if err != nil {
		return nil, err
	}
	return p.Chain(int(get32(l, w.in, "procedureIndex")))
}

func (w *wireCall) outputSetEnqueue() error {
	l := firmware.OutputSetEnqueue
	h, err := w.chain(l)
	if err != nil {
		return err
	}
	return h.EnqueueOutputSet(OutputSet{
		Set: int(get32(l, w.in, "setIndex")), SignalValue: get(l, w.in, "signalValue"),
		SignalNotRequired: get(l, w.in, "signalNotRequired") != 0, OpenLoop: get(l, w.in, "isOpenLoop") != 0,
	})
}

func (w *wireCall) inputsReady() error {
	l := firmware.InputsReady
	h, err := w.chain(l)
	if err != nil {
		return err
	}
	in := InputsReady{ExecutionDelay: microseconds(get(l, w.in, "executionDelay")), Timestamp: get(l, w.in, "timestamp")}
	n := get32(l, w.in, "count")
	if n > maxInputs {
		return fail(BadArgument, "nbrOfInputBuffers <= (16): %d", n)
	}
	free := false
	for i := range int(n) {
		record := part(l, w.in, "buffers")[i*firmware.InputRecord.Size:][:firmware.InputRecord.Size]
		in.Buffers = append(in.Buffers, int(get32(firmware.InputRecord, record, "inputBufferInfoIndex")))
		in.FreeValues = append(in.FreeValues, get(firmware.InputRecord, record, "inputFreeValue"))
		free = free || get32(firmware.InputRecord, record, "hasFreeValue") != 0
	}
	if !free {
		in.FreeValues = nil
	}
	w.mu.Lock()
	wake := w.wake
	w.mu.Unlock()
	return h.InputsReady(w.client.ctx, in, func(answer Reply) {
		if wake == nil {
			return
		}
		done := make([]byte, firmware.SendReply.Size)
		answer.Sequence = in.Timestamp
		reply(done, answer)
		wake(h.args.Transaction, done)
	})
}

func (w *wireCall) setActive() error {
	l := firmware.SetActiveProcedure
	p, err := find[*Program](w.client, get(l, w.in, "token"))
	if err != nil {
		return err
	}
	procedure := int(get32(l, w.in, "procedureIndex"))
	switch flags := get32(l, w.in, "flags"); flags {
	case 0:
		return p.SetActive(procedure)
	case 1:
		h, err := p.Chain(procedure)
		if err != nil {
			return err
		}
		return h.Invalidate()
	default:
		return fail(BadArgument, "flags %#x", flags)
	}
}
