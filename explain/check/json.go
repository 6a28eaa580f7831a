package check

import (
	"encoding/json"
	"io"

	"github.com/espalier-ane/espalier/explain/report"
	"github.com/espalier-ane/espalier/internal/diag"
)

// The types of this file are the schema of check --format json; docs/json.md explains them.

type reportJSON struct {
	Report    string         `json:"report"`
	Model     string         `json:"model"`
	Route     Route          `json:"route,omitempty"`
	Readings  []readingJSON  `json:"readings,omitempty"`
	Functions []functionJSON `json:"functions"`
	Warnings  []string       `json:"warnings,omitempty"`
}

type readingJSON struct {
	Name    string   `json:"name"`
	Targets []string `json:"targets"`
	Said    string   `json:"said"`
}

type functionJSON struct {
	Name          string          `json:"name"`
	Graph         bool            `json:"graph,omitempty"`
	Shapes        []string        `json:"shapes,omitempty"`
	AbsentWeights bool            `json:"absent_weights,omitempty"`
	Operations    []operationJSON `json:"operations"`
	Targets       []targetJSON    `json:"targets"`
	Findings      []findingJSON   `json:"findings"`
}

type operationJSON struct {
	Name   string `json:"name"`
	Kind   string `json:"kind"`
	Line   int    `json:"line,omitempty"`
	Offset int64  `json:"offset,omitempty"`
	Origin string `json:"origin,omitempty"`
}

type targetJSON struct {
	Name          string        `json:"name"`
	Chip          string        `json:"chip"`
	Verdict       string        `json:"verdict"`
	Whole         bool          `json:"whole"`
	OnHost        int           `json:"on_host"`
	Dispatches    int           `json:"dispatches"`
	BoundaryCasts int           `json:"boundary_casts"`
	Estimate      *estimateJSON `json:"estimate,omitempty"`
	NoEstimate    string        `json:"no_estimate,omitempty"`
	Authored      *authoredJSON `json:"authored,omitempty"`
	Segments      []segmentJSON `json:"segments"`
	Backends      []string      `json:"backends"`
	Statuses      []string      `json:"statuses"`
}

type estimateJSON struct {
	Microseconds float64 `json:"microseconds"`
	Bound        string  `json:"bound"`
	Error        string  `json:"error"`
	Excluded     string  `json:"excluded,omitempty"`
}

type authoredJSON struct {
	Verdict string `json:"verdict"`
	Won     []int  `json:"won"`
	Left    []int  `json:"left"`
	Lost    []int  `json:"lost"`
}

type segmentJSON struct {
	Backend    string `json:"backend"`
	Operations []int  `json:"operations"`
}

type findingJSON struct {
	ID         diag.ID    `json:"id"`
	Severity   Severity   `json:"severity"`
	Effect     string     `json:"effect,omitempty"`
	Operation  *int       `json:"operation,omitempty"`
	Layer      string     `json:"layer,omitempty"`
	Targets    []string   `json:"targets"`
	Text       string     `json:"text"`
	Limit      string     `json:"limit,omitempty"`
	Found      string     `json:"found,omitempty"`
	Remedy     string     `json:"remedy,omitempty"`
	Confidence Confidence `json:"confidence"`
	Source     string     `json:"source,omitempty"`
	Against    string     `json:"against,omitempty"`
}

// WriteJSON writes the report by the schema of docs/json.md.
func (r *Report) WriteJSON(w io.Writer) error { return report.WriteJSON(w, r) }

// MarshalJSON has the report by that schema.
func (r *Report) MarshalJSON() ([]byte, error) {
	out := reportJSON{Report: jsonMark, Model: r.Model, Warnings: report.Warnings(r.Warnings)}
	if r.Route != Converted {
		out.Route = r.Route
	}
	for _, reading := range r.Readings {
		out.Readings = append(out.Readings, readingJSON(reading))
	}
	for _, f := range r.Functions {
		out.Functions = append(out.Functions, f.json())
	}
	return json.Marshal(out)
}

func (f *Function) json() functionJSON {
	out := functionJSON{
		Name: f.Name, Graph: f.Graph, Shapes: f.Shapes, AbsentWeights: f.AbsentWeights,
		Operations: []operationJSON{}, Targets: []targetJSON{}, Findings: []findingJSON{},
	}
	for _, o := range f.Operations {
		out.Operations = append(out.Operations, operationJSON(*o).located())
	}
	for _, t := range f.Targets {
		out.Targets = append(out.Targets, t.json(f))
	}
	for _, x := range f.Findings() {
		j := findingJSON{
			ID: x.ID, Severity: x.Severity, Effect: x.Effect().String(), Targets: x.Targets,
			Text: x.Text, Limit: x.Limit, Found: x.Found, Remedy: x.Remedy, Confidence: x.Confidence, Source: x.Source, Against: x.Against,
		}
		if len(x.Operations) > 0 {
			j.Operation = &x.Operations[0]
		}
		if len(x.Layers) > 0 {
			j.Layer = x.Layers[0]
		}
		out.Findings = append(out.Findings, j)
	}
	return out
}

// located has the place in the form that the model has: a line or a byte.
func (o operationJSON) located() operationJSON {
	if o.Line > 0 {
		o.Offset = 0
	}
	return o
}

func (t *Target) json(f *Function) targetJSON {
	out := targetJSON{
		Name: t.Name, Chip: t.Chip, Verdict: t.Verdict(f),
		Whole: t.Whole(), OnHost: t.OnHost(), Dispatches: t.Dispatches(), BoundaryCasts: t.BoundaryCasts(),
		NoEstimate: t.NoEstimate, Segments: []segmentJSON{}, Backends: []string{}, Statuses: []string{},
	}
	if e := t.Estimate; e != nil {
		out.Estimate = &estimateJSON{e.Rounded(), e.Bound, e.Error, e.Excluded}
	}
	if a := t.Authored; a != nil {
		list := func(indices []int) []int { return append([]int{}, indices...) }
		out.Authored = &authoredJSON{t.Authoring(f), list(a.Won), list(a.Left), list(a.Lost)}
	}
	for _, s := range t.Segments {
		j := segmentJSON(s)
		if j.Operations == nil {
			j.Operations = []int{} // it hands over a constant
		}
		out.Segments = append(out.Segments, j)
	}
	for _, p := range t.Places {
		out.Backends, out.Statuses = append(out.Backends, p.Backend), append(out.Statuses, p.Status)
	}
	return out
}
