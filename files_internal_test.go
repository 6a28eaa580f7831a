//go:build unix

package espalier

import (
	"archive/zip"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/espalier-ane/espalier/bundle"
	"github.com/espalier-ane/espalier/coreml"
	"github.com/espalier-ane/espalier/e5rt"
	"github.com/espalier-ane/espalier/internal/osfile"
	"github.com/espalier-ane/espalier/tensor"
)

// bigText is a program over a weight file: a product, whose weights the engine packs when it loads them, and rows of a table,
// which it reads in every run.
const bigText = `program(1.3)
{
    func main<ios18>(tensor<fp16, [4, 512]> x, tensor<int32, [16]> rows) {
            tensor<fp16, [512, 512]> w = const()[name = string("w"), val = tensor<fp16, [512, 512]>(BLOBFILE(path = string("@model_path/weights/w.bin"), offset = uint64(64)))];
            tensor<fp16, [512]> bias = const()[name = string("bias"), val = tensor<fp16, [512]>(BLOBFILE(path = string("@model_path/weights/w.bin"), offset = uint64(%d)))];
            tensor<fp16, [4096, 64]> table = const()[name = string("table"), val = tensor<fp16, [4096, 64]>(BLOBFILE(path = string("@model_path/weights/w.bin"), offset = uint64(%d)))];
            tensor<fp16, [4, 512]> y = linear(x = x, weight = w, bias = bias)[name = string("y")];
            int32 axis = const()[name = string("axis"), val = int32(0)];
            int32 batch = const()[name = string("batch"), val = int32(0)];
            bool validate = const()[name = string("validate"), val = bool(false)];
            tensor<fp16, [16, 64]> g = gather(x = table, indices = rows, axis = axis, batch_dims = batch, validate_indices = validate)[name = string("g")];
        } -> (y, g);
}
`

// writeBig writes the program with its weights, all of the value, and returns both files. They are an hour old: clocks of file
// systems are coarse.
func writeBig(t *testing.T, dir string, value float32) (model, weights string) {
	t.Helper()
	var data []byte
	var at []int
	file := binary.LittleEndian.AppendUint32(nil, 3)
	file = append(binary.LittleEndian.AppendUint32(file, 2), make([]byte, 56)...)
	for _, n := range []int{512 * 512, 512, 4096 * 64} {
		at = append(at, len(file))
		values := make([]float32, n)
		for i := range values {
			values[i] = value
		}
		data = tensor.FromFloat32s(tensor.Float16, values, n).Bytes()
		record := binary.LittleEndian.AppendUint32(nil, 0xdeadbeef)
		record = binary.LittleEndian.AppendUint32(record, 1) // fp16
		record = binary.LittleEndian.AppendUint64(record, uint64(len(data)))
		record = binary.LittleEndian.AppendUint64(record, uint64(len(file)+64))
		file = slices.Concat(file, record, make([]byte, 64-len(record)), data)
	}
	model, weights = filepath.Join(dir, "model.mil"), filepath.Join(dir, "weights", "w.bin")
	must(t, os.MkdirAll(filepath.Dir(weights), 0o777))
	must(t, os.WriteFile(model, fmt.Appendf(nil, bigText, at[1], at[2]), 0o666))
	must(t, os.WriteFile(weights, file, 0o666))
	age(t, dir)
	return model, weights
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// age makes all files below a folder an hour old.
func age(t *testing.T, dir string) {
	t.Helper()
	before := time.Now().Add(-time.Hour)
	must(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		return os.Chtimes(path, before, before)
	}))
}

// bigInputs are inputs of a model of bigText.
func bigInputs() map[string]*tensor.Tensor {
	return map[string]*tensor.Tensor{"x": tensor.New(tensor.Float16, 4, 512), "rows": tensor.Of([]int32{0, 1, 2, 3, 4, 5, 6, 7, 4095, 4094, 4093, 2000, 2001, 2002, 2003, 2004}, 16)}
}

