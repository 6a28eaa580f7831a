package espalier_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/espalier-ane/espalier"
	"github.com/espalier-ane/espalier/internal/osfile"
	"github.com/espalier-ane/espalier/internal/testkit"
	"github.com/espalier-ane/espalier/tensor"
)

// runCases predicts the cases of a model, and says how many functions were compiled, and how many taken from the cache.
func runCases(t *testing.T, c espalier.Config, path string, meta modelMeta, dir string) (results []map[string]*espalier.Value, compiled, fetched int) {
	t.Helper()
	m, err := c.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	var p espalier.Profile
	ctx := p.Watch(context.Background())
	var s *espalier.State
	for _, one := range meta.Cases {
		f, err := m.Function(one.Function)
		if err != nil {
			t.Fatal(err)
		}
		if s == nil || !meta.SequentialStateful {
			s = f.NewState()
		}
		out, err := f.PredictWithState(ctx, asInputs(readArrays(t, dir, one.Inputs)), s)
		if err != nil {
			t.Fatal(err)
		}
		results = append(results, out)
	}
	return results, p.Compiled().Runs, p.Fetched().Runs
}

// What comes from the cache computes what was compiled computes, bit for bit: host segments, states, flexible shapes,
// functions, pipelines, compressed weights.
func TestCacheGivesTheSameBits(t *testing.T) {
	cache := filepath.Join(t.TempDir(), "cache")
	for _, c := range []struct{ target, names string }{
		{"virtual", "conv2d_basic b_nms flex_range multifunction pipeline_two stateful_kv_cache comp_pal4 classifier_labels b_const_only_big"},
		{"h13", "conv2d_basic flex_range stateful_kv_cache"},
	} {
		for name := range strings.FieldsSeq(c.names) {
			dir := filepath.Join(modelsDir, name)
			path, meta := filepath.Join(dir, "model.mlpackage"), readMeta(t, name)
			config := espalier.Config{Target: c.target, Cache: cache, Note: func(err error) { t.Errorf("%s: %v", name, err) }}
			want, compiled, fetched := runCases(t, config, path, meta, dir)
			if compiled == 0 || fetched != 0 {
				t.Errorf("%s on %s: %d compiled, %d from a cache that does not have it", name, c.target, compiled, fetched)
			}
			for _, weights := range []espalier.Weights{espalier.MappedWeights, espalier.CopiedWeights} {
				if config.Weights = weights; weights == espalier.CopiedWeights && name != "conv2d_basic" {
					continue
				}
				got, again, fetched := runCases(t, config, path, meta, dir)
				if again != 0 || fetched != compiled {
					t.Errorf("%s on %s, %s: %d of %d compiled again", name, c.target, weights, again, compiled)
				}
				for i := range want {
					for output, v := range want[i] {
						if g := got[i][output]; g == nil || !sameBits(g.Tensor, v.Tensor) {
							t.Errorf("%s on %s: case %d: %s differs", name, c.target, i, output)
						}
					}
				}
			}
		}
	}
	contents, err := espalier.ReadCache(cache)
	if err != nil || len(contents.Entries) < 12 {
		t.Errorf("%d entries, %v", len(contents.Entries), err)
	}
}

// A model whose files are replaced while it is open keeps the old ones; who opens it then has the new ones. The cache mixes
// neither up.
func TestCacheAndReplacedFiles(t *testing.T) {
	cache := filepath.Join(t.TempDir(), "cache")
	path := filepath.Join(t.TempDir(), "model.mlpackage")
	if err := os.CopyFS(path, os.DirFS(filepath.Join(modelsDir, "flex_range", "model.mlpackage"))); err != nil {
		t.Fatal(err)
	}
	weights := filepath.Join(path, "Data", "com.apple.CoreML", "weights", "weight.bin")
	inputs := readArrays(t, modelsDir, "flex_range", readMeta(t, "flex_range").Cases[0].Inputs)
	config := espalier.Config{Cache: cache}
	open := func() *espalier.Model {
		t.Helper()
		m, err := config.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { m.Close() })
		return m
	}
	bits := func(m *espalier.Model) string {
		t.Helper()
		out, err := m.Predict(context.Background(), asInputs(inputs))
		if err != nil {
			t.Fatal(err)
		}
		var all strings.Builder
		for _, d := range m.Functions()[0].Outputs() {
			all.Write(out[d.Name].Tensor.Bytes())
		}
		return all.String()
	}
	old := open() // and nothing compiled yet
	data, err := os.ReadFile(weights)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)-1] ^= 0x40 // the last weight
	data[len(data)/2+1] ^= 0x40
	if err := errors.Join(os.WriteFile(weights+".new", data, 0o666), os.Rename(weights+".new", weights)); err != nil {
		t.Fatal(err)
	}
	renewed := open()
	first, second := bits(old), bits(renewed)
	if first == second {
		t.Fatal("other weights, and the same result")
	}
	if bits(open()) != second {
		t.Error("the new model has the entry of the old one")
	}

	// One that is written to in place is of no use to who has it open, as without a cache.
	other := open()
	f, err := os.OpenFile(weights, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteAt(bytes.Repeat([]byte{0}, 64), int64(len(data)-64))
	later := time.Now().Add(time.Second)
	if err := errors.Join(err, f.Close(), os.Chtimes(weights, later, later)); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Predict(context.Background(), asInputs(inputs)); !errors.Is(err, espalier.ErrFileChanged) {
		t.Errorf("got %v", err)
	}
	config.Cache = espalier.NoCache
	want := bits(open())
	config.Cache = cache
	if bits(open()) != want {
		t.Error("the cache has what was there before the file was written to")
	}
}

