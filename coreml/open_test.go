package coreml

import (
	"archive/zip"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/internal/osfile"
	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

const manifestText = `{
	"fileFormatVersion": "1.0.0",
	"itemInfoEntries": {"A": {"path": "com.apple.CoreML/model.mlmodel"}, "B": {"path": "com.apple.CoreML/weights"}},
	"rootModelIdentifier": "A"
}`

// blobModel is a specification whose program gives the fp16 [4] array at offset 64 of a weight file.
func blobModel(path string) []byte {
	typ := tensorOf(10, 4)
	return join(number(1, 9), sub(2, sub(10, text(1, "w"), sub(3, sub(5, packed(1, 4), number(2, 65552))))),
		sub(502, program(
			sub(3, text(1, "const"), val(sub(2, typ), sub(5, text(1, path), number(2, 64))), sub(3, named("w", typ))),
			gives("w"))))
}

// blobFile is a weight file with one record.
func blobFile(code uint32, padding uint64, data []byte) []byte {
	b := make([]byte, 128, 128+len(data))
	binary.LittleEndian.PutUint32(b, 1)
	binary.LittleEndian.PutUint32(b[4:], 2)
	binary.LittleEndian.PutUint32(b[64:], 0xDEADBEEF)
	binary.LittleEndian.PutUint32(b[68:], code)
	binary.LittleEndian.PutUint64(b[72:], uint64(len(data)))
	binary.LittleEndian.PutUint64(b[80:], 128)
	binary.LittleEndian.PutUint64(b[88:], padding)
	return append(b, data...)
}

var halves = []byte{0, 0x3c, 0, 0x40, 0, 0x42, 0, 0x44} // 1, 2, 3, 4

const (
	specFile   = "Data/com.apple.CoreML/model.mlmodel"
	weightFile = "Data/com.apple.CoreML/weights/weight.bin"
	weightRef4 = "@model_path/weights/weight.bin"
)

// packageFiles is a package with one weight.
func packageFiles() map[string]string {
	return map[string]string{
		manifestName: manifestText,
		specFile:     string(blobModel(weightRef4)),
		weightFile:   string(blobFile(1, 0, halves)),
	}
}

// writeFiles writes files below dir.
func writeFiles(t testing.TB, dir string, files map[string]string) string {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// loadOnly loads the constant that the program of blobModel gives.
func loadOnly(m *Model) (*tensor.Tensor, error) {
	p, err := m.Program()
	if err != nil {
		return nil, err
	}
	return p.Functions[0].Body.Outputs[0].Const().Load()
}

func wantOneToFour(t *testing.T, m *Model) {
	t.Helper()
	array, err := loadOnly(m)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(array.Float32s()); got != "[1 2 3 4]" {
		t.Errorf("got %s", got)
	}
	files, err := m.CheckWeights()
	if err != nil || len(files) != 1 || files[0].Err != nil || files[0].Used != 1 || files[0].Bytes != 8 {
		t.Errorf("got weights %+v, %v", files, err)
	}
}

func TestPackage(t *testing.T) {
	m := open(t, writeFiles(t, t.TempDir(), packageFiles()))
	wantOneToFour(t, m)
	array, err := loadOnly(m)
	if err != nil {
		t.Fatal(err)
	}
	mapped, err := m.file.src.open(weightFile)
	if err != nil || &array.Bytes()[0] != &mapped[128] {
		t.Error("the weights were copied")
	}
}

func TestPackageErrors(t *testing.T) {
	pointer := lfsHeader + "\noid sha256:0000\nsize 123\n"
	manifest := func(old, new string) map[string]string {
		files := packageFiles()
		files[manifestName] = strings.Replace(manifestText, old, new, 1)
		return files
	}
	with := func(name, content string) map[string]string {
		files := packageFiles()
		files[name] = content
		return files
	}
	without := func(name string) map[string]string {
		files := packageFiles()
		delete(files, name)
		return files
	}
	for _, c := range []struct {
		name  string
		files map[string]string
		is    error // nil: a FormatError
		want  []string
	}{
		{"empty folder", nil, nil, []string{"neither a package", "Manifest.json"}},
		{"manifest cut off", with(manifestName, manifestText[:40]), nil, []string{"Manifest.json", "byte 0x28", "not valid"}},
		{"manifest of numbers", with(manifestName, `{"rootModelIdentifier": 7}`), nil, []string{"Manifest.json", "byte 0x", "not valid"}},
		{"manifest of the future", manifest("1.0.0", "2.0.0"), nil, []string{"Manifest.json", "fileFormatVersion", `"2.0.0"`}},
		{"no such item", manifest(`Identifier": "A"`, `Identifier": "C"`), nil, []string{"rootModelIdentifier", `"C"`}},
		{"large manifest", with(manifestName, strings.Repeat(" ", maxManifest+1)), nil, []string{"Manifest.json", "too many"}},
		{"path upwards", manifest("com.apple.CoreML/model", "../../model"), ErrOutsidePackage, []string{"Manifest.json", "itemInfoEntries[A].path", `"../../model.mlmodel"`}},
		{"path upwards inside", manifest("com.apple.CoreML/model", "com.apple.CoreML/../model"), ErrOutsidePackage, nil},
		{"absolute path", manifest("com.apple.CoreML/model", "/etc/model"), ErrOutsidePackage, []string{`"/etc/model.mlmodel"`}},
		{"drive", manifest("com.apple.CoreML/model", "C:/model"), ErrOutsidePackage, []string{`"C:/model.mlmodel"`}},
		{"backslashes", manifest("com.apple.CoreML/model", `com.apple.CoreML\\model`), ErrOutsidePackage, nil},
		{"no path", manifest("com.apple.CoreML/model.mlmodel", ""), nil, []string{"itemInfoEntries[A].path", "empty"}},
		{"odd path", manifest("com.apple.CoreML/model", "com.apple.CoreML//model"), nil, []string{"not a valid path"}},
		{"no model", without(specFile), fs.ErrNotExist, []string{"model.mlmodel"}},
		{"a folder for the model", manifest("com.apple.CoreML/model.mlmodel", "com.apple.CoreML"), osfile.ErrNotRegular, []string{"com.apple.CoreML"}},
		{"model is text", with(specFile, "<html>"), nil, []string{"model.mlmodel", "byte 0x"}},
		{"empty model", with(specFile, ""), nil, []string{"model.mlmodel", "no model type"}},
		{"model not downloaded", with(specFile, pointer), ErrLFSPointer, []string{"model.mlmodel", "Git LFS pointer", "git lfs pull"}},
		{"manifest not downloaded", with(manifestName, pointer), ErrLFSPointer, []string{"Manifest.json", "Git LFS pointer"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := Open(writeFiles(t, t.TempDir(), c.files))
			if err == nil {
				m.Close()
				t.Fatal("no error")
			}
			if c.is == nil {
				wantFormatError(t, err, c.want...)
				return
			}
			if !errors.Is(err, c.is) {
				t.Errorf("got error %v of type %T, want %v", err, err, c.is)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q does not say %q", err, want)
				}
			}
		})
	}
}

// Wrong weights do not keep a model from being opened, nor its program from being decoded.
func TestWeightErrors(t *testing.T) {
	pointer := lfsHeader + "\noid sha256:0000\nsize 123\n"
	blob := func(change func(b []byte)) string {
		b := blobFile(1, 0, halves)
		change(b)
		return string(b)
	}
	put32 := func(at int, v uint32) string {
		return blob(func(b []byte) { binary.LittleEndian.PutUint32(b[at:], v) })
	}
	put64 := func(at int, v uint64) string {
		return blob(func(b []byte) { binary.LittleEndian.PutUint64(b[at:], v) })
	}
	good := string(blobFile(1, 0, halves))
	for _, c := range []struct {
		name, ref, content string
		is                 error // nil: a FormatError
		want               []string
	}{
		{"missing", weightRef4, "", fs.ErrNotExist, []string{"weight.bin"}},
		{"not downloaded", weightRef4, pointer, ErrLFSPointer, []string{"weight.bin", "Git LFS pointer"}},
		{"upwards", "@model_path/../../Manifest.json", good, ErrOutsidePackage, []string{"@model_path/../../Manifest.json"}},
		{"upwards inside", "@model_path/weights/../weights/weight.bin", good, ErrOutsidePackage, nil},
		{"absolute", "/etc/passwd", good, ErrOutsidePackage, []string{"/etc/passwd"}},
		{"absolute below", "@model_path//etc/passwd", good, ErrOutsidePackage, []string{"/etc/passwd"}},
		{"drive", "@model_path/c:weight.bin", good, ErrOutsidePackage, []string{"c:weight.bin"}},
		{"backslashes", `@model_path\weights\weight.bin`, good, ErrOutsidePackage, nil},
		{"a folder", "@model_path/weights", good, osfile.ErrNotRegular, nil},
		{"nothing", "@model_path/", good, nil, []string{"empty"}},
		{"short header", weightRef4, good[:63], nil, []string{"weight.bin: byte 0x0", "header of 64 bytes, found 63"}},
		{"version", weightRef4, put32(4, 1), nil, []string{"weight.bin: byte 0x4", "version of the weight file is 1, expected 2"}},
		{"no room for the record", weightRef4, good[:127], nil, []string{"weight.bin: byte 0x40", "outside the file, which has 0x7f bytes"}},
		{"sentinel", weightRef4, put32(64, 7), nil, []string{"weight.bin: byte 0x40", "0x00000007, expected 0xDEADBEEF"}},
		{"element type", weightRef4, put32(68, 99), nil, []string{"weight.bin: byte 0x44", "element type 99"}},
		{"another element type", weightRef4, put32(68, 7), nil, []string{"byte 0x44", "asks for tensor<fp16, [4]>, the record holds elements of type uint16"}},
		{"size past the end", weightRef4, put64(72, 9), nil, []string{"byte 0x48", "0x9 bytes at 0x80 of 0x88"}},
		{"size of 2^64-1", weightRef4, put64(72, 1<<64-1), nil, []string{"byte 0x48", "outside the file"}},
		{"fewer elements", weightRef4, put64(72, 6), nil, []string{"byte 0x48", "4 elements, the record holds 3"}},
		{"half an element", weightRef4, put64(72, 7), nil, []string{"byte 0x48", "not a whole number of fp16 elements"}},
		{"data past the end", weightRef4, put64(80, 1<<63), nil, []string{"byte 0x48", "outside the file"}},
		{"data in the header", weightRef4, put64(80, 8), nil, []string{"byte 0x50", "in the header"}},
		{"cut off", weightRef4, good[:len(good)-1], nil, []string{"byte 0x48", "outside the file"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := packageFiles()
			files[specFile], files[weightFile] = string(blobModel(c.ref)), c.content
			if c.content == "" {
				delete(files, weightFile)
			}
			m := open(t, writeFiles(t, t.TempDir(), files))
			if _, err := m.Program(); err != nil {
				t.Fatal(err)
			}
			_, err := loadOnly(m)
			reports, checkErr := m.CheckWeights()
			if checkErr != nil || len(reports) != 1 || reports[0].Path != c.ref {
				t.Fatalf("got weights %+v, %v", reports, checkErr)
			}
			for _, err := range []error{err, reports[0].Err} {
				if err == nil {
					t.Fatal("no error")
				}
				if c.is == nil {
					wantFormatError(t, err, c.want...)
				} else if !errors.Is(err, c.is) {
					t.Errorf("got error %v of type %T, want %v", err, err, c.is)
				}
				for _, want := range c.want {
					if !strings.Contains(err.Error(), want) {
						t.Errorf("error %q does not say %q", err, want)
					}
				}
			}
		})
	}
}

// Links inside the package are followed, links out of it are not.
func TestSymbolicLinks(t *testing.T) {
	link := func(dir, target, name string) {
		t.Helper()
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, path); err != nil {
			t.Skipf("no symbolic links here: %v", err)
		}
	}
	outside := writeFiles(t, t.TempDir(), packageFiles())

	inside := writeFiles(t, t.TempDir(), packageFiles())
	if err := os.Rename(filepath.Join(inside, filepath.FromSlash(weightFile)), filepath.Join(inside, "stored.bin")); err != nil {
		t.Fatal(err)
	}
	link(inside, filepath.Join("..", "..", "..", "stored.bin"), weightFile)
	wantOneToFour(t, open(t, inside))

	byLink := filepath.Join(t.TempDir(), "link.mlpackage")
	link(filepath.Dir(byLink), outside, filepath.Base(byLink))
	wantOneToFour(t, open(t, byLink)) // the user's own link

	for _, name := range []string{manifestName, specFile, "Data"} {
		dir := writeFiles(t, t.TempDir(), packageFiles())
		link(dir, filepath.Join(outside, filepath.FromSlash(name)), name)
		if m, err := Open(dir); !errors.Is(err, ErrOutsidePackage) {
			t.Errorf("%s as a link out of the package: got %v, %v", name, m, err)
		}
	}
	for _, name := range []string{weightFile, filepath.Dir(weightFile)} {
		dir := writeFiles(t, t.TempDir(), packageFiles())
		link(dir, filepath.Join(outside, filepath.FromSlash(name)), name)
		if _, err := loadOnly(open(t, dir)); !errors.Is(err, ErrOutsidePackage) || !strings.Contains(err.Error(), "weight.bin") {
			t.Errorf("%s as a link out of the package: got error %v", name, err)
		}
	}
	dir := writeFiles(t, t.TempDir(), packageFiles())
	link(dir, filepath.Base(weightFile), weightFile) // to itself
	if _, err := loadOnly(open(t, dir)); err == nil {
		t.Error("a link to itself: no error")
	}
}

