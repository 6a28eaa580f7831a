package e5rt_test

import (
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/bundle"
	"github.com/espalier-ane/espalier/tensor"
)

// A program that runs bundles without host segments has neither operations nor
// models nor the compiler in it.
func TestDependencies(t *testing.T) {
	const module = "github.com/espalier-ane/espalier/"
	command := func(name string, args ...string) string {
		t.Helper()
		out, err := exec.Command(name, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
		return string(out)
	}
	found := map[string]bool{}
	for pkg := range strings.Lines(command("go", "list", "-deps", "./testdata/run")) {
		found[strings.TrimPrefix(strings.TrimSpace(pkg), module)] = true
	}
	for _, pkg := range []string{"mil", "coreml", "internal/ops", "internal/anec", "internal/compiler", "internal/host"} {
		if found[pkg] {
			t.Errorf("the program has package %s in it", pkg)
		}
	}
	if !found["e5rt"] || !found["internal/engine"] {
		t.Errorf("the list is not that of the program: %v", found)
	}

	dir := t.TempDir()
	program := filepath.Join(dir, "run")
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	command("go", "build", "-o", program, "./testdata/run")
	net := filepath.Join(dir, "net.bundle")
	_, err := bundle.Write(net, bracketed(t, tensor.Float32).bundle().Content())
	check(t, err)
	if got, want := command(program, net), "y [1 3 5 7 9 11]\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
