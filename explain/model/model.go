package model

import (
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/espalier-ane/espalier/bundle"
	"github.com/espalier-ane/espalier/coreml"
	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/internal/graphfile"
	"github.com/espalier-ane/espalier/internal/ops"
	"github.com/espalier-ane/espalier/mil"
)

// File describes a model: a package, model, compiled model, MIL text, graph of native layers, bundle or container. If a weight file is damaged, there is
// a report and an error.
func File(path string) (*Report, error) {
	switch {
	case hwx.IsContainerFile(path):
		return describeContainer(path)
	case bundle.IsBundle(path):
		return describeBundle(path)
	}
	if graphfile.IsFile(path) {
		f, err := graphfile.Open(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return DescribeGraphs(path, f)
	}
	m, err := coreml.Open(path)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	return Describe(path, m)
}

// Describe describes a model that is open, without reading its weights. A missing weight file is part of the description, one
// that is damaged is an error beside it.
func Describe(path string, m *coreml.Model) (*Report, error) {
	census := newCensus()
	d, err := describeModel(m, census)
	if err != nil {
		return nil, err
	}
	files, err := m.CheckWeights()
	if err != nil {
		return nil, err
	}
	report := &Report{Model: path, Description: d}
	var broken error
	for _, f := range files {
		r := WeightFile{Path: f.Path, Size: f.Size, Records: f.Records, Used: f.Used, Bytes: f.Bytes}
		switch {
		case errors.Is(f.Err, fs.ErrNotExist):
			r.Missing = true
		case f.Err != nil:
			r.Error = f.Err.Error()
			broken = errors.Join(broken, f.Err)
		}
		report.Weights.Files = append(report.Weights.Files, r)
	}
	census.fill(report)
	return report, broken
}

// describeModel describes a model and the stages of a pipeline.
func describeModel(m *coreml.Model, census *census) (Description, error) {
	d := &m.Description
	r := Description{
		Format:               m.Format.String(),
		SpecificationVersion: m.SpecificationVersion,
		Type:                 m.Type.String(),
		Updatable:            m.Updatable,
		Metadata: Metadata{d.Metadata.ShortDescription, d.Metadata.Version, d.Metadata.Author,
			d.Metadata.License, d.Metadata.UserDefined},
	}
	var program *mil.Program
	if m.Type == coreml.MLProgram {
		var err error
		if program, err = m.Program(); err != nil {
			return r, err
		}
		r.ProgramVersion = program.Version
	}
	for _, f := range d.Functions {
		fr := Function{
			Name:    f.Name,
			Default: f.Name == d.DefaultFunction,
			Inputs:  describeFeatures(f.Inputs),
			Outputs: describeFeatures(f.Outputs),
			States:  describeFeatures(f.States),

			PredictedFeature:       f.PredictedFeature,
			PredictedProbabilities: f.PredictedProbabilities,
		}
		if program != nil {
			if body := program.Function(f.Name); body != nil {
				fr.Opset = body.Opset
				if o, err := ops.ParseOpset(body.Opset); err == nil {
					fr.Opset = o.String()
				} else {
					fr.UnknownOpset = true
				}
				fr.Operations = countOperations(body, census)
			}
		}
		r.Functions = append(r.Functions, fr)
	}
	layers, err := describeLayers(m)
	if err != nil {
		return r, err
	}
	r.Layers = layers
	for _, stage := range m.Stages {
		sr, err := describeModel(stage.Model, census)
		if err != nil {
			return r, err
		}
		sr.Format = "" // that of the whole
		r.Stages = append(r.Stages, Stage{stage.Name, sr})
	}
	return r, nil
}

// countOperations counts the operations of a function by kind, the most frequent first.
func countOperations(f *mil.Function, census *census) []OperationCount {
	counts := map[string]int{}
	f.Body.Walk(func(op *mil.Operation) {
		counts[op.Kind]++
		census.add(op)
	})
	list := make([]OperationCount, 0, len(counts))
	for kind, n := range counts {
		list = append(list, OperationCount{Kind: kind, Count: n, Unknown: ops.Lookup(kind) == nil})
	}
	slices.SortFunc(list, func(a, b OperationCount) int {
		if a.Count != b.Count {
			return b.Count - a.Count
		}
		return strings.Compare(a.Kind, b.Kind)
	})
	return list
}
