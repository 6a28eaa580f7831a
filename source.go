package espalier

import (
	"fmt"
	"slices"

	"github.com/espalier-ane/espalier/bundle"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/compiler"
	"github.com/espalier-ane/espalier/internal/ops"
	"github.com/espalier-ane/espalier/mil"
)

// A source is what can be compiled: a function of a program, which the host can run too, or a graph of native layers.
type source struct {
	program  *mil.Program
	function *mil.Function // nil of a graph

	graph   *anec.Graph
	weights []compiler.WeightFile // of the graph
	ports   []*mil.Value          // of the graph: inputs and states as a program has them
}

// inputs are what the program or graph takes, states among them.
func (s *source) inputs() []*mil.Value {
	if s.function == nil {
		return s.ports
	}
	return s.function.Inputs
}

// openInputs are the inputs whose shapes are not known before they come. A graph has none.
func (s *source) openInputs() []*mil.Value {
	if s.function == nil {
		return nil
	}
	return s.function.OpenInputs()
}

// entry is what the compiler takes, with what a manifest says of it.
func (s *source) entry(shapes map[string][]int, features bundle.Function) compiler.Entry {
	return compiler.Entry{Function: s.function, Program: s.program, Shapes: shapes, Graph: s.graph, Weights: s.weights, Features: features}
}

// input finds an input by name; nil if there is none.
func (s *source) input(name string) *mil.Value {
	for _, v := range s.inputs() {
		if v.Name == name {
			return v
		}
	}
	return nil
}

// argument is the type in which it takes an input that is there.
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