// A container that is too large for an entry is mapped, and released with the model.
func TestCacheMapsLargeContainers(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "model.mil")
	if err := os.WriteFile(path, []byte(`program(1.3)
{
    func main<ios18>(tensor<fp16, [1, 768, 1, 2]> x) {
            tensor<fp16, [768, 768, 1, 1]> w = const()[name = string("w"), val = tensor<fp16, [768, 768, 1, 1]>(BLOBFILE(path = string("@model_path/w.bin"), offset = uint64(64)))];
            tensor<int32, [2]> ones = const()[name = string("ones"), val = tensor<int32, [2]>([1, 1])];
            tensor<int32, [4]> zeros = const()[name = string("zeros"), val = tensor<int32, [4]>([0, 0, 0, 0])];
            int32 one = const()[name = string("one"), val = int32(1)];
            string valid = const()[name = string("valid"), val = string("valid")];
            tensor<fp16, [1, 768, 1, 2]> y = conv(dilations = ones, groups = one, pad = zeros, pad_type = valid, strides = ones, weight = w, x = x)[name = string("y")];
        } -> (y);
}
`), 0o666); err != nil {
		t.Fatal(err)
	}
	seed := uint64(1)
	config := espalier.Config{Target: "h13", RandomWeights: &seed, Cache: filepath.Join(dir, "cache")}
	x := tensor.New(tensor.Float16, 1, 768, 1, 2)
	for i := range x.Bytes() {
		x.Bytes()[i] = byte(i % 50)
	}
	before := osfile.Mapped()
	var want *tensor.Tensor
	for i, c := range []struct {
		weights espalier.Weights
		maps    int
	}{{espalier.MappedWeights, 1}, {espalier.MappedWeights, 2}, {espalier.CopiedWeights, 0}} {
		config.Weights = c.weights
		m, err := config.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		var p espalier.Profile
		out, err := m.Predict(p.Watch(context.Background()), map[string]any{"x": x})
		if err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want = out["y"].Tensor
		}
		if p.Fetched().Runs != min(i, 1) || !sameBits(out["y"].Tensor, want) {
			t.Errorf("open %d: %d from the cache, or another result", i, p.Fetched().Runs)
		}
		if n := osfile.Mapped() - before; n != c.maps {
			t.Errorf("open %d: %d files are mapped, expected %d", i, n, c.maps)
		}
		if i == 1 { // what is mapped may be removed
			if _, err := espalier.CleanCache(config.Cache); err != nil {
				t.Error(err)
			}
			again, err := m.Predict(context.Background(), map[string]any{"x": x})
			if err != nil || !sameBits(again["y"].Tensor, want) {
				t.Errorf("after the cache was removed: %v", err)
			}
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
		if n := osfile.Mapped(); n != before {
			t.Errorf("open %d: %d files stay mapped", i, n-before)
		}
		if i == 1 { // fill it again
			config.Weights = espalier.MappedWeights
			m, err := config.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := m.Predict(context.Background(), map[string]any{"x": x}); err != nil {
				t.Error(err)
			}
			m.Close()
		}
	}
}

// A cache that cannot be made is said, and is no error.
func TestCacheThatCannotBeMade(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	var notes []error
	config := espalier.Config{Cache: filepath.Join(file, "cache"), Note: func(err error) { notes = append(notes, err) }}
	m := openModel(t, config, "conv2d_basic")
	if _, err := m.Predict(context.Background(), inputsOf(t, "conv2d_basic")); err != nil {
		t.Error(err)
	}
	if len(notes) != 1 || !strings.Contains(notes[0].Error(), file) {
		t.Errorf("notes: %v", notes)
	}
}

// Tests keep off the user's cache: those that open models have package testkit, which sees to it.
func TestTestsKeepOffTheCache(t *testing.T) {
	if v := os.Getenv("ESPALIER_CACHE"); v != "off" {
		t.Errorf("ESPALIER_CACHE is %q", v)
	}
	opens, keeps := map[string]bool{}, map[string]bool{}
	kit := modulePath + "/internal/testkit"
	for _, s := range sources(t) {
		if !s.isTest() {
			continue
		}
		for _, path := range s.imports {
			opens[s.pkg] = opens[s.pkg] || path == modulePath
			keeps[s.pkg] = keeps[s.pkg] || path == kit
		}
	}
	for pkg := range opens {
		if opens[pkg] && !keeps[pkg] {
			t.Errorf("the tests of %s open models without importing internal/testkit: they would write to the user's cache", pkg)
		}
	}
}

// BenchmarkCache is the way to the first result without a cache, and with one that has it.
func BenchmarkCache(b *testing.B) {
	path := filepath.Join(testkit.Root(b), modelsDir, "tiny_mobilenet", "model.mlpackage")
	inputs := inputsOf(b, "tiny_mobilenet")
	for _, cache := range []string{espalier.NoCache, filepath.Join(b.TempDir(), "cache")} {
		name := "without"
		if cache != espalier.NoCache {
			name = "with"
		}
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				m, err := espalier.Config{Cache: cache}.Open(path)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := m.Predict(context.Background(), inputs); err != nil {
					b.Fatal(err)
				}
				m.Close()
			}
		})
	}
}
