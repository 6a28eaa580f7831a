package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// A Report is everything that a run measured.
type Report struct {
	Machine Machine  `json:"machine"`
	Rounds  int      `json:"rounds"`
	Results []Result `json:"results"`
	Figures []Figure `json:"figures"`
	Failed  []string `json:"failed,omitempty"` // instruction sets of which there is nothing
}

// failed lists what could not be measured, or is wrong.
func (r *Report) failed() []string {
	list := slices.Clone(r.Failed)
	for _, x := range r.Results {
		if x.Error != "" {
			list = append(list, fmt.Sprintf("%s, %s, %d threads: %s", x.Model, x.ISA, x.Threads, x.Error))
		}
	}
	for _, f := range r.Figures {
		if f.Error != "" {
			list = append(list, fmt.Sprintf("%s, %s: %s", f.Name, f.ISA, f.Error))
		}
	}
	return list
}

// markdown writes the report as a page.
func (r *Report) markdown(w io.Writer) error {
	var b strings.Builder
	m := r.Machine
	b.WriteString("# This project beside ONNX Runtime\n\n")
	b.WriteString("Written by `make bench-peers`. What is measured, and how it is kept fair, is in [peers/README.md](peers/README.md).\n\n")
	table(&b, "ll", "machine | ", [][]string{
		{"processor", fmt.Sprintf("%s, %d cores, %s", m.Processor, m.Cores, m.System)},
		{"instruction sets that we use", m.Sets},
		{"ONNX Runtime", m.Peer},
		{"this project", m.Commit + ", " + m.Go},
		{"time", fmt.Sprintf("%s, %d rounds", m.Time, r.Rounds)},
	})
	b.WriteString("\n## Ratios\n\n")
	b.WriteString("Ratio: ONNX Runtime's median ÷ ours, above 1 is ahead of it. Of least: the ratio of the shortest runs. Times in ms, median (least). " +
		"Instructions: what `ESPALIER_ISA` asks for. Difference: the largest of the results, in root mean squares of the output. " +
		"Others: the share of the machine that other processes used meanwhile; figures with much of it are rough.\n\n")
	var rows [][]string
	for i := range r.Results {
		rows = append(rows, r.row(&r.Results[i]))
	}
	table(&b, "llrrrrlrrrrr", "network | instructions | threads | ratio | at least | goal | | of least | ours | ONNX Runtime | difference | others", rows)
	if len(r.Figures) > 0 {
		b.WriteString("\n## Other figures\n\n")
		rows = nil
		for i := range r.Figures {
			rows = append(rows, r.Figures[i].row())
		}
		table(&b, "llrrll", "figure | instructions | measured | demanded | | ", rows)
	}
	if list := r.failed(); len(list) > 0 {
		b.WriteString("\n## Not measured, or wrong\n\n- " + strings.Join(list, "\n- ") + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *Report) row(x *Result) []string {
	d := demanded(x, strings.Contains(r.Machine.Sets, "amx"))
	verdict, ratio, ofLeast := "", "–", "–"
	if x.Ratio != 0 {
		ratio, ofLeast = fmt.Sprintf("%.2f", x.Ratio), fmt.Sprintf("%.2f", x.Peer.Min/x.Ours.Min)
		verdict = mark(d.least, x.Ratio >= d.least)
	}
	return []string{
		x.Model, x.ISA, fmt.Sprint(x.Threads), ratio, orDash(d.least), orDash(d.goal), verdict, ofLeast,
		x.Ours.String(), x.Peer.String(), fmt.Sprintf("%.1e", x.Difference), fmt.Sprintf("%.0f %%", 100*x.Others),
	}
}

func (f *Figure) row() []string {
	demand := "–"
	switch {
	case f.Least != 0:
		demand = fmt.Sprintf("≥ %g %s", f.Least, f.Unit)
	case f.Most != 0:
		demand = fmt.Sprintf("≤ %g %s", f.Most, f.Unit)
	}
	if f.Error != "" {
		return []string{f.Name, f.ISA, "–", demand, "", f.Error}
	}
	return []string{f.Name, f.ISA, fmt.Sprintf("%.*f %s", f.digits(), f.Value, f.Unit), demand, mark(max(f.Least, f.Most), f.met()), f.Detail}
}

// digits are those after the point: ratios have more than percents and times.
func (f *Figure) digits() int {
	if f.Unit == "×" {
		return 3
	}
	return 1
}

// mark says whether a demand is met, if there is one.
func mark(demand float64, met bool) string {
	switch {
	case demand == 0:
		return ""
	case met:
		return "met"
	}
	return "**missed**"
}

func orDash(v float64) string {
	if v == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f", v)
}

func (t Times) String() string {
	if t.Runs == 0 {
		return "–"
	}
	digits := 1
	if t.Median < 10 {
		digits = 3
	}
	return fmt.Sprintf("%.*f (%.*f)", digits, t.Median, digits, t.Min)
}

// table writes a table: the columns are left or right by their letter.
func table(b *strings.Builder, columns, head string, rows [][]string) {
	b.WriteString("| " + head + " |\n|")
	for i := range strings.Count(head, "|") + 1 {
		if i < len(columns) && columns[i] == 'r' {
			b.WriteString("---:|")
		} else {
			b.WriteString("---|")
		}
	}
	b.WriteString("\n")
	for _, row := range rows {
		b.WriteString("| " + strings.Join(row, " | ") + " |\n")
	}
}
