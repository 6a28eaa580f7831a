package compiler

import (
	"testing"
	"time"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/ops"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/tensor"
)

// What check says of a model is what a compile then does: what a pass does not take goes to the host in both, and nothing else.
func TestVerdictsAreWhatCompilingDoes(t *testing.T) {
	targets := []*hal.Target{virtual(t)}
	for _, name := range []string{"h12", "h13", "h14", "h16"} {
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
			job := &Job{Target: target, Program: c.program, Functions: []Entry{{Function: c.function, Shapes: c.shapes}}}
			job.Trace = func(p *Pass, s *segment.Segment, _ time.Duration) {
				if p.Name == "crops" && s.Target.Family >= hal.A13 { // the last of legalization
					checkLegal(t, c.model, s)
				}
			}
			r, err := Compile(t.Context(), job)
			if err != nil {
				t.Fatal(err)
			}
			said, err := e.NewAssessor().Place(t.Context(), target, anec.Converted)
			if err != nil {
				t.Fatal(err)
			}
			done := r.Functions[0].Placement
			if len(said.Parts) != len(done.Parts) {
				t.Errorf("%s %s on %s: %d segments, compiled %d", c.model, c.function.Name, target.Name, len(said.Parts), len(done.Parts))
			}
			for i, o := range said.Ops {
				if got := done.Ops[i]; got.Backend != o.Backend {
					t.Errorf("%s on %s: %s %q is said to run on the %v, and compiled for the %v: %s",
						c.model, target.Name, o.Op.Kind, o.Op.Name(), o.Backend, got.Backend, got.Reason())
				}
			}
		}
	})
}

// checkLegal asks the validators of a target about the layers of a segment that is legal, each without its epilogue: what was
// placed on the engine because its layers were taken must still be such when passes have written it as others. (The families
// before A13 have no reshape, which is no task here and may be left of a transpose that moves nothing.)
func checkLegal(t *testing.T, model string, s *segment.Segment) {
	t.Helper()
	for _, l := range s.Graph.Layers {
		bare := *l
		bare.Epilogue, bare.OutputType = anec.Epilogue{}, tensor.Invalid
		types, err := bare.TopTypes()
		if err != nil {
			t.Errorf("%s on %s: %v", model, s.Target.Name, err)
			continue
		}
		bare.Tops = nil
		for _, typ := range types {
			bare.Tops = append(bare.Tops, &anec.Value{Type: typ, Def: &bare})
		}
		if r := anec.Validate(&bare, s.Target); r != nil {
			t.Errorf("%s on %s: %s (%v) is legal, and yet: %v", model, s.Target.Name, l.Name, l.Kind(), r)
		}
	}
}
