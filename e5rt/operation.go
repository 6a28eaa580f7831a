package e5rt

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"unsafe"

	"github.com/espalier-ane/espalier/internal/engine"
	"github.com/espalier-ane/espalier/internal/osfile"
	"github.com/espalier-ane/espalier/internal/pool"
	"github.com/espalier-ane/espalier/internal/trace"
	"github.com/espalier-ane/espalier/tensor"
)

// An Operation is a function with its buffers, ready to run again and again. Runs
// of several goroutines come one after the other. While one is under way, the
// buffers are its own: Bind, Set and Value give ErrBusy.
type Operation struct {
	function *Function
	buffers  []*tensor.Tensor // by slot, of roots with a layout that are no states
	instead  []*tensor.Tensor // by slot, of roots: copies that steps read instead of buffers; see alias.go
	values   []Value          // by slot: the host's, of slots without a layout
	state    *State           // that the steps are bound to
	held     []*tensor.Tensor // of state, in the order of Function.states
	bound    bool             // the steps are bound to the buffers
	steps    []boundStep
	turn     chan struct{} // full while somebody has the operation
	lent     bool          // a port is bound to memory of a caller
	streams  atomic.Int32  // that it is encoded in: its ports keep their memory meanwhile
	work     Work          // of the run under way
	counts   operationCounts
}

// A boundStep is a step on the buffers of an operation.
type boundStep struct {
	context         *engine.Context // of an engineStep; one for all steps of a program
	surfaces        [][]byte        // of its ports
	dense           [][]byte        // likewise: buffers of the slots that surfaces with gaps are filled from
	from, to        *tensor.Tensor  // of a castStep
	inputs, outputs []Value         // of a hostStep
}