// predictsBig says how a prediction of a model of bigText is not what it is with weights of a value: y is the bias, g are rows.
func predictsBig(m *Model, value float32) error {
	inputs := map[string]any{}
	for _, d := range m.functions[0].Inputs() {
		given, err := bigInputs()[d.Name].Reshape(d.Type.(*coreml.ArrayType).Shape...) // a container has four axes
		if err != nil {
			return err
		}
		inputs[d.Name] = given
	}
	out, err := m.Predict(context.Background(), inputs)
	if err != nil {
		return err
	}
	for _, v := range out {
		for _, got := range v.Tensor.Float32s() {
			if got != value {
				return fmt.Errorf("output %s has a %v, want %v", v.Feature.Name, got, value)
			}
		}
	}
	return nil
}

// A bigForm is a form in which a model of bigText comes.
type bigForm struct {
	name   string
	config Config
	make   func(t *testing.T, dir string) (model, weights string) // with weights of 1
}

func bigForms() []bigForm {
	text := func(t *testing.T, dir string) (string, string) { return writeBig(t, dir, 1) }
	compiled := func(name string) func(t *testing.T, dir string) (string, string) {
		return func(t *testing.T, dir string) (string, string) {
			path, _ := writeBig(t, filepath.Join(dir, "source"), 1)
			m, err := Open(path)
			must(t, err)
			defer m.Close()
			p, err := m.Compile(t.Context(), CompileOptions{})
			must(t, err)
			out := filepath.Join(dir, name)
			weights := out
			if filepath.Ext(name) == ".hwx" {
				must(t, p.WriteContainer(t.Context(), out))
			} else {
				_, err = p.WriteBundle(t.Context(), out)
				must(t, err)
				files, err := filepath.Glob(filepath.Join(out, "weights", "*"))
				must(t, err)
				if len(files) != 1 {
					t.Fatalf("the bundle has weights in %v", files)
				}
				weights = files[0]
			}
			age(t, out)
			return out, weights
		}
	}
	return []bigForm{
		{"text", Config{}, text},
		{"text on the host", Config{Units: CPUOnly}, text},
		{"text for a chip", Config{Target: "h13"}, text},
		{"archive", Config{}, func(t *testing.T, dir string) (string, string) {
			path := zipBig(t, dir)
			return path, path
		}},
		{"bundle", Config{}, compiled("big.bundle")},
		{"container", Config{}, compiled("big.hwx")},
	}
}

// zipBig writes a compiled model as an archive, in which nothing is compressed.
func zipBig(t *testing.T, dir string) string {
	t.Helper()
	model, weights := writeBig(t, filepath.Join(dir, "source"), 1)
	path := filepath.Join(dir, "big.zip")
	f, err := os.Create(path)
	must(t, err)
	z := zip.NewWriter(f)
	for name, from := range map[string]string{"big.mlmodelc/model.mil": model, "big.mlmodelc/weights/w.bin": weights} {
		data, err := os.ReadFile(from)
		must(t, err)
		w, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
		must(t, err)
		_, err = w.Write(data)
		must(t, err)
	}
	must(t, z.Close())
	must(t, f.Close())
	age(t, dir)
	return path
}

// A tripwire does something to the files before its runner runs, after a prediction has looked at them.
type tripwire struct {
	runner
	trip func()
}

func (w *tripwire) run(ctx context.Context, inputs map[string]any, s states) (map[string]*Value, error) {
	w.trip()
	return w.runner.run(ctx, inputs, s)
}

// wantChanged fails unless an error says that a file was changed.
func wantChanged(t *testing.T, when string, err error, path string) {
	t.Helper()
	var file *FileError
	if !errors.Is(err, ErrFileChanged) || !errors.As(err, &file) || file.Path != path {
		t.Errorf("%s: got %v, want ErrFileChanged of %s", when, err, path)
	}
}

