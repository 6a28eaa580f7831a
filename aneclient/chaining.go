package aneclient

import (
	"context"
	"slices"
	"time"

	"github.com/espalier-ane/espalier/internal/driver"
)

// A ChainingRequest is procedures that the engine runs back to back, without the host between them: _ANEChainingRequest.
//
//	Inputs ─► procedure ─► memory of the chain ─► next procedure ─► … ─► an output set
//	   ▲                                                                      │
//	   └─────────────────────────── loop-back ────────────────────────────────┘
//
// It is prepared once (Model.PrepareChaining). Each execution needs an output set that is enqueued (Model.EnqueueSets) and inputs that are
// ready (Model.BuffersReady), in any order.
type ChainingRequest struct {
	Inputs     []*Buffer     // of the first procedure
	OutputSets []*OutputSets // of the last

	// LoopbackInputs and LoopbackOutputs are pairs of symbols: from the second execution on, the input is what the execution before
	// wrote as the output. nil, an empty list and NoSymbol are no loop-back.
	LoopbackInputs, LoopbackOutputs []int

	// Procedures of the model, in their order; nil is the first alone. Links follow them.
	Procedures []int
	Links      []ChainLink

	SignalEvents      []*SharedSignalEvent
	TransactionHandle uint64 // echoed
	EnqueueDelay      time.Duration
	MemoryPoolID      uint32 // chains of one pool, not 0, take memory that chains of it have given back
}

// A ChainLink is a procedure of another model: the originals chain those of one alone. An input for which it has no buffer is the
// output of the procedure before that has the same symbol.
type ChainLink struct {
	Model     *Model
	Procedure int
	Inputs    []*Buffer
}

// OutputSets are surfaces for the outputs of a chain, and one for statistics: _ANEIOSurfaceOutputSets.
type OutputSets struct {
	Stats   *IOSurface
	Outputs []*Buffer
}

// NewOutputSets makes one: +objectWithstatsSurRef:outputBuffer:. As there, it does not without a surface for statistics; one of 64
// bytes is enough.
func NewOutputSets(stats *IOSurface, outputs []*Buffer) (*OutputSets, error) {
	if stats == nil {
		return nil, (&StatsBuffer{}).check(nil)
	}
	if err := (&StatsBuffer{Surface: stats}).check(stats.client); err != nil {
		return nil, err
	}
	return &OutputSets{stats, outputs}, nil
}

// procedureIndex is that of the first procedure, by which calls name the chain.
func (r *ChainingRequest) procedureIndex() int {
	if len(r.Procedures) == 0 {
		return 0
	}
	return r.Procedures[0]
}

// loops are the pairs of symbols.
func (r *ChainingRequest) loops() (inputs, outputs []int) {
	for i, in := range r.LoopbackInputs {
		if out := r.LoopbackOutputs[i]; in != NoSymbol && out != NoSymbol {
			inputs, outputs = append(inputs, in), append(outputs, out)
		}
	}
	return inputs, outputs
}