// NewOperation makes the buffers of a call, all zero.
func (f *Function) NewOperation() *Operation {
	o := &Operation{
		function: f, buffers: make([]*tensor.Tensor, len(f.slots)), values: make([]Value, len(f.slots)),
		instead: make([]*tensor.Tensor, len(f.slots)), steps: make([]boundStep, len(f.steps)),
		turn: make(chan struct{}, 1),
	}
	for i := range f.slots {
		if s := &f.slots[i]; s.root == i && !s.opaque && s.state < 0 {
			o.buffers[i] = tensor.New(s.typ, s.shape...)
		}
	}
	contexts := map[*engine.Program]*engine.Context{}
	for i, s := range f.steps {
		switch s := s.do.(type) {
		case *engineStep:
			if contexts[s.program] == nil {
				contexts[s.program] = s.program.NewContext()
			}
			b := &o.steps[i]
			b.context, b.surfaces, b.dense = contexts[s.program], make([][]byte, len(s.slots)), make([][]byte, len(s.slots))
			for port, padded := range s.padded {
				if padded != nil {
					b.surfaces[port] = make([]byte, padded.bytes)
				}
			}
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
	return o.prepare(s)
}

// prepare is Prepare of who has the operation.
func (o *Operation) prepare(s *State) error {
	if s == nil && len(o.function.states) > 0 {
		return &Error{Function: o.function.name, Err: fmt.Errorf("it has states, and none are given: %w", ErrState)}
	}
	if o.bound && s == o.state {
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

// Bind makes an input or output use the memory of a tensor of its type and shape,
// which must lie densely.
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
	f := o.function
	i, err := o.find(port, f.inputs, f.outputs)
	if err != nil {
		return err
	}
	s := &f.slots[i]
	size := f.typeOf(i).Size()
	switch {
	case s.opaque || t == nil || t.DType() != f.typeOf(i) || !slices.Equal(t.Shape(), s.shape):
		return o.mismatch(i, t)
	case size == 0 || !t.Contiguous():
		return fmt.Errorf("port %q of function %s: the elements of %v do not lie side by side in memory", port, f.name, t)
	}
	memory := t.Bytes()
	if uintptr(unsafe.Pointer(unsafe.SliceData(memory)))%uintptr(size) != 0 {
		return fmt.Errorf("port %q of function %s: the memory of %v does not begin at a multiple of %d bytes", port, f.name, t, size)
	}
	root := &f.slots[s.root]
	if o.buffers[s.root], err = tensor.FromBytes(root.typ, root.shape, memory); err != nil {
		return fmt.Errorf("port %q of function %s: %w", port, f.name, err)
	}
	o.bound, o.lent = false, true
	return nil
}

// mismatch says what was found for a port instead of what it takes.
func (o *Operation) mismatch(i int, v Value) error {
	s := &o.function.slots[i]
	want := s.String()
	if !s.opaque {
		want = o.function.typeOf(i).String() + tensor.ShapeOf(s.shape...).String()
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
func (o *Operation) Set(port string, v Value) error {
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
	to, err := o.view(i)
	if err != nil {
		return err
	}
	return to.CopyFrom(t)
}

// view is the buffer of a slot in the slot's own shape.
func (o *Operation) view(i int) (*tensor.Tensor, error) {
	s := &o.function.slots[i]
	if s.state >= 0 {
		return o.held[s.state], nil
	}
	t := o.buffers[s.root]
	if slices.Equal(t.Shape(), s.shape) {
		return t, nil
	}
	return t.Reshape(s.shape...)
}

// Value returns what an input or output holds. A tensor is a view of the buffer:
// the next run changes it. An output without a layout is nil before the first run.
func (o *Operation) Value(port string) (Value, error) {
	if err := o.claim(); err != nil {
		return nil, err
	}
	defer o.release()
	i, err := o.find(port, o.function.inputs, o.function.outputs)
	if err != nil {
		return nil, err
	}
	if o.function.slots[i].opaque {
		return o.values[i], nil
	}
	return o.view(i)
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
	o.work = Work{}
	defer o.count(w)
	for i, t := range o.instead {
		if t != nil {
			o.work.Copied += int64(copy(t.Bytes(), o.buffers[i].Bytes()))
		}
	}
	times := trace.Of(ctx)
	for i := range o.function.steps {
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

// bind gives every step its buffers.
func (o *Operation) bind(s *State) (err error) {
	o.bound, o.state, o.held = false, nil, nil
	if s != nil {
		if o.held, err = s.heldBy(o.function); err != nil {
			return err
		}
	}
	if err := o.separate(); err != nil {
		return err
	}
	for i := range o.function.steps {
		if err := o.bindStep(i); err != nil {
			return &Error{Function: o.function.name, Operation: o.function.steps[i].operation, Err: err}
		}
	}
	o.bound, o.state = true, s
	return nil
}

// operand is the buffer that steps use for a slot, in the slot's own shape.
func (o *Operation) operand(i int) (*tensor.Tensor, error) {
	s := &o.function.slots[i]
	if t := o.instead[s.root]; t != nil {
		return t.Reshape(s.shape...)
	}
	return o.view(i)
}

func (o *Operation) bindStep(i int) error {
	b := &o.steps[i]
	var err error
	switch s := o.function.steps[i].do.(type) {
	case castStep:
		if b.from, err = o.operand(s.from); err == nil {
			b.to, err = o.operand(s.to)
		}
		return err
	case *engineStep:
		for port, slot := range s.slots {
			var t *tensor.Tensor
			if t, err = o.operand(slot); err != nil {
				return err
			}
			if s.padded[port] == nil {
				b.surfaces[port] = t.Bytes()
			} else {
				b.dense[port] = t.Bytes()
			}
		}
	case *hostStep:
		for list, slots := range [][]int{s.inputs, s.outputs} {
			for k, slot := range slots {
				if o.function.slots[slot].opaque {
					continue
				}
				var t *tensor.Tensor
				if t, err = o.operand(slot); err != nil {
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
	case castStep:
		o.work.Copied += int64(len(b.from.Bytes()))
		convert(b.to, b.from, o.function.threads)
		return nil
	case *engineStep:
		for port, memory := range b.surfaces {
			if padded := s.padded[port]; padded != nil && padded.direction != engine.Output {
				o.work.Copied += int64(len(b.dense[port]))
				padded.fill(memory, b.dense[port])
			}
		}
		if err := o.dispatch(ctx, s.program, b); err != nil {
			return err
		}
		for port, memory := range b.surfaces {
			if padded := s.padded[port]; padded != nil && padded.direction != engine.Input {
				o.work.Copied += int64(len(b.dense[port]))
				padded.drain(b.dense[port], memory)
			}
		}
		return nil
	case *hostStep:
		return o.runHost(ctx, s, b)
	}
	panic("bug: a step of no kind")
}

// dispatch hands a program to the engine and waits for it: every run on the engine, of a stream or not, comes by here.
func (o *Operation) dispatch(ctx context.Context, p *engine.Program, b *boundStep) error {
	if err := b.context.BindAll(b.surfaces); err != nil {
		return err
	}
	o.work.Dispatches++
	o.work.Tasks += int64(len(p.Tasks()))
	return p.RunAll(ctx, b.context)
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
	if err := s.function.Run(pool.WithThreads(ctx, o.function.threads), b.inputs, b.outputs); err != nil {
		return err
	}
	for k, slot := range s.outputs {
		if slots[slot].opaque {
			o.values[slot] = b.outputs[k]
		}
	}
	return nil
}
