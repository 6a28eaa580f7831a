package espalier_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/espalier-ane/espalier"
	"github.com/espalier-ane/espalier/bundle"
	"github.com/espalier-ane/espalier/tensor"
)

// inMemory is a file or folder of the disk as a file system of its own, under the name it has there.
func inMemory(t *testing.T, path string) (fsys fstest.MapFS, name string) {
	t.Helper()
	fsys = fstest.MapFS{}
	parent := filepath.Dir(path)
	err := filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(p)
		name, _ := filepath.Rel(parent, p)
		fsys[filepath.ToSlash(name)] = &fstest.MapFile{Data: data}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return fsys, filepath.Base(path)
}

// zipped is a file system as an archive.
func zipped(t *testing.T, fsys fs.FS) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	if err := errors.Join(w.AddFS(fsys), w.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// A model is the same one wherever its files are: on disk, in a file system or in memory.
func TestOpenFromEverywhere(t *testing.T) {
	const name = "linear_mlp"
	disk := openModel(t, espalier.Config{}, name)
	in := asInputs(readArrays(t, modelsDir, name, "inputs.npz"))
	want, err := disk.Predict(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	pack, packName := inMemory(t, filepath.Join(modelsDir, name, "model.mlpackage"))
	bundled, bundleName := inMemory(t, compiled(t, disk, "", "m.bundle"))
	container, containerName := inMemory(t, compiled(t, disk, "", "m.hwx"))
	archive := zipped(t, bundled)
	onDisk := filepath.Join(t.TempDir(), "m.bundle.zip")
	if err := os.WriteFile(onDisk, archive, 0o666); err != nil {
		t.Fatal(err)
	}
	odd := func(data []byte) []byte { return append([]byte{0}, data...)[1:] } // memory that begins at an odd place
	for form, open := range map[string]func() (*espalier.Model, error){
		"package in a file system": func() (*espalier.Model, error) { return espalier.OpenFS(pack, packName) },
		"model file in a file system, weights beside it": func() (*espalier.Model, error) {
			return espalier.OpenFS(pack, packName+"/Data/com.apple.CoreML/model.mlmodel")
		},
		"package in an archive in a file system": func() (*espalier.Model, error) {
			return espalier.OpenFS(fstest.MapFS{"a/m.zip": {Data: zipped(t, pack)}}, "a/m.zip")
		},
		"bundle in a file system":    func() (*espalier.Model, error) { return espalier.OpenFS(bundled, bundleName) },
		"container in a file system": func() (*espalier.Model, error) { return espalier.OpenFS(container, containerName) },
		"package in memory":          func() (*espalier.Model, error) { return espalier.OpenBytes("m", zipped(t, pack)) },
		"bundle in memory":           func() (*espalier.Model, error) { return espalier.OpenBytes("m", archive) },
		"bundle in memory at an odd place": func() (*espalier.Model, error) {
			return espalier.OpenBytes("m", odd(archive))
		},
		"container in memory at an odd place": func() (*espalier.Model, error) {
			return espalier.OpenBytes("m", odd(container[containerName].Data))
		},
		"bundle in an archive on disk": func() (*espalier.Model, error) { return espalier.Open(onDisk) },
	} {
		t.Run(form, func(t *testing.T) {
			m, err := open()
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			f := m.Functions()[0]
			input, output := f.Inputs()[0], f.Outputs()[0].Name // of a container they are named otherwise
			out, err := f.Predict(t.Context(), map[string]any{input.Name: asFeature(t, in["x"].(*tensor.Tensor), input)})
			if err != nil {
				t.Fatal(err)
			}
			got := out[output].Tensor.Float32s()
			for i, v := range want["y"].Tensor.Float32s() {
				if got[i] != v {
					t.Fatalf("element %d is %v, on disk %v", i, got[i], v)
				}
			}
		})
	}
}

// A MIL text has no files beside it if it needs none.
func TestOpenBytesOfText(t *testing.T) {
	m, err := espalier.OpenBytes("twice.mil", []byte(`program(1.0) {
    func main<ios16>(tensor<fp32, [3]> x) {
        tensor<fp32, [3]> y = add(x = x, y = x)[name = tensor<string, []>("y")];
    } -> (y);
}`))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	out, err := m.Predict(t.Context(), map[string]any{"x": tensor.Of([]float32{1, 2, 3}, 3)})
	if err != nil {
		t.Fatal(err)
	}
	if got := out["y"].Tensor.Float32s(); got[0] != 2 || got[1] != 4 || got[2] != 6 {
		t.Errorf("got %v", got)
	}
}

// What is wrong with a model that is in memory is said as of one on disk.
func TestOpenFromMemoryErrors(t *testing.T) {
	pack, packName := inMemory(t, filepath.Join(modelsDir, "linear_mlp", "model.mlpackage"))
	model := pack[packName+"/Data/com.apple.CoreML/model.mlmodel"].Data
	damaged, damagedName := inMemory(t, compiled(t, openModel(t, espalier.Config{}, "linear_mlp"), "", "m.bundle"))
	for path, f := range damaged {
		if strings.HasSuffix(path, ".hwx") {
			f.Data[len(f.Data)-1] ^= 1
		}
	}
	for _, c := range []struct {
		name string
		open func() (*espalier.Model, error)
		is   error
		want string
	}{
		{"no such file", func() (*espalier.Model, error) { return espalier.OpenFS(pack, "other.mlpackage") }, fs.ErrNotExist, "other.mlpackage"},
		{"no model", func() (*espalier.Model, error) { return espalier.OpenBytes("x.bin", []byte("no model")) }, nil, "x.bin"},
		{"a damaged container", func() (*espalier.Model, error) { return espalier.OpenBytes("x.hwx", []byte("\xce\xfa\xef\xbe")) }, nil, "x.hwx"},
		{"no folder", func() (*espalier.Model, error) { return espalier.OpenFS(pack, packName+"/Data") }, nil, "neither a package"},
		{"a damaged bundle", func() (*espalier.Model, error) { return espalier.OpenFS(damaged, damagedName) }, bundle.ErrDigest, "m.bundle"},
		{"a damaged bundle in an archive", func() (*espalier.Model, error) { return espalier.OpenBytes("m.zip", zipped(t, damaged)) }, bundle.ErrDigest, "m.zip"},
		{"without its weights", func() (*espalier.Model, error) {
			m, err := espalier.OpenBytes("m.mlmodel", model)
			if err == nil {
				defer m.Close()
				_, err = m.Predict(t.Context(), asInputs(readArrays(t, modelsDir, "linear_mlp", "inputs.npz")))
			}
			return nil, err
		}, fs.ErrNotExist, "a model in memory is a zip archive of that folder"},
	} {
		m, err := c.open()
		if err == nil || m != nil || !strings.Contains(err.Error(), c.want) || c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("%s: got %v, %v, want %q", c.name, m, err, c.want)
		}
	}
}
