package espalier

import (
	"context"
	"errors"
	"fmt"

	"github.com/espalier-ane/espalier/coreml"
	"github.com/espalier-ane/espalier/e5rt"
	"github.com/espalier-ane/espalier/tensor"
)

// A pipeline is functions that run one after the other, each taking its inputs by name from what was given and from what
// the ones before it made.
type pipeline struct {
	features *features
	stages   []*Function
}

// pipelineFunction makes the one function of a pipeline.
func (c Config) pipelineFunction(file *coreml.Model) (*Function, error) {
	if len(file.Stages) == 0 || len(file.Description.Functions) == 0 {
		return nil, errors.New("the pipeline has no stages or no description")
	}
	p := &pipeline{features: c.features(file.Description.Functions[0])}
	if len(p.features.States) > 0 {
		return nil, fmt.Errorf("the pipeline has states: %w", ErrUnsupported)
	}
	for i, stage := range file.Stages {
		functions, err := c.modelFunctions(stage.Model)
		if err != nil {
			return nil, fmt.Errorf("stage %d of the pipeline: %w", i, err)
		}
		if len(functions[0].States()) > 0 {
			return nil, fmt.Errorf("stage %d of the pipeline has states: %w", i, ErrUnsupported)
		}
		p.stages = append(p.stages, functions[0])
	}
	return &Function{config: c, features: p.features, numerics: p.stages[0].numerics, runner: p}, nil
}

func (p *pipeline) run(ctx context.Context, inputs map[string]any, _ states) (map[string]*Value, error) {
	have := map[string]any{}
	made := map[string]*Value{}
	for _, d := range p.features.Inputs {
		v, ok := inputs[d.Name]
		switch {
		case ok:
			have[d.Name] = v
		case !d.Optional:
			return nil, &InputError{Name: d.Name, Missing: true, Err: fmt.Errorf("it is missing: expected %v", d.Type)}
		}
	}
	for i, stage := range p.stages {
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
	for _, d := range p.features.Outputs {
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

func (p *pipeline) bind(_ context.Context, inputs, outputs map[string]any) (bound, error) {
	return bindCopies(p, inputs, outputs)
}

func (p *pipeline) newState() states { return e5rt.NewState() } // no stage has any

func (p *pipeline) source() (*source, error) {
	return nil, fmt.Errorf("compiling a pipeline is %w: its stages, models by themselves, can be compiled", ErrUnsupported)
}

// stageInput is an output of one stage as the next one takes it: a picture travels as a picture.
func stageInput(v *Value) (any, error) {
	if _, ok := v.Feature.Type.(*coreml.ImageType); ok {
		return v.Image()
	}
	return v.Tensor, nil
}
