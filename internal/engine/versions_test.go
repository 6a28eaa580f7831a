package engine

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Binding and executing know no version: only the table of the decoders, and the
// folders of these, name one.
func TestNoVersions(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	version := regexp.MustCompile(`(?i)\bv(7|256)|V(7|256)|[Vv]ersion[- ]?(7|256)`)
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") || name == "decoders.go" {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(text), "\n") {
			if version.MatchString(line) {
				t.Errorf("%s:%d: %s", name, i+1, strings.TrimSpace(line))
			}
		}
	}
}
