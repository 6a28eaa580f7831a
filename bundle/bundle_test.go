package bundle

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/e5"
	"github.com/espalier-ane/espalier/firmware"
	"github.com/espalier-ane/espalier/internal/testkit"
)

func container(t testing.TB) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(testkit.Root(t), "hwx", "testdata", "identity64.hwx"))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// sample has two functions, three segments on both backends, and weights.
func sample(t testing.TB) *Content {
	t.Helper()
	main, other := e5.NewFunction("main"), e5.NewFunction("other")
	x := []e5.Operand{{Symbol: "x", Tensor: e5.NCHW(e5.Float16, [4]uint64{1, 1, 1, 64}, [4]uint64{128, 128, 128, 2})}}
	main.Add(x, x, e5.CastAttrs{Source: e5.Float16, Destination: e5.Float16, ComponentPack: 1})
	main.Add(x, x, e5.AneInferenceAttrs{ProcedureName: "net", ProgramSymbol: ContainerPath(0)})
	main.Add(x, x, e5.CpuInferenceAttrs{Function: "host_0"})
	main.Add(x, x, e5.AneInferenceAttrs{ProcedureName: "net", ProgramSymbol: ContainerPath(1)})
	program, err := (&e5.Program{Functions: []*e5.Function{main, other}}).Encode()
	if err != nil {
		t.Fatal(err)
	}
	zero := Float(0)
	return &Content{
		Manifest: Manifest{
			Generator: "test", Target: "virtual", Numerics: "virtual",
			Functions: []Function{
				{
					Name: "main",
					Inputs: []Feature{
						{Name: "x", Kind: "array", Array: &Array{Type: "fp16", Shape: []int{1, 64}, Ranges: []Range{{1, -1}, {64, 64}}, Default: &zero}, Optional: true},
						{Name: "picture", Description: "a <b> & c", Kind: "image", Image: &Image{Width: 4, Height: 2, ColorSpace: "RGB"}},
					},
					Outputs: []Feature{{Name: "label", Kind: "string"}, {Name: "scores", Kind: "dictionary", Elem: "string"}},
					States:  []Feature{{Name: "cache", Kind: "state", Array: &Array{Type: "fp16", Shape: []int{1, 8}}}},
					Segments: []Segment{
						{Operation: "Op1_AneInference", Backend: Engine, Container: ContainerPath(0), Procedure: "net"},
						{Operation: "Op2_CpuInference", Backend: Host, Function: "host_0"},
						{Operation: "Op3_AneInference", Backend: Engine, Container: ContainerPath(1), Procedure: "net", Weights: "weights/a.bin"},
					},
					Classifier: &Classifier{Label: "label", Probabilities: "scores", Texts: []string{"cat", "dog"}},
				},
				{Name: "other"},
			},
			Weights: []Weight{
				{Name: "w", File: "weights/a.bin", Offset: 2, Size: 6, Type: "fp16", Shape: []int{3}},
				{Name: "raw", File: "weights/a.bin", Offset: 8, Size: 0, Mutable: true},
			},
		},
		Program:    program,
		Containers: []Blob{Data(ContainerPath(1), container(t)), Data(ContainerPath(0), container(t))},
		Host:       "program(1.0)\n{}\n",
		Weights:    []Blob{Data("weights/a.bin", []byte("01234567"))},
	}
}

// write writes a sample, changed or not, into a fresh folder.
func write(t testing.TB, changes ...func(*Content)) (dir string, id string) {
	t.Helper()
	c := sample(t)
	for _, change := range changes {
		change(c)
	}
	dir = filepath.Join(t.TempDir(), "net.bundle")
	id, err := Write(dir, c)
	if err != nil {
		t.Fatal(err)
	}
	return dir, id
}

