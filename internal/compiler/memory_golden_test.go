package compiler

import (
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/espalier-ane/espalier/internal/anec"
)

// TestMemoryRules plans small graphs: one rule, one file, with the graph before and after and the plan.
func TestMemoryRules(t *testing.T) {
	goldens(t, "memory", 1, func(t *testing.T, archive *txtar.Archive) {
		s := plan(t, parseGraph(t, string(archive.Files[0].Data)), nil)
		archive.Files = append(archive.Files,
			txtar.File{Name: "after", Data: []byte(anec.Print(s.Graph))},
			txtar.File{Name: "memory", Data: []byte(MemoryText(s))})
	})
}
