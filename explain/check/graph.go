package check

import (
	"context"
	"fmt"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/compiler"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/internal/graphfile"
)

// graphFile holds the graphs of a file to the gates of every target. Their layers are the operations of the report.
func graphFile(ctx context.Context, path string, o Options) (*Report, error) {
	if o.Route != "" && o.Route != Authored {
		return nil, fmt.Errorf("%s: %w", path, &RouteError{o.Route})
	}
	file, err := graphfile.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	r := &Report{Model: path, Route: Authored, Readings: newReadings(o.Names), Warnings: file.Warnings}
	var have []string
	for i := range file.Procedures {
		p := &file.Procedures[i]
		have = append(have, p.Name)
		if o.Function != "" && p.Name != o.Function {
			continue
		}
		f, err := checkGraph(ctx, path, p, &o)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		r.Functions = append(r.Functions, f)
	}
	if len(r.Functions) == 0 {
		return nil, fmt.Errorf("%s: %w", path, &FunctionError{o.Function, have})
	}
	return r, nil
}

func checkGraph(ctx context.Context, path string, p *graphfile.Procedure, o *Options) (*Function, error) {
	out := &Function{Name: p.Name, Graph: true}
	for i, t := range o.Targets {
		if o.Progress != nil {
			o.Progress(i, len(o.Targets), p.Name+" on "+t.Name)
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		a, err := compiler.AssessGraph(ctx, p.Graph, t)
		if err != nil {
			return nil, err
		}
		if out.Operations == nil {
			for _, l := range a.Layers {
				out.Operations = append(out.Operations, &Operation{Name: l.Name, Kind: l.Kind().String(), Line: p.Lines[l.Name]})
			}
		}
		out.Targets = append(out.Targets, graphTarget(path, out, a, t))
	}
	return out, nil
}

// graphTarget is the record of what a target makes of a graph.
func graphTarget(path string, f *Function, a *compiler.GraphAssessment, t *hal.Target) *Target {
	out := &Target{Name: t.Name, Chip: t.Chips(), Findings: a.Findings}
	for i, v := range a.Verdicts {
		out.Places = append(out.Places, Place{v.Backend.String(), v.Status.String()})
		if v.Finding != nil {
			v.Finding.Place.Operation = f.Operations[i].Name
			out.Findings = append(out.Findings, v.Finding)
		}
	}
	for _, layers := range a.Segments {
		out.Segments = append(out.Segments, Segment{Engine, layers})
	}
	out.setEstimate(a.Estimate)
	index := f.places()
	for _, x := range out.Findings {
		x.Place.File, x.Place.Function = path, f.Name
		if i := index(diag.Place{Operation: x.Place.Operation}); i >= 0 {
			x.Place.Line = f.Operations[i].Line
		}
	}
	sortFindings(out.Findings, index)
	return out
}
