package compiler

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/testkit"
)

// TestMemoryRules plans small graphs: one rule, one file, with the graph before and after and the plan.
func TestMemoryRules(t *testing.T) {
	files, err := filepath.Glob("testdata/memory/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no golden files", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			g, err := anec.Parse(string(archive.Files[0].Data), nil)
			if err != nil {
				t.Fatal(err)
			}
			s := plan(t, g, nil)
			archive.Files = archive.Files[:1]
			archive.Files = append(archive.Files,
				txtar.File{Name: "after", Data: []byte(anec.Print(s.Graph))},
				txtar.File{Name: "memory", Data: []byte(MemoryText(s))})
			testkit.Golden(t, file, txtar.Format(archive))
		})
	}
}
