package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/espalier-ane/espalier/internal/testkit"
)

// Every network of the benchmarks gets a report on every target, without its weights.
func TestCheckOfNetworks(t *testing.T) {
	for _, model := range benchModels(t) {
		if out, err := exec.Command("espalier", "check", model, "-t", "all").CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", model, err, out)
		}
	}
}

// BenchmarkCheck is what the author of a model waits: the whole process, on all targets and on one. What
// it was meant to stay below when it was written: half a second, and 150 ms.
func BenchmarkCheck(b *testing.B) {
	for _, model := range benchModels(b) {
		for _, targets := range []string{"all", "h13"} {
			b.Run(filepath.Base(filepath.Dir(model))+"/"+targets, func(b *testing.B) {
				benchmarkCommand(b, "check", model, "-t", targets)
			})
		}
	}
}

// benchModels returns the packages of the networks that speed is measured on.
func benchModels(t testing.TB) []string {
	folder := testkit.Shared(t, "models", "bench")
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var models []string
	for _, e := range entries {
		models = append(models, filepath.Join(folder, e.Name(), "model.mlpackage"))
	}
	return models
}

// benchmarkCommand times a whole process of the command.
func benchmarkCommand(b *testing.B, args ...string) {
	for b.Loop() {
		if out, err := exec.Command("espalier", args...).CombinedOutput(); err != nil {
			b.Fatalf("%v\n%s", err, out)
		}
	}
}
