package e5rt

import (
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/espalier-ane/espalier/tensor"
)

// A State is what functions keep from one run to the next: a buffer for each
// state, bound as source and as destination. Buffers never move.
//
// A State serves every function whose states it has, by name, type and shape, as
// the variants of a function for several shapes of its inputs. Runs that share one
// come one after the other.
type State struct {
	names   []string
	buffers []*tensor.Tensor
	busy    atomic.Bool
}

// NewState makes states for ports with known types and shapes, all zero.
func NewState(ports ...Port) *State {
	s := &State{}
	for _, p := range ports {
		s.names = append(s.names, p.Name)
		s.buffers = append(s.buffers, tensor.New(p.Type, p.Shape...))
	}
	return s
}

// NewState makes the states of the function, all zero.
func (f *Function) NewState() *State { return NewState(f.States()...) }

// Tensor returns what a state holds: its own memory, which runs change and a
// caller may set between them.
func (s *State) Tensor(name string) (*tensor.Tensor, error) {
	if i := slices.Index(s.names, name); i >= 0 {
		return s.buffers[i], nil
	}
	return nil, fmt.Errorf("state %q: %w", name, ErrNotFound)
}

// heldBy finds the buffers of a function's states.
func (s *State) heldBy(f *Function) ([]*tensor.Tensor, error) {
	held := make([]*tensor.Tensor, len(f.states))
	for k, i := range f.states {
		port := &f.slots[i]
		t, err := s.Tensor(port.symbol)
		if err != nil {
			return nil, &Error{Function: f.name, Symbol: port.symbol, Err: fmt.Errorf("%w: there is none of the name", ErrState)}
		}
		if t.DType() != f.typeOf(i) || !slices.Equal(t.Shape(), port.shape) {
			return nil, &Error{Function: f.name, Symbol: port.symbol,
				Err: fmt.Errorf("%w: it is %v, want %v%v", ErrState, t, f.typeOf(i), tensor.ShapeOf(port.shape...))}
		}
		held[k] = t
	}
	return held, nil
}
