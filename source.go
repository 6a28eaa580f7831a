package espalier

import (
	"fmt"
	"slices"

	"github.com/espalier-ane/espalier/internal/ops"
	"github.com/espalier-ane/espalier/mil"
)

// A source is a function of a program: what can be compiled, and what the host can run.
type source struct {
	program  *mil.Program
	function *mil.Function
}

// input finds an input of the program by name; nil if there is none.
func (s *source) input(name string) *mil.Value {
	for _, v := range s.function.Inputs {
		if v.Name == name {
			return v
		}
	}
	return nil
}

// argument is the type in which the program takes an input that is there.
func (s *source) argument(name string) mil.Type { return s.input(name).Type }

// state is the type of the array that a state holds. check has seen to it that it is one.
func (s *source) state(name string) *mil.TensorType {
	return s.input(name).Type.(*mil.StateType).Elem.(*mil.TensorType)
}

// output finds the place of an output of the program by name; -1 if there is none.
func (s *source) output(name string) int {
	return slices.IndexFunc(s.function.Body.Outputs, func(v *mil.Value) bool { return v.Name == name })
}

// check holds the description of the features against the inputs and outputs of the program.
func (s *source) check(described *features) error {
	known := map[string]bool{}
	for _, d := range described.Inputs {
		known[d.Name] = true
		v := s.input(d.Name)
		if v == nil {
			return fmt.Errorf("input %q is described, but the program does not take it", d.Name)
		}
		if _, ok := v.Type.(*mil.TensorType); !ok {
			return fmt.Errorf("input %q is described as %v, but the program takes a %v", d.Name, d.Type, v.Type)
		}
	}
	for _, d := range described.States {
		known[d.Name] = true
		v := s.input(d.Name)
		if v == nil {
			return fmt.Errorf("state %q is described, but the program does not take it", d.Name)
		}
		if !isConcreteState(v.Type) {
			return fmt.Errorf("state %q is described, but the program takes a %v", d.Name, v.Type)
		}
		if err := ops.CheckMemory(described.limits.Memory, v.Type.(*mil.StateType).Elem); err != nil {
			return fmt.Errorf("state %q: %w", d.Name, err)
		}
	}
	for _, v := range s.function.Inputs {
		if !known[v.Name] {
			return fmt.Errorf("the program takes %q, but the description does not have it", v.Name)
		}
	}
	for _, d := range described.Outputs {
		if s.output(d.Name) < 0 {
			return fmt.Errorf("output %q is described, but the program does not give it", d.Name)
		}
	}
	return nil
}

// isConcreteState reports whether a type is that of a state whose array can be made.
func isConcreteState(t mil.Type) bool {
	s, ok := t.(*mil.StateType)
	if !ok {
		return false
	}
	a, ok := s.Elem.(*mil.TensorType)
	if !ok || a.AnyRank {
		return false
	}
	_, ok = a.Shape.Count()
	return ok
}
