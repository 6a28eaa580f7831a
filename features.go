package espalier

import (
	"context"
	"fmt"

	"github.com/espalier-ane/espalier/coreml"
	"github.com/espalier-ane/espalier/e5rt"
	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// features are what a function takes, gives and keeps, as the model describes it. Programs take and give arrays: runners
// that have one convert by it.
type features struct {
	coreml.FunctionDescription
	resize Resize // what happens to a picture of a size that the function does not take
	limits Limits
}

func (c Config) features(d coreml.FunctionDescription) *features {
	return &features{d, c.Resize, c.Limits}
}

// arguments makes what a program takes of what the caller gave. argument is the type in which it takes an input.
func (f *features) arguments(ctx context.Context, inputs map[string]any, argument func(name string) mil.Type) (map[string]*tensor.Tensor, error) {
	args := make(map[string]*tensor.Tensor, len(f.Inputs))
	for _, d := range f.Inputs {
		given := inputs[d.Name]
		t, err := f.array(ctx, d, given)
		if err == nil {
			t, err = fitProgram(t, argument(d.Name))
		}
		if err != nil {
			return nil, &InputError{Name: d.Name, Missing: given == nil, Err: err}
		}
		args[d.Name] = t
	}
	return args, nil
}

// values makes the outputs of what a program gave, which is not kept: it is copied, unless it is an array of its own.
func (f *features) values(result func(name string) (e5rt.Value, error), isOwn func(name string) bool) (map[string]*Value, error) {
	out := make(map[string]*Value, len(f.Outputs))
	for _, d := range f.Outputs {
		v, err := result(d.Name)
		if err != nil {
			return nil, err
		}
		if out[d.Name], err = valueOf(d, v, isOwn(d.Name)); err != nil {
			return nil, fmt.Errorf("output %q: %w", d.Name, err)
		}
	}
	return out, nil
}
