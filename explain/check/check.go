package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/espalier-ane/espalier/coreml"
	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/compiler"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/internal/estimate"
	"github.com/espalier-ane/espalier/internal/ops"
	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// Options say what to look at.
type Options struct {
	Targets  []*hal.Target // in the order of the report
	Names    []hal.Choice  // what they were asked for by, if by names: where sources disagree on one, the report says so
	Function string        // "" is all of them
	Route    Route         // "" is that of the file: Converted for a model, Authored for graphs

	// Progress is told how many of the targets are done and what comes; nil is not.
	Progress func(done, total int, what string)
}

// A FunctionError is about a function that the model does not have.
type FunctionError struct {
	Name string
	Have []string
}

func (e *FunctionError) Error() string {
	return fmt.Sprintf("there is no function %q: the model has %q", e.Name, e.Have)
}

// Model places every operation of a model on every target. The model's weight files need not be there.
func Model(ctx context.Context, path string, m *coreml.Model, o Options) (*Report, error) {
	if o.Route == "" {
		o.Route = Converted
	}
	r := &Report{Model: path, Route: o.Route, Readings: newReadings(o.Names)}
	programs, err := modelPrograms(m)
	if err != nil {
		return nil, err
	}
	var have []string
	for _, p := range programs {
		for _, f := range p.program.Functions {
			if !slices.Contains(have, f.Name) {
				have = append(have, f.Name)
			}
			if o.Function != "" && f.Name != o.Function {
				continue
			}
			checked, err := checkFunction(ctx, path, f, p.description.Function(f.Name), &o)
			if err != nil {
				return nil, err
			}
			checked.Name = p.prefix + checked.Name
			r.Functions = append(r.Functions, checked)
		}
	}
	if len(r.Functions) == 0 {
		return nil, &FunctionError{o.Function, have}
	}
	return r, nil
}

// A part is a program of a model: a pipeline has several.
type part struct {
	prefix      string
	program     *mil.Program
	description *coreml.Description
}

func modelPrograms(m *coreml.Model) ([]part, error) {
	var all []part
	for i, stage := range m.Stages {
		inner, err := modelPrograms(stage.Model)
		if err != nil {
			return nil, fmt.Errorf("stage %d: %w", i, err)
		}
		for _, p := range inner {
			p.prefix = fmt.Sprintf("stage %d: %s", i, p.prefix)
			all = append(all, p)
		}
	}
	if len(m.Stages) > 0 {
		return all, nil
	}
	p, err := m.Program()
	if err != nil {
		return nil, err
	}
	if err := errors.Join(mil.Verify(p), ops.Verify(p)); err != nil {
		return nil, err
	}
	return []part{{program: p, description: &m.Description}}, nil
}

// A check is a function on its way to a report.
type check struct {
	*compiler.Examination
	assessor *compiler.Assessor
	index    map[*mil.Operation]int
	indexOf  func(diag.Place) int
}

func checkFunction(ctx context.Context, path string, f *mil.Function, d *coreml.FunctionDescription, o *Options) (*Function, error) {
	shapes := d.DefaultShapes(f)
	flat, err := ops.Unroll(f, shapes)
	if err != nil {
		return nil, err
	}
	e, err := compiler.Examine(flat, shapes)
	if err != nil {
		return nil, err
	}
	c := &check{Examination: e, assessor: e.NewAssessor(), index: map[*mil.Operation]int{}}
	out := &Function{Name: f.Name, AbsentWeights: e.AbsentWeights, Shapes: shapeTexts(f, shapes)}
	for i, x := range e.Operations {
		c.index[x.Op] = i
		out.Operations = append(out.Operations, &Operation{
			Name: x.Op.Name(), Kind: x.Op.Kind, Line: x.Op.Pos.Line, Offset: x.Op.Pos.Offset, Origin: origin(x.Op),
		})
	}
	c.indexOf = out.places()
	for i, t := range o.Targets {
		if o.Progress != nil {
			o.Progress(i, len(o.Targets), f.Name+" on "+t.Name)
		}
		target, err := c.target(ctx, t, o.Route)
		if err != nil {
			return nil, err
		}
		if len(out.Shapes) > 0 && t.Family != hal.Virtual {
			target.Findings = slices.Insert(target.Findings, 0, flexibleShapes(f.Name, out.Shapes))
		}
		for _, x := range target.Findings {
			x.Place.File = path
		}
		out.Targets = append(out.Targets, target)
	}
	return out, nil
}