// Validate says what is wrong with the request by itself: -validate. Whether a model can run it is said by Model.PrepareChaining.
func (r *ChainingRequest) Validate() error {
	buffers := func(what string, list []*Buffer) error {
		for i, b := range list {
			switch {
			case b == nil || b.Object == nil || b.Object.Surface == nil:
				return ErrBadArgument.saying("%s %d is no buffer", what, i)
			case b.SymbolIndex < 0:
				return ErrBadArgument.saying("%s %d has no symbol index", what, i)
			case b.Source < 0 || b.Source >= agents:
				return ErrBadArgument.saying("%s %d is of agent %d: want 0, 1 or 2", what, i, b.Source)
			case slices.ContainsFunc(list[:i], func(o *Buffer) bool { return o.SymbolIndex == b.SymbolIndex }):
				return ErrBadArgument.saying("%s symbol %d is there twice", what, b.SymbolIndex)
			}
		}
		return nil
	}
	if len(r.Inputs) == 0 || len(r.OutputSets) == 0 {
		return ErrBadArgument.saying("%d inputs and %d output sets", len(r.Inputs), len(r.OutputSets))
	}
	if err := buffers("input", r.Inputs); err != nil {
		return err
	}
	for i, s := range r.OutputSets {
		switch {
		case s == nil || s.Stats == nil:
			return ErrBadArgument.saying("output set %d has no surface for statistics", i)
		case len(s.Outputs) == 0:
			return ErrBadArgument.saying("output set %d is empty", i)
		}
		if err := buffers("output", s.Outputs); err != nil {
			return err
		}
	}
	if len(r.LoopbackInputs) != len(r.LoopbackOutputs) {
		return ErrBadArgument.saying("%d loop-back inputs and %d outputs", len(r.LoopbackInputs), len(r.LoopbackOutputs))
	}
	for i, in := range r.LoopbackInputs {
		if out := r.LoopbackOutputs[i]; in < NoSymbol || out < NoSymbol || (in == NoSymbol) != (out == NoSymbol) {
			return ErrBadArgument.saying("loop-back from output symbol %d to input symbol %d", out, in)
		}
	}
	for _, p := range r.Procedures {
		if p < 0 {
			return ErrBadArgument.saying("procedure index %d", p)
		}
	}
	if r.EnqueueDelay < 0 {
		return ErrBadArgument.saying("an enqueue delay of %v", r.EnqueueDelay)
	}
	for _, e := range r.SignalEvents {
		if e == nil || e.Event == nil {
			return ErrBadArgument.saying("a signal event without a shared event")
		}
	}
	return nil
}

// PrepareChaining installs a chain: -prepareChainingWithModel:options:chainingReq:qos:error:. It replaces one that begins with the
// same procedure and does not run.
func (m *Model) PrepareChaining(r *ChainingRequest, qos int) error {
	if err := r.Validate(); err != nil {
		return err
	}
	return ErrChainingPrepare.because(m.prepareChaining(r, qos))
}

func (m *Model) prepareChaining(r *ChainingRequest, qos int) error {
	if err := checkQoS(qos); err != nil {
		return err
	}
	program, err := m.loaded()
	if err != nil {
		return err
	}
	a := driver.ChainArgs{
		Procedure: r.procedureIndex(), QoS: qos, Priority: driver.ByQoS, EnqueueDelay: r.EnqueueDelay, Transaction: r.TransactionHandle, MemoryPool: r.MemoryPoolID,
	}
	a.LoopInputs, a.LoopOutputs = r.loops()
	b := &chainBuilder{client: m.client, pool: r.MemoryPoolID}
	if err := b.links(&a, m, program, r); err != nil {
		b.undo()
		return err
	}
	return b.install(&a, program, r)
}

// A chainBuilder takes memory for a chain.
type chainBuilder struct {
	client *Client
	pool   uint32
	mapped []*driver.Surface
	taken  []*driver.Surface // of them: memory of the chain itself
}

// undo gives back what was taken.
func (b *chainBuilder) undo() {
	for _, s := range b.mapped {
		_ = b.client.unmapSurface(s)
	}
	for _, s := range b.taken {
		b.client.giveMemory(b.pool, s)
	}
	b.mapped, b.taken = nil, nil
}

func (b *chainBuilder) use(s *driver.Surface) error {
	if err := b.client.mapSurface(s); err != nil {
		return err
	}
	b.mapped = append(b.mapped, s)
	return nil
}

// bind are buffers of the request in the driver's form, held to their ports.
func (b *chainBuilder) bind(side string, ports []Port, list []*Buffer) (made []driver.Buffer, err error) {
	for _, x := range list {
		if err := b.client.checkBuffer(side, ports, x.Object, x.SymbolIndex); err != nil {
			return nil, err
		}
		if err := b.use(x.Object.Surface.surface); err != nil {
			return nil, err
		}
		made = append(made, x.Object.driverBuffer(x.SymbolIndex))
	}
	return made, nil
}

