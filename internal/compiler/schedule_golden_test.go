package compiler

import (
	"fmt"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/rogpeppe/go-internal/txtar"
)

// TestScheduleRules schedules small graphs for chips: one clause, one file. It has the graph, the order that memory alone
// would choose, that of the list scheduler with the rule by which each layer went before the next best, what stays on
// chip, and for each two tasks why they do not run side by side. The order in which a graph is stored changes nothing.
func TestScheduleRules(t *testing.T) {
	goldens(t, "schedule", 1, func(t *testing.T, archive *txtar.Archive) {
		before, target := string(archive.Files[0].Data), targetOf(t, archive)
		after := chipFiles(t, target, before, 0)
		for seed := uint64(1); seed < 4; seed++ {
			if got, want := txtar.Format(&txtar.Archive{Files: chipFiles(t, target, before, seed)}), txtar.Format(&txtar.Archive{Files: after}); string(got) != string(want) {
				t.Errorf("stored in another order, it becomes\n%s\nnot\n%s", got, want)
			}
		}
		archive.Files = append(archive.Files, after...)
	})
}

func chipFiles(t testing.TB, target *hal.Target, graph string, seed uint64) []txtar.File {
	t.Helper()
	file := func(name string, lines []string) txtar.File {
		return txtar.File{Name: name, Data: []byte(strings.Join(lines, "\n") + "\n")}
	}
	s := &segment.Segment{Target: target, Graph: parseGraph(t, graph)}
	if err := schedule(s); err != nil {
		t.Fatal(err)
	}
	var plain, list, pairs []string
	for _, l := range s.Order {
		plain = append(plain, fmt.Sprintf("%%%s", l.Top().Name))
	}
	for _, p := range newLister(s, s.Graph.Order()).run() {
		list = append(list, fmt.Sprintf("%%%s by %v", p.layer.Top().Name, p.rule))
	}
	s = planFor(t, target, graph, seed)
	p := &pairing{Segment: s, OnChip: s.Plan.OnChip, operands: s.Plan.OnChip.Operands(), results: s.Plan.OnChip.Results()}
	for b := range s.Plan.Layers {
		for a := range b {
			pairs = append(pairs, fmt.Sprintf("task %d and task %d: %v", a, b, p.rule(a, b)))
		}
	}
	return []txtar.File{file("by memory", plain), file("by list", list), {Name: "on chip", Data: []byte(ChipText(s))}, file("pairs", pairs)}
}

// Every rule is one that a file of testdata/schedule or testdata/memory shows.
func TestScheduleRulesAreShown(t *testing.T) {
	shown := map[string]bool{}
	for _, folder := range []string{"schedule", "memory"} {
		archives(t, folder, func(archive *txtar.Archive) {
			target := targetOf(t, archive)
			if target.Residency.Margin == 0 {
				return
			}
			graph := string(archive.Files[0].Data)
			s := &segment.Segment{Target: target, Graph: parseGraph(t, graph)}
			for _, p := range newLister(s, s.Graph.Order()).run() {
				shown["pick: "+p.rule.String()] = true
			}
			s = planFor(t, target, graph, 0)
			oc := s.Plan.OnChip
			for _, v := range oc.Values {
				shown["chain: "+v.Chain.String()] = true
				shown["state: "+v.State.String()] = true
			}
			p := &pairing{Segment: s, OnChip: oc, operands: oc.Operands(), results: oc.Results()}
			for b := range s.Plan.Layers {
				for a := range b {
					shown["pair: "+p.rule(a, b).String()] = true
				}
			}
		})
	}
	for prefix, names := range map[string][]string{
		"pick: ": pickRuleNames[:], "chain: ": segment.ChainRuleNames[:], "state: ": segment.AllocationStateNames[:], "pair: ": pairRuleNames[:],
	} {
		for _, name := range names {
			if !shown[prefix+name] {
				t.Errorf("no file shows %s%s", prefix, name)
			}
		}
	}
}

// The model of banks: rows whose distance in granules is odd are in as many banks as there are; those a power of two
// apart share them.
func TestBankRequests(t *testing.T) {
	target := lookup(t, "h13")
	for _, c := range []struct{ stride, rows, want int64 }{
		{16, 64, 1}, {1024, 1, 1}, {1024, 64, 64}, {1024 + 0x30, 64, 1}, {256, 64, 16}, {256 + 0x20, 64, 2}, {32, 128, 4},
	} {
		if got := bankRequests(c.stride, c.rows, target); got != c.want {
			t.Errorf("%d rows %d bytes apart: %d requests, want %d", c.rows, c.stride, got, c.want)
		}
	}
	wide := layoutOf(anec.TypeOf(1, 1, 1, 1, 1, 1), target, 0)
	if wide.Row != wide.Packed {
		t.Errorf("one row needs no distance: %+v", wide)
	}
}