func TestBundle(t *testing.T) {
	dir, id := write(t)
	manifest, err := os.ReadFile(filepath.Join(dir, manifestName))
	if err != nil {
		t.Fatal(err)
	}
	// Without the lines that change with the other packages' formats.
	var lines []string
	for line := range strings.Lines(string(manifest)) {
		if !strings.Contains(line, `"sha256"`) {
			lines = append(lines, line)
		}
	}
	testkit.Golden(t, "testdata/manifest.txt", []byte(strings.Join(lines, "")))

	if !IsBundle(dir) || IsBundle(filepath.Dir(dir)) || IsBundle(filepath.Join(dir, manifestName)) {
		t.Error("IsBundle is wrong")
	}
	for name, open := range map[string]func(string) (*Bundle, error){"Open": Open, "OpenTrusted": OpenTrusted} {
		b, err := open(dir)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		want := sample(t)
		if b.ID() != id || id != digest(manifest) {
			t.Errorf("%s: ID %s, want %s", name, b.ID(), id)
		}
		want.Manifest.Format, want.Manifest.Version, want.Manifest.Files = formatName, formatVersion, b.Manifest.Files
		if !reflect.DeepEqual(*b.Manifest, want.Manifest) {
			t.Errorf("%s: manifest %+v", name, b.Manifest)
		}
		if b.Host() != want.Host || len(b.Program.Functions) != 2 {
			t.Errorf("%s: host %q, %d functions", name, b.Host(), len(b.Program.Functions))
		}
		if b.Container(ContainerPath(0)) == nil || b.Container(ContainerPath(2)) != nil || !bytes.Equal(b.Bytes(ContainerPath(1)), container(t)) {
			t.Errorf("%s: the containers are not there", name)
		}
		for weight, content := range map[string]string{"w": "234567", "raw": ""} {
			if got, ok := b.Weight(weight); !ok || string(got) != content || cap(got) != len(got) {
				t.Errorf("%s: weight %s is %q, %t", name, weight, got, ok)
			}
		}
		if _, ok := b.Weight("none"); ok {
			t.Errorf("%s: there is a weight that is none", name)
		}
		for range 2 {
			if err := b.Close(); err != nil {
				t.Error(err)
			}
		}
		if b.Bytes(HostPath) != nil || b.Host() != "" {
			t.Errorf("%s: a closed bundle has bytes", name)
		}
	}
}

// The same content is the same bundle, and other content is another one.
func TestAddress(t *testing.T) {
	dir, first := write(t)
	_, again := write(t)
	if first != again {
		t.Error("written twice, it has two IDs")
	}
	_, other := write(t, func(c *Content) { c.Weights[0] = Data("weights/a.bin", []byte("01234568")) })
	if other == first {
		t.Error("other weights, same ID")
	}
	var names []string
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if rel, _ := filepath.Rel(dir, name); err == nil && !d.IsDir() {
			names = append(names, filepath.ToSlash(rel))
		}
		return err
	})
	want := []string{"host.mil", "manifest.json", "program.e5", "segments/0.hwx", "segments/1.hwx", "weights/a.bin"}
	if err != nil || !slices.Equal(names, want) {
		t.Errorf("files %q, %v", names, err)
	}
}

func TestReplace(t *testing.T) {
	dir, first := write(t)
	change := func(c *Content) *Content { c.Host = "program(1.1)\n"; return c }

	second, err := Write(dir, change(sample(t)))
	if err != nil || second == first {
		t.Fatalf("an earlier bundle is not replaced: %v", err)
	}
	b, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if b.ID() != second {
		t.Error("the earlier bundle is there")
	}
	b.Close()
	os.WriteFile(filepath.Join(dir, "segments", ".DS_Store"), nil, 0o666) // no obstacle

	if _, err := Write(dir, sample(t)); err != nil {
		t.Error(err)
	}
	onlyBundle := func() {
		t.Helper()
		entries, err := os.ReadDir(filepath.Dir(dir))
		if err != nil || len(entries) != 1 {
			t.Errorf("something is left beside the bundle: %v, %v", entries, err)
		}
	}
	onlyBundle()

	// What fails leaves the earlier bundle as it was, and nothing beside it.
	failure := errors.New("no such luck")
	for name, spoil := range map[string]func(*Content){
		"writer": func(c *Content) {
			c.Weights[0].Write = func(w io.Writer) error { w.Write([]byte("0123")); return failure }
		},
		"container":    func(c *Content) { c.Containers[0] = Data(ContainerPath(1), []byte("no container")) },
		"program":      func(c *Content) { c.Program = []byte("no program") },
		"manifest":     func(c *Content) { c.Manifest.Functions[1].Name = "main" },
		"disagreement": func(c *Content) { c.Manifest.Functions[1].Name = "another" },
		"path":         func(c *Content) { c.Weights[0].Path = "weights/../../a.bin" },
		"role":         func(c *Content) { c.Weights[0].Path = "segments/a.bin" },
		"twice":        func(c *Content) { c.Weights = append(c.Weights, c.Weights[0]) },
	} {
		c := sample(t)
		spoil(c)
		if _, err := Write(dir, c); err == nil || name == "writer" && !errors.Is(err, failure) {
			t.Errorf("%s: got %v", name, err)
		}
		onlyBundle()
		if b, err := Open(dir); err != nil {
			t.Errorf("%s: %v", name, err)
		} else if b.ID() != first {
			t.Errorf("%s: the bundle has changed", name)
		} else {
			b.Close()
		}
	}
}

