package bench

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/espalier-ane/espalier/explain/report"
)

// ErrOther is wrapped by the error about reports that are not of the same model.
var ErrOther = errors.New("the report is of another model")

// ReadJSON reads a report that WriteJSON wrote.
func ReadJSON(from io.Reader) (*Report, error) {
	var r Report
	if err := json.NewDecoder(from).Decode(&r); err != nil {
		return nil, fmt.Errorf("expected what espalier bench --json prints: %w", err)
	}
	if r.Report != reportName {
		return nil, fmt.Errorf("expected what espalier bench --json prints: its report is %q, not %q", r.Report, reportName)
	}
	return &r, nil
}

// A Comparison holds a report against an earlier one of the same model.
type Comparison struct {
	Before  string  `json:"before"`
	Figures []Ratio `json:"figures"`
	Tasks   []Ratio `json:"tasks,omitempty"`
	// New and Gone count the tasks that only one of both has.
	New  int `json:"new,omitempty"`
	Gone int `json:"gone,omitempty"`
}

// A Ratio is a figure before and now. Its ratio is above 1 if now is better: faster, or less.
type Ratio struct {
	Name   string  `json:"name"`
	Unit   string  `json:"unit"`
	Before float64 `json:"before"`
	Now    float64 `json:"now"`
	Ratio  float64 `json:"ratio"`
}

// Compare holds a report against an earlier one, from a file of a name.
func Compare(before, now *Report, name string) (*Comparison, error) {
	if before.Features != now.Features || before.Function != now.Function {
		return nil, fmt.Errorf("%w: it is about %s %s, this is %s %s", ErrOther, before.Function, before.Features, now.Function, now.Features)
	}
	if before.Inputs != now.Inputs {
		return nil, fmt.Errorf("%w, or of other shapes: its inputs are %s, and here %s", ErrOther, before.Inputs, now.Inputs)
	}
	// Models for the same task take and give the same. The work tells them apart, unless they are very much alike; compiling a
	// model in another way changes it a little.
	const alike = 2
	if a, b := before.Profile.flops(), now.Profile.flops(); a > 0 && b > 0 && (a > alike*b || b > alike*a) {
		return nil, fmt.Errorf("%w: a run of it has %.3g operations, and here %.3g", ErrOther, a, b)
	}
	c := &Comparison{Before: name}
	c.figures(before, now)
	c.tasks(before.Profile, now.Profile)
	return c, nil
}

// flops is the work of all tasks, 0 if there are none.
func (p *Profile) flops() (sum float64) {
	if p != nil {
		for _, t := range p.Tasks {
			sum += t.FLOPs
		}
	}
	return sum
}

// less adds a figure that is better when it is smaller, more one that is better when it is larger; neither if one is missing.
func less(list []Ratio, name, unit string, before, now float64) []Ratio {
	if before <= 0 || now <= 0 {
		return list
	}
	return append(list, Ratio{name, unit, before, now, before / now})
}

func more(list []Ratio, name, unit string, before, now float64) []Ratio {
	if before <= 0 || now <= 0 {
		return list
	}
	return append(list, Ratio{name, unit, before, now, now / before})
}

