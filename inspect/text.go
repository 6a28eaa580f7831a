package inspect

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
		fmt.Fprintf(&b, "%s, function %s: %s\n", printable(r.Model), shortName(f.Name), f.summary())
		lines := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
		for _, t := range f.Targets {
			fmt.Fprintf(lines, "  %s\t%s\t%s\n", t.Name, t.Chip, t.Verdict(f))
		}
		lines.Flush()
		for _, g := range f.Groups() {
			b.WriteByte('\n')
			g.writeText(&b, f)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// summary is what a report of a function is about.
func (f *Function) summary() string {
	s := count(len(f.Operations), "operation")
	if len(f.Shapes) > 0 {
		s += ", for " + printable(strings.Join(f.Shapes, ", "))
	}
	if f.AbsentWeights {
		s += "; the weight files are not there"
	}
	return s
}

func (g *Group) writeText(b *strings.Builder, f *Function) {
	fmt.Fprintf(b, "%s: %s on %s [%s]\n", g.label(), g.title(f), f.on(g.Targets), g.ID)
	if len(g.Operations) > 0 {
		fmt.Fprintf(b, "  at: %s\n", some(g.names(f), shownNames))
	}
	fmt.Fprintf(b, "  %s\n", g.text())
	if m := g.measures(); m != "" {
		fmt.Fprintf(b, "  %s\n", m)
	}
	if g.Remedy != "" {
		fmt.Fprintf(b, "  instead: %s\n", printable(g.Remedy))
	}
}

// text is the finding in a sentence: that of the first operation, where they differ.
func (g *Group) text() string {
	text := printable(g.Text)
	if g.Texts > 1 {
		text = "for the first: " + text
	}
	return text
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
