package model

import (
	"fmt"
	"slices"

	"github.com/espalier-ane/espalier"
	"github.com/espalier-ane/espalier/bundle"
	"github.com/espalier-ane/espalier/explain/task"
)

// describeBundle describes a bundle: the features of its functions, and the segments that they are made of.
func describeBundle(path string) (*Report, error) {
	b, err := bundle.Open(path)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	r := &Report{}
	r.Model, r.Format, r.Type, r.Target = path, "bundle", "program", b.Manifest.Target
	var weights task.Counter
	if p := b.Manifest.Pipeline; p != nil {
		return r, r.describePipeline(b, p, &weights)
	}
	for i := range b.Manifest.Functions {
		f, err := describeCompiled(b, &b.Manifest.Functions[i], &weights)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		f.Default = i == 0
		r.Functions = append(r.Functions, f)
	}
	r.Weights.Parameters = weights.Parameters
	return r, nil
}

// describePipeline describes a bundle whose functions are the stages of one.
func (r *Report) describePipeline(b *bundle.Bundle, p *bundle.Pipeline, weights *task.Counter) error {
	whole, err := describeCompiled(b, p.Function(), weights)
	if err != nil {
		return fmt.Errorf("%s: %w", r.Model, err)
	}
	whole.Default = true
	r.Type, r.Functions = "pipeline", []Function{whole}
	for _, name := range p.Stages {
		i := slices.IndexFunc(b.Manifest.Functions, func(f bundle.Function) bool { return f.Name == name })
		stage, err := describeCompiled(b, &b.Manifest.Functions[i], weights)
		if err != nil {
			return fmt.Errorf("%s: %w", r.Model, err)
		}
		r.Stages = append(r.Stages, Stage{Name: name, Description: Description{Type: "program", Functions: []Function{stage}}})
	}
	r.Weights.Parameters = weights.Parameters
	return nil
}

func describeCompiled(b *bundle.Bundle, f *bundle.Function, weights *task.Counter) (Function, error) {
	d, err := espalier.DescribeFunction(f)
	if err != nil {
		return Function{}, err
	}
	r := Function{
		Name: d.Name, Inputs: describeFeatures(d.Inputs), Outputs: describeFeatures(d.Outputs), States: describeFeatures(d.States),
		PredictedFeature: d.PredictedFeature, PredictedProbabilities: d.PredictedProbabilities, Segments: []Segment{},
	}
	for i := range f.Segments {
		s := &f.Segments[i]
		row := Segment{Operation: s.Operation, Backend: s.Backend, Container: s.Container, Function: s.Function}
		if s.Backend == bundle.Engine {
			procedure, err := b.Container(s.Container).Procedure(s.Procedure)
			if err == nil {
				row.Tasks, err = weights.Add(procedure, s.Container, s.Weights)
			}
			if err != nil {
				return r, fmt.Errorf("%s: %w", s.Container, err)
			}
			r.Tasks += row.Tasks
		}
		r.Segments = append(r.Segments, row)
	}
	return r, nil
}
