package espalier

import (
	"context"
	"fmt"
	"sync/atomic"
)

// State is what a function with states keeps from one prediction to the next. Predictions that share one
// are run one after the other by the caller: what is asked of it during one is ErrBusy.
type State struct {
	of   *Function
	held states
	busy atomic.Bool
}

// NewState makes the states of the model's default function, all zero.
func (m *Model) NewState() *State { return m.functions[0].NewState() }

// NewState makes the function's states, all zero.
func (f *Function) NewState() *State { return &State{of: f, held: f.runner.newState()} }

// needsNoState refuses a function with states to a caller who gives none.
func (f *Function) needsNoState() error {
	if len(f.States()) == 0 {
		return nil
	}
	return fmt.Errorf("function %q has states (%s): make them with NewState and run it with PredictWithState",
		f.Name(), featureNames(f.States()))
}

// takeState begins to use a state that was made for the function: release ends it.
func (f *Function) takeState(s *State) error {
	if s == nil || s.of != f {
		return fmt.Errorf("the state was not made for function %q: make it with its NewState", f.Name())
	}
	return s.take()
}

// take begins to use the state: nobody else may until release. In which order two predictions would change it, is left open, so
// that the second is refused.
func (s *State) take() error {
	if !s.busy.CompareAndSwap(false, true) {
		return fmt.Errorf("%s: the state: %w", s.of.path, ErrBusy)
	}
	return nil
}

func (s *State) release() { s.busy.Store(false) }

// whileHeld does something with the state while nobody else has it and the model stays open: on the host, a state may be an
// array of a weight file. It must call nobody who could close the model, since nothing ends it.
func (s *State) whileHeld(do func() error) error {
	if err := s.take(); err != nil {
		return err
	}
	defer s.release()
	return s.of.about(s.of.whileOpen(context.Background(), do))
}