// A file that becomes shorter is an error of the predictions of its model, at whatever time. Others go on, and so does the
// process.
func TestTruncatedFileIsAnError(t *testing.T) {
	otherPath, _ := writeBig(t, t.TempDir(), 3)
	other, err := Open(otherPath)
	must(t, err)
	defer other.Close()
	for _, form := range bigForms() {
		for _, when := range []string{"before the first prediction", "between predictions", "in the first prediction", "in a prediction"} {
			t.Run(form.name+"/"+when, func(t *testing.T) {
				path, weights := form.make(t, t.TempDir())
				m, err := form.config.Open(path)
				must(t, err)
				if !strings.Contains(when, "first") {
					must(t, predictsBig(m, 1))
				}
				truncate := func() { must(t, os.Truncate(weights, 4096)) }
				if strings.HasPrefix(when, "in") {
					f := m.functions[0]
					f.runner = &tripwire{f.runner, truncate}
				} else {
					truncate()
				}
				for range 3 {
					wantChanged(t, when, predictsBig(m, 1), weights)
				}
				if _, err := m.Compile(t.Context(), CompileOptions{}); !errors.Is(err, ErrFileChanged) {
					t.Errorf("Compile: %v", err)
				}
				must(t, predictsBig(other, 3))
				must(t, m.Close())
			})
		}
	}
}

// The same while the model is compiled, and while the program is written.
func TestTruncatedFileWhileCompiling(t *testing.T) {
	for _, target := range []string{"virtual", "h13"} {
		path, weights := writeBig(t, t.TempDir(), 1)
		m, err := Open(path)
		must(t, err)
		defer m.Close()
		p, err := m.Compile(t.Context(), CompileOptions{Target: target})
		must(t, err)
		_, err = m.Compile(t.Context(), CompileOptions{Target: target, Pass: func(PassReport) { must(t, os.Truncate(weights, 4096)) }})
		wantChanged(t, "Compile for "+target, err, weights)
		out := filepath.Join(t.TempDir(), "out")
		_, err = p.WriteBundle(t.Context(), out)
		wantChanged(t, "WriteBundle", err, weights)
		wantChanged(t, "WriteContainer", p.WriteContainer(t.Context(), out+".hwx"), weights)
		if left, _ := filepath.Glob(filepath.Join(filepath.Dir(out), ".*")); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	}
}

// A fault while the program is written, after it was seen that the files are as they were.
func TestFaultInWriteBundle(t *testing.T) {
	path, weights := writeBig(t, t.TempDir(), 1)
	m, err := Open(path)
	must(t, err)
	defer m.Close()
	p, err := m.Compile(t.Context(), CompileOptions{})
	must(t, err)
	ctx := &tripContext{Context: t.Context(), trip: func() { must(t, os.Truncate(weights, 4096)) }}
	_, err = p.WriteBundle(ctx, filepath.Join(t.TempDir(), "out"))
	wantChanged(t, "WriteBundle", err, weights)
}

// A tripContext does something when it is first asked.
type tripContext struct {
	context.Context
	trip func()
}

func (c *tripContext) Err() error {
	c.trip()
	return c.Context.Err()
}

func TestOverwrittenFileIsAnError(t *testing.T) {
	for _, form := range bigForms() {
		t.Run(form.name, func(t *testing.T) {
			path, weights := form.make(t, t.TempDir())
			m, err := form.config.Open(path)
			must(t, err)
			defer m.Close()
			must(t, predictsBig(m, 1))
			data, err := os.ReadFile(weights)
			must(t, err)
			for i := len(data) / 2; i < len(data); i++ {
				data[i] ^= 1
			}
			must(t, os.WriteFile(weights, data, 0o666))
			wantChanged(t, "overwritten", predictsBig(m, 1), weights)
		})
	}
}

