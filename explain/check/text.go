package check

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode"
)

const (
	shownNames = 4
	shownKinds = 6
	shownFound = 6
	shownPairs = 3 // of a value and its limit
)

// WriteText writes the report for a terminal: a line for each target, then the findings.
func (r *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	for i, f := range r.Functions {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%s, function %s: %s\n", printable(r.Model), shortName(f.Name), r.summary(f))
		lines := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
		for _, l := range r.lines(f) {
			fmt.Fprintf(lines, "  %s\t%s\t%s\n", l.name, l.chip, l.Verdict(f))
			if authored := l.Authoring(f); authored != "" {
				fmt.Fprintf(lines, "  \t\t%s\n", authored)
			}
		}
		lines.Flush()
		for _, note := range r.notes(f) {
			fmt.Fprintf(&b, "  %s\n", note)
		}
		for _, g := range f.Groups() {
			b.WriteByte('\n')
			g.writeText(&b)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// summary is what a report of a function is about.
func (r *Report) summary(f *Function) string {
	s := count(len(f.Operations), "operation")
	switch {
	case f.Graph:
		s = count(len(f.Operations), "layer")
	case r.Route == Authored:
		s += ", authored as units"
	}
	if len(f.Shapes) > 0 {
		s += ", for " + printable(strings.Join(f.Shapes, ", "))
	}
	if f.AbsentWeights {
		s += "; the weight files are not there"
	}
	return s
}

func (g *Group) writeText(b *strings.Builder) {
	fmt.Fprintf(b, "%s: %s on %s [%s]\n", g.Label(), g.Title(), g.On(), g.mark(string(g.ID)))
	line := func(head, text string) {
		if text != "" {
			fmt.Fprintf(b, "  %s%s\n", head, text)
		}
	}
	line("at: ", g.Where())
	line("", g.Said())
	line("", g.Measured())
	line("instead: ", g.Instead())
	line("disputed: ", printable(g.Against))
}

// mark is the ID, as a form writes it, and how the finding is known.
func (g *Group) mark(id string) string {
	if known := g.Known(); known != "" {
		return id + ", " + known
	}
	return id
}

// printable shows what a model says on one line: what a terminal would take for a command is escaped.
func printable(s string) string {
	for _, r := range s {
		if !unicode.IsPrint(r) {
			quoted := strconv.Quote(s)
			return quoted[1 : len(quoted)-1]
		}
	}
	return s
}
