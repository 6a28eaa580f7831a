package compiler

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/espalier-ane/espalier/e5"
	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/mil"
)

// place decides where the operations of a function run on a target, as the gates say it. Refused are operations, by name, that a
// pass did not take, with its reasons.
func place(f *mil.Function, shapes map[string][]int, t *hal.Target, refused map[string]*diag.Finding) (*Placement, error) {
	e, err := Examine(f, shapes)
	if err != nil {
		return nil, err
	}
	return e.place(t, anec.Converted, refused), nil
}

// Table 22.3, barrier: where the target's compiler makes attention a program of its own, it cuts a segment in three, and
// the descriptor has an inference for each. The file has the program, and the layers of each segment on three targets.
func TestAttentionCuts(t *testing.T) {
	goldens(t, "place", 1, func(t *testing.T, archive *txtar.Archive) {
		program, err := mil.ParseText("main", archive.Files[0].Data, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			target   string
			segments int
		}{{"virtual", 1}, {"h13", 3}, {"h17", 3}} {
			p, err := place(program.Functions[0], nil, lookup(t, c.target), nil)
			if err != nil {
				t.Fatal(err)
			}
			var after strings.Builder
			symbols := newSymbols(p)
			for i, part := range p.Parts {
				g, err := p.graph(fmt.Sprint("segment", i), part, symbols)
				if err != nil {
					t.Fatal(err)
				}
				after.WriteString(anec.Print(g))
			}
			archive.Files = append(archive.Files, txtar.File{Name: "after on " + c.target, Data: []byte(after.String())})

			r, err := Compile(t.Context(), &Job{Target: lookup(t, c.target), Program: program, Functions: []Entry{{Function: program.Functions[0]}}})
			if err != nil {
				t.Fatal(err)
			}
			inferences := 0
			for _, op := range r.Bundle.Program.Functions[0].Operations() {
				if op.Kind() == e5.AneInference {
					inferences++
				}
			}
			if len(p.Parts) != c.segments || inferences != c.segments {
				t.Errorf("%s: %d segments and %d inferences, want %d", c.target, len(p.Parts), inferences, c.segments)
			}
		}
	})
}
