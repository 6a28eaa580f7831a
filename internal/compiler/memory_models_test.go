package compiler

import (
	"testing"
	"time"

	"github.com/espalier-ane/espalier/internal/segment"
)

// TestModelPlans replays the plans of every model.
func TestModelPlans(t *testing.T) {
	modelCases(t, func(t *testing.T, c modelCase) {
		var want [][]uint64
		trace := func(p *Pass, s *segment.Segment, _ time.Duration) {
			switch p.Name {
			case "schedule":
				want = ends(s.Graph)
			case "memory":
				if err := checkPlan(s, want); err != nil {
					t.Errorf("%s %s: %v", c.model, c.function.Name, err)
				}
			}
		}
		job := &Job{Target: virtual(t), Program: c.program, Functions: []Entry{{Function: c.function, Shapes: c.shapes}}, Trace: trace}
		if _, err := Compile(t.Context(), job); err != nil {
			t.Log(err) // is another test's affair
		}
	})
}
