package bench

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/espalier-ane/espalier/explain/report"
)

// shownTasks is how many tasks a text has. JSON and the page have all.
const shownTasks = 10

// WriteText writes the report for people.
func (r *Report) WriteText(to io.Writer) error {
	w := bufio.NewWriter(to)
	fmt.Fprintf(w, "%s\n  %s\n", report.Printable(r.Model), report.Printable(r.facts()))
	for _, file := range r.RandomWeights {
		fmt.Fprintf(w, "  %s is absent: its weights are random\n", report.Printable(file))
	}
	if r.Interrupted {
		fmt.Fprintln(w, "  interrupted: what was not measured is left out")
	}
	for _, s := range r.sections() {
		fmt.Fprintln(w, s.title)
		report.Columns(w, "  ", s.rows)
	}
	if r.Profile != nil {
		r.Profile.writeText(w, shownTasks)
	}
	if r.Compared != nil {
		r.Compared.writeText(w)
	}
	return w.Flush()
}

// facts say in one line what was measured, and where.
func (r *Report) facts() string {
	m := &r.Machine
	facts := []string{"function " + r.Function, "numerics " + r.Numerics, m.Platform, m.ISA, report.Count(m.Threads, "thread") + " of " + fmt.Sprint(m.Processors)}
	if r.Target != "" {
		facts = append([]string{"for " + r.Target}, facts...)
	}
	if r.Inputs != "" {
		facts = append(facts, "inputs "+r.Inputs)
	}
	return strings.Join(facts, ", ")
}

// A section is a small table of the report, for text and for the page. Its first row has the titles.
type section struct {
	title string
	rows  [][]string
}

func ms(v float64) string { return fmt.Sprintf("%.3f ms", v) }

// sections are all figures but those of tasks.
func (r *Report) sections() []section {
	var list []section
	if f := r.First; f != nil {
		made, took := "compile", f.CompileMS
		if f.FetchMS > 0 {
			made, took = "from cache", f.FetchMS+f.CompileMS
		}
		list = append(list, section{"time to the first result", [][]string{
			{"open", made, "load", "first run", "in all"},
			{ms(f.OpenMS), ms(took), ms(f.LoadMS), ms(f.RunMS), ms(f.TotalMS)},
		}})
	}
	if r.Budget != nil {
		list = append(list, r.Budget.section())
	}
	if l := r.Latency; l != nil {
		list = append(list, section{"latency of " + report.Count(l.Runs, "run"), [][]string{
			{"min", "median", "90 %", "99 %", "max", "mean"},
			{ms(l.MinMS), ms(l.MedianMS), ms(l.P90MS), ms(l.P99MS), ms(l.MaxMS), ms(l.MeanMS)},
		}})
	}
	if len(r.Streams) > 0 {
		rows := [][]string{{"streams", "a second", "median"}}
		for _, t := range r.Streams {
			rows = append(rows, []string{fmt.Sprint(t.Streams), rate(t.PerSecond), ms(t.MedianMS)})
		}
		list = append(list, section{"throughput by streams", rows})
	}
	if len(r.Batches) > 0 {
		rows := [][]string{{"batch", "examples a second", "median"}}
		for _, t := range r.Batches {
			rows = append(rows, []string{fmt.Sprint(t.Batch), rate(t.PerSecond), ms(t.MedianMS)})
		}
		title := "throughput by batch"
		if r.BatchNote != "" {
			title += ": " + r.BatchNote
		}
		list = append(list, section{title, rows})
	}
	if m := r.Memory; m != nil && *m != (Memory{}) {
		row := []string{report.Size(m.Weights), report.Size(m.Packed), report.Size(m.Scratch)}
		titles := []string{"weights", "packed", "scratch of a run"}
		if m.Resident > 0 {
			titles, row = append(titles, "resident", "of that not of files"), append(row, report.Size(m.Resident), report.Size(m.Anonymous))
		}
		list = append(list, section{"memory", [][]string{titles, row}})
	}
	if f := r.Roofline; f != nil {
		list = append(list, section{"what the machine can do on " + report.Count(f.Threads, "thread"), [][]string{
			{"GFLOP/s", "by", "memory GB/s", "second cache GB/s", "operations a byte at the ridge"},
			{rate(f.GFLOPS), f.By, rate(f.MemoryGBPS), rate(f.L2GBPS), rate(f.GFLOPS / f.MemoryGBPS)},
		}})
	}
	return list
}
