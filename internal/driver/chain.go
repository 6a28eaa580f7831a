package driver

import (
	"encoding/binary"
	"slices"
	"sync"
	"time"

	"github.com/espalier-ane/espalier/firmware"
)

// A Chain is procedures that run one after the other on the engine, without the host between them: a cache request of the firmware, that
// is installed once and triggered again and again.
//
//	inputs ─► link 0 ─► surface ─► link 1 ─► … ─► link n ─► output set 0, or 1, …
//	   ▲                                                        │
//	   └──────────────── loop-back: the next execution reads it ┘
//
// An execution needs two things, in any order: an output set that is enqueued, and inputs that are ready. It is one job of the
// controller, with an engine request for each link.
type Chain struct {
	client    *Client
	args      ChainArgs
	token     uint64 // cacheHandler
	procedure int    // by which calls name it, beside the program of its first link
	lane      lane
	links     []chainLink
	loops     []loop
	sets      []setState

	mu        sync.Mutex
	state     ChainState
	active    bool
	triggers  []*execution // inputs are ready, and no output set is there
	enqueued  []enqueued   // output sets, and no inputs
	under     int          // executions under way
	delayed   map[*time.Timer]struct{}
	timestamp uint64 // of the last trigger
}

// A ChainState is one of a cache request (guide 29).
type ChainState int

// The states.
const (
	ChainAvailable ChainState = iota
	ChainInUse
	ChainInvalidating
)

// ChainArgs are what a chain is made of.
type ChainArgs struct {
	Links      []Link
	OutputSets [][]Buffer // of the last link; each has all of its outputs
	Stats      []*Surface // by output set: that an execution writes a record of firmware.StatsHeader to; nil: none
	Procedure  int        // by which calls name the chain, beside the program of its first link

	// LoopInputs and LoopOutputs are pairs of symbols: an input of the first link that is, from the second execution on, what the
	// last link wrote as that output.
	LoopInputs, LoopOutputs []int

	Events       []ChainEvent
	QoS          int
	Priority     int           // instead; ByQoS: that of QoS
	EnqueueDelay time.Duration // from when an output set is enqueued until it may be used
	Transaction  uint64        // echoed by replies
	MemoryPool   uint32        // kept
}

// A Link is a procedure of a chain. The memory of the engine that it runs in is the chain's own.
type Link struct {
	Program   *Program
	Procedure int
	Inputs    []Buffer
	Outputs   []Buffer // of the last link: nil, the output sets have them
}

// A ChainEvent is raised when an execution is done: for an output of the last link by the signal value of the output set, for an input of the
// first by its free value.
type ChainEvent struct {
	Event  *Event
	ID     uint64
	Output bool
	Symbol int
	Type   EventType
	Agents uint32
}

type chainLink struct {
	proc    *procedure
	program *Program
	request engineRequest
}

// A loop is a port of the first link that reads what the last one wrote.
type loop struct {
	input, output int // ports
	memory        []byte
}

// setState is a two-state machine (guide 29): available, or in execution.
type setState struct {
	surfaces  [][]byte // of the last link's ports
	executing bool
}

// An enqueued is an output set that may be written.
type enqueued struct {
	set   int
	value uint64
	quiet bool // no signal is required
	open  bool // it is enqueued again by itself
}

// PrepareChain installs a chain: command 0x208, or 0x20f with events.
func (c *Client) PrepareChain(a ChainArgs) (*Chain, error) {
	if c.grants&AllowChaining == 0 {
		return nil, fail(Unsupported, "com.apple.ane.allow-dataChaining-access: the client may not chain")
	}
	if c.device.chainingOff.Load() {
		return nil, fail(Unsupported, "cache requests are disabled")
	}
	priority, err := c.priorityOf(a.Priority, a.QoS)
	if err != nil {
		return nil, err
	}
	if len(a.Links) == 0 || len(a.Links) > maxLinks {
		return nil, fail(BadArgument, "a chain of %d links: want 1 to %d", len(a.Links), maxLinks)
	}
	if err := c.lock(); err != nil {
		return nil, err
	}
	defer c.mu.Unlock()
	chain := &Chain{client: c, args: a, procedure: a.Procedure, lane: lane{depth: c.device.target.Driver.QueueDepth}, delayed: map[*time.Timer]struct{}{}, state: ChainInUse}
	chain.args.Priority = priority
	if err := chain.build(); err != nil {
		return nil, err
	}
	head := a.Links[0].Program
	if old := head.chains[a.Procedure]; old != nil {
		if !old.quiet() {
			return nil, fail(Busy, "cacheHandler (0x%x) is in use: invalidate it first", old.token)
		}
		c.drop(old)
	}
	chain.active = len(head.chains) == 0
	chain.token = c.token(chain)
	if head.chains == nil {
		head.chains = map[int]*Chain{}
	}
	head.chains[a.Procedure] = chain
	for _, l := range chain.links {
		l.program.chained++
	}
	id := uint16(0x208)
	if len(a.Events) > 0 {
		id = 0x20f
	}
	return chain, chain.post(id, 0, 0, len(a.Links))
}

