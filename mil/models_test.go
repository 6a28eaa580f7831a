package mil_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/espalier-ane/espalier/coreml"
	"github.com/espalier-ane/espalier/mil"
)

// TestModelPrograms writes the programs of real models as text, in both dialects, and reads them back: nested
// blocks, lists and states are among them.
func TestModelPrograms(t *testing.T) {
	files, err := filepath.Glob("../testdata/models/*/model.mlpackage")
	if err != nil || len(files) == 0 {
		t.Fatal("no models", err)
	}
	seen := map[string]int{}
	for _, file := range files {
		t.Run(filepath.Base(filepath.Dir(file)), func(t *testing.T) {
			m, err := coreml.Open(file)
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			models := []*coreml.Model{m}
			for _, stage := range m.Stages {
				models = append(models, stage.Model)
			}
			for _, m := range models {
				if m.Type != coreml.MLProgram {
					continue
				}
				p, err := m.Program()
				if err != nil {
					t.Fatal(err)
				}
				if err := mil.Verify(p); err != nil {
					t.Fatal(err)
				}
				for _, version := range []string{p.Version, "1.3"} {
					p.Version = version
					format(t, p)
				}
				count(p, seen)
			}
		})
	}
	for _, what := range []string{"program", "block", "list", "state"} {
		if seen[what] == 0 {
			t.Errorf("no model has a %s", what)
		}
	}
	t.Log(seen)
}

// count counts what a program has of the things that few programs have.
func count(p *mil.Program, seen map[string]int) {
	seen["program"]++
	for _, f := range p.Functions {
		values := slices.Clone(f.Inputs)
		f.Body.Walk(func(op *mil.Operation) {
			seen["block"] += len(op.Blocks)
			values = append(values, op.Outputs...)
		})
		for _, v := range values {
			switch v.Type.(type) {
			case *mil.ListType:
				seen["list"]++
			case *mil.StateType:
				seen["state"]++
			}
		}
	}
}
