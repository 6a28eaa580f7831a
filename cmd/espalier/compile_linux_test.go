//go:build linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/espalier-ane/espalier/internal/testkit"
)

// TestCompileOfNetworks compiles real networks to a bundle on disk: the weights stay in their file, so memory
// hardly grows with them.
func TestCompileOfNetworks(t *testing.T) {
	for _, name := range []string{"resnet50", "mobilenet_v2"} {
		t.Run(name, func(t *testing.T) {
			model := testkit.BenchModel(t, name)
			weights, err := os.Stat(filepath.Join(model, "Data", "com.apple.CoreML", "weights", "weight.bin"))
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command("espalier", "compile", model, "-o", filepath.Join(t.TempDir(), "model.bundle"))
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			rss, limit := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss<<10, weights.Size()*3/2+128<<20
			if rss > limit && !testkit.Race {
				t.Errorf("compile takes %d bytes of memory, expected less than %d", rss, limit)
			}
		})
	}
}

// BenchmarkCompileOfNetworks is the same work as a process, from package to bundle.
func BenchmarkCompileOfNetworks(b *testing.B) {
	for _, name := range []string{"resnet50", "mobilenet_v2"} {
		b.Run(name, func(b *testing.B) {
			benchmarkCommand(b, "compile", testkit.BenchModel(b, name), "-o", filepath.Join(b.TempDir(), "model.bundle"))
		})
	}
}
