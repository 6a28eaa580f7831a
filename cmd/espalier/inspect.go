package main

import (
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/espalier-ane/espalier/bundle"
	"github.com/espalier-ane/espalier/coreml"
	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/internal/ops"
	"github.com/espalier-ane/espalier/mil"
)

type inspectCmd struct {
	Model string `arg:"" help:"A package (.mlpackage, also zipped), model (.mlmodel), compiled model (.mlmodelc), MIL text (.mil), bundle or hardware container (.hwx)."`
	JSON  bool   `name:"json" help:"Print JSON; docs/json.md has the schema."`
}

func (c *inspectCmd) Run(call *invocation) error {
	report, broken, err := c.inspect()
	if err != nil {
		return err
	}
	if c.JSON {
		err = printJSON(call.stdout, report)
	} else {
		err = printInspection(call.stdout, report)
	}
	return errors.Join(err, broken)
}

func (c *inspectCmd) inspect() (report inspectReport, broken, err error) {
	switch {
	case hwx.IsContainerFile(c.Model):
		report, err = inspectContainer(c.Model)
		return report, nil, err
	case bundle.IsBundle(c.Model):
		report, err = inspectBundle(c.Model)
		return report, nil, err
	}
	model, err := coreml.Open(c.Model)
	if err != nil {
		return report, nil, err
	}
	defer model.Close()
	return inspectModel(c.Model, model)
}

// inspectModel describes a model without reading its weights. A missing weight file is part of the description, one
// that is damaged is an error beside it.
func inspectModel(path string, m *coreml.Model) (report inspectReport, broken, err error) {
	census := newCensus()
	report.Model = path
	if report.modelReport, err = describeModel(m, census); err != nil {
		return report, nil, err
	}
	files, err := m.CheckWeights()
	if err != nil {
		return report, nil, err
	}
	for _, f := range files {
		r := weightFileReport{Path: f.Path, Size: f.Size, Records: f.Records, Used: f.Used, Bytes: f.Bytes}
		switch {
		case errors.Is(f.Err, fs.ErrNotExist):
			r.Missing = true
		case f.Err != nil:
			r.Error = f.Err.Error()
			broken = errors.Join(broken, f.Err)
		}
		report.Weights.Files = append(report.Weights.Files, r)
	}
	census.fill(&report)
	return report, broken, nil
}

// describeModel describes a model and the stages of a pipeline.
func describeModel(m *coreml.Model, census *census) (modelReport, error) {
	d := &m.Description
	r := modelReport{
		Format:               m.Format.String(),
		SpecificationVersion: m.SpecificationVersion,
		Type:                 m.Type.String(),
		Updatable:            m.Updatable,
		Metadata: metadataReport{d.Metadata.ShortDescription, d.Metadata.Version, d.Metadata.Author,
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
		fr := functionReport{
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
	for _, stage := range m.Stages {
		sr, err := describeModel(stage.Model, census)
		if err != nil {
			return r, err
		}
		sr.Format = "" // that of the whole
		r.Stages = append(r.Stages, stageReport{stage.Name, sr})
	}
	return r, nil
}

// countOperations counts the operations of a function by kind, the most frequent first.
func countOperations(f *mil.Function, census *census) []operationReport {
	counts := map[string]int{}
	f.Body.Walk(func(op *mil.Operation) {
		counts[op.Kind]++
		census.add(op)
	})
	list := make([]operationReport, 0, len(counts))
	for kind, n := range counts {
		list = append(list, operationReport{Kind: kind, Count: n, Unknown: ops.Lookup(kind) == nil})
	}
	slices.SortFunc(list, func(a, b operationReport) int {
		if a.Count != b.Count {
			return b.Count - a.Count
		}
		return strings.Compare(a.Kind, b.Kind)
	})
	return list
}