// links makes the links of a chain, with memory between them.
func (b *chainBuilder) links(a *driver.ChainArgs, m *Model, program *Program, r *ChainingRequest) error {
	steps := []ChainLink{{Model: m, Procedure: r.procedureIndex(), Inputs: r.Inputs}}
	for i := 1; i < len(r.Procedures); i++ {
		steps = append(steps, ChainLink{Model: m, Procedure: r.Procedures[i]})
	}
	steps = append(steps, r.Links...)
	var before []driver.Buffer // outputs of the link before
	var ports []Port           // of them
	for i, step := range steps {
		p := program
		if step.Model != m {
			if step.Model == nil || step.Model.client != b.client {
				return ErrBadArgument.saying("link %d: the model is none of this client", i)
			}
			var err error
			if p, err = step.Model.loaded(); err != nil {
				return err
			}
		}
		q, err := p.procedure(step.Procedure)
		if err != nil {
			return err
		}
		link := driver.Link{Program: q.unit.program, Procedure: q.index}
		if link.Inputs, err = b.bind("input", q.inputs, step.Inputs); err != nil {
			return err
		}
		for _, in := range q.inputs {
			if slices.ContainsFunc(link.Inputs, func(x driver.Buffer) bool { return x.Symbol == in.Symbol }) {
				continue
			}
			at := slices.IndexFunc(before, func(x driver.Buffer) bool { return x.Symbol == in.Symbol })
			if at < 0 || in.State {
				return ErrBadArgument.saying("link %d: input symbol %d, %q, has no buffer, and the link before has no output with that symbol", i, in.Symbol, in.Name)
			}
			if from := &ports[at]; from.Bytes < in.Bytes || from.Type != in.Type || from.Strides != in.Strides {
				return ErrBadArgument.saying("link %d: input %v is not laid out as output %v of the link before", i, &in, from)
			}
			link.Inputs = append(link.Inputs, before[at])
		}
		if i < len(steps)-1 {
			before, ports = nil, nil
			for _, out := range q.outputs {
				if out.State {
					continue // the input has its memory
				}
				s, err := b.client.takeMemory(b.pool, out.Bytes)
				if err != nil {
					return err
				}
				b.taken = append(b.taken, s)
				if err := b.use(s); err != nil {
					return err
				}
				before, ports = append(before, driver.Buffer{Surface: s, Symbol: out.Symbol}), append(ports, out)
			}
			link.Outputs = before
		} else {
			ports = q.outputs
		}
		a.Links = append(a.Links, link)
	}
	for _, set := range r.OutputSets {
		made, err := b.bind("output", ports, set.Outputs)
		if err != nil {
			return err
		}
		a.OutputSets = append(a.OutputSets, made)
		if set.Stats.client != b.client {
			return ErrBadArgument.saying("a surface for statistics is none of this client")
		}
		a.Stats = append(a.Stats, set.Stats.surface)
	}
	for _, e := range r.SignalEvents {
		mask := e.AgentMask
		list := r.OutputSets[0].Outputs
		if e.Free {
			list = r.Inputs
		}
		if at := slices.IndexFunc(list, func(x *Buffer) bool { return x.SymbolIndex == e.SymbolIndex }); mask == 0 && at >= 0 {
			mask = 1 << list[at].Source
		}
		a.Events = append(a.Events, driver.ChainEvent{
			Event: e.Event.event, ID: e.Event.id, Output: !e.Free, Symbol: e.SymbolIndex, Type: driver.EventType(e.Type), Agents: mask,
		})
	}
	return nil
}

// install gives the chain to the driver, and remembers what it took.
func (b *chainBuilder) install(a *driver.ChainArgs, program *Program, r *ChainingRequest) error {
	made, err := b.client.driver.PrepareChain(*a)
	if err != nil {
		b.undo()
		return err
	}
	q := program.procedures[r.procedureIndex()]
	q.mu.Lock()
	old := q.chain
	q.chain = &chain{driver: made, memory: b, transaction: r.TransactionHandle}
	q.mu.Unlock()
	if old != nil {
		old.memory.undo()
	}
	return nil
}

// A chain is one that is prepared.
type chain struct {
	driver      *driver.Chain
	memory      *chainBuilder
	transaction uint64
}

// takeMemory takes memory of a pool, or new one.
func (c *Client) takeMemory(pool uint32, bytes int) (*driver.Surface, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if list := c.pools[pool]; pool != 0 {
		if at := slices.IndexFunc(list, func(s *driver.Surface) bool { return len(s.Bytes()) == bytes }); at >= 0 {
			s := list[at]
			c.pools[pool] = slices.Delete(list, at, at+1)
			return s, nil
		}
	}
	return c.driver.NewSurface(bytes)
}

