package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestMain plays the command to judge when the judge starts it: a case's model says what it does.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "run" {
		os.Exit(fakeEspalier(os.Args[2:]))
	}
	os.Exit(m.Run())
}

func fakeEspalier(args []string) int {
	model, err := os.ReadFile(args[0])
	if err != nil {
		fmt.Fprintln(os.Stderr, "espalier:", err)
		return 1
	}
	switch string(model) {
	case "differs":
		fmt.Println(`{"cases": [{"expect": [{"output": "a", "match": true}, {"output": "b", "match": false, "reason": "off by 1"}]}]}`)
		fmt.Fprintln(os.Stderr, "espalier: the outputs do not match")
		return exitMismatch
	case "fails":
		fmt.Fprintln(os.Stderr, "espalier: "+filepath.ToSlash(args[0])+": unknown operation")
		fmt.Fprintln(os.Stderr, "more")
		return 1
	case "arguments":
		fmt.Fprintln(os.Stderr, "espalier: "+strings.Join(args[1:], " "))
		return 1
	}
	return 0
}

// writeArchive makes an archive of files by name.
func writeArchive(t *testing.T, name string, files map[string]string) {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for name, text := range files {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o666, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), z.Close(), os.WriteFile(name, b.Bytes(), 0o666)); err != nil {
		t.Fatal(err)
	}
}

func TestJudge(t *testing.T) {
	archives, dir := t.TempDir(), t.TempDir()
	files := map[string]string{}
	add := func(name, model, tolerance string) {
		files[name+"/model.mlpackage"] = model
		files[name+"/meta.json"] = `{"tolerance": ` + tolerance + `}`
	}
	add("a__one", "matches", "0.1")
	add("a__two", "differs", "0.1")
	add("b__three", "fails", "0.1")
	add("b__four", "arguments", `{"y": 0.25, "x": 1e-3}`)
	add("b__five", "arguments", `"much"`)
	writeArchive(t, filepath.Join(archives, "cases.tar.gz"), files)
	names, err := unpack(context.Background(), archives, dir, regexp.MustCompile(""))
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"a__one", "a__two", "b__five", "b__four", "b__three"}; !slices.Equal(names, want) {
		t.Fatalf("cases %v, expected %v", names, want)
	}
	command, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]verdict{
		"a__one":   {outcome: match},
		"a__two":   {outcome: mismatch, reason: "b: off by 1"},
		"b__three": {outcome: failure, reason: "b__three/model.mlpackage: unknown operation"},
		"b__four": {outcome: failure, reason: filepath.FromSlash("--json --inputs b__four/inputs.npz --expect b__four/expected.npz" +
			" --tolerance x=0.001 --tolerance y=0.25")},
		"b__five": {outcome: failure, reason: `meta.json: the tolerance is "much", expected a number or numbers by output`},
	} {
		want.name = name
		if got := judge(context.Background(), command, dir, name); got != want {
			t.Errorf("%s: %+v, expected %+v", name, got, want)
		}
	}
}

func TestUnpackStaysInItsFolder(t *testing.T) {
	for _, name := range []string{"../outside", "/outside", "case/../../outside"} {
		archives, dir := t.TempDir(), t.TempDir()
		writeArchive(t, filepath.Join(archives, "bad.tar.gz"), map[string]string{name: "x"})
		_, err := unpack(context.Background(), archives, dir, regexp.MustCompile(""))
		if err == nil || !strings.Contains(err.Error(), "leaves the archive") {
			t.Errorf("%s: error %v", name, err)
		}
		if _, err := os.Stat(filepath.Join(dir, "..", "outside")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s was written", name)
		}
	}
}

func TestReport(t *testing.T) {
	const want = `2 of 4 cases match (50.00 %).

| Tests | Cases | Match | Mismatch | Error |
|---|--:|--:|--:|--:|
| a | 2 | 1 | 1 | 0 |
| b | 2 | 1 | 0 | 1 |
| **all** | 4 | 2 | 1 | 1 |

## What does not match

| Case | Outcome | What was found | Why |
|---|---|---|---|
| ` + "`a__two`" + ` | mismatch | off \| by 1 | not found out yet |
| ` + "`b__two`" + ` | error | unknown operation | not found out yet |
`
	got := string(renderReport([]verdict{
		{"a__one", match, ""}, {"a__two", mismatch, "off | by 1"}, {"b__one", match, ""}, {"b__two", failure, "unknown operation"},
	}))
	if !strings.HasSuffix(got, want) {
		t.Errorf("got\n%s\nexpected at the end\n%s", got, want)
	}
}
