package compiler

import (
	"slices"
	"testing"
	"time"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/segment"
)

// The table keeps its own rules: a row has a name of its own, says what it does, and stands after the rows that it names,
// with a reason; phases come one after the other.
func TestPassTable(t *testing.T) {
	phase := Fuse
	var before []string
	for _, p := range Passes() {
		switch {
		case p.Name == "" || slices.Contains(before, p.Name):
			t.Errorf("pass %q: want a name that no pass before has", p.Name)
		case p.Doc == "" || p.Run == nil:
			t.Errorf("pass %s: want a Doc and a Run", p.Name)
		case p.Phase < phase:
			t.Errorf("pass %s of phase %v stands after one of phase %v", p.Name, p.Phase, phase)
		case (len(p.After) == 0) != (p.Why == ""):
			t.Errorf("pass %s: after %v, why %q: want both or none", p.Name, p.After, p.Why)
		}
		for _, name := range p.After {
			if !slices.Contains(before, name) {
				t.Errorf("pass %s must follow %q, which is no pass before it", p.Name, name)
			}
		}
		phase, before = p.Phase, append(before, p.Name)
	}
}

// After every pass the graph of every model keeps the rules of package anec, in whatever order it is stored.
func TestGraphsAreVerifiedBetweenPasses(t *testing.T) {
	ran := map[string]bool{}
	modelCases(t, func(t *testing.T, c modelCase) {
		for seed := range uint64(2) {
			trace := func(p *Pass, s *segment.Segment, _ time.Duration) {
				ran[p.Name] = true
				if err := anec.Verify(s.Graph); err != nil {
					t.Errorf("%s: after pass %s, seed %d: %v", s.Name, p.Name, seed, err)
				}
			}
			job := &Job{Target: virtual(t), Program: c.program, Functions: []Entry{{Function: c.function, Shapes: c.shapes}}, Trace: trace, Seed: seed}
			if _, err := Compile(t.Context(), job); err != nil {
				t.Error(err)
			}
		}
	})
	for _, p := range Passes() {
		if !ran[p.Name] {
			t.Errorf("pass %s has not run", p.Name)
		}
	}
}

// runPhase takes a graph through the passes of a phase. The graph is verified after each, and stored in another order
// before each if there is a seed.
func runPhase(t testing.TB, phase Phase, s *segment.Segment, seed uint64) {
	t.Helper()
	for i, p := range Passes() {
		if p.Phase != phase {
			continue
		}
		if seed != 0 {
			shuffle(s.Graph, seed, i)
		}
		if err := p.Run(s); err != nil {
			t.Fatalf("pass %s: %v\n%s", p.Name, err, anec.Print(s.Graph))
		}
		if err := anec.Verify(s.Graph); err != nil {
			t.Fatalf("after pass %s: %v\n%s", p.Name, err, anec.Print(s.Graph))
		}
	}
}
