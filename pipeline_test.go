package espalier_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/espalier-ane/espalier"
	"github.com/espalier-ane/espalier/bundle"
)

// A pipeline compiles to a bundle that lists its stages and opens as one function; TestBundlesRunAsTheirModels runs it.
func TestPipelineCompilesToABundle(t *testing.T) {
	m := openModel(t, espalier.Config{}, "pipeline_two")
	p, err := m.Compile(context.Background(), espalier.CompileOptions{Target: "h13"})
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "model.bundle")
	if _, err := p.WriteBundle(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	b, err := bundle.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if q := b.Manifest.Pipeline; q == nil || len(q.Stages) != 2 || q.Stages[0] != "stage0" || q.Stages[1] != "stage1" {
		t.Errorf("the manifest has %+v", q)
	}
	opened, err := espalier.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	if f := opened.Functions(); len(f) != 1 || f[0].Name() != "main" || len(f[0].Inputs()) != 1 || f[0].Inputs()[0].Name != "x" || f[0].Outputs()[0].Name != "y" {
		t.Errorf("it opens as %v", f)
	}
	if _, err := opened.Compile(context.Background(), espalier.CompileOptions{}); err == nil {
		t.Error("what is compiled is compiled again")
	}
}
