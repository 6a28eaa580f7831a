package compiler

import (
	"testing"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/ops"
)

// What check says of a model is what a compile then does: no pass refuses an operation that placement gave to the engine.
func TestVerdictsAreWhatCompilingDoes(t *testing.T) {
	targets := []*hal.Target{virtual(t)}
	for _, name := range []string{"h13", "h14", "h16"} {
		chip, err := hal.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		targets = append(targets, chip)
	}
	modelCases(t, func(t *testing.T, c modelCase) {
		for _, target := range targets {
			flat, err := ops.Unroll(c.function, c.shapes)
			if err != nil {
				t.Fatal(err)
			}
			e, err := Examine(flat, c.shapes)
			if err != nil {
				t.Fatal(err)
			}
			r, err := Compile(t.Context(), &Job{Target: target, Program: c.program, Functions: []Entry{{Function: c.function, Shapes: c.shapes}}})
			if err != nil {
				t.Fatal(err)
			}
			said, done := e.On(target), r.Functions[0].Placement
			if len(said.Parts) != len(done.Parts) {
				t.Errorf("%s %s on %s: %d segments, compiled %d", c.model, c.function.Name, target.Name, len(said.Parts), len(done.Parts))
			}
			for i, o := range said.Ops {
				if got := done.Ops[i]; got.Backend != o.Backend {
					t.Errorf("%s on %s: %s %q is said to run on the %v, and compiled for the %v: %s",
						c.model, target.Name, o.Op.Kind, o.Op.Name(), o.Backend, got.Backend, got.Reason)
				}
			}
		}
	})
}
