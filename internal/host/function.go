package host

import (
	"context"
	"fmt"

	"github.com/espalier-ane/espalier/e5rt"
	"github.com/espalier-ane/espalier/internal/ops"
	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// function is a function on the evaluator.
type function struct {
	program         *mil.Function
	eval            *ops.Evaluator
	inputs, outputs []e5rt.HostType
}

func newFunction(f *mil.Function) (*function, error) {
	eval, err := ops.NewEvaluator(f, ops.Virtual)
	if err != nil {
		return nil, err
	}
	made := &function{program: f, eval: eval}
	for _, v := range f.Inputs {
		t := typeOf(v)
		if _, known := t.Shape.Count(); t.State && !(known && t.Ranked && t.Type.Bits() > 0) {
			return nil, fmt.Errorf("function %s: state %q is a %v, of which no buffer can be made", f.Name, v.Name, v.Type)
		}
		made.inputs = append(made.inputs, t)
	}
	for _, v := range f.Body.Outputs {
		made.outputs = append(made.outputs, typeOf(v))
	}
	return made, nil
}

func typeOf(v *mil.Value) e5rt.HostType {
	t := e5rt.HostType{Name: v.Name}
	typ := v.Type
	if s, ok := typ.(*mil.StateType); ok {
		t.State, typ = true, s.Elem
	}
	if a, ok := typ.(*mil.TensorType); ok {
		t.Type, t.Shape, t.Ranked = a.DType, a.Shape, !a.AnyRank
	}
	return t
}

func (f *function) Inputs() []e5rt.HostType  { return f.inputs }
func (f *function) Outputs() []e5rt.HostType { return f.outputs }

// Run evaluates the function.
func (f *function) Run(ctx context.Context, inputs, outputs []e5rt.Value) error {
	args := make(map[string]ops.Value, len(inputs))
	for i, v := range f.program.Inputs {
		switch {
		case inputs[i] == nil:
			return fmt.Errorf("input %q has no value", v.Name)
		case f.inputs[i].State:
			state, err := readState(ctx, v.Type.(*mil.StateType).Elem.(*mil.TensorType), inputs[i].(*tensor.Tensor))
			if err != nil {
				return fmt.Errorf("state %q: %w", v.Name, err)
			}
			args[v.Name] = state
		default:
			args[v.Name] = inputs[i]
		}
	}
	before := make(map[string]*tensor.Tensor)
	for name, v := range args {
		if s, ok := v.(*ops.State); ok {
			before[name] = s.Read()
		}
	}
	results, err := f.eval.Run(ctx, args)
	if err != nil {
		return err
	}
	for i, v := range f.program.Body.Outputs {
		buffer, ok := outputs[i].(*tensor.Tensor)
		if !ok {
			outputs[i] = results[i]
			continue
		}
		if err := fill(ctx, buffer, results[i]); err != nil {
			return fmt.Errorf("output %q: %w", v.Name, err)
		}
	}
	for i, v := range f.program.Inputs {
		s, ok := args[v.Name].(*ops.State)
		if !ok || s.Read() == before[v.Name] {
			continue // no state, or not written
		}
		if err := fill(ctx, inputs[i].(*tensor.Tensor), s.Read()); err != nil {
			return fmt.Errorf("state %q: %w", v.Name, err)
		}
	}
	return nil
}

// readState makes a state of the evaluator from the buffer of one. It is a copy:
// what reads the state now must not see what is written to the buffer later.
func readState(ctx context.Context, t *mil.TensorType, buffer *tensor.Tensor) (*ops.State, error) {
	s := ops.NewState(t)
	return s, ops.Copy(ctx, s.Read(), buffer)
}

// fill writes a value of the evaluator into a buffer, in the buffer's type. The
// evaluator has rounded it to that already.
func fill(ctx context.Context, buffer *tensor.Tensor, v ops.Value) error {
	t, ok := v.(*tensor.Tensor)
	if !ok {
		return fmt.Errorf("the function gives a %T, and the descriptor has a tensor", v)
	}
	return ops.Copy(ctx, buffer, t)
}