const maxLinks = 128 // guide 30: custom execute-order entries

// post sends a command about the chain.
func (h *Chain) post(wire uint16, timestamp uint64, set, count int) error {
	le := binary.LittleEndian
	body := le.AppendUint64(nil, h.token)
	body = le.AppendUint64(body, timestamp)
	body = le.AppendUint32(body, uint32(set))
	body = le.AppendUint32(body, uint32(count))
	return h.client.device.ring.post(command(wire), firmware.Header{
		Priority: uint32(h.args.Priority), ProgramID: int32(h.links[0].program.slot), ProcessID: -1, ProcedureID: uint32(h.procedure),
	}, body)
}

// build binds the links to their memory. The client's lock is held.
func (h *Chain) build() error {
	a := &h.args
	last := len(a.Links) - 1
	for i := range a.Links {
		l := &a.Links[i]
		switch {
		case l.Program == nil || l.Program.client != h.client:
			return fail(NotFound, "link %d: the program is none of this client", i)
		case l.Program.image == nil || l.Program.loading:
			return fail(NotReady, "link %d: the program is not loaded", i)
		case l.Procedure < 0 || l.Procedure >= len(l.Program.procedures):
			return fail(BadArgument, "link %d: getProcedureCallType(): invalid procedureId=%d, tot=%d", i, l.Procedure, len(l.Program.procedures))
		}
		proc := &l.Program.procedures[l.Procedure]
		link := chainLink{proc: proc, program: l.Program, request: engineRequest{proc.program, proc.program.NewContext(), proc.tasks, make([][]byte, len(proc.ports))}}
		if err := h.bind(i, link.request.surfaces, proc, l.Inputs, false); err != nil {
			return err
		}
		if i < last || l.Outputs != nil {
			if err := h.bind(i, link.request.surfaces, proc, l.Outputs, true); err != nil {
				return err
			}
		}
		h.links = append(h.links, link)
	}
	proc := h.links[last].proc
	limit := h.client.device.target.Driver.OutputSets
	if len(a.OutputSets) == 0 || limit > 0 && len(a.OutputSets) > limit {
		return fail(BadArgument, "nbrOfOutputBufferSets == %d: the chain has %d", max(limit, 1), len(a.OutputSets))
	}
	for _, set := range a.OutputSets {
		surfaces := slices.Clone(h.links[last].request.surfaces)
		if err := h.bind(last, surfaces, proc, set, true); err != nil {
			return err
		}
		h.sets = append(h.sets, setState{surfaces: surfaces})
	}
	if len(a.LoopInputs) != len(a.LoopOutputs) {
		return fail(BadArgument, "%d loop-back inputs and %d outputs", len(a.LoopInputs), len(a.LoopOutputs))
	}
	for i := range a.LoopInputs {
		in, out := a.LoopInputs[i], a.LoopOutputs[i]
		first := h.links[0].proc
		if in < 0 || in >= len(first.inputs) || out < 0 || out >= len(proc.outputs) {
			return fail(BadArgument, "loop-back from output symbol %d of %d to input symbol %d of %d", out, len(proc.outputs), in, len(first.inputs))
		}
		l := loop{input: first.inputs[in], output: proc.outputs[out]}
		if from, to := proc.ports[l.output].Bytes(), first.ports[l.input].Bytes(); from < to {
			return fail(BadArgument, "loop-back from output symbol %d with %d bytes to input symbol %d with %d", out, from, in, to)
		}
		h.loops = append(h.loops, l)
	}
	for i := range h.links {
		surfaces := h.links[i].request.surfaces
		if i == last {
			surfaces = h.sets[0].surfaces
		}
		for port, memory := range surfaces {
			if memory == nil {
				return fail(BadArgument, "link %d: %v port %q has no buffer", i, h.links[i].proc.ports[port].Direction, h.links[i].proc.ports[port].Name)
			}
		}
		if err := h.links[i].request.context.BindAll(surfaces); err != nil {
			return because(BadArgument, err, "link %d", i)
		}
	}
	for _, s := range h.sets { // each holds, or is refused here
		if err := h.links[last].request.context.BindAll(s.surfaces); err != nil {
			return because(BadArgument, err, "an output set")
		}
	}
	if len(a.Stats) > 0 && len(a.Stats) != len(a.OutputSets) {
		return fail(BadArgument, "%d surfaces for statistics of %d output sets", len(a.Stats), len(a.OutputSets))
	}
	for _, s := range a.Stats {
		if s != nil && s.client != h.client {
			return fail(NotFound, "a surface for statistics is none of this client")
		}
	}
	for _, e := range a.Events {
		switch {
		case e.Event == nil:
			return fail(BadArgument, "an event that is none")
		case e.Type < 0 || e.Type >= EventTypes:
			return fail(BadArgument, "an event of type %d: want 0, 1 or 2", e.Type)
		case e.Agents>>agents != 0:
			return fail(BadArgument, "agents %#x: there are %d", e.Agents, agents)
		}
	}
	if len(a.Events) > maxEvents {
		return fail(BadArgument, "nbrOfSignalEvents > 0 && nbrOfSignalEvents <= 16: %d", len(a.Events))
	}
	return nil
}

