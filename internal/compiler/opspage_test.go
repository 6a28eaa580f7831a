package compiler

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/ops"
	"github.com/espalier-ane/espalier/internal/testkit"
)

// TestOpsPage keeps docs/ops.md in step with the catalogue and the verdicts.
func TestOpsPage(t *testing.T) {
	var b bytes.Buffer
	opsetsSection(&b)
	chipsSection(t, &b)
	routesSection(t, &b)
	changesSection(&b)
	testkit.Golden(t, filepath.Join(testkit.Root(t), "docs", "ops.md"), b.Bytes())
}

func opsetsSection(b *bytes.Buffer) {
	fmt.Fprint(b, `# Operations

The operations that Espalier evaluates, by opset, and what becomes of them on Apple's chips. This page is made by a test from
the catalogue and the verdicts: after a change there, run `+"`go test ./internal/compiler -run TestOpsPage -update`"+`.

● the operation appears, or its signature or meaning changes; │ as in the opset before; a blank: not there yet.

| Operation |`)
	for o := ops.IOS15; o <= ops.IOS26; o++ {
		fmt.Fprintf(b, " %v |", o)
	}
	fmt.Fprintf(b, " What it computes |\n|---|%s---|\n", strings.Repeat(":-:|", int(ops.IOS26)+1))
	for _, def := range ops.All() {
		fmt.Fprintf(b, "| `%s` |", def.Name)
		for o := ops.IOS15; o <= ops.IOS26; o++ {
			fmt.Fprintf(b, " %s |", opsetMark(def, o))
		}
		fmt.Fprintf(b, " %s |\n", cell(def.Doc))
	}
	fmt.Fprintf(b, "\n%d operations.\n", len(ops.All()))
}

// cell escapes what a table cannot hold.
func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

// chipsSection has the verdicts on the models of one operation.
func chipsSection(t *testing.T, b *bytes.Buffer) {
	fmt.Fprint(b, `
## On the chips

What becomes of a model of this one operation, in fp16, with the defaults of coremltools and on a tensor of ordinary size. Other arguments and
shapes can have other verdicts: `+"`espalier check`"+` has those of a model.

- native: layers of the engine take it.
- family-gated: it runs on the host, and a later chip has it.
- bridge: other layers stand in, or it runs inside a graph alone, or only if the layer is authored directly.
- no path: no chip has it; it runs on the host.

Layers are the kinds that our lowering makes, in the order in which they first come, on every target. *by the host* marks a bridge that
leaves the engine.

| Operation | Layers |`)
	for _, c := range matrixColumns {
		fmt.Fprintf(b, " %s `%s` |", c.chip, c.target)
	}
	fmt.Fprintf(b, " Why, and what to write instead |\n|---|---|%s---|\n", strings.Repeat("---|", len(matrixColumns)))
	models := oneModels()
	slices.SortFunc(models, func(a, b oneModel) int { return cmp.Compare(a.kind, b.kind) })
	for i := range models {
		m := &models[i]
		e := m.examine(t)
		fmt.Fprintf(b, "| `%s` | %s |", m.kind, cell(m.layers(e)))
		var notes []string
		for _, c := range matrixColumns {
			v := m.verdictOf(t, e, lookup(t, c.target))
			word := v.Status.String()
			if v.Backend == OnHost && v.Status == Bridge {
				word += ", by the host"
			}
			fmt.Fprintf(b, " %s |", word)
			if note := noteOf(m.kind, v); note != "" && !slices.Contains(notes, note) {
				notes = append(notes, note)
			}
		}
		fmt.Fprintf(b, " %s |\n", cell(strings.Join(notes, ". ")))
	}
	matrixSection(t, b)
}

// matrixSection says how the verdicts stand to the guide's matrix.
func matrixSection(t *testing.T, b *bytes.Buffer) {
	order, _ := readMatrix(t)
	absent := 0
	for _, group := range notInMIL {
		absent += len(group.rows)
	}
	fmt.Fprintf(b, `
A test holds these verdicts to the operation-by-device matrix of the ane-guide (appendix A, %d rows), cell by cell, for the %d rows that a MIL program
can hold. They differ in %s, which [targets.md](targets.md#where-sources-disagree) argues. No MIL program holds these:

`, len(order), len(order)-absent, "`"+strings.Join(slices.Sorted(maps.Keys(disagreements)), "` and `")+"`")
	for _, group := range notInMIL {
		fmt.Fprintf(b, "- `%s`: %s\n", strings.Join(group.rows, "`, `"), group.why)
	}
}