// giveMemory gives it back.
func (c *Client) giveMemory(pool uint32, s *driver.Surface) {
	if pool == 0 {
		s.Release()
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pools[pool] = append(c.pools[pool], s)
}

// chainOf is the chain that begins with a procedure.
func (m *Model) chainOf(index int) (*chain, *procedure, error) {
	p, err := m.loaded()
	if err != nil {
		return nil, nil, err
	}
	q, err := p.procedure(index)
	if err != nil {
		return nil, nil, err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.chain == nil {
		return nil, nil, ErrChainingPrepare.saying("no chain that begins with procedure %d is prepared", index)
	}
	return q.chain, q, nil
}

// OutputSetEnqueue gives an output set to a chain: _ANEOutputSetEnqueue.
type OutputSetEnqueue struct {
	ProcedureIndex    int // with which the chain begins
	SetIndex          int
	SignalValue       uint64
	SignalNotRequired bool
	OpenLoop          bool // it is enqueued again by itself when it is written
}

// EnqueueSets lets a chain write an output set: -enqueueSetsWithModel:outputSet:options:qos:error:.
func (m *Model) EnqueueSets(s OutputSetEnqueue) error {
	h, _, err := m.chainOf(s.ProcedureIndex)
	if err != nil {
		return err
	}
	return ErrInference.because(h.driver.EnqueueOutputSet(driver.OutputSet{
		Set: s.SetIndex, SignalValue: s.SignalValue, SignalNotRequired: s.SignalNotRequired, OpenLoop: s.OpenLoop,
	}))
}

// InputBuffersReady says that inputs of a chain may be read: _ANEInputBuffersReady.
type InputBuffersReady struct {
	ProcedureIndex int      // with which the chain begins
	BufferIndices  []int    // symbols: inputBufferInfoIndex
	FreeValues     []uint64 // by buffer: inputFreeValue
	ExecutionDelay time.Duration
	Done           func(error) // called once when the execution is over; nil: the events say it
}

func (in *InputBuffersReady) driver(transaction uint64) driver.InputsReady {
	return driver.InputsReady{Buffers: in.BufferIndices, FreeValues: in.FreeValues, ExecutionDelay: in.ExecutionDelay, Sequence: transaction}
}

// BuffersReady triggers an execution of a chain and returns: -buffersReadyWithModel:inputBuffers:options:qos:error:.
func (m *Model) BuffersReady(ctx context.Context, in InputBuffersReady) error {
	h, _, err := m.chainOf(in.ProcedureIndex)
	if err != nil {
		return err
	}
	return ErrInference.because(h.driver.InputsReady(ctx, in.driver(h.transaction), func(r driver.Reply) {
		if in.Done != nil {
			in.Done(ErrInference.because(r.Err))
		}
	}))
}

// ExecuteChain triggers an execution and waits for it, on this goroutine if the engine is idle.
func (m *Model) ExecuteChain(ctx context.Context, in InputBuffersReady) error {
	h, _, err := m.chainOf(in.ProcedureIndex)
	if err != nil {
		return err
	}
	return ErrInference.because(h.driver.Execute(ctx, in.driver(h.transaction)))
}

// SetActiveProcedure makes the chain that begins with a procedure the one of the model that can be executed: selector 8 of the
// kernel's direct-path client. The first that is prepared is active.
func (m *Model) SetActiveProcedure(procedure int) error {
	_, q, err := m.chainOf(procedure)
	if err != nil {
		return err
	}
	return ErrChainingPrepare.because(q.unit.program.SetActive(procedure))
}

// EndChaining ends a chain, and gives its memory back. Executions under way refuse it.
func (m *Model) EndChaining(procedure int) error {
	h, q, err := m.chainOf(procedure)
	if err != nil {
		return err
	}
	if err := h.driver.Invalidate(); err != nil {
		return ErrChainingPrepare.because(err)
	}
	q.mu.Lock()
	if q.chain == h {
		q.chain = nil
	}
	q.mu.Unlock()
	h.memory.undo()
	return nil
}
