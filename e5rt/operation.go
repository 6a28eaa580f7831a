package e5rt

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"unsafe"

	"github.com/espalier-ane/espalier/internal/driver"
	"github.com/espalier-ane/espalier/internal/engine"
	"github.com/espalier-ane/espalier/internal/osfile"
	"github.com/espalier-ane/espalier/internal/pool"
	"github.com/espalier-ane/espalier/internal/trace"
	"github.com/espalier-ane/espalier/tensor"
)

// An Operation is a function with its memory, ready to run again and again. Runs
// of several goroutines come one after the other. While one is under way, the
// memory is its own: Bind, Set and Value give ErrBusy.
type Operation struct {
	function *Function
	own      [][]byte  // by slot, of roots with a layout that are no states; made when it is needed
	given    [][]byte  // likewise: of the caller, instead of own
	buffers  []*Buffer // likewise: that given is of; nil if it is of none
	users    users     // the buffers of bound ports and states
	instead  [][]byte  // likewise: copies that steps read instead of both; see alias.go
	left     []bool    // by step: casts that are left out; see direct.go
	values   []Value   // by slot: the host's, of slots without a layout
	state    *State    // that the steps are bound to
	version  int       // of state
	held     [][]byte  // of state, in the order of Function.states
	layouts  []Layout  // likewise
	bound    bool      // the steps are bound to the memory
	steps    []boundStep
	work     Work     // of the run under way
	weights  *Weights // likewise; nil if none may change
	fixed    *Weights // that every run has; nil: those of the function
	counts   operationCounts
	turn     chan struct{} // full while somebody has the operation
	streams  atomic.Int32  // that it is encoded in: its ports keep their memory meanwhile
}

// A boundStep is a step on the memory of an operation.
type boundStep struct {
	context         *engine.Context // of an engineStep; one for all steps of a program
	queue           *driver.Queue   // likewise
	surfaces        [][]byte        // of its ports
	from, to        []byte          // of a castStep
	inputs, outputs []Value         // of a hostStep
}

// NewOperation makes the memory of a call, all zero.
func (f *Function) NewOperation() *Operation {
	n := len(f.slots)
	o := &Operation{
		function: f, own: make([][]byte, n), given: make([][]byte, n), buffers: make([]*Buffer, n), instead: make([][]byte, n), values: make([]Value, n),
		left: make([]bool, len(f.steps)), steps: make([]boundStep, len(f.steps)), turn: make(chan struct{}, 1),
	}
	contexts := map[*engine.Program]*boundStep{}
	for i, s := range f.steps {
		switch s := s.do.(type) {
		case *engineStep:
			first := contexts[s.program]
			if first == nil {
				memory := s.program.NewContext()
				first = &boundStep{context: memory, queue: f.library.client.NewQueue(s.program, memory)}
				contexts[s.program] = first
			}
			o.steps[i].context, o.steps[i].queue, o.steps[i].surfaces = first.context, first.queue, make([][]byte, len(s.slots))
		case *hostStep:
			o.steps[i].inputs, o.steps[i].outputs = make([]Value, len(s.inputs)), make([]Value, len(s.outputs))
		}
	}
	return o
}

// Function returns the function that the operation runs.
func (o *Operation) Function() *Function { return o.function }

// claim takes the operation if nobody has it. release gives it back.
func (o *Operation) claim() error {
	select {
	case o.turn <- struct{}{}:
		return nil
	default:
		return &Error{Function: o.function.name, Err: fmt.Errorf("the operation: %w", ErrBusy)}
	}
}