// origin is what the metadata of an operation says beside its name: converters note the source there.
func origin(op *mil.Operation) string {
	const longest = 200
	var notes []string
	for _, a := range op.Attributes {
		if a.Name == "name" || a.Name == "val" || a.Value == nil || a.Value.Tensor == nil || a.Value.Tensor.DType() != tensor.String {
			continue
		}
		if texts := a.Value.Tensor.Strings(); len(texts) == 1 && texts[0] != "" {
			notes = append(notes, a.Name+" "+texts[0])
		}
	}
	text := []rune(strings.Join(notes, ", "))
	if len(text) > longest {
		return string(text[:longest]) + "…"
	}
	return string(text)
}

// flexibleShapes says what becomes of inputs whose shapes are not fixed.
func flexibleShapes(function string, shapes []string) *Finding {
	return Finding{
		ID:    diag.FlexibleShapes,
		Text:  "programs of the engine have fixed shapes: some are compiled ahead and the nearest is taken, and the host runs what is left. This report is for one",
		Limit: "fixed shapes", Found: strings.Join(shapes, ", "),
		Remedy: "enumerate the shapes that are used, or pad to one", Source: "guide 8, gated features; guide 19, symbolic shapes",
	}.At(Note, diag.Place{Function: function})
}

func shapeTexts(f *mil.Function, shapes map[string][]int) []string {
	var texts []string
	for _, v := range f.Inputs {
		if shape, ok := shapes[v.Name]; ok {
			var extents []string
			for _, n := range shape {
				extents = append(extents, strconv.Itoa(n))
			}
			texts = append(texts, v.Name+" "+strings.Join(extents, "×"))
		}
	}
	return texts
}

func (c *check) target(ctx context.Context, t *hal.Target, r Route) (*Target, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	route := anec.Converted
	if r == Authored {
		route = anec.Authored
	}
	p, err := c.assessor.Place(ctx, t, route)
	if err != nil {
		return nil, err
	}
	out := &Target{Name: t.Name, Chip: t.Chips(), Findings: p.Findings()}
	for _, o := range p.Ops {
		out.Places = append(out.Places, Place{o.Backend.String(), o.Status.String()})
	}
	for _, part := range p.Parts {
		s := Segment{Backend: part.Backend.String()}
		for _, o := range part.Ops {
			s.Operations = append(s.Operations, c.index[o.Op])
		}
		out.Segments = append(out.Segments, s)
	}
	estimate, found, err := c.assessor.Assess(ctx, p)
	if err != nil {
		return nil, err
	}
	out.setEstimate(estimate)
	out.Findings = append(out.Findings, found...)
	if r == Both {
		if err := c.compare(ctx, out, p); err != nil {
			return nil, err
		}
	}
	sortFindings(out.Findings, c.indexOf)
	return out, nil
}

// sortFindings sorts by operation, then by ID.
func sortFindings(list []*Finding, indexOf func(diag.Place) int) {
	slices.SortStableFunc(list, func(a, b *Finding) int {
		return cmp.Or(cmp.Compare(indexOf(a.Place), indexOf(b.Place)), cmp.Compare(a.ID, b.ID))
	})
}

func (t *Target) setEstimate(e estimate.Estimate) {
	if !e.Known() {
		t.NoEstimate = e.Absent
		return
	}
	t.Estimate = &Estimate{
		Microseconds: e.Seconds * 1e6, Bound: e.Bound.String(), Dispatches: e.Dispatches,
		Excluded: e.Excluded, Error: e.Error, Text: e.String(),
	}
}
