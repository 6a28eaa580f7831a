package compiler

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/testkit"
)

// goldens runs a test for each archive in a folder of testdata. Of its files, so many are given; the test appends what
// became of them, which the archive on disk is held to.
func goldens(t *testing.T, folder string, given int, test func(*testing.T, *txtar.Archive)) {
	files, err := filepath.Glob(filepath.Join("testdata", folder, "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatal("no golden files", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if len(archive.Files) < given {
				t.Fatalf("%d files, want the %d that are given", len(archive.Files), given)
			}
			archive.Files = archive.Files[:given]
			test(t, archive)
			testkit.Golden(t, file, txtar.Format(archive))
		})
	}
}

// targetOf is the target that an archive's comment names in a line of its own, "Target: h13"; virtual if there is none.
func targetOf(t testing.TB, archive *txtar.Archive) *hal.Target {
	t.Helper()
	for line := range strings.Lines(string(archive.Comment)) {
		if name, ok := strings.CutPrefix(line, "Target: "); ok {
			return lookup(t, strings.TrimSpace(name))
		}
	}
	return virtual(t)
}

func parseGraph(t testing.TB, text string) *anec.Graph {
	t.Helper()
	g, err := anec.Parse(text, nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return g
}

// archives are those of a folder of testdata.
func archives(t testing.TB, folder string, do func(*txtar.Archive)) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", folder, "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		do(archive)
	}
}
