//go:build unix

package coreml

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/espalier-ane/espalier/internal/osfile"
)

// A file that becomes shorter while the model is opened is an error, and nothing is kept mapped.
func TestOpenOfWhatIsTruncated(t *testing.T) {
	for name, content := range map[string]string{"model.mil": "program(1.0)\n{}\n", "model.mlmodel": "\x08\x09", "model.zip": "PK\x05\x06 and more"} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
		before := osfile.Mapped()
		_, err := openWith(path, func(f *os.File) (*osfile.Mapping, error) {
			m, err := osfile.MapFile(f)
			return m, errors.Join(err, os.Truncate(path, 0))
		})
		if !errors.Is(err, osfile.ErrChanged) || osfile.Mapped() != before {
			t.Errorf("%s: got %v, %d mappings", name, err, osfile.Mapped()-before)
		}
	}
}

// The same of the files in a package: at each of them, and while the program is decoded.
func TestPackageThatIsTruncated(t *testing.T) {
	source := os.DirFS(filepath.Join("..", "testdata", "models", "linear_mlp", "model.mlpackage"))
	for _, name := range []string{manifestName, "Data/com.apple.CoreML/model.mlmodel"} {
		dir := filepath.Join(t.TempDir(), "a.mlpackage")
		if err := os.CopyFS(dir, source); err != nil {
			t.Fatal(err)
		}
		before, path := osfile.Mapped(), filepath.Join(dir, filepath.FromSlash(name))
		_, err := openWith(dir, func(f *os.File) (*osfile.Mapping, error) {
			m, err := osfile.MapFile(f)
			if f.Name() == path {
				err = errors.Join(err, os.Truncate(path, 0))
			}
			return m, err
		})
		if !errors.Is(err, osfile.ErrChanged) || osfile.Mapped() != before {
			t.Errorf("%s: got %v, %d mappings", name, err, osfile.Mapped()-before)
		}
	}
	dir := filepath.Join(t.TempDir(), "a.mlpackage")
	if err := os.CopyFS(dir, source); err != nil {
		t.Fatal(err)
	}
	m, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if err := os.Truncate(filepath.Join(dir, "Data", "com.apple.CoreML", "model.mlmodel"), 0); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the first must not keep the lock
		if _, err := m.Program(); !errors.Is(err, osfile.ErrChanged) {
			t.Errorf("Program: %v", err)
		}
	}
}
