package espalier

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/espalier-ane/espalier/bundle"
	"github.com/espalier-ane/espalier/coreml"
	"github.com/espalier-ane/espalier/e5rt"
	"github.com/espalier-ane/espalier/internal/compiler"
	"github.com/espalier-ane/espalier/tensor"
)

// A pipeline is functions that run one after the other, each taking its inputs by name from what was given and from what
// the ones before it made.
type pipeline struct {
	features *features
	stages   []*Function
}

// pipelineFunction makes the one function of a pipeline.
func (c Config) pipelineFunction(ctx context.Context, file *coreml.Model) (*Function, error) {
	if len(file.Stages) == 0 || len(file.Description.Functions) == 0 {
		return nil, errors.New("the pipeline has no stages or no description")
	}
	var stages []*Function
	for i, stage := range file.Stages {
		functions, err := c.modelFunctions(ctx, stage.Model)
		if err != nil {
			return nil, fmt.Errorf("stage %d of the pipeline: %w", i, err)
		}
		stages = append(stages, functions[0])
	}
	return c.pipelineOf(file.Description.Functions[0], stages)
}

// bundlePipeline makes the one function of a bundle that holds a pipeline, of those of its stages.
func (c Config) bundlePipeline(p *bundle.Pipeline, functions []*Function) (*Function, error) {
	description, err := DescribeFunction(p.Function())
	if err != nil {
		return nil, err
	}
	var stages []*Function
	for _, name := range p.Stages { // each is one of the functions: the manifest is checked
		stages = append(stages, functions[slices.IndexFunc(functions, func(f *Function) bool { return f.Name() == name })])
	}
	if len(stages) == 0 {
		return nil, errors.New("the pipeline has no stages")
	}
	return c.pipelineOf(description, stages)
}

func (c Config) pipelineOf(d coreml.FunctionDescription, stages []*Function) (*Function, error) {
	p := &pipeline{features: c.features(d), stages: stages}
	if len(p.features.States) > 0 {
		return nil, fmt.Errorf("the pipeline has states: %w", ErrUnsupported)
	}
	var random []string
	for i, stage := range stages {
		if len(stage.States()) > 0 {
			return nil, fmt.Errorf("stage %d of the pipeline has states: %w", i, ErrUnsupported)
		}
		random = append(random, stage.random...)
	}
	return &Function{config: c, features: p.features, numerics: stages[0].numerics, runner: p, random: random}, nil
}

// entries are what the compiler takes of the stages, under names that they have in a bundle, and what its manifest says of
// them.
func (p *pipeline) entries() ([]compiler.Entry, *bundle.Pipeline, error) {
	d := manifestFunction(&p.features.FunctionDescription)
	m := &bundle.Pipeline{Name: d.Name, Inputs: d.Inputs, Outputs: d.Outputs, Classifier: d.Classifier}
	var list []compiler.Entry
	for i, stage := range p.stages {
		entry, err := stage.entry()
		if err != nil {
			return nil, nil, fmt.Errorf("stage %d of the pipeline: %w", i, err)
		}
		renamed := *entry.Function // stages are models by themselves: all are called main
		renamed.Name = fmt.Sprintf("stage%d", i)
		entry.Function = &renamed
		list, m.Stages = append(list, entry), append(m.Stages, renamed.Name)
	}
	return list, m, nil
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
	if values, err := p.runChain(ctx, have); values != nil || err != nil {
		return values, err
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

func (p *pipeline) bind(ctx context.Context, inputs, outputs map[string]any) (bound, error) {
	c, err := p.chain(ctx, inputs, outputs)
	if err != nil {
		return nil, err
	}
	if c == nil {
		return bindCopies(p, inputs, outputs)
	}
	return c, nil
}

func (p *pipeline) newState() states { return e5rt.NewState() } // no stage has any

func (p *pipeline) source() (*source, error) {
	return nil, fmt.Errorf("a pipeline in a pipeline is %w: it can be run, not compiled", ErrUnsupported) // entries has the stages of one
}

// stageInput is an output of one stage as the next one takes it: a picture travels as a picture.
func stageInput(v *Value) (any, error) {
	if _, ok := v.Feature.Type.(*coreml.ImageType); ok {
		return v.Image()
	}
	return v.Tensor, nil
}