// routesSection has the operations that one route leaves to the host and the other does not.
func routesSection(t *testing.T, b *bytes.Buffer) {
	fmt.Fprint(b, `
## By the other route

The table above has the converted route. If the layers of an operation are written as units of a network description, a chip has other gates for
them ([targets.md](targets.md#two-routes)). These models of one operation then run elsewhere: won on chips whose engine takes the units and not the
converted operation, lost on those where it is the other way round. `+"`espalier check --route both`"+` says it of a model.

| Operation | Layers | Won on | Lost on | What is said |
|---|---|---|---|---|
`)
	models := oneModels()
	slices.SortFunc(models, func(a, b oneModel) int { return cmp.Compare(a.kind, b.kind) })
	for i := range models {
		m := &models[i]
		e := m.examine(t)
		chips, said := map[Outcome][]string{}, []string{}
		for _, c := range matrixColumns {
			target := lookup(t, c.target)
			for _, change := range CompareRoutes(e.place(target, anec.Converted, nil), e.place(target, anec.Authored, nil)) {
				f := change.Finding
				if change.Outcome == Left || e.Operations[change.Index].Op.Kind != m.kind {
					continue
				}
				chips[change.Outcome] = append(chips[change.Outcome], c.chip)
				text := f.Text
				if f.Against != "" {
					text += "; disputed: " + f.Against
				}
				if !slices.Contains(said, text) {
					said = append(said, text)
				}
			}
		}
		if len(said) > 0 {
			fmt.Fprintf(b, "| `%s` | %s | %s | %s | %s |\n", m.kind, cell(m.layers(e)), strings.Join(chips[Won], ", "), strings.Join(chips[Lost], ", "), cell(strings.Join(said, ". ")))
		}
	}
}

// layers are the native layers that the operation becomes.
func (m *oneModel) layers(e *Examination) string {
	for _, x := range e.Operations {
		switch {
		case x.Op.Kind != m.kind:
		case x.Refusal != nil:
			return "none: " + x.Refusal.Text
		default:
			return kindsOf(x.Layers)
		}
	}
	return "none: a constant"
}

// kindsOf are the kinds of a graph in the order in which they first come.
func kindsOf(g *anec.Graph) string {
	var kinds []string
	for _, l := range g.Order() {
		if k := l.Kind().String(); !slices.Contains(kinds, k) {
			kinds = append(kinds, k)
		}
	}
	if kinds == nil {
		return "none: a name for what is there"
	}
	return strings.Join(kinds, ", ")
}

// noteOf is a verdict's reason.
func noteOf(kind string, v Verdict) string {
	switch c, _ := ops.ConversionOf(kind); {
	case v.Finding == nil && v.Status == Bridge:
		return c.Internal
	case v.Finding == nil:
		return ""
	}
	note := v.Finding.Text
	if v.Finding.Remedy != "" {
		note += "; instead: " + v.Finding.Remedy
	}
	return note
}

func changesSection(b *bytes.Buffer) {
	fmt.Fprint(b, "\n## What changes between opsets\n\n")
	for _, def := range ops.All() {
		for i := 1; i < len(def.Versions); i++ {
			before, now := &def.Versions[i-1], &def.Versions[i]
			fmt.Fprintf(b, "- `%s` in %v: %s\n", def.Name, now.Since, signatureChanges(before, now))
		}
	}
}

func opsetMark(def *ops.Def, o ops.Opset) string {
	switch v := def.At(o); {
	case v == nil:
		return " "
	case v.Since == o:
		return "●"
	}
	return "│"
}

// signatureChanges tells two versions of a signature apart in words.
func signatureChanges(before, now *ops.Version) string {
	var changes []string
	say := func(format string, a ...any) { changes = append(changes, fmt.Sprintf(format, a...)) }
	for i := range now.Params {
		p := &now.Params[i]
		old := before.Param(p.Name)
		if old == nil {
			say("`%s` is new", p.Name)
			continue
		}
		if added, gone := p.Types&^old.Types, old.Types&^p.Types; added != 0 || gone != 0 {
			say("`%s` takes %v", p.Name, p.Types)
		}
		if p.Const != old.Const {
			say("`%s` %s", p.Name, either(p.Const, "must be constant", "need not be constant"))
		}
		if p.Optional != old.Optional {
			say("`%s` %s", p.Name, either(p.Optional, "may be left out", "is required"))
		}
		if p.Kind != old.Kind {
			say("`%s` takes %s", p.Name, either(p.Kind == ops.OneTensor, "one tensor", "several values"))
		}
		if fmt.Sprint(p.Default) != fmt.Sprint(old.Default) {
			say("`%s` is %v by default", p.Name, p.Default)
		}
	}
	for i := range before.Params {
		if now.Param(before.Params[i].Name) == nil {
			say("`%s` is gone", before.Params[i].Name)
		}
	}
	if untied := untiedParams(before, now); len(untied) > 0 {
		say("%s may have an element type of %s", strings.Join(untied, ", "), either(len(untied) == 1, "its own", "their own"))
	}
	if len(changes) == 0 {
		return "same parameters, other checks or meaning"
	}
	return strings.Join(changes, "; ")
}

// untiedParams are the parameters that had the element type of the first one and need not any more.
func untiedParams(before, now *ops.Version) []string {
	var names []string
	if len(before.Params) == 0 || len(now.Params) == 0 {
		return nil
	}
	for i := range now.Params {
		p := &now.Params[i]
		old := before.Param(p.Name)
		if old != nil && old.Domain != "" && old.Domain == before.Params[0].Domain && p.Domain != now.Params[0].Domain {
			names = append(names, "`"+p.Name+"`")
		}
	}
	return names
}

func either(first bool, a, b string) string {
	if first {
		return a
	}
	return b
}
