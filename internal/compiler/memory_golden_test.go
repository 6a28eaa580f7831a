package compiler

import (
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/td"
)

// TestMemoryRules plans small graphs: one rule, one file, with the graph before and after and the plan.
func TestMemoryRules(t *testing.T) {
	goldens(t, "memory", 1, func(t *testing.T, archive *txtar.Archive) {
		before, target := string(archive.Files[0].Data), targetOf(t, archive)
		replayFor(t, target, before)
		s := planFor(t, target, before, 0)
		archive.Files = append(archive.Files,
			txtar.File{Name: "after", Data: []byte(anec.Print(s.Graph))},
			txtar.File{Name: "memory", Data: []byte(segment.MemoryText(s))})
		if s.Plan.OnChip != nil {
			archive.Files = append(archive.Files, txtar.File{Name: "on chip", Data: []byte(ChipText(s))})
		}
	})
}

func segmentOf(t testing.TB, target *hal.Target, graph string) *segment.Segment {
	t.Helper()
	g := parseGraph(t, graph)
	s := &segment.Segment{Name: g.Name, Target: target, Graph: g}
	if target.TaskVersion == uint16(td.V7) { // native tasks name the ports
		for _, v := range g.Outputs {
			s.Outputs = append(s.Outputs, v.Name)
		}
	}
	return s
}

// planFor takes a graph through schedule and memory for a target.
func planFor(t testing.TB, target *hal.Target, graph string, seed uint64) *segment.Segment {
	t.Helper()
	s := segmentOf(t, target, graph)
	runPhase(t, Schedule, s, seed)
	runPhase(t, Memory, s, seed)
	return s
}

// replayFor replays the plan of a graph for a target, but with ports whose rows are dense, as the replay has them.
func replayFor(t testing.TB, target *hal.Target, graph string) {
	t.Helper()
	dense := *target
	dense.Sizes.RowAlign = 1
	s := segmentOf(t, &dense, graph)
	runPhase(t, Schedule, s, 0)
	if err := foldPadding(s); err != nil {
		t.Fatal(err)
	}
	want := ends(s.Graph)
	runPhase(t, Memory, s, 0)
	if err := checkPlan(s, want); err != nil {
		t.Fatalf("%v\n%s%s", err, anec.Print(s.Graph), segment.MemoryText(s))
	}
}
