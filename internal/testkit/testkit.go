// Package testkit is what the tests of several packages share: where the
// repository and the data beside it are, and golden files. It imports nothing
// of Espalier, so that any package's tests can use it, and no code but tests
// may: layers_test.go holds both.
package testkit

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// envShared names the folder of shared data, if it is not beside the
// repository.
const envShared = "ESPALIER_SHARED"

// envRequireShared makes a test fail that misses the shared data.
const envRequireShared = "ESPALIER_REQUIRE_SHARED"

// envUpdate does what -update does. It reaches every package of
// `go test ./...`, among them those whose tests do not know the flag.
const envUpdate = "ESPALIER_UPDATE"

var update = flag.Bool("update", os.Getenv(envUpdate) == "1", "rewrite golden files with what the tests produce")

// Root returns the repository's root: the nearest folder, from the working
// directory upwards, that holds a go.mod.
func Root(t testing.TB) string {
	t.Helper()
	start, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			t.Fatalf("no go.mod in %s or above", start)
		}
	}
}

// Shared returns the path of a file or folder in the shared data: the folder
// that the environment variable ESPALIER_SHARED names, or else ../shared
// beside the repository.
//
// The data is not part of the repository. Where it is not present, the test
// is skipped. With ESPALIER_REQUIRE_SHARED=1, which our own CI sets because a
// skipped test would pass unnoticed there, the test fails. It fails too when ESPALIER_SHARED names no
// folder, or when the data is there but not the path asked for.
func Shared(t testing.TB, elem ...string) string {
	t.Helper()
	dir, chosen := os.LookupEnv(envShared)
	if chosen = chosen && dir != ""; !chosen {
		dir = filepath.Join(filepath.Dir(Root(t)), "shared")
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		switch {
		case chosen:
			t.Fatalf("%s=%s is not a folder", envShared, dir)
		case os.Getenv(envRequireShared) == "1":
			t.Fatalf("the shared data is not in %s, and %s=1 asks for it; %s can name its place", dir, envRequireShared, envShared)
		default:
			t.Skipf("skipped: the shared data is not in %s; %s can name its place", dir, envShared)
		}
	}
	path := filepath.Join(append([]string{dir}, elem...)...)
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("shared data: %v", err)
	}
	return path
}

// Update reports whether golden files are to be rewritten instead of compared.
// It is for tests that keep goldens in a form of their own.
func Update() bool { return *update }

// Golden fails the test unless the file at path, relative to the package's
// folder, holds exactly got. With -update, it writes got there instead.
func Golden(t testing.TB, path string, got []byte) {
	t.Helper()
	if Update() {
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		t.Fatalf("no golden file %s; go test -update writes it", path)
	case err != nil:
		t.Fatal(err)
	case !bytes.Equal(got, want):
		t.Errorf("the result differs from %s; if that is right, run go test -update and read the diff\n%s", path, firstDifference(got, want))
	}
}

// firstDifference shows the first line in which two texts differ, after the
// lines that lead up to it.
func firstDifference(got, want []byte) string {
	const before = 3
	g, w := strings.SplitAfter(string(got), "\n"), strings.SplitAfter(string(want), "\n")
	n := 0
	for n < len(g) && n < len(w) && g[n] == w[n] {
		n++
	}
	var b strings.Builder
	fmt.Fprintf(&b, "first difference in line %d:\n", n+1)
	for _, line := range g[max(0, n-before):n] {
		fmt.Fprintf(&b, "       %s", line)
	}
	show := func(label string, lines []string) {
		if n < len(lines) && lines[n] != "" {
			fmt.Fprintf(&b, "%s %q\n", label, lines[n])
		} else {
			fmt.Fprintf(&b, "%s (end of text)\n", label)
		}
	}
	show("  want", w)
	show("  got ", g)
	return b.String()
}
