package e5rt

import (
	"fmt"
	"slices"

	"github.com/espalier-ane/espalier/tensor"
)

// A BoundPort is a port of an operation, where memory is bound.
//
//	Layout        fp32, rows of 12 bytes          as callers have it: a cast stands between (Copied)
//	EngineLayout  fp16, rows of 64 bytes          as the engine has it: none does (Direct)
//
// Both are the same where nothing has to be done, and where something else than the
// engine uses the port, too.
type BoundPort struct {
	operation *Operation
	slot      int
}

// Port finds an input or output by its name.
func (o *Operation) Port(name string) (*BoundPort, error) {
	i, err := o.find(name, o.function.inputs, o.function.outputs)
	if err != nil {
		return nil, err
	}
	return &BoundPort{o, i}, nil
}

// Name returns the name of the port.
func (p *BoundPort) Name() string { return p.operation.function.slots[p.slot].symbol }

// Input reports whether a caller fills the port; else it holds a result.
func (p *BoundPort) Input() bool { return slices.Contains(p.operation.function.inputs, p.slot) }

// Layout returns how the value of the port lies. The caller must not change it.
func (p *BoundPort) Layout() Layout { return p.operation.function.layoutOf(p.slot) }

// EngineLayout returns how the value lies where the engine uses it. The caller must not
// change it.
func (p *BoundPort) EngineLayout() Layout { return p.operation.function.engineLayout(p.slot) }

// EngineLayout returns how the value of an input or output lies where the engine uses it. The
// caller must not change it.
func (f *Function) EngineLayout(port string) (Layout, error) {
	i, ok := f.symbols[port]
	if !ok || !slices.Contains(f.inputs, i) && !slices.Contains(f.outputs, i) {
		return Layout{}, fmt.Errorf("port %q of function %s: %w", port, f.name, ErrNotFound)
	}
	return f.engineLayout(i), nil
}

func (f *Function) engineLayout(port int) Layout {
	if d, ok := f.direct[port]; ok {
		return f.layoutOf(d.slot)
	}
	return f.layoutOf(port)
}

// A Mode says whether a value is copied on its way between a port and its user.
type Mode uint8

// The modes.
const (
	Direct Mode = iota // it is used where it lies
	Copied             // a cast brings it to another element type or layout, or to other memory
)

func (m Mode) String() string { return [...]string{"direct", "copied"}[m] }

// Mode returns whether a run copies the value of the port, as it is bound now.
func (p *BoundPort) Mode() (Mode, error) {
	o := p.operation
	if err := o.claim(); err != nil {
		return Direct, err
	}
	defer o.release()
	f := o.function
	root := f.slots[p.slot].root
	for i, s := range f.steps {
		if cast, ok := s.do.(*castStep); ok && !o.left[i] && (f.slots[cast.from].root == root || f.slots[cast.to].root == root) {
			return Copied, nil
		}
	}
	return Direct, nil
}

// Bind makes the port use a buffer that lies in one of its layouts. See
// Operation.Bind.
func (p *BoundPort) Bind(b *Buffer) error {
	o := p.operation
	if err := o.claimPorts(); err != nil {
		return err
	}
	defer o.release()
	f := o.function
	fail := func(err error) error { return fmt.Errorf("port %q of function %s: %w", p.Name(), f.name, err) }
	if b == nil {
		return fail(errNoBuffer)
	}
	if f.slots[p.slot].opaque {
		return o.mismatch(p.slot, b)
	}
	if b.readOnly && slices.Contains(f.outputs, p.slot) {
		return fail(errReadOnly)
	}
	memory, err := b.Bytes()
	if err != nil {
		return fail(err)
	}
	return o.bindMemory(p.slot, b.layout, memory, b)
}

// Unbind gives the port memory of the operation again.
func (p *BoundPort) Unbind() error {
	o := p.operation
	if err := o.claimPorts(); err != nil {
		return err
	}
	defer o.release()
	o.unbind(p.slot)
	return nil
}

// errNoBuffer is about nil.
var errNoBuffer = fmt.Errorf("found nil, want a buffer")

// errReadOnly is about a file that was mapped to be read.
var errReadOnly = fmt.Errorf("the buffer is a file that is mapped to be read, and not written to")

// unbind gives a port back to the operation.
func (o *Operation) unbind(i int) {
	f := o.function
	o.drop(f.slots[i].root)
	if d, ok := f.direct[i]; ok && o.left[d.cast] {
		o.drop(d.slot)
		o.left[d.cast] = false
	}
	o.listUsers(nil)
	o.bound = false
}

// isLent reports whether a port is bound to memory of a caller.
func (o *Operation) isLent() bool {
	return slices.ContainsFunc(o.given, func(memory []byte) bool { return memory != nil })
}

// drop forgets the memory of the caller that a root has.
func (o *Operation) drop(root int) {
	o.given[root] = nil
	o.buffers[root] = nil
}

// listUsers finds the buffers that runs use, each once.
func (o *Operation) listUsers(s *State) {
	o.users = o.users[:0]
	add := func(b *Buffer) {
		if b == nil {
			return
		}
		for _, u := range o.users {
			if u.Buffer == b {
				return
			}
		}
		o.users = append(o.users, struct {
			*Buffer
			place int
		}{b, 0})
	}
	for _, b := range o.buffers {
		add(b)
	}
	if s != nil {
		for _, b := range s.buffers {
			add(b)
		}
	}
}

// typeAndShape is a port as callers know it, for errors.
func (f *Function) typeAndShape(i int) string {
	return f.typeOf(i).String() + tensor.ShapeOf(f.slots[i].shape...).String()
}
