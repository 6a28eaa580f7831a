package main

import (
	"bufio"
	"fmt"
	"strings"
	"time"

	"github.com/espalier-ane/espalier"
	"github.com/espalier-ane/espalier/explain/report"
)

// The types of this file are the schema of compile --json; docs/json.md explains them.

type compileReport struct {
	Model     string             `json:"model,omitempty"`
	Target    string             `json:"target,omitempty"`
	Output    string             `json:"output,omitempty"`
	ID        string             `json:"id,omitempty"`
	Bytes     int64              `json:"bytes,omitempty"`
	TimeMS    float64            `json:"time_ms,omitempty"`
	Functions []compiledFunction `json:"functions,omitempty"`
	Passes    []passReport       `json:"passes,omitempty"`
	Warnings  []string           `json:"warnings,omitempty"`
}

func (r *compileReport) warn(list []*espalier.Finding) { r.Warnings = report.Warnings(list) }

type compiledFunction struct {
	Name     string            `json:"name"`
	Segments []compiledSegment `json:"segments"`
	Host     []hostOperation   `json:"host,omitempty"`
}

type compiledSegment struct {
	Name       string `json:"name"`
	Backend    string `json:"backend"`
	Operations int    `json:"operations"`
	Tasks      int    `json:"tasks,omitempty"`

	OnChip *onChipReport `json:"on_chip,omitempty"`
}

type onChipReport struct {
	Bytes   int64  `json:"bytes"`
	Used    int64  `json:"used"`
	Kept    int    `json:"kept"`
	Picture string `json:"picture"`
}

type hostOperation struct {
	Operation string `json:"operation"`
	Kind      string `json:"kind"`
	Reason    string `json:"reason"`
}

type passReport struct {
	Name   string   `json:"name"`
	Phase  string   `json:"phase"`
	Doc    string   `json:"doc"`
	After  []string `json:"after,omitempty"`
	Why    string   `json:"why,omitempty"`
	TimeMS *float64 `json:"time_ms,omitempty"`
}

// newPassReports lists the passes, with the times that they took if there are any.
func newPassReports(times map[string]time.Duration) []passReport {
	var list []passReport
	for _, p := range espalier.Passes() {
		r := passReport{Name: p.Name, Phase: p.Phase, Doc: p.Doc, After: p.After, Why: p.Why}
		if times != nil {
			ms := float64(times[p.Name].Microseconds()) / 1000
			r.TimeMS = &ms
		}
		list = append(list, r)
	}
	return list
}

// report describes what was compiled.
func (c *compilation) report(model, target string) compileReport {
	r := compileReport{Model: model, Target: target}
	host := map[string][]hostOperation{}
	for _, p := range c.program.Placements() {
		if p.Backend == "host" {
			host[p.Function] = append(host[p.Function], hostOperation{p.Operation, p.Kind, p.Reason})
		}
	}
	for _, f := range c.program.Functions() {
		function := compiledFunction{Name: f.Name, Segments: []compiledSegment{}, Host: host[f.Name]}
		for _, s := range f.Segments {
			segment := compiledSegment{Name: s.Name, Backend: s.Backend, Operations: s.Operations, Tasks: s.Tasks}
			if o := s.OnChip; o != nil {
				segment.OnChip = &onChipReport{o.Bytes, o.Used, o.Kept, o.Picture()}
			}
			function.Segments = append(function.Segments, segment)
		}
		r.Functions = append(r.Functions, function)
	}
	return r
}

func (c *compileCmd) report(call *invocation, r compileReport) error {
	if c.JSON {
		return report.WriteJSON(call.stdout, r)
	}
	w := bufio.NewWriter(call.stdout)
	r.print(w)
	return w.Flush()
}

func (r *compileReport) print(w *bufio.Writer) {
	if r.Model != "" {
		facts := []string{"for " + r.Target}
		name := r.Model
		if r.Output != "" {
			name = r.Output
			facts = append(facts, report.Size(r.Bytes))
		}
		facts = append(facts, fmt.Sprintf("%.1f ms", r.TimeMS))
		fmt.Fprintf(w, "%s\n  %s\n", report.Printable(name), strings.Join(facts, ", "))
	}
	for _, f := range r.Functions {
		f.print(w)
	}
	var rows [][]string
	for _, p := range r.Passes {
		row := []string{p.Phase, p.Name, p.Doc}
		if p.TimeMS != nil {
			row = []string{p.Phase, p.Name, fmt.Sprintf("%.3f ms", *p.TimeMS), p.Doc}
		}
		rows = append(rows, row)
		if len(p.After) > 0 {
			after := make([]string, len(row))
			after[len(row)-1] = "after " + strings.Join(p.After, ", ") + ": " + p.Why
			rows = append(rows, after)
		}
	}
	if rows != nil {
		fmt.Fprintln(w, "passes")
		report.Columns(w, "  ", rows)
	}
}

func (f *compiledFunction) print(w *bufio.Writer) {
	fmt.Fprintf(w, "function %s\n", report.Printable(f.Name))
	var rows [][]string
	for _, s := range f.Segments {
		row := []string{s.Backend, s.Name, report.Count(s.Operations, "operation")}
		if s.Tasks > 0 {
			row = append(row, report.Count(s.Tasks, "task"))
		}
		if o := s.OnChip; o != nil {
			row = append(row, fmt.Sprintf("%s on chip, %s kept there", report.Size(o.Used), report.Count(o.Kept, "result")))
		}
		rows = append(rows, row)
	}
	report.Columns(w, "  ", rows)
	if len(f.Host) == 0 {
		return
	}
	fmt.Fprintln(w, "  on the host")
	rows = nil
	for _, o := range f.Host {
		rows = append(rows, []string{o.Operation, o.Kind, o.Reason})
	}
	report.Columns(w, "    ", rows)
}
