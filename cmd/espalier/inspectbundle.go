package main

import (
	"fmt"

	"github.com/espalier-ane/espalier"
	"github.com/espalier-ane/espalier/bundle"
)

// inspectBundle describes a bundle: the features of its functions, and the segments that they are made of.
func inspectBundle(path string) (r inspectReport, err error) {
	b, err := bundle.Open(path)
	if err != nil {
		return r, err
	}
	defer b.Close()
	r.Model, r.Format, r.Type, r.Target = path, "bundle", "program", b.Manifest.Target
	weights := &bundleWeights{bundle: b, seen: map[weightPlace]bool{}}
	for i := range b.Manifest.Functions {
		f, err := describeCompiled(&b.Manifest.Functions[i], weights)
		if err != nil {
			return r, fmt.Errorf("%s: %w", path, err)
		}
		f.Default = i == 0
		r.Functions = append(r.Functions, f)
	}
	r.Weights.Parameters = weights.parameters
	return r, nil
}

func describeCompiled(f *bundle.Function, weights *bundleWeights) (functionReport, error) {
	d, err := espalier.DescribeFunction(f)
	if err != nil {
		return functionReport{}, err
	}
	r := functionReport{
		Name: d.Name, Inputs: describeFeatures(d.Inputs), Outputs: describeFeatures(d.Outputs), States: describeFeatures(d.States),
		PredictedFeature: d.PredictedFeature, PredictedProbabilities: d.PredictedProbabilities, Segments: []segmentReport{},
	}
	for i := range f.Segments {
		s := &f.Segments[i]
		row := segmentReport{Operation: s.Operation, Backend: s.Backend, Container: s.Container, Function: s.Function}
		if s.Backend == bundle.Engine {
			if row.Tasks, err = weights.count(s); err != nil {
				return r, fmt.Errorf("%s: %w", s.Container, err)
			}
			r.Tasks += row.Tasks
		}
		r.Segments = append(r.Segments, row)
	}
	return r, nil
}

// bundleWeights counts the weights of a bundle. Containers share weight files, and functions containers: what several read counts
// once.
type bundleWeights struct {
	bundle     *bundle.Bundle
	parameters int
	seen       map[weightPlace]bool
}

// count adds the weights that the tasks of a segment read, and returns how many tasks there are.
func (w *bundleWeights) count(s *bundle.Segment) (int, error) {
	file := w.bundle.Container(s.Container)
	version, err := file.TaskVersion()
	if err != nil {
		return 0, err
	}
	tasks, err := file.Tasks()
	if err != nil {
		return 0, err
	}
	e := newTaskExplainer(file, version)
	e.seen, e.container, e.weights = w.seen, s.Container, s.Weights
	for i, t := range tasks {
		e.task(i, t)
	}
	w.parameters += e.parameters
	return len(tasks), nil
}