func TestBareFiles(t *testing.T) {
	// The weights are beside the specification, as in the package that it was taken from.
	dir := writeFiles(t, t.TempDir(), packageFiles())
	m := open(t, filepath.Join(dir, filepath.FromSlash(specFile)))
	if m.Format != Specification {
		t.Errorf("got format %v", m.Format)
	}
	wantOneToFour(t, m)

	for name, content := range map[string]string{"pointer.mlmodel": lfsHeader + "\n", "pointer.zip": lfsHeader + "\n", "pointer.mil": lfsHeader + "\n"} {
		path := filepath.Join(writeFiles(t, t.TempDir(), map[string]string{name: content}), name)
		if _, err := Open(path); !errors.Is(err, ErrLFSPointer) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got error %v", name, err)
		}
	}
	if _, err := Open(filepath.Join(dir, "nothing.mlmodel")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got error %v", err)
	}
	path := filepath.Join(writeFiles(t, t.TempDir(), map[string]string{"bad.mlmodel": "\x08"}), "bad.mlmodel")
	_, err := Open(path)
	wantFormatError(t, err, "bad.mlmodel: byte 0x0: ")
}

func TestText(t *testing.T) {
	const source = `program(1.0)
{
    func main<ios17>(tensor<fp16, [1, ?]> x, tensor<int32, []> n, state<tensor<fp16, [2]>> s) [FlexibleShapeInformation = tuple<tuple<tensor<string, []>, dict<tensor<string, []>, tensor<int32, [?]>>>, tuple<tensor<string, []>, dict<tensor<string, []>, list<tensor<int32, [2]>, ?>>>>((("DefaultShapes", {{"x", [1, 4]}}), ("RangeDims", {{"x", [[1, 1], [2, 8]]}})))] {
            tensor<fp16, [4]> w = const()[name = tensor<string, []>("w"), val = tensor<fp16, [4]>(BLOBFILE(path = tensor<string, []>("@model_path/weights/weight.bin"), offset = tensor<uint64, []>(64)))];
            tensor<fp16, [1, ?]> y = relu(x = x)[name = tensor<string, []>("y")];
        } -> (w, y);
}
`
	for _, name := range []string{"a.mil", "without a suffix"} {
		dir := writeFiles(t, t.TempDir(), map[string]string{name: source, "weights/weight.bin": string(blobFile(1, 0, halves))})
		m := open(t, filepath.Join(dir, name))
		if m.Format != Text || m.Type != MLProgram {
			t.Errorf("got %v of type %v", m.Format, m.Type)
		}
		fn := m.Description.Function("")
		var features []string
		for _, f := range append(append(fn.Inputs, fn.Outputs...), fn.States...) {
			features = append(features, f.Name+": "+f.Type.String())
		}
		want := "x: fp16 array [1, 4] ([1, 2…8]); n: int32 array []; w: fp16 array [4]; y: fp16 array ([1, 1…]); s: state of fp16 array [2]"
		if got := strings.Join(features, "; "); got != want {
			t.Errorf("got features\n\t%s, want\n\t%s", got, want)
		}
		wantOneToFour(t, m)
	}
	path := filepath.Join(writeFiles(t, t.TempDir(), map[string]string{"bad.mil": source[:200]}), "bad.mil")
	var syntax *mil.SyntaxError
	if _, err := Open(path); !errors.As(err, &syntax) || !strings.Contains(err.Error(), "bad.mil") {
		t.Errorf("got error %v of type %T", err, err)
	}
}

// A closed model says so; it does not touch what is no longer mapped.
func TestClosed(t *testing.T) {
	for name, path := range map[string]string{
		"folder": writeFiles(t, t.TempDir(), packageFiles()),
		"zip":    zipFile(t, zipOf(t, "", zip.Deflate, packageFiles())),
	} {
		decoded, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := decoded.Program(); err != nil {
			t.Fatal(err)
		}
		fresh, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := errors.Join(decoded.Close(), fresh.Close()); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if _, err := loadOnly(decoded); !errors.Is(err, fs.ErrClosed) {
			t.Errorf("%s: loading gives error %v", name, err)
		}
		if _, err := fresh.Program(); !errors.Is(err, fs.ErrClosed) {
			t.Errorf("%s: decoding gives error %v", name, err)
		}
	}
}