// bind finds the memory of one side of a link, as the engine sees it: what is chained is mapped.
func (h *Chain) bind(link int, surfaces [][]byte, proc *procedure, list []Buffer, output bool) error {
	ports, what := proc.inputs, "input"
	if output {
		ports, what = proc.outputs, "output"
	}
	for _, b := range list {
		if b.Symbol < 0 || b.Symbol >= len(ports) {
			return fail(BadArgument, "link %d: %s symbol %d: the procedure has %d", link, what, b.Symbol, len(ports))
		}
		port := ports[b.Symbol]
		if b.Surface == nil || b.Surface.client != h.client {
			return fail(NotFound, "link %d: the surface of %s symbol %d is none of this client", link, what, b.Symbol)
		}
		m := h.client.mappingOf(b.Surface)
		if m == nil {
			return fail(NotReady, "link %d: surface %d of %s symbol %d is not mapped", link, b.Surface.id, what, b.Symbol)
		}
		if b.Offset < 0 {
			return fail(BadArgument, "link %d: %s symbol %d begins at byte %d", link, what, b.Symbol, b.Offset)
		}
		memory, err := h.client.space.translate(m.Address+uint64(b.Offset), uint64(proc.ports[port].Bytes()))
		if err != nil {
			return err
		}
		surfaces[port] = memory
	}
	return nil
}

// Token is the chain's handle.
func (h *Chain) Token() uint64 { return h.token }

// SetActive makes the chain of a program with this number the one that can be triggered: command 0x212.
func (p *Program) SetActive(procedure int) error {
	c := p.client
	if err := c.lock(); err != nil {
		return err
	}
	defer c.mu.Unlock()
	chosen := p.chains[procedure]
	if chosen == nil {
		return fail(NotFound, "the program has no chain for procedure %d", procedure)
	}
	for _, h := range p.chains {
		h.mu.Lock()
		h.active = h == chosen
		h.mu.Unlock()
	}
	return chosen.post(0x212, 0, 0, 0)
}

// Chain is the chain of a program with this number.
func (p *Program) Chain(procedure int) (*Chain, error) {
	c := p.client
	if err := c.lock(); err != nil {
		return nil, err
	}
	defer c.mu.Unlock()
	if h := p.chains[procedure]; h != nil {
		return h, nil
	}
	return nil, fail(NotFound, "the program has no chain for procedure %d", procedure)
}

// Invalidate ends the chain: command 0x20b. Executions under way make it Busy; those that wait for inputs or an output set are given up.
func (h *Chain) Invalidate() error {
	c := h.client
	if err := c.lock(); err != nil {
		return err
	}
	defer c.mu.Unlock()
	if c.handles[h.token] != any(h) {
		return fail(NotFound, "the chain is invalid already")
	}
	h.mu.Lock()
	running := h.under - len(h.triggers)
	h.mu.Unlock()
	if running > 0 {
		return fail(Busy, "cacheHandler (0x%x): %d executions are under way", h.token, running)
	}
	c.drop(h)
	return h.post(0x20b, 0, 0, 0)
}

// drop forgets a chain. The client's lock is held.
func (c *Client) drop(h *Chain) {
	h.stop()
	delete(c.handles, h.token)
	head := h.args.Links[0].Program
	if head.chains[h.procedure] == h {
		delete(head.chains, h.procedure)
	}
	for _, l := range h.links {
		l.program.chained--
	}
}

// stop gives up what waits, and lets nothing in any more.
func (h *Chain) stop() {
	h.mu.Lock()
	h.state = ChainInvalidating
	for t := range h.delayed {
		t.Stop()
	}
	clear(h.delayed)
	waiting := h.triggers
	h.triggers = nil
	h.mu.Unlock()
	for _, x := range waiting {
		if x.wait != nil {
			x.failed = errAborted
			close(x.wait)
		} else {
			go x.finish(errAborted)
		}
	}
}

// quiet reports whether nothing is under way.
func (h *Chain) quiet() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.under == 0
}

// ForceDisableChains refuses chains and their executions from now on: command 0x210, which can only be set.
func (d *Device) ForceDisableChains() error {
	d.chainingOff.Store(true)
	return d.ring.post(command(0x210), firmware.Header{ProgramID: -1, ProcessID: -1}, nil)
}
