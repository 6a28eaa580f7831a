package graphfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/espalier-ane/espalier/internal/osfile"
)

const text = "graph \"\"\ninput %x : fp16[1,1,32,1,1]\nconst %w : fp16[1,1,32,1,1] {data = file(NAME+0, 64)}\noutput %w\n"

// Weights are found beside the graph and, by the last part of a name that leads out of the folder, above it, and nowhere else.
func TestPlacesOfWeights(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"w", "a/v", "a/b/u", "a/b/sub/s"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, make([]byte, 64), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	graph := filepath.Join(dir, "a", "b", "graph")
	for name, found := range map[string]bool{
		"u": true, "sub/s": true, "sub/../u": true, "../v": true, "../../v": true, "/elsewhere/v": true, "/elsewhere/u": true,
		"v": false, "w": false, "../../w": false, "..": false, "/": false, "../": false, "x/u": false,
	} {
		if err := os.WriteFile(graph, []byte(strings.Replace(text, "NAME", `"`+name+`"`, 1)), 0o666); err != nil {
			t.Fatal(err)
		}
		f, err := Open(graph)
		if found != (err == nil) {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			if f.Procedures[0].Name != "main" || len(f.Names()) != 1 || f.Names()[0] != name {
				t.Errorf("%s: procedure %q, files %q", name, f.Procedures[0].Name, f.Names())
			}
			if err := errors.Join(f.Changed(), f.Close()); err != nil {
				t.Error(err)
			}
		} else if base := filepath.Base(name); filepath.IsLocal(base) && base != "." && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestOpenBytes(t *testing.T) {
	data := []byte(strings.Replace(text, "NAME", "../w", 1))
	for form, files := range map[string]fs.FS{"nothing": nil, "another": fstest.MapFS{"v": {Data: make([]byte, 64)}}} {
		if _, err := OpenBytes("graph", data, files); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s beside it: %v", form, err)
		}
	}
	f, err := OpenBytes("graph", data, fstest.MapFS{"w": {Data: make([]byte, 64)}})
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	if _, err := OpenBytes("graph", []byte("program"), nil); err == nil || Is([]byte("program")) {
		t.Error("MIL text is a graph")
	}
}

// Two names that lead out of the folder and end alike are two files, or an error: never one file for both.
func TestNamesOfWeightsThatEndAlike(t *testing.T) {
	dir := t.TempDir()
	for name, first := range map[string]byte{"w": 5, "a/w": 3, "a/sub/w": 7} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte{first}, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		names []string
		want  []byte // 0: an error
	}{
		{[]string{"w", "../w", "sub/w"}, []byte{3, 5, 7}},
		{[]string{"../w", "w"}, []byte{5, 3}},
		{[]string{"w", "./w", "sub/../w"}, []byte{3, 3, 3}},
		{[]string{"/x/w", "/y/w"}, []byte{3, 0}},
		{[]string{"w", "../../b/w"}, []byte{3, 0}},
	} {
		w := newWeights(folder{filepath.Join(dir, "a", "graph"), osfile.Map})
		for i, name := range test.names {
			data, err := w.Bytes(name)
			switch want := test.want[i]; {
			case want == 0 && (err == nil || !strings.Contains(err.Error(), "already")):
				t.Errorf("%q of %q: %v, %v", name, test.names, data, err)
			case want != 0 && (err != nil || data[0] != want):
				t.Errorf("%q of %q: %v, %v, want %d", name, test.names, data, err, want)
			}
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}
}
