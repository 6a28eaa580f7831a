package coreml

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/espalier-ane/espalier/internal/testkit"
	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// modelDirs returns the folders of the models that coremltools made.
func modelDirs(t testing.TB) []string {
	dirs, err := filepath.Glob(filepath.Join(testkit.Root(t), "testdata", "models", "*"))
	if err != nil || len(dirs) != 109 {
		t.Fatalf("found %d models, want 109 (%v)", len(dirs), err)
	}
	return dirs
}

func open(t testing.TB, name string) *Model {
	t.Helper()
	m, err := Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// metaFeature is how meta.json describes a feature.
type metaFeature struct {
	Name, Type string
	Optional   bool
	Shape      []int
	DType      int64
}

// check compares a feature with what meta.json says of it.
func (want metaFeature) check(t *testing.T, got Feature) {
	t.Helper()
	kind := ""
	switch ft := got.Type.(type) {
	case *ArrayType:
		kind = "multiArrayType"
		if ft.DType != arrayDTypes[want.DType] || !slices.Equal(ft.Shape, want.Shape) {
			t.Errorf("%s is %v, want element type %d and shape %v", got.Name, ft, want.DType, want.Shape)
		}
		if ft.Shape != nil && !ft.Admits(want.Shape) {
			t.Errorf("%s does not admit its own shape", got.Name)
		}
	case *ImageType:
		kind = "imageType"
	case *Int64Type:
		kind = "int64Type"
	case *StringType:
		kind = "stringType"
	case *DictType:
		kind = "dictionaryType"
	}
	if got.Name != want.Name || kind != want.Type || got.Optional != want.Optional {
		t.Errorf("got feature %s %v (optional %v), want %+v", got.Name, got.Type, got.Optional, want)
	}
}

func checkFeatures(t *testing.T, what string, got []Feature, want []metaFeature) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("there are %d %s, want %d", len(got), what, len(want))
		return
	}
	for i := range got {
		want[i].check(t, got[i])
	}
}

func TestModels(t *testing.T) {
	for _, dir := range modelDirs(t) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			var meta struct {
				SpecVersion       int `json:"spec_version"`
				Type              string
				Inputs, Outputs   []metaFeature
				States            []string
				Functions, Opsets []string
				Ops               map[string]int
			}
			data, err := os.ReadFile(filepath.Join(dir, "meta.json"))
			if err == nil {
				err = json.Unmarshal(data, &meta)
			}
			if err != nil {
				t.Fatal(err)
			}
			m := open(t, filepath.Join(dir, "model.mlpackage"))
			if m.Format != Package || m.SpecificationVersion != meta.SpecVersion || m.Type.String() != meta.Type {
				t.Errorf("got %v of version %d and type %v", m.Format, m.SpecificationVersion, m.Type)
			}
			fn := m.Description.Function("")
			if len(m.Description.Functions) == 1 {
				checkFeatures(t, "inputs", fn.Inputs, meta.Inputs)
				checkFeatures(t, "outputs", fn.Outputs, meta.Outputs)
				var states []string
				for _, s := range fn.States {
					if _, ok := s.Type.(*StateType); !ok {
						t.Errorf("state %s is %v", s.Name, s.Type)
					}
					states = append(states, s.Name)
				}
				if !slices.Equal(states, meta.States) && len(states)+len(meta.States) > 0 {
					t.Errorf("got states %v, want %v", states, meta.States)
				}
			}

			ops := map[string]int{}
			var names []string
			opsets := map[string]bool{}
			programs := []*Model{m}
			for _, s := range m.Stages {
				programs = append(programs, s.Model)
			}
			for _, m := range programs {
				if m.Type != MLProgram {
					continue
				}
				p, err := m.Program()
				if err != nil {
					t.Fatal(err)
				}
				if err := mil.Verify(p); err != nil {
					t.Error(err)
				}
				if p.Version != "1" {
					t.Errorf("the program is of version %q", p.Version)
				}
				for _, f := range p.Functions {
					names = append(names, f.Name)
					opsets[f.Opset] = true
					f.Body.Walk(func(op *mil.Operation) {
						ops[op.Kind]++
						if op.Pos.Offset == 0 {
							t.Errorf("operation %s has no place", op.Name())
						}
					})
					described := m.Description.Function(f.Name)
					if described == nil {
						t.Errorf("function %s is not described", f.Name)
						continue
					}
					if len(described.Inputs)+len(described.States) != len(f.Inputs) || len(described.Outputs) != len(f.Body.Outputs) {
						t.Errorf("function %s and its description differ", f.Name)
					}
				}
				walkConstants(p, func(op *mil.Operation, c *mil.Constant) {
					if c.File == nil && c.Tensor == nil {
						return
					}
					array, err := c.Load()
					if err != nil {
						t.Errorf("%s: %v", op.Name(), err)
					} else if !mil.Equal(mil.TypeOf(array), c.Type) {
						t.Errorf("%s: loaded %v, want %v", op.Name(), array, c.Type)
					}
				})
				if u := m.Unknown(); len(u) > 0 {
					t.Errorf("there are unknown fields: %+v", u)
				}
			}
			if !maps.Equal(ops, meta.Ops) {
				t.Errorf("got operations %v, want %v", ops, meta.Ops)
			}
			if meta.Functions != nil && !slices.Equal(names, meta.Functions) {
				t.Errorf("got functions %v, want %v", names, meta.Functions)
			}
			if got := slices.Sorted(maps.Keys(opsets)); meta.Opsets != nil && !slices.Equal(got, meta.Opsets) {
				t.Errorf("got opsets %v, want %v", got, meta.Opsets)
			}
			files, err := m.CheckWeights()
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range files {
				if w.Err != nil || w.Used == 0 || w.Used > w.Records || w.Bytes == 0 || w.Bytes >= w.Size {
					t.Errorf("got weights %+v", w)
				}
			}
		})
	}
}