func (c *Comparison) figures(before, now *Report) {
	list := []Ratio{}
	if a, b := before.First, now.First; a != nil && b != nil {
		list = less(list, "first result", "ms", a.TotalMS, b.TotalMS)
		list = less(list, "open", "ms", a.OpenMS, b.OpenMS)
		list = less(list, "compile", "ms", a.CompileMS, b.CompileMS)
		list = less(list, "load", "ms", a.LoadMS, b.LoadMS)
	}
	if a, b := before.Latency, now.Latency; a != nil && b != nil {
		list = less(list, "latency, min", "ms", a.MinMS, b.MinMS)
		list = less(list, "latency, median", "ms", a.MedianMS, b.MedianMS)
		list = less(list, "latency, 90 %", "ms", a.P90MS, b.P90MS)
		list = less(list, "latency, 99 %", "ms", a.P99MS, b.P99MS)
	}
	rates := func(what string, before, now []Throughput, key func(Throughput) int) {
		for _, b := range now {
			for _, a := range before {
				if key(a) == key(b) {
					list = more(list, fmt.Sprintf("%s %d", what, key(b)), "a second", a.PerSecond, b.PerSecond)
				}
			}
		}
	}
	rates("streams", before.Streams, now.Streams, func(t Throughput) int { return t.Streams })
	rates("batch", before.Batches, now.Batches, func(t Throughput) int { return t.Batch })
	if a, b := before.Memory, now.Memory; a != nil && b != nil {
		const mib = 1 << 20
		list = less(list, "resident", "MiB", float64(a.Resident)/mib, float64(b.Resident)/mib)
		list = less(list, "packed", "MiB", float64(a.Packed)/mib, float64(b.Packed)/mib)
		list = less(list, "scratch", "MiB", float64(a.Scratch)/mib, float64(b.Scratch)/mib)
	}
	if a, b := before.Roofline, now.Roofline; a != nil && b != nil {
		list = more(list, "machine", "GFLOP/s", a.GFLOPS, b.GFLOPS)
		list = more(list, "machine, memory", "GB/s", a.MemoryGBPS, b.MemoryGBPS)
	}
	c.Figures = list
}

// tasks compares those that compute the same operations, or, where these are not known, have the same place.
func (c *Comparison) tasks(before, now *Profile) {
	if before == nil || now == nil {
		return
	}
	old := map[string][]Task{}
	for _, t := range before.Tasks {
		old[t.key()] = append(old[t.key()], t)
	}
	each := func(t *Task) float64 { return t.TotalMS / float64(max(t.Runs, 1)) }
	matched := 0
	for _, t := range now.Tasks {
		k := t.key()
		if len(old[k]) == 0 {
			c.New++
			continue
		}
		a := old[k][0]
		old[k] = old[k][1:]
		matched++
		c.Tasks = less(c.Tasks, t.name(), "ms", each(&a), each(&t))
	}
	c.Gone = len(before.Tasks) - matched
}

// key finds a task in another report.
func (t *Task) key() string {
	if len(t.Operations) == 0 {
		return fmt.Sprintf("%s:%d %s %s", t.Segment, t.Task, t.What, t.Result)
	}
	return strings.Join(t.Operations, " ")
}

func (t *Task) name() string {
	name := fmt.Sprintf("%s:%d %s %s", t.Segment, t.Task, t.What, t.Result)
	if len(t.Operations) > 0 {
		name += ", " + strings.Join(t.Operations, " ")
	}
	return name
}

// writeText writes the comparison for people: all figures, and the dearest tasks.
func (c *Comparison) writeText(w *bufio.Writer) {
	fmt.Fprintf(w, "against %s: a ratio above 1 is better now\n", report.Printable(c.Before))
	report.Columns(w, "  ", ratioRows(c.Figures))
	if n := min(shownTasks, len(c.Tasks)); n > 0 {
		fmt.Fprintf(w, "the dearest %s of %d that both have\n", report.Count(n, "task"), len(c.Tasks))
		report.Columns(w, "  ", ratioRows(c.Tasks[:n]))
	}
	if c.New+c.Gone > 0 {
		fmt.Fprintf(w, "  %s only now, %s only before\n", report.Count(c.New, "task"), report.Count(c.Gone, "task"))
	}
}

// ratioRows are figures as rows of text, with titles.
func ratioRows(list []Ratio) [][]string {
	rows := [][]string{{"ratio", "before", "now", "unit", "figure"}}
	for _, r := range list {
		rows = append(rows, []string{fmt.Sprintf("%.2f", r.Ratio), figure(r.Before), figure(r.Now), r.Unit, r.Name})
	}
	return rows
}

// figure writes a number with about four digits.
func figure(v float64) string {
	if v >= 1000 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.4g", v)
}
