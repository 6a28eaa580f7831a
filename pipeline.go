package espalier

import (
	"context"
	"errors"
	"fmt"

	"github.com/espalier-ane/espalier/coreml"
	"github.com/espalier-ane/espalier/tensor"
)

// pipeline makes one function of models that run one after the other, each taking its inputs by name from
// what was given and from what the ones before it made.
func (c Config) pipeline(file *coreml.Model) (*Function, error) {
	if len(file.Stages) == 0 || len(file.Description.Functions) == 0 {
		return nil, errors.New("the pipeline has no stages or no description")
	}
	f := &Function{description: file.Description.Functions[0], config: c}
	for i, stage := range file.Stages {
		functions, err := c.functions(stage.Model)
		if err != nil {
			return nil, fmt.Errorf("stage %d of the pipeline: %w", i, err)
		}
		if len(functions[0].States()) > 0 {
			return nil, fmt.Errorf("stage %d of the pipeline has states: %w", i, ErrUnsupported)
		}
		f.stages = append(f.stages, functions[0])
	}
	return f, nil
}

func (f *Function) predictPipeline(ctx context.Context, inputs map[string]any) (map[string]*Value, error) {
	have := map[string]any{}
	made := map[string]*Value{}
	for _, d := range f.Inputs() {
		v, ok := inputs[d.Name]
		switch {
		case ok:
			have[d.Name] = v
		case !d.Optional:
			return nil, &InputError{Name: d.Name, Missing: true, Err: fmt.Errorf("it is missing: expected %v", d.Type)}
		}
	}
	for i, stage := range f.stages {
		args := map[string]any{}
		for _, d := range stage.Inputs() {
			if v, ok := have[d.Name]; ok {
				args[d.Name] = v
			}
		}
		out, err := stage.predict(ctx, args, nil)
		if err != nil {
			return nil, fmt.Errorf("stage %d of the pipeline: %w", i, err)
		}
		for name, v := range out {
			made[name] = v
			if have[name], err = stageInput(v); err != nil {
				return nil, fmt.Errorf("stage %d of the pipeline: output %q: %w", i, name, err)
			}
		}
	}
	result := map[string]*Value{}
	for _, d := range f.Outputs() {
		v, ok := made[d.Name]
		if !ok {
			t, isTensor := inputs[d.Name].(*tensor.Tensor)
			if !isTensor {
				return nil, fmt.Errorf("no stage of the pipeline gives the output %q", d.Name)
			}
			v = &Value{Tensor: t}
		}
		result[d.Name] = &Value{Feature: d, Tensor: v.Tensor, Labels: v.Labels}
	}
	return result, nil
}

// stageInput is an output of one stage as the next one takes it: a picture travels as a picture.
func stageInput(v *Value) (any, error) {
	if _, ok := v.Feature.Type.(*coreml.ImageType); ok {
		return v.Image()
	}
	return v.Tensor, nil
}