func TestReplaceRefuses(t *testing.T) {
	top := t.TempDir()
	for _, c := range []struct {
		name string
		make func(dir string) error
		want string
		is   error
	}{
		{"file", func(dir string) error { return os.WriteFile(dir, []byte("x"), 0o666) }, "something else", ErrNotBundle},
		{"empty folder", func(dir string) error { return os.Mkdir(dir, 0o777) }, "a folder that is not replaced", ErrNotBundle},
		{"other folder", func(dir string) error {
			return errors.Join(os.Mkdir(dir, 0o777), os.WriteFile(filepath.Join(dir, manifestName), []byte(`{"format": "other"}`), 0o666))
		}, "a folder that is not replaced", ErrNotBundle},
		{"later version", func(dir string) error {
			return errors.Join(os.Mkdir(dir, 0o777), os.WriteFile(filepath.Join(dir, manifestName), []byte(`{"format": "espalier bundle", "version": 2}`), 0o666))
		}, "2 instead of 1", ErrVersion},
		{"with a foreign file", func(dir string) error {
			_, err := Write(dir, sample(t))
			return errors.Join(err, os.WriteFile(filepath.Join(dir, "weights", "notes.txt"), nil, 0o666))
		}, "weights/notes.txt in it is not of the bundle", nil},
	} {
		dir := filepath.Join(top, c.name)
		if err := c.make(dir); err != nil {
			t.Fatal(err)
		}
		before := tree(t, dir)
		_, err := Write(dir, sample(t))
		if err == nil || !strings.Contains(err.Error(), c.want) || c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("%s: got %v, want %s", c.name, err, c.want)
		}
		if after := tree(t, dir); after != before {
			t.Errorf("%s: was %s, is %s", c.name, before, after)
		}
	}
	if _, err := Write(filepath.Join(top, "none", "x.bundle"), sample(t)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder that is not there: %v", err)
	}
}

// tree lists a folder with the digests of its files.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		all.WriteString(name + " " + digest(data) + "\n")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

func TestOpenRefuses(t *testing.T) {
	remove := func(name string) func(string) error {
		return func(dir string) error { return os.Remove(filepath.Join(dir, name)) }
	}
	edit := func(name, old, new string) func(string) error {
		return func(dir string) error {
			name := filepath.Join(dir, name)
			data, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			if !bytes.Contains(data, []byte(old)) {
				return errors.New("not found: " + old)
			}
			return os.WriteFile(name, bytes.Replace(data, []byte(old), []byte(new), 1), 0o666)
		}
	}
	for _, c := range []struct {
		name  string
		spoil func(dir string) error
		want  string
		is    error
	}{
		{"no manifest", remove(manifestName), "manifest.json: not a bundle of Espalier", ErrNotBundle},
		{"no container", remove("segments/1.hwx"), "segments/1.hwx: ", fs.ErrNotExist},
		{"no weights", remove("weights/a.bin"), "weights/a.bin: ", fs.ErrNotExist},
		{"weights changed", edit("weights/a.bin", "3", "4"), "weights/a.bin: the file is not the one that was written: its SHA-256 is ", ErrDigest},
		{"weights longer", edit("weights/a.bin", "3", "33"), "it has 9 bytes instead of 8", ErrDigest},
		{"host changed", edit(HostPath, "1.0", "1.1"), "host.mil: ", ErrDigest},
		{"folder for a file", func(dir string) error {
			return errors.Join(remove(HostPath)(dir), os.Mkdir(filepath.Join(dir, HostPath), 0o777))
		}, "host.mil: not a regular file", nil},
		{"link out of the bundle", func(dir string) error {
			out := filepath.Join(filepath.Dir(dir), "a.bin")
			return errors.Join(os.Rename(filepath.Join(dir, "weights/a.bin"), out), os.Symlink(out, filepath.Join(dir, "weights/a.bin")))
		}, "weights/a.bin: ", nil},
		{"path out of the bundle", edit(manifestName, "weights/a.bin\",\n      \"role", "../a.bin\",\n      \"role"), "the path leaves the bundle", ErrOutside},
		{"version", edit(manifestName, `"version": 1`, `"version": 7`), "version: 7 instead of 1", ErrVersion},
		{"not JSON", edit(manifestName, "{", "<"), "manifest.json: byte 0x1: ", ErrNotBundle},
		{"descriptor differs", edit(manifestName, "Op2_CpuInference", "Op5_CpuInference"), "functions[0].segments[1]: ", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, _ := write(t)
			if err := c.spoil(dir); err != nil {
				t.Fatal(err)
			}
			_, err := Open(dir)
			var format *FormatError
			if !errors.As(err, &format) || !strings.Contains(err.Error(), c.want) || c.is != nil && !errors.Is(err, c.is) {
				t.Errorf("got %v, want %s", err, c.want)
			}
			if _, err := OpenTrusted(dir); (err == nil) != (c.name == "weights changed" || c.name == "host changed") {
				t.Errorf("trusted: %v", err)
			}
		})
	}
	if _, err := Open(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no folder: %v", err)
	}
	// Files with right digests that are not what their role says.
	for path, want := range map[string]string{ProgramPath: "program.e5: byte 0x0", ContainerPath(1): "segments/1.hwx: "} {
		dir, _ := write(t)
		junk := []byte("junk")
		b, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		b.Close()
		for i, f := range b.Manifest.Files {
			if f.Path == path {
				b.Manifest.Files[i].Size, b.Manifest.Files[i].SHA256 = 4, digest(junk)
			}
		}
		manifest, err := b.Manifest.Encode()
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, path), junk, 0o666), os.WriteFile(filepath.Join(dir, manifestName), manifest, 0o666))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", path, err)
		}
	}
}