// await takes the operation as soon as nobody has it.
func (o *Operation) await(ctx context.Context) error {
	if o.claim() == nil {
		return nil
	}
	select {
	case o.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (o *Operation) release() { <-o.turn }

// claimPorts is claim to change what ports are bound to.
func (o *Operation) claimPorts() error {
	err := o.claim()
	if err == nil && o.streams.Load() > 0 {
		o.release()
		err = &Error{Function: o.function.name, Err: ErrInUse}
	}
	return err
}

// encode makes the operation ready to be run by a stream, which has it from now on.
func (o *Operation) encode(s *State) error {
	if err := o.Prepare(s); err != nil {
		return err
	}
	o.streams.Add(1)
	return nil
}

// Prepare does what the first run on a state would do before it computes: it binds the steps to the buffers. What cannot be
// bound so is an error here already.
func (o *Operation) Prepare(s *State) error {
	if err := o.claim(); err != nil {
		return err
	}
	defer o.release()
	if s != nil {
		if !s.busy.CompareAndSwap(false, true) {
			return nil // the run binds: a state may have to be laid out anew, which only who has it does
		}
		defer s.busy.Store(false)
	}
	return o.prepare(s)
}

// prepare is Prepare of who has the operation.
func (o *Operation) prepare(s *State) error {
	if s == nil && len(o.function.states) > 0 {
		return &Error{Function: o.function.name, Err: fmt.Errorf("it has states, and none are given: %w", ErrState)}
	}
	if o.bound && s == o.state && (s == nil || s.version == o.version) {
		return nil
	}
	return o.bind(s)
}

// find returns the slot of an input or output.
func (o *Operation) find(name string, lists ...[]int) (int, error) {
	f := o.function
	if i, ok := f.symbols[name]; ok {
		for _, list := range lists {
			if slices.Contains(list, i) {
				return i, nil
			}
		}
	}
	return 0, fmt.Errorf("port %q of function %s: %w", name, f.name, ErrNotFound)
}

// memory is that of a root, as the caller knows it.
func (o *Operation) memory(root int) []byte {
	if s := &o.function.slots[root]; s.state >= 0 {
		return o.held[s.state]
	}
	if o.given[root] != nil {
		return o.given[root]
	}
	if o.own[root] == nil {
		o.own[root] = alignedBytes(o.function.slots[root].size)
	}
	return o.own[root]
}

// alignedBytes makes memory that begins at a multiple of 64 bytes, all zero: a line of the
// cache, and what the widest kernels like.
func alignedBytes(n int) []byte {
	const line = 64
	memory := make([]byte, n+line-1)
	skip := -int(uintptr(unsafe.Pointer(unsafe.SliceData(memory)))) & (line - 1)
	return memory[skip : skip+n : skip+n]
}

// isDirect reports whether a port is bound to memory on the engine's side of its cast.
func (o *Operation) isDirect(port int) bool {
	d, ok := o.function.direct[port]
	return ok && o.left[d.cast]
}

// home is the slot whose memory a port is.
func (o *Operation) home(port int) int {
	if o.isDirect(port) {
		return o.function.direct[port].slot
	}
	return port
}

// Bind makes an input or output use the memory of a tensor of its shape, which has
// the layout and element type of the port, or those that the engine wants there:
// then no cast stands between. See Port.
//
// Ports may share memory: an input with other inputs, with an output, or with a
// state. The run reads it as it was before; only where the order of steps, or an
// operation, does not allow that is the input copied when the run begins. Of
// outputs and states, no two may share memory: Run returns an error that wraps
// ErrOverlap.
func (o *Operation) Bind(port string, t *tensor.Tensor) error {
	if err := o.claimPorts(); err != nil {
		return err
	}
	defer o.release()
	i, err := o.find(port, o.function.inputs, o.function.outputs)
	if err != nil {
		return err
	}
	if t == nil || t.DType().Size() == 0 || o.function.slots[i].opaque {
		return o.mismatch(i, t)
	}
	l, memory := layoutOf(t)
	return o.bindMemory(i, l, memory, nil)
}

// bindMemory gives a port memory that lies in some way, of a buffer or of none.
func (o *Operation) bindMemory(i int, l Layout, memory []byte, of *Buffer) error {
	f := o.function
	s := &f.slots[i]
	d, hasDirect := f.direct[i]
	if !slices.Equal(l.Shape, s.shape) && !(hasDirect && slices.Equal(l.Shape, f.slots[d.slot].shape)) {
		return o.misfit(i, l)
	}
	root := s.root
	isDirect := hasDirect && f.takes(d.slot, &l, of != nil)
	switch {
	case isDirect:
		root = d.slot
	case !f.takes(i, &l, of != nil):
		return o.misfit(i, l)
	}
	size := min(f.slots[root].size, len(memory))
	if width := uintptr(max(l.Type.Size(), 1)); uintptr(unsafe.Pointer(unsafe.SliceData(memory)))%width != 0 {
		return &layoutError{fmt.Sprintf("port %q of function %s: the memory of %v does not begin at a multiple of %d bytes", s.symbol, f.name, l, width)}
	}
	o.unbind(i)
	if isDirect {
		o.left[d.cast] = true
	}
	o.given[root], o.buffers[root] = memory[:size:size], of
	o.listUsers(nil)
	return nil
}

// takes reports whether memory that lies so can be that of a slot. Where a program touches
// the gap behind the last row, it must be there; and it must be meant to be: of a view of some
// array, what is behind may be others'.
func (f *Function) takes(i int, l *Layout, whole bool) bool {
	s, want := &f.slots[i], f.layoutOf(i)
	need := f.slots[s.root].needs
	return l.Type == want.Type && count(l.Shape) == count(want.Shape) && slices.Equal(loopsOf(l.Shape, l.Strides), s.loops) &&
		l.Bytes >= need && (whole || need <= want.extent() || l.Bytes == want.Bytes)
}

// misfit says how memory lies instead of how a port takes it.
func (o *Operation) misfit(i int, found Layout) error {
	f := o.function
	want := f.layoutOf(i).String()
	if d, ok := f.direct[i]; ok {
		want += ", or as the engine has it, " + f.layoutOf(d.slot).String()
	}
	return &layoutError{fmt.Sprintf("port %q of function %s: found %v, want %s", f.slots[i].symbol, f.name, found, want)}
}

// A layoutError is an ErrLayout that says what was found.
type layoutError struct{ text string }

func (e *layoutError) Error() string { return e.text }
func (e *layoutError) Unwrap() error { return ErrLayout }

// mismatch says what was found for a port instead of what it takes.
func (o *Operation) mismatch(i int, v Value) error {
	s := &o.function.slots[i]
	want := s.String()
	if !s.opaque {
		want = o.function.typeAndShape(i)
	}
	if t, ok := v.(*tensor.Tensor); ok && t == nil {
		v = nil
	} else if ok {
		return fmt.Errorf("port %q of function %s: found %v, want %s", s.symbol, o.function.name, t, want)
	}
	if v == nil {
		return fmt.Errorf("port %q of function %s: found nil, want %s", s.symbol, o.function.name, want)
	}
	return fmt.Errorf("port %q of function %s: found a %T, want %s", s.symbol, o.function.name, v, want)
}

// Set copies a value into an input: a tensor of its type and shape, or, where the
// port has no layout, what the host expects there, which is kept as it is.
func (o *Operation) Set(port string, v Value) (err error) {
	if err := o.claim(); err != nil {
		return err
	}
	defer o.release()
	f := o.function
	i, err := o.find(port, f.inputs)
	if err != nil {
		return err
	}
	t, ok := v.(*tensor.Tensor)
	if v == nil || ok && t == nil {
		return o.mismatch(i, nil)
	}
	if f.slots[i].opaque {
		o.values[i] = v
		return nil
	}
	if !ok || t.DType() != f.typeOf(i) || !slices.Equal(t.Shape(), f.slots[i].shape) {
		return o.mismatch(i, v)
	}
	if err := o.users.enter(context.Background()); err != nil {
		return fmt.Errorf("port %q of function %s: %w", port, f.name, err)
	}
	defer o.users.leave()
	root := f.slots[o.home(i)].root
	if b := o.buffers[root]; b != nil && b.readOnly {
		return fmt.Errorf("port %q of function %s: %w", port, f.name, errReadOnly)
	}
	defer osfile.Protect().Catch(&err)
	memory := o.memory(root)
	switch s := &f.slots[i]; {
	case o.isDirect(i):
		f.steps[f.direct[i].cast].do.(*castStep).move.do(memory, t.Bytes(), f.threads)
	case len(s.loops) <= 1: // side by side, like those of the tensor
		copy(memory, t.Bytes())
	default:
		to, from := f.layoutOf(i), DenseLayout(t.DType(), t.Shape()...)
		newMove(&to, &from).do(memory, t.Bytes(), f.threads)
	}
	return nil
}

// Value returns what an input or output holds. A tensor is a view of the memory:
// the next run changes it; it lies as the port does, or as what was bound to it. An
// output without a layout is nil before the first run.
func (o *Operation) Value(port string) (Value, error) {
	if err := o.claim(); err != nil {
		return nil, err
	}
	defer o.release()
	f := o.function
	i, err := o.find(port, f.inputs, f.outputs)
	if err != nil {
		return nil, err
	}
	if f.slots[i].opaque {
		return o.values[i], nil
	}
	if b := o.buffers[f.slots[o.home(i)].root]; b != nil && b.gate.Closed() {
		return nil, fmt.Errorf("port %q of function %s: %w", port, f.name, errBufferClosed)
	}
	l := f.layoutOf(o.home(i))
	return l.tensor(o.memory(f.slots[o.home(i)].root))
}

// Run executes the function once, on a state that has its states; nil if the
// function has none. Output ports then have the results. If ctx ends before that,
// or a step fails, what outputs and states hold is not defined, and o may be used
// again. A run of another goroutine on o is waited for; a state that another run
// has is ErrBusy. A file of the bundle that was written to is ErrFileChanged.
func (o *Operation) Run(ctx context.Context, s *State) error {
	var w Work
	return o.run(ctx, s, &w)
}

// run is Run that adds to the work.
func (o *Operation) run(ctx context.Context, s *State, w *Work) (err error) {
	lib := o.function.library
	place, open := lib.gate.Enter(ctx)
	if !open {
		return &Error{Function: o.function.name, Err: ErrClosed}
	}
	defer lib.gate.Leave(place)
	if err := o.await(ctx); err != nil {
		return err
	}
	defer o.release()
	if err := lib.bundle.Changed(); err != nil {
		return err
	}
	if lib.changed != nil {
		if err := lib.changed(); err != nil {
			return err
		}
	}
	defer osfile.Protect().Catch(&err)
	if s != nil {
		if !s.busy.CompareAndSwap(false, true) {
			return &Error{Function: o.function.name, Err: fmt.Errorf("the state: %w", ErrBusy)}
		}
		defer s.busy.Store(false)
	}
	if err := o.prepare(s); err != nil {
		return err
	}
	if len(o.users) > 0 {
		if err := o.users.enter(ctx); err != nil {
			return &Error{Function: o.function.name, Err: err}
		}
		defer o.users.leave()
	}
	o.takeWeights()
	defer o.dropWeights()
	o.work = Work{}
	defer o.count(w)
	for root, copied := range o.instead {
		if copied != nil {
			o.work.Copied += int64(copy(copied, o.memory(root)))
		}
	}
	times := trace.Of(ctx)
	for i := range o.function.steps {
		if o.left[i] {
			continue
		}
		err := ctx.Err()
		if err == nil {
			began := times.Begin()
			err = o.step(ctx, i)
			times.End(o.function, i, began)
		}
		if err != nil {
			return o.failed(ctx, i, err)
		}
	}
	return nil
}

// count adds the work of the run under way to all sums.
func (o *Operation) count(w *Work) {
	w.add(&o.work)
	o.counts.add(&o.work)
}

// failed says which step it was, unless the caller ended the run.
func (o *Operation) failed(ctx context.Context, step int, err error) error {
	if end := ctx.Err(); end != nil && errors.Is(err, end) {
		return err
	}
	return &Error{Function: o.function.name, Operation: o.function.steps[step].operation, Err: err}
}

// bind gives every step its memory.
func (o *Operation) bind(s *State) (err error) {
	o.bound, o.state, o.held, o.layouts = false, nil, nil, nil
	if s != nil {
		if o.held, o.layouts, err = s.heldBy(o.function); err != nil {
			return err
		}
		o.version = s.version
	}
	o.listUsers(s)
	if err := o.separate(); err != nil {
		return err
	}
	for i := range o.function.steps {
		if o.left[i] {
			continue
		}
		if err := o.bindStep(i); err != nil {
			return &Error{Function: o.function.name, Operation: o.function.steps[i].operation, Err: err}
		}
	}
	o.bound, o.state = true, s
	return nil
}

// operand is the memory that steps use for a slot.
func (o *Operation) operand(i int) []byte {
	root := o.function.slots[i].root
	if copied := o.instead[root]; copied != nil {
		return copied
	}
	return o.memory(root)
}

// array is a slot as the host sees it.
func (o *Operation) array(i int) (*tensor.Tensor, error) {
	l := o.function.layoutOf(i)
	if s := &o.function.slots[i]; s.state >= 0 {
		l = o.layouts[s.state]
	}
	return l.tensor(o.operand(i))
}

func (o *Operation) bindStep(i int) error {
	b := &o.steps[i]
	switch s := o.function.steps[i].do.(type) {
	case *castStep:
		b.from, b.to = o.operand(s.from), o.operand(s.to)
	case *engineStep:
		for port, slot := range s.slots {
			b.surfaces[port] = o.operand(slot)
		}
	case *hostStep:
		for list, slots := range [][]int{s.inputs, s.outputs} {
			for k, slot := range slots {
				if o.function.slots[slot].opaque {
					continue
				}
				t, err := o.array(slot)
				if err != nil {
					return err
				}
				[][]Value{b.inputs, b.outputs}[list][k] = t
			}
		}
	}
	return nil
}

// step runs one step.
func (o *Operation) step(ctx context.Context, i int) error {
	b := &o.steps[i]
	switch s := o.function.steps[i].do.(type) {
	case *castStep:
		o.work.Copied += s.move.bytes()
		s.move.do(b.to, b.from, o.function.threads)
		return nil
	case *engineStep:
		return o.dispatch(ctx, s, b)
	case *hostStep:
		return o.runHost(ctx, s, b)
	}
	panic("bug: a step of no kind")
}

// dispatch hands a program to the driver and waits for it: every run on the engine, of a stream or not, comes by here.
func (o *Operation) dispatch(ctx context.Context, s *engineStep, b *boundStep) error {
	if err := b.context.BindAll(b.surfaces); err != nil {
		return err
	}
	if o.weights != nil {
		b.context.Use(o.weights.versions[s.program])
	}
	o.work.Dispatches++
	o.work.Tasks += int64(s.tasks)
	o.work.Copied += b.context.CopiedPerRun()
	return b.queue.Run(ctx)
}

func (o *Operation) runHost(ctx context.Context, s *hostStep, b *boundStep) error {
	slots := o.function.slots
	for k, slot := range s.inputs {
		if slots[slot].opaque {
			b.inputs[k] = o.values[slot]
		}
	}
	for k, slot := range s.outputs {
		if slots[slot].opaque {
			b.outputs[k] = nil
		}
	}
	function := s.function
	if o.weights != nil && o.weights.hosts[s] != nil {
		function = o.weights.hosts[s]
	}
	err := function.Run(pool.WithThreads(ctx, o.function.threads), b.inputs, b.outputs)
	for k, slot := range s.inputs {
		if slots[slot].opaque {
			b.inputs[k] = nil // values has it
		}
	}
	if err != nil {
		return err
	}
	for k, slot := range s.outputs {
		if slots[slot].opaque {
			o.values[slot] = b.outputs[k]
		}
	}
	return nil
}
