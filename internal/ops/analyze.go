package ops

import (
	"fmt"

	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// Analysis is what is known of a function before it runs, for given shapes of its inputs: the type of every
// value, and the values that follow from constants and shapes alone.
type Analysis struct {
	in *inferrer
}

// Analyze infers a function for concrete shapes. Inputs that the map does not have keep their declared types.
func Analyze(f *mil.Function, shapes map[string][]int) (*Analysis, error) {
	in, err := newInferrer(f)
	if err != nil {
		return nil, err
	}
	if err := in.inputs(shapes); err != nil {
		return nil, err
	}
	if err := in.block(f.Body); err != nil {
		return nil, err
	}
	return &Analysis{in: in}, nil
}

// inputs sets the types of the function's inputs.
func (in *inferrer) inputs(shapes map[string][]int) error {
	for _, v := range in.f.Inputs {
		t := v.Type
		if dims, ok := shapes[v.Name]; ok {
			var err error
			if t, err = withShape(v, dims); err != nil {
				return fmt.Errorf("function %s: %w", in.f.Name, err)
			}
		}
		in.known[v] = argument{typ: in.withSymbols(t)}
	}
	return nil
}

func withShape(v *mil.Value, dims []int) (mil.Type, error) {
	declared, ok := v.Type.(*mil.TensorType)
	if !ok {
		return nil, fmt.Errorf("input %q is a %v: it has no shape", v.Name, v.Type)
	}
	t := mil.Tensor(declared.DType, tensor.ShapeOf(dims...)...)
	if !mil.Compatible(t, declared) {
		return nil, fmt.Errorf("input %q: shape %v does not fit the declared %v", v.Name, dims, declared)
	}
	return t, nil
}

// Type is the type of a value.
func (a *Analysis) Type(v *mil.Value) mil.Type { return a.in.known[v].typ }

// Known returns a value that follows from constants and shapes, in its declared element type; false if it must
// be computed, or is a weight.
func (a *Analysis) Known(v *mil.Value) (*tensor.Tensor, bool) {
	k := a.in.known[v]
	t, ok := k.val.(*tensor.Tensor)
	if !ok {
		return nil, false
	}
	t, err := t.Convert(k.typ.(*mil.TensorType).DType)
	return t, err == nil
}
