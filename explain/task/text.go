package task

import (
	"bufio"
	"fmt"
	"strings"

	"github.com/espalier-ane/espalier/explain/report"
	"github.com/espalier-ane/espalier/td"
)

// WriteText describes the task for people: what it computes, its fields block by block, its weights and its table. The writer
// keeps an error.
func (r *Task) WriteText(w *bufio.Writer) {
	fmt.Fprintf(w, "task %d  at 0x%x, address %s, version %d, %s\n", r.Index, r.Offset, r.Address, r.Version, report.Count(r.Length, "word"))
	fmt.Fprintf(w, "  %s\n", report.Printable(r.What))
	var rows [][]string
	for _, g := range fieldGroups(r.Fields.task) {
		rows = append(rows, []string{g.name, strings.Join(g.fields, ", ")})
	}
	var unknown []string
	for _, m := range r.Unknown {
		unknown = append(unknown, fmt.Sprintf("%s %v", m.Name, m.Value))
	}
	if len(unknown) > 0 {
		rows = append(rows, []string{"unknown bits", strings.Join(unknown, ", ")})
	}
	report.Columns(w, "  ", rows)
	r.Weights.writeText(w)
	r.Table.writeText(w)
}

// WriteWords writes the words of the task: those of the header, then the runs of registers.
func (r *Task) WriteWords(w *bufio.Writer) {
	line := func(title string, words []uint32) {
		const inLine = 8
		for i := 0; i < len(words); i += inLine {
			fmt.Fprintf(w, "  %-11s", title)
			for _, word := range words[i:min(i+inLine, len(words))] {
				fmt.Fprintf(w, " %08x", word)
			}
			fmt.Fprintln(w)
			title = ""
		}
	}
	line("header", r.Words.task.Header)
	for _, rec := range r.Words.task.Records {
		line(report.Register(rec.Addr), rec.Words)
	}
}

type fieldGroup struct {
	name   string
	fields []string
}

// fieldGroups are the fields that mean something, block by block: those that are known to have a function and
// are not zero. What is set though nobody knows why comes last.
func fieldGroups(t *td.Task) []fieldGroup {
	var groups []fieldGroup
	var unknown []string
	eachField(t, func(f *td.Field, v uint32) {
		_, name, _ := strings.Cut(f.Name, ".")
		switch {
		case v == 0 || f.Confidence == td.Named || isStreamField(f):
			return
		case f.Confidence == td.Unknown:
			unknown = append(unknown, f.Name+" "+fieldText(f, v))
			return
		case f.Kind != td.Flag:
			name += " " + fieldText(f, v)
		}
		if n := len(groups); n == 0 || groups[n-1].name != f.Block.Name {
			groups = append(groups, fieldGroup{name: f.Block.Name})
		}
		g := &groups[len(groups)-1]
		g.fields = append(g.fields, name)
	})
	if len(unknown) > 0 {
		groups = append(groups, fieldGroup{"no known use", unknown})
	}
	return groups
}

// isStreamField reports whether a field places a kernel stream: the weights show those that are in use.
func isStreamField(f *td.Field) bool {
	for i := range td.V7KernelChannel {
		c := &td.V7KernelChannel[i]
		if f == c.Config.Enable || f == c.Config.CacheHint || f == c.Config.CrH || f == c.Prefetch || f == c.Offset || f == c.Size {
			return true
		}
	}
	for i := range td.V7KernelExtra {
		if c := &td.V7KernelExtra[i]; f == c.Config.CacheHint || f == c.Config.CrH || f == c.Size {
			return true
		}
	}
	return false
}