// A file that is renamed over is still the one that was opened, and the next Open has the new one.
func TestRenamedFileIsDeployed(t *testing.T) {
	dir := t.TempDir()
	path, weights := writeBig(t, dir, 1)
	_, next := writeBig(t, filepath.Join(dir, "next"), 2)
	m, err := Open(path)
	must(t, err)
	defer m.Close()
	must(t, os.Rename(next, weights)) // before the first prediction, too
	must(t, predictsBig(m, 1))
	again, err := Open(path)
	must(t, err)
	defer again.Close()
	must(t, predictsBig(again, 2))
	must(t, predictsBig(m, 1))
}

func TestCopiedWeights(t *testing.T) {
	for _, form := range bigForms() {
		t.Run(form.name, func(t *testing.T) {
			path, weights := form.make(t, t.TempDir())
			before := osfile.Mapped()
			form.config.Weights = CopiedWeights
			m, err := form.config.Open(path)
			must(t, err)
			defer m.Close()
			if n := osfile.Mapped(); n != before {
				t.Errorf("%d files are mapped", n-before)
			}
			must(t, os.Truncate(weights, 0))
			must(t, predictsBig(m, 1))
		})
	}
	if _, err := (Config{Weights: "elsewhere"}).Open("none"); err == nil || !strings.Contains(err.Error(), "mapped or copied") {
		t.Errorf("got %v", err)
	}
}

// A state of the host may be an array of a weight file.
func TestTruncatedFileOfAState(t *testing.T) {
	m, err := Config{Units: CPUOnly}.Open(filepath.Join("testdata", "models", "stateful_torch", "model.mlpackage"))
	must(t, err)
	defer m.Close()
	f := m.functions[0]
	path := filepath.Join(t.TempDir(), "data.bin")
	for name, do := range map[string]func(*State) error{
		"Tensor": func(s *State) error { _, err := s.Tensor(f.States()[0].Name); return err },
		"Clone":  func(s *State) error { _, err := s.Clone(); return err },
		"Save":   func(s *State) error { return s.Save(io.Discard) },
	} {
		must(t, os.WriteFile(path, make([]byte, 1<<16), 0o666))
		file, err := osfile.Map(path)
		must(t, err)
		defer file.Close()
		array, err := tensor.FromBytes(tensor.Float32, []int{1 << 14}, file.Bytes())
		must(t, err)
		s := f.NewState()
		s.held = fileStates{s.held, array}
		must(t, os.Truncate(path, 0))
		for range 2 { // the first must give the state back
			wantChanged(t, name, do(s), path)
		}
	}
}

// fileStates hold an array of a file.
type fileStates struct {
	states
	array *tensor.Tensor
}

func (s fileStates) Tensor(string) (*tensor.Tensor, error) { return s.array, nil }

// The runtime by itself: a bundle that becomes shorter before it is loaded, and after.
func TestTruncatedFileOfTheRuntime(t *testing.T) {
	i := slices.IndexFunc(bigForms(), func(f bigForm) bool { return f.name == "bundle" })
	for _, loaded := range []bool{false, true} {
		path, weights := bigForms()[i].make(t, t.TempDir())
		b, err := bundle.Open(path)
		must(t, err)
		defer b.Close()
		if !loaded {
			must(t, os.Truncate(weights, 4096))
			lib, err := e5rt.Open(b, e5rt.Options{})
			if err == nil { // weights that are read as they lie are not read yet
				err = lib.Functions()[0].NewOperation().Run(t.Context(), nil)
			}
			wantChanged(t, "Open, or the first run", err, weights)
			continue
		}
		lib, err := e5rt.Open(b, e5rt.Options{})
		must(t, err)
		o := lib.Functions()[0].NewOperation()
		for name, v := range bigInputs() {
			must(t, o.Set(name, v))
		}
		must(t, o.Run(t.Context(), nil))
		// When the run asks its context, it has looked at the files.
		err = o.Run(&tripContext{Context: t.Context(), trip: func() { must(t, os.Truncate(weights, 4096)) }}, nil)
		wantChanged(t, "the run under way", err, weights)
		wantChanged(t, "the next one", o.Run(t.Context(), nil), weights)
	}
}
