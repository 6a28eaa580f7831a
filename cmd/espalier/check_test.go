package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/espalier-ane/espalier/internal/testkit"
)

// A model is checked while its author waits: on all targets in half a second, on one in less.
func TestCheckIsFast(t *testing.T) {
	folder := testkit.Shared(t, "models", "bench")
	models, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range models {
		for _, c := range []struct {
			targets string
			limit   time.Duration
		}{{"all", 500 * time.Millisecond}, {"h13", 150 * time.Millisecond}} {
			best := time.Hour
			for i := 0; i < 5 && best > c.limit; i++ { // the machine may be busy with other tests
				cmd := exec.Command("espalier", "check", filepath.Join(folder, m.Name(), "model.mlpackage"), "-t", c.targets)
				start := time.Now()
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
				// Processor time is what it would take at most, were it alone.
				work := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
				best = min(best, time.Since(start), work)
			}
			if best > c.limit && !testkit.Race {
				t.Errorf("%s on %s takes %v, expected less than %v", m.Name(), c.targets, best, c.limit)
			}
		}
	}
}