// What meta.json does not say of the models that have it.
func TestModelDetails(t *testing.T) {
	model := func(name string) *Model {
		return open(t, filepath.Join(testkit.Root(t), "testdata", "models", name, "model.mlpackage"))
	}
	for _, c := range []struct{ model, feature, want string }{
		{"flex_enum", "x", "fp32 array [1, 3, 16, 16] ([1, 3, 16, 16] | [1, 3, 24, 32] | [1, 3, 9, 13])"},
		{"flex_range", "x", "fp32 array [1, 4, 16] ([1…4, 4, 2…64])"},
		{"image_rgb", "image", "RGB image 32 × 32"},
		{"image_bgr_meanstd", "image", "BGR image 20 × 24"},
		{"image_gray_f16", "image", "fp16 grayscale image 20 × 24"},
		{"optional_input", "b", "fp32 array [2, 4] = 0.25"},
		{"classifier_labels", "classLabel_probs", "dictionary from string to double"},
		{"classifier_int_labels", "digit", "int64"},
		{"classifier_int_labels", "digit_probs", "dictionary from int64 to double"},
		{"image_enumerated", "image", "RGB image 20 × 24 (20 × 24 | 16 × 16 | 40 × 32)"},
		{"stateful_kv_cache", "k_cache", "state of fp16 array [1, 2, 16, 8]"},
	} {
		fn := model(c.model).Description.Function("")
		all := slices.Concat(fn.Inputs, fn.Outputs, fn.States)
		i := slices.IndexFunc(all, func(f Feature) bool { return f.Name == c.feature })
		if i < 0 {
			t.Errorf("%s has no feature %s", c.model, c.feature)
		} else if got := all[i].Type.String(); got != c.want {
			t.Errorf("%s: %s is %q, want %q", c.model, c.feature, got, c.want)
		}
	}

	fn := model("classifier_labels").Description.Function("")
	if fn.PredictedFeature != "classLabel" || fn.PredictedProbabilities != "classLabel_probs" {
		t.Errorf("classifier_labels predicts %q and %q", fn.PredictedFeature, fn.PredictedProbabilities)
	}
	d := model("multifunction").Description
	if len(d.Functions) != 2 || d.DefaultFunction != "adapter_a" || d.Function("adapter_b") == nil || d.Function("none") != nil {
		t.Errorf("multifunction has functions %+v, default %q", d.Functions, d.DefaultFunction)
	}
	if md := model("metadata_rich").Description.Metadata; md.Author == "" || md.License == "" || md.ShortDescription == "" || md.Version == "" || len(md.UserDefined) == 0 {
		t.Errorf("metadata_rich has metadata %+v", md)
	}
	m := model("pipeline_two")
	if len(m.Stages) != 2 || m.Stages[0].Model.Type != MLProgram {
		t.Fatalf("pipeline_two has stages %+v", m.Stages)
	}
	for i, want := range []string{"@model_path/weights/0-weight.bin", "@model_path/weights/1-weight.bin"} {
		files, err := m.Stages[i].Model.CheckWeights()
		if err != nil || len(files) != 1 || files[0].Path != want {
			t.Errorf("stage %d has weights %+v, %v", i, files, err)
		}
	}
	if err := m.Stages[0].Model.Close(); err != nil {
		t.Error(err)
	}
	p, err := m.Stages[0].Model.Program() // a stage is not closed by itself
	if err != nil {
		t.Fatal(err)
	}
	walkConstants(p, func(_ *mil.Operation, c *mil.Constant) {
		if c.File != nil {
			if array, err := c.Load(); err != nil || len(array.Float32s()) == 0 && array.DType() != tensor.Bool {
				t.Errorf("got %v, %v", array, err)
			}
		}
	})
}
