package e5rt

import (
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/espalier-ane/espalier/tensor"
)

// A State is what functions keep from one run to the next: memory for each
// state, bound as source and as destination, in the layout that the engine wants.
//
// A State serves every function whose states it has, by name, type and shape, as
// the variants of a function for several shapes of its inputs. Runs that share one
// come one after the other. The first run of a function whose engine wants another
// layout moves the state there, once; functions of one target want the same.
type State struct {
	names   []string
	layouts []Layout
	memory  [][]byte
	buffers []*Buffer // that memory is of; nil if it is the state's own
	version int       // of layouts and memory: who is bound to another must be bound again
	busy    atomic.Bool
}

// NewState makes states for ports with known types and shapes, all zero.
func NewState(ports ...Port) *State {
	s := &State{}
	for _, p := range ports {
		l := p.Layout()
		s.names, s.layouts, s.memory = append(s.names, p.Name), append(s.layouts, l), append(s.memory, alignedBytes(l.Bytes))
		s.buffers = append(s.buffers, nil)
	}
	return s
}

// NewState makes the states of the function, all zero.
func (f *Function) NewState() *State { return NewState(f.States()...) }

// Tensor returns what a state holds: its own memory, which runs change and a
// caller may set between them. Its elements need not lie side by side.
func (s *State) Tensor(name string) (*tensor.Tensor, error) {
	i := slices.Index(s.names, name)
	if i < 0 {
		return nil, fmt.Errorf("state %q: %w", name, ErrNotFound)
	}
	if b := s.buffers[i]; b != nil && b.gate.Closed() {
		return nil, fmt.Errorf("state %q: %w", name, errBufferClosed)
	}
	return s.layouts[i].tensor(s.memory[i])
}

// Bind makes a state use a buffer of its type and shape, and takes what that holds as
// its value. It must lie as the engine of the functions that are run has it: those
// give ErrState if it does not.
func (s *State) Bind(name string, b *Buffer) error {
	i := slices.Index(s.names, name)
	if i < 0 {
		return fmt.Errorf("state %q: %w", name, ErrNotFound)
	}
	fail := func(err error) error { return fmt.Errorf("state %q: %w", name, err) }
	if b == nil {
		return fail(errNoBuffer)
	}
	if !s.busy.CompareAndSwap(false, true) {
		return fail(ErrBusy)
	}
	defer s.busy.Store(false)
	if l := &s.layouts[i]; l.Type != b.layout.Type || !slices.Equal(l.Shape, b.layout.Shape) {
		return fail(fmt.Errorf("found %v, want %v", b.layout, *l))
	}
	if b.readOnly {
		return fail(errReadOnly)
	}
	if b.layout.shared() {
		return fail(fmt.Errorf("elements of %v lie on each other", b.layout))
	}
	memory, err := b.Bytes()
	if err != nil {
		return fail(err)
	}
	s.layouts[i], s.memory[i], s.buffers[i] = b.layout, memory, b
	s.version++
	return nil
}

// heldBy finds the memory of a function's states, and how it lies. A host takes
// every layout, the engine its own.
func (s *State) heldBy(f *Function) (held [][]byte, layouts []Layout, err error) {
	for _, i := range f.states {
		port, want := &f.slots[i], f.layoutOf(i)
		fail := func(err error) error { return &Error{Function: f.name, Symbol: port.symbol, Err: err} }
		k := slices.Index(s.names, port.symbol)
		if k < 0 {
			return nil, nil, fail(fmt.Errorf("%w: there is none of the name", ErrState))
		}
		if l := &s.layouts[k]; l.Type != want.Type || !slices.Equal(l.Shape, want.Shape) {
			return nil, nil, fail(fmt.Errorf("%w: it is %v, want %v", ErrState, *l, want))
		}
		if f.onEngine(i) && !f.takes(i, &s.layouts[k], true) {
			if s.buffers[k] != nil {
				return nil, nil, fail(fmt.Errorf("%w: the buffer is %v, want %v", ErrState, s.layouts[k], want))
			}
			s.layAs(k, want, f.threads)
		}
		held, layouts = append(held, s.memory[k]), append(layouts, s.layouts[k])
	}
	return held, layouts, nil
}

// layAs moves a state to memory in which it lies as the engine of a function has it.
func (s *State) layAs(k int, want Layout, threads int) {
	memory := alignedBytes(want.Bytes)
	if m := newMove(&want, &s.layouts[k]); m != nil {
		m.do(memory, s.memory[k], threads)
	}
	s.layouts[k], s.memory[k] = want, memory
	s.version++
}

// onEngine reports whether a program on the engine has a slot as a port.
func (f *Function) onEngine(i int) bool {
	for _, s := range f.steps {
		if do, ok := s.do.(*engineStep); ok && slices.Contains(do.slots, i) {
			return true
		}
	}
	return false
}
