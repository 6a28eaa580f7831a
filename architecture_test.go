package espalier_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var (
	// quotedPath is a path in backquotes, from the root of the repository. <name> in it stands for anything.
	quotedPath = regexp.MustCompile("`([A-Za-z0-9_<>./-]+)`")
	// walkRow is a row of a walk: the step, the file, and what its functions do.
	walkRow = regexp.MustCompile("(?m)^\\| [0-9]+ \\| `([a-z0-9_/]+\\.go)` \\| (.*) \\|$")
	// quotedName is a name in backquotes at the beginning of a clause.
	quotedName = regexp.MustCompile("(?:^|[,;] (?:or )?)`([A-Za-z0-9]+)`")
	// placeholder is a part of a path that a reader fills in.
	placeholder = regexp.MustCompile("<[a-z]+>")
)

// The pages for contributors name files and folders that exist.
func TestPagesNameFiles(t *testing.T) {
	for _, page := range []string{"docs/architecture.md", "CONTRIBUTING.md"} {
		text := readPage(t, page)
		if _, table, ok := strings.Cut(text, "## Where things go"); ok {
			text = table // the laws before it have names of files that are made up
		}
		found := 0
		for _, m := range quotedPath.FindAllStringSubmatch(text, -1) {
			if !isPath(m[1]) {
				continue
			}
			found++
			files, err := filepath.Glob(placeholder.ReplaceAllString(m[1], "*"))
			if err != nil || len(files) == 0 {
				t.Errorf("%s: there is no %s", page, m[1])
			}
		}
		if found < 20 {
			t.Errorf("%s names %d files: this test does not find them", page, found)
		}
	}
}

// isPath reports whether a quoted word is meant as a path of the repository: one with a file's ending that we have, or one below
// a folder at its root.
func isPath(word string) bool {
	if strings.Contains(word, "…") || strings.HasPrefix(word, "/") {
		return false
	}
	if slices.Contains([]string{".go", ".md", ".txt", ".txtar"}, filepath.Ext(word)) {
		return true
	}
	top, _, below := strings.Cut(word, "/")
	return below && slices.Contains([]string{"internal", "cmd", "explain", "docs", "testdata", "tools"}, top)
}

// The functions on the walks exist, in the files that the walks name.
func TestWalks(t *testing.T) {
	rows := walkRow.FindAllStringSubmatch(readPage(t, "docs/architecture.md"), -1)
	if len(rows) < 30 {
		t.Fatalf("%d steps found", len(rows))
	}
	for _, row := range rows {
		source := readPage(t, row[1])
		names := quotedName.FindAllStringSubmatch(row[2], -1)
		if len(names) == 0 {
			t.Errorf("the step at %s names no function", row[1])
		}
		for _, name := range names {
			if !regexp.MustCompile(`(?m)^func (\([^)]*\) )?` + name[1] + `[\[(]`).MatchString(source) {
				t.Errorf("%s has no function %s", row[1], name[1])
			}
		}
	}
}

// Every package has its place on the page, on the line that the law gives it.
func TestPageHasPackages(t *testing.T) {
	row := regexp.MustCompile(`(?m)^\| ([0-9]+) \| ([^|]*) \| ([^|]*) \|$`)
	lines := map[string]string{}
	for _, m := range row.FindAllStringSubmatch(readPage(t, "docs/architecture.md"), -1) {
		for _, cell := range m[2:] {
			for _, name := range quotedPath.FindAllStringSubmatch(cell, -1) {
				if _, ok := lines[name[1]]; !ok {
					lines[name[1]] = m[1]
				}
			}
		}
	}
	seen := map[string]bool{}
	for _, s := range sources(t) {
		if s.isTest() || seen[s.pkg] {
			continue
		}
		seen[s.pkg] = true
		name := s.pkg
		if name == "espalier" {
			name = "."
		}
		line, _ := lineOf(s.pkg)
		switch {
		case lines[name] == "":
			t.Errorf("docs/architecture.md has no row for %s", name)
		case lines[name] != strconv.Itoa(line):
			t.Errorf("docs/architecture.md has %s on line %s, layers_test.go on line %d", name, lines[name], line)
		}
	}
}

func readPage(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.FromSlash(name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
