package compiler

import (
	"bytes"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/espalier-ane/espalier/internal/testkit"
)

// TestModelsCompile compiles every model and holds docs/models.md to what became of them: what the engine does not take
// shows in the diff.
func TestModelsCompile(t *testing.T) {
	var page bytes.Buffer
	page.WriteString(`# Models

What the compiler makes, for the target virtual, of the models in testdata/models; flexible ones for the shapes of their
first case. This page is made by a test: after a change, run ` + "`go test ./internal/compiler -run TestModelsCompile -update`" + `.

A segment is a run of operations on one backend. Casts between features and engine, and constants, are none.

| Model | Function | Segments | Tasks | On the host, and why |
|---|---|--:|--:|---|
`)
	single, functions := 0, 0
	modelCases(t, func(t *testing.T, c modelCase) {
		r, err := Compile(t.Context(), &Job{Target: virtual(t), Program: c.program, Functions: []Entry{{Function: c.function, Shapes: c.shapes}}})
		if err != nil {
			t.Error(err)
			return
		}
		f := r.Functions[0]
		functions++
		if len(f.Segments) == 1 && f.Segments[0] != nil {
			single++
		}
		fmt.Fprintf(&page, "| %s | %s | %d | %d |", c.model, f.Name, len(f.Segments), f.Tasks())
		between := " "
		for _, o := range f.Placement.Ops {
			if o.Backend == OnHost {
				fmt.Fprintf(&page, "%s`%s`: %s", between, o.Op.Kind, o.Reason())
				between = "; "
			}
		}
		page.WriteString(" |\n")
	})
	fmt.Fprintf(&page, "\n%d of %d functions are a single segment on the engine.\n", single, functions)
	if t.Failed() {
		return
	}
	testkit.Golden(t, filepath.Join(testkit.Root(t), "docs", "models.md"), page.Bytes())
}
