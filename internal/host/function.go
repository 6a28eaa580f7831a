package host

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/espalier-ane/espalier/e5rt"
	"github.com/espalier-ane/espalier/internal/limit"
	"github.com/espalier-ane/espalier/internal/ops"
	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// function is a function on the evaluator.
type function struct {
	program         *mil.Function
	eval            *ops.Evaluator
	inputs, outputs []e5rt.HostType
	copied          *atomic.Int64 // of the host
	limits          limit.Limits
}

func newFunction(f *mil.Function, copied *atomic.Int64) (*function, error) {
	eval, err := ops.NewEvaluator(f, ops.Virtual)
	if err != nil {
		return nil, err
	}
	made := &function{program: f, eval: eval, copied: copied}
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

// WithConstants is the function with arrays instead of constants.
func (f *function) WithConstants(arrays map[string]*tensor.Tensor) (e5rt.HostFunction, error) {
	cloner := mil.NewCloner(nil)
	program := *f.program
	program.Body = &mil.Block{Inputs: f.program.Body.Inputs, Attributes: f.program.Body.Attributes}
	for _, op := range f.program.Body.Operations {
		var t *tensor.Tensor
		if op.Kind == "const" {
			t = arrays[op.Outputs[0].Name]
		}
		if t != nil || cloner.Touches(op) {
			op = cloner.Operation(op)
		}
		if t != nil {
			op.Attributes = slices.Clone(op.Attributes)
			op.Attributes.Set("val", mil.NewConst(t))
		}
		program.Body.Operations = append(program.Body.Operations, op)
	}
	program.Body.Outputs = cloner.Values(f.program.Body.Outputs)
	made, err := newFunction(&program, f.copied)
	if err != nil {
		return nil, err
	}
	made.eval.SetLimits(f.limits)
	return made, nil
}

func (f *function) Inputs() []e5rt.HostType  { return f.inputs }
func (f *function) Outputs() []e5rt.HostType { return f.outputs }

// Run evaluates the function. The evaluator reads states and inputs where they lie. It updates parts of a state there, too, if nobody
// needs what it held before; otherwise, what it becomes is an array of its own until all that was asked of the old one is done.
func (f *function) Run(ctx context.Context, inputs, outputs []e5rt.Value) error {
	args := make(map[string]ops.Value, len(inputs))
	states := make([]*ops.State, len(inputs))
	for i, v := range f.program.Inputs {
		switch {
		case inputs[i] == nil:
			return fmt.Errorf("input %q has no value", v.Name)
		case f.inputs[i].State:
			states[i] = ops.StateOver(v.Type.(*mil.StateType).Elem.(*mil.TensorType), inputs[i].(*tensor.Tensor))
			args[v.Name] = states[i]
		default:
			args[v.Name] = inputs[i]
		}
	}
	results, err := f.eval.Run(ctx, args)
	if err != nil {
		return err
	}
	for i, v := range f.program.Body.Outputs {
		buffer, ok := outputs[i].(*tensor.Tensor)
		if !ok {
			outputs[i] = apart(results[i], inputs) // it outlives what the inputs hold now
			continue
		}
		if err := fill(ctx, buffer, results[i]); err != nil {
			return fmt.Errorf("output %q: %w", v.Name, err)
		}
	}
	written := make([]ops.Value, len(inputs))
	for i, s := range states {
		if s != nil && s.Read() != inputs[i] {
			written[i] = apart(s.Read(), inputs) // of what another state, or this one, was
		}
	}
	for i, v := range f.program.Inputs {
		if written[i] == nil {
			continue
		}
		buffer := inputs[i].(*tensor.Tensor)
		if err := fill(ctx, buffer, written[i]); err != nil {
			return fmt.Errorf("state %q: %w", v.Name, err)
		}
		n, _ := buffer.DType().ByteLen(buffer.Len())
		f.copied.Add(int64(n))
	}
	return nil
}

// apart is a value that has nothing in the memory of inputs: itself, or a copy.
func apart(v ops.Value, inputs []e5rt.Value) ops.Value {
	switch v := v.(type) {
	case *tensor.Tensor:
		if v != nil && sharesMemory(v, inputs) {
			return v.Clone()
		}
	case *ops.List:
		made := *v
		made.Items = slices.Clone(v.Items)
		for i, item := range made.Items {
			if item != nil && sharesMemory(item, inputs) {
				made.Items[i] = item.Clone()
			}
		}
		return &made
	}
	return v
}

// sharesMemory reports whether an array is a view of one of the inputs.
func sharesMemory(t *tensor.Tensor, inputs []e5rt.Value) bool {
	start, _ := t.Memory()
	return start != nil && slices.ContainsFunc(inputs, func(v e5rt.Value) bool {
		in, ok := v.(*tensor.Tensor)
		if !ok || in == nil {
			return false
		}
		at, _ := in.Memory()
		return at == start
	})
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
