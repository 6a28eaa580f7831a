// Package sparse has a made-up encoding, in test files alone. It shows what a second encoding of a chip takes: this folder, a row
// of the encoders, one of the decoders, a table of registers, and the names in the row of the target.
package sparse_test

import (
	"context"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/espalier-ane/espalier"
	"github.com/espalier-ane/espalier/bundle"
	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/encode"
	v7 "github.com/espalier-ane/espalier/internal/encode/v7"
	"github.com/espalier-ane/espalier/internal/engine"
	_ "github.com/espalier-ane/espalier/internal/testkit" // no cache
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

const modelsDir = "../../../testdata/models"

// useEncoding makes an encoding known, and the one that H14 takes first.
func useEncoding(t *testing.T, name string, make func(*hal.Target) encode.Encoder) (remove func()) {
	row, err := hal.Lookup("h14")
	if err != nil {
		t.Fatal(err)
	}
	old, forget := row.Encoders, encode.Add(name, make)
	row.Encoders = []string{name, "v256"}
	return func() {
		row.Encoders = old
		forget()
	}
}

// Models give the same bits in the made-up encoding as in those that are there, by the road of every compiled model: a bundle is
// written, read and run. Version 256 alone has every function exactly, which numerics can ask for; where they do not, functions
// are tables of knots, as version 7 has them.
func TestModelsRunInAnotherEncoding(t *testing.T) {
	layout := newSparseLayout()
	defer td.AddLayout(layout.Layout)()
	defer engine.AddDecoder(sparseVersion, func() engine.Decoder { return &decoder{layout: layout} })()
	sparse := func(t *hal.Target) encode.Encoder { return threeKinds{newEncoder(layout, t)} }
	seven := func(t *hal.Target) encode.Encoder { return threeKinds{v7.New(t)} }

	others := map[td.Version]int{}
	for _, name := range []string{"conv2d_basic", "ane_style_attention", "activations_a"} {
		for _, c := range []struct {
			name  string
			peer  func(*hal.Target) encode.Encoder // nil: version 256 alone
			exact espalier.Numerics
		}{{"version 256", nil, espalier.Virtual}, {"version 7", seven, ""}} {
			t.Run(name+" as "+c.name, func(t *testing.T) {
				config := espalier.Config{Target: "h14", Numerics: c.exact}
				if c.peer != nil {
					defer useEncoding(t, "peer", c.peer)()
				}
				want, versions := run(t, name, config)
				if versions[sparseVersion] > 0 {
					t.Errorf("the encoding is not used yet, but: %v", versions)
				}
				defer useEncoding(t, "sparse", sparse)()
				got, versions := run(t, name, config)
				if versions[sparseVersion] == 0 || versions[td.V7] > 0 {
					t.Errorf("tasks of the versions %v", versions)
				}
				for v, n := range versions {
					others[v] += n
				}
				if len(want) == 0 {
					t.Error("the model has no output")
				}
				for output, w := range want {
					g := got[output]
					if g == nil || !slices.Equal(g.Tensor.Bytes(), w.Tensor.Bytes()) {
						t.Errorf("output %s differs: %v", output, g)
					}
				}
			})
		}
	}
	if others[td.V256] == 0 {
		t.Error("no program has tasks of version 256 beside its own")
	}
	for k := range kinds {
		if _, ok := layout.encoded.Load(k); !ok {
			t.Errorf("no %v has tasks of the encoding", k)
		}
	}
}

// run compiles a model into a bundle, opens it and runs it. It counts the tasks of each version, as the containers have them.
func run(t *testing.T, name string, config espalier.Config) (map[string]*espalier.Value, map[td.Version]int) {
	ctx := context.Background()
	m, err := config.Open(filepath.Join(modelsDir, name, "model.mlpackage"))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	p, err := m.Compile(ctx, espalier.CompileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "model.bundle")
	if _, err := p.WriteBundle(ctx, dir); err != nil {
		t.Fatal(err)
	}
	compiled, err := espalier.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer compiled.Close()
	out, err := compiled.Predict(ctx, inputs(t, name))
	if err != nil {
		t.Fatal(err)
	}
	return out, versionsIn(t, dir)
}

func inputs(t *testing.T, name string) map[string]any {
	arrays, err := tensor.OpenNPZ(filepath.Join(modelsDir, name, "inputs.npz"))
	if err != nil {
		t.Fatal(err)
	}
	in := map[string]any{}
	for _, a := range arrays {
		in[a.Name] = a.Tensor
	}
	return in
}

// versionsIn counts the tasks in the containers of a bundle, and holds that they encode to the words that they were decoded from.
func versionsIn(t *testing.T, dir string) map[td.Version]int {
	b, err := bundle.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	versions := map[td.Version]int{}
	for _, f := range b.Manifest.Functions {
		for _, s := range f.Segments {
			if s.Container == "" {
				continue
			}
			tasks, err := b.Container(s.Container).Tasks()
			if err != nil {
				t.Fatal(err)
			}
			for i, task := range tasks {
				versions[task.Version]++
				words, err := task.Encode()
				if err != nil {
					t.Fatalf("task %d: %v", i, err)
				}
				again, err := td.Decode(task.Version, words)
				if err != nil {
					t.Fatalf("task %d: %v", i, err)
				}
				if !reflect.DeepEqual(again, task.Task) {
					t.Errorf("task %d is not what its words decode to", i)
				}
			}
		}
	}
	return versions
}
