package ops

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/internal/testkit"
)

// TestDocs keeps docs/ops.md in step with the catalogue.
func TestDocs(t *testing.T) {
	testkit.Golden(t, filepath.Join("..", "..", "docs", "ops.md"), opsPage())
}

func opsPage() []byte {
	var b bytes.Buffer
	fmt.Fprint(&b, `# Operations

The operations that Espalier evaluates, by opset. This page is made from the catalogue in `+"`internal/ops`"+`:
after a change there, run `+"`go test ./internal/ops -run TestDocs -update`"+`.

● the operation appears, or its signature or meaning changes; │ as in the opset before; a blank: not there yet.

| Operation |`)
	for o := range numOpsets {
		fmt.Fprintf(&b, " %v |", o)
	}
	fmt.Fprintf(&b, " What it computes |\n|---|%s---|\n", strings.Repeat(":-:|", int(numOpsets)))
	for _, def := range All() {
		fmt.Fprintf(&b, "| `%s` |", def.Name)
		for o := range numOpsets {
			fmt.Fprintf(&b, " %s |", opsetMark(def, o))
		}
		fmt.Fprintf(&b, " %s |\n", strings.ReplaceAll(def.Doc, "|", `\|`))
	}
	fmt.Fprintf(&b, "\n%d operations.\n\n## What changes between opsets\n\n", len(All()))
	for _, def := range All() {
		for i := 1; i < len(def.Versions); i++ {
			before, now := &def.Versions[i-1], &def.Versions[i]
			fmt.Fprintf(&b, "- `%s` in %v: %s\n", def.Name, now.Since, signatureChanges(before, now))
		}
	}
	return b.Bytes()
}

func opsetMark(def *Def, o Opset) string {
	switch v := def.At(o); {
	case v == nil:
		return " "
	case v.Since == o:
		return "●"
	}
	return "│"
}

// signatureChanges tells two versions of a signature apart in words.
func signatureChanges(before, now *Version) string {
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
			say("`%s` %s", p.Name, choice(p.Const, "must be constant", "need not be constant"))
		}
		if p.Optional != old.Optional {
			say("`%s` %s", p.Name, choice(p.Optional, "may be left out", "is required"))
		}
		if p.Kind != old.Kind {
			say("`%s` takes %s", p.Name, choice(p.Kind == OneTensor, "one tensor", "several values"))
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
		say("%s may have an element type of %s", strings.Join(untied, ", "), choice(len(untied) == 1, "its own", "their own"))
	}
	if len(changes) == 0 {
		return "same parameters, other checks or meaning"
	}
	return strings.Join(changes, "; ")
}

// untiedParams are the parameters that had the element type of the first one and need not any more.
func untiedParams(before, now *Version) []string {
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

func choice(first bool, a, b string) string {
	if first {
		return a
	}
	return b
}
