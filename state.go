package espalier

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/espalier-ane/espalier/coreml"
	"github.com/espalier-ane/espalier/internal/osfile"
	"github.com/espalier-ane/espalier/tensor"
)

// State is what a function with states keeps from one prediction to the next. Predictions that share one
// are run one after the other by the caller: what is asked of it during one is ErrBusy.
type State struct {
	of   *Function
	held states
	busy atomic.Bool
}

// claim takes the state if nobody has it. release gives it back.
func (s *State) claim() error {
	if !s.busy.CompareAndSwap(false, true) {
		return fmt.Errorf("the state: %w", ErrBusy)
	}
	return nil
}

func (s *State) release() { s.busy.Store(false) }

// NewState makes the states of the model's default function, all zero.
func (m *Model) NewState() *State { return m.functions[0].NewState() }

// NewState makes the function's states, all zero.
func (f *Function) NewState() *State { return &State{of: f, held: f.runner.newState()} }

// Tensor returns a copy of what a state holds, in its declared element type.
func (s *State) Tensor(name string) (t *tensor.Tensor, err error) {
	if !slices.ContainsFunc(s.of.States(), func(d coreml.Feature) bool { return d.Name == name }) {
		return nil, fmt.Errorf("there is no state %q: expected %s", name, featureNames(s.of.States()))
	}
	if err := s.claim(); err != nil {
		return nil, err
	}
	defer s.release()
	place, err := s.of.life.enter(context.Background())
	if err != nil {
		return nil, err
	}
	defer s.of.life.leave(place, &err)
	defer osfile.Protect().Catch(&err)
	held, err := s.held.Tensor(name)
	if err != nil {
		return nil, err
	}
	return held.Clone(), nil
}
