package espalier

import (
	"fmt"

	"github.com/espalier-ane/espalier/e5rt"
	"github.com/espalier-ane/espalier/internal/ops"
	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// State is what a function with states keeps from one prediction to the next. Predictions that share one
// are run one after the other by the caller.
type State struct {
	of      *Function
	buffers *e5rt.State          // of a function that is compiled
	values  map[string]ops.Value // *ops.State: of one that the host runs
}

// NewState makes the states of the model's default function, all zero.
func (m *Model) NewState() *State { return m.functions[0].NewState() }

// NewState makes the function's states, all zero.
func (f *Function) NewState() *State {
	s := &State{of: f}
	if f.bundle != nil {
		s.buffers = f.bundle.function.NewState()
		return s
	}
	s.values = map[string]ops.Value{}
	var ports []e5rt.Port
	for _, d := range f.States() {
		t := f.input(d.Name).Type.(*mil.StateType).Elem.(*mil.TensorType) // checkFeatures has seen to it
		if f.eval != nil {
			s.values[d.Name] = ops.NewState(t)
			continue
		}
		shape, _ := t.Shape.Ints()
		ports = append(ports, e5rt.Port{Name: d.Name, Type: t.DType, Shape: shape})
	}
	s.buffers = e5rt.NewState(ports...)
	return s
}

// Tensor returns a copy of what a state holds, in its declared element type.
func (s *State) Tensor(name string) (*tensor.Tensor, error) {
	if s.buffers != nil {
		if t, err := s.buffers.Tensor(name); err == nil {
			return t.Clone(), nil
		}
	}
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
