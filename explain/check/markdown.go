package check

import (
	"fmt"
	"io"
	"strings"
)

// shownGroups is how many findings a comment has: that of a pull request may be so long and no longer.
const shownGroups = 60

// WriteMarkdown writes the report for a comment on a pull request: a table of the targets, then the findings, folded.
func (r *Report) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	b.WriteString(markdownMark + "\n")
	for _, f := range r.Functions {
		fmt.Fprintf(&b, "### %s, function %s\n\n", code(r.Model), code(shortName(f.Name)))
		fmt.Fprintf(&b, "%s.\n\n", escaped(r.summary(f)))
		b.WriteString("| | Target | Chip | Verdict | Estimate |\n|---|---|---|---|---|\n")
		for _, l := range r.lines(f) {
			mark := "✅"
			if !l.Whole() {
				mark = "⚠️"
			}
			outcome := escaped(l.Outcome(f))
			if authored := l.Authoring(f); authored != "" {
				outcome += "<br>" + escaped(authored)
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", mark, l.name, escaped(l.chip), outcome, escaped(l.Time()))
		}
		b.WriteByte('\n')
		for _, note := range r.notes(f) {
			fmt.Fprintf(&b, "%s.\n\n", escaped(note))
		}
		f.writeMarkdown(&b)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (f *Function) writeMarkdown(b *strings.Builder) {
	groups := f.Groups()
	for _, s := range []struct {
		severity Severity
		title    string
		open     bool
	}{
		{Refusal, "What the engine's compiler refuses as a whole", true},
		{Fallback, "What runs on the host", true},
		{Hazard, "Hazards", false},
		{Note, "Notes", false},
	} {
		var these []*Group
		for _, g := range groups {
			if g.Severity == s.severity {
				these = append(these, g)
			}
		}
		if len(these) == 0 {
			continue
		}
		open := ""
		if s.open {
			open = " open"
		}
		fmt.Fprintf(b, "<details%s><summary>%s: %d</summary>\n\n", open, s.title, len(these))
		for _, g := range these[:min(len(these), shownGroups)] {
			g.writeMarkdown(b)
		}
		if rest := len(these) - shownGroups; rest > 0 {
			fmt.Fprintf(b, "- and %d more\n", rest)
		}
		b.WriteString("\n</details>\n\n")
	}
}

func (g *Group) writeMarkdown(b *strings.Builder) {
	fmt.Fprintf(b, "- **%s** on %s (%s): %s", escaped(g.Title()), g.On(), g.mark(fmt.Sprintf("`%s`", g.ID)), escaped(g.Said()))
	if m := g.Measured(); m != "" {
		fmt.Fprintf(b, "; %s", escaped(m))
	}
	if g.Remedy != "" {
		fmt.Fprintf(b, ".<br>Instead: %s", escaped(g.Remedy))
	}
	if g.Against != "" {
		fmt.Fprintf(b, ".<br>Disputed: %s", escaped(g.Against))
	}
	if names := g.names(); names != nil {
		for i, name := range names {
			names[i] = code(name)
		}
		fmt.Fprintf(b, ".<br>At %s", some(names, shownNames))
	}
	b.WriteString(".\n")
}

// escaped has a text stand for itself in Markdown, also in a table.
func escaped(s string) string {
	s = printable(s)
	var b strings.Builder
	for _, r := range s {
		if strings.ContainsRune("\\`*_[]<>|#~&", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// code is a name as it stands, outside of tables. A grave accent in it would end it.
func code(s string) string {
	s = printable(s)
	if strings.Contains(s, "`") {
		return escaped(s)
	}
	return "`" + s + "`"
}
