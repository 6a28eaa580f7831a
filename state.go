package espalier

import (
	"fmt"
	"slices"

	"github.com/espalier-ane/espalier/coreml"
	"github.com/espalier-ane/espalier/tensor"
)

// State is what a function with states keeps from one prediction to the next. Predictions that share one
// are run one after the other by the caller.
type State struct {
	of   *Function
	held states
}

// NewState makes the states of the model's default function, all zero.
func (m *Model) NewState() *State { return m.functions[0].NewState() }

// NewState makes the function's states, all zero.
func (f *Function) NewState() *State { return &State{of: f, held: f.runner.newState()} }

// Tensor returns a copy of what a state holds, in its declared element type.
func (s *State) Tensor(name string) (*tensor.Tensor, error) {
	if !slices.ContainsFunc(s.of.States(), func(d coreml.Feature) bool { return d.Name == name }) {
		return nil, fmt.Errorf("there is no state %q: expected %s", name, featureNames(s.of.States()))
	}
	t, err := s.held.Tensor(name)
	if err != nil {
		return nil, err
	}
	return t.Clone(), nil
}
