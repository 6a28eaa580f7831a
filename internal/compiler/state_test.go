package compiler

import (
	"testing"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/segment"
)

// A slice that is written into a state is written where the state lies, and nothing else writes there: no task copies
// the whole of it.
func TestStateSlicesAreWrittenInPlace(t *testing.T) {
	found := 0
	modelCases(t, func(t *testing.T, c modelCase) {
		if c.model != "stateful_kv_cache" {
			return
		}
		r, err := Compile(t.Context(), &Job{Target: virtual(t), Program: c.program, Functions: []Entry{{Function: c.function}}})
		if err != nil {
			t.Fatal(err)
		}
		s := r.Functions[0].Segments[0]
		for _, l := range s.Plan.Layers {
			place := s.Plan.Places[l.Top()]
			if place.Region != segment.InPort || !s.Plan.Ports[place.Port].In {
				continue
			}
			found++
			if l.Kind() != anec.KindRingBufferWriter || s.Plan.Places[l.Bottoms[0]] != place {
				t.Errorf("layer %q, a %v, writes the whole state %s", l.Name, l.Kind(), s.Plan.Ports[place.Port].Name)
			}
		}
	})
	if found != 2 {
		t.Errorf("%d tasks write states, want one for each of two", found)
	}
}