// The rows of seed 23.1.
func TestForms(t *testing.T) {
	descriptor, err := (&e5.Program{}).Encode()
	if err != nil {
		t.Fatal(err)
	}
	pkg, err := (&firmware.Package{}).Encode()
	if err != nil {
		t.Fatal(err)
	}
	samples := map[string][]byte{
		"intermediate-language text": []byte("program(1.0)\n[buildInfo = dict<string, string>({{\"coremlc-component-MIL\", \"3520.4.1\"}})]\n{"),
		"network description":        []byte("<?xml version=\"1.0\"?>\n<plist version=\"1.0\"><dict><key>Version</key><string>1.0.10</string>"),
		"hardware container":         container(t),
		"dispatch descriptor":        descriptor,
		"loaded program image":       container(t),
		"firmware container":         pkg,
	}
	if len(Forms()) != 6 {
		t.Errorf("%d forms", len(Forms()))
	}
	for _, f := range Forms() {
		if f.Format == "" || f.Tag == "" || f.Role == "" || samples[f.Stage] == nil {
			t.Errorf("row %+v", f)
		}
		for stage, data := range samples {
			image := strings.HasPrefix(stage, "hardware") || strings.HasPrefix(stage, "loaded")
			same := stage == f.Stage || image && f.Tag == "0xbeefface"
			if f.Is(data) != same {
				t.Errorf("%s is %s: %t", stage, f.Stage, !same)
			}
		}
		if f.Is(nil) {
			t.Errorf("nothing is %s", f.Stage)
		}
	}
	for stage, want := range map[string]string{"loaded program image": "hardware container", "dispatch descriptor": "dispatch descriptor"} {
		if f, ok := FormOf(samples[stage]); !ok || f.Stage != want {
			t.Errorf("%s is recognised as %s", stage, f.Stage)
		}
	}
	if !isPropertyList([]byte("bplist00")) {
		t.Error("a binary property list is not recognised")
	}
	if f, ok := FormOf([]byte("PK\x03\x04")); ok {
		t.Errorf("an archive is %s", f.Stage)
	}
	// The tags that are bytes stand where they should.
	if hex.EncodeToString(descriptor[4:12]) != "0c00140004000800" || hex.EncodeToString(container(t)[:4]) != "cefaefbe" || string(pkg[:4]) != "HENA" {
		t.Error("a tag is not in its place")
	}
}

func TestFloat(t *testing.T) {
	for _, v := range []float64{0, -1.5, math.Inf(1), math.Inf(-1), math.NaN()} {
		data, err := Float(v).MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		var got Float
		if err := got.UnmarshalJSON(data); err != nil || float64(got) != v && !(math.IsNaN(v) && math.IsNaN(float64(got))) {
			t.Errorf("%v is written as %s and read as %v, %v", v, data, got, err)
		}
	}
	var f Float
	for _, text := range []string{`"nan"`, `[]`, `tru`} {
		if f.UnmarshalJSON([]byte(text)) == nil {
			t.Errorf("%s is a number", text)
		}
	}
}
