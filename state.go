package espalier

import (
	"fmt"

	"github.com/espalier-ane/espalier/internal/ops"
	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// State is what a function with states keeps from one prediction to the next. Predictions that share one
// are run one after the other by the caller.
type State struct {
	of     *Function
	values map[string]ops.Value // *ops.State
}

// NewState makes the states of the model's default function, all zero.
func (m *Model) NewState() *State { return m.functions[0].NewState() }

// NewState makes the function's states, all zero.
func (f *Function) NewState() *State {
	s := &State{of: f, values: map[string]ops.Value{}}
	for _, d := range f.States() {
		st := f.input(d.Name).Type.(*mil.StateType) // checkFeatures has seen to it
		s.values[d.Name] = ops.NewState(st.Elem.(*mil.TensorType))
	}
	return s
}

// Tensor returns a copy of what a state holds, in its declared element type.
func (s *State) Tensor(name string) (*tensor.Tensor, error) {
	v, ok := s.values[name].(*ops.State)
	if !ok {
		return nil, fmt.Errorf("there is no state %q: expected %s", name, featureNames(s.of.States()))
	}
	held := v.Read()
	t, err := held.Convert(v.Type().DType)
	if t == held {
		t = held.Clone()
	}
	return t, err
}
