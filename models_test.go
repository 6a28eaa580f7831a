package espalier_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/espalier-ane/espalier"
	"github.com/espalier-ane/espalier/tensor"
)

// modelMeta is the part of a model folder's meta.json that says how to run and judge it.
type modelMeta struct {
	Cases []struct {
		Function  string             `json:"function"`
		Inputs    string             `json:"inputs"`
		Outputs   string             `json:"outputs"`
		Tolerance map[string]float64 `json:"tolerance"`
	} `json:"cases"`
	SequentialStateful bool `json:"sequential_stateful"`
}

const modelsDir = "testdata/models"

func modelNames(t testing.TB) []string {
	entries, err := os.ReadDir(modelsDir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names
}

func readMeta(t testing.TB, name string) modelMeta {
	data, err := os.ReadFile(filepath.Join(modelsDir, name, "meta.json"))
	if err != nil {
		t.Fatal(err)
	}
	var m modelMeta
	if err := json.Unmarshal(data, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

func openModel(t testing.TB, c espalier.Config, name string) *espalier.Model {
	t.Helper()
	m, err := c.Open(filepath.Join(modelsDir, name, "model.mlpackage"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

func readArrays(t testing.TB, elem ...string) map[string]*tensor.Tensor {
	t.Helper()
	arrays, err := tensor.OpenNPZ(filepath.Join(elem...))
	if err != nil {
		t.Fatal(err)
	}
	m := map[string]*tensor.Tensor{}
	for _, a := range arrays {
		m[a.Name] = a.Tensor
	}
	return m
}

func asInputs(arrays map[string]*tensor.Tensor) map[string]any {
	in := map[string]any{}
	for name, t := range arrays {
		in[name] = t
	}
	return in
}

// checkOutputs holds every reference against what a prediction gave, and the other way round.
func checkOutputs(t *testing.T, got map[string]*espalier.Value, want map[string]*tensor.Tensor, tolerance map[string]float64) {
	t.Helper()
	have := map[string]*tensor.Tensor{}
	for name, v := range got {
		have[name] = v.Tensor
		if v.Labels != nil {
			have[name+".labels"] = v.Labels
		}
	}
	for name, w := range want {
		g, ok := have[name]
		if !ok {
			t.Errorf("output %q is missing", name)
			continue
		}
		if c := tensor.Compare(g, w, tolerance[name]); !c.Match {
			t.Errorf("output %q: %s", name, c.Reason)
		}
	}
	for name := range have {
		if want[name] == nil {
			t.Errorf("output %q has no reference", name)
		}
	}
}

func TestModelsMatchTheirReferences(t *testing.T) {
	names := modelNames(t)
	if len(names) != 109 {
		t.Errorf("%d models, expected 109", len(names))
	}
	for _, c := range []espalier.Config{
		{Numerics: espalier.Virtual}, // over compiler and engine
		{Numerics: espalier.Virtual, Units: espalier.CPUOnly},
		{Numerics: espalier.FP32},
	} {
		for _, name := range names {
			t.Run(string(c.Units)+"/"+c.Numerics.String()+"/"+name, func(t *testing.T) {
				t.Parallel()
				meta := readMeta(t, name)
				m := openModel(t, c, name)
				states := map[string]*espalier.State{}
				if len(meta.Cases) == 0 {
					t.Fatal("there are no cases")
				}
				for _, c := range meta.Cases {
					f, err := m.Function(functionName(m, c.Function))
					if err != nil {
						t.Fatal(err)
					}
					in := asInputs(readArrays(t, modelsDir, name, c.Inputs))
					var got map[string]*espalier.Value
					if len(f.States()) > 0 {
						if states[f.Name()] == nil || !meta.SequentialStateful {
							states[f.Name()] = f.NewState()
						}
						got, err = f.PredictWithState(context.Background(), in, states[f.Name()])
					} else {
						got, err = f.Predict(context.Background(), in)
					}
					if err != nil {
						t.Fatalf("%s: %v", c.Inputs, err)
					}
					checkOutputs(t, got, readArrays(t, modelsDir, name, c.Outputs), c.Tolerance)
				}
			})
		}
	}
}

// functionName is the function that a case names; a pipeline has but one.
func functionName(m *espalier.Model, name string) string {
	if len(m.Functions()) == 1 {
		return ""
	}
	return name
}

// The reference of optional_input was made with the default value passed explicitly.
func TestOptionalInputLeftOutIsItsDefault(t *testing.T) {
	m := openModel(t, espalier.Config{}, "optional_input")
	in := asInputs(readArrays(t, modelsDir, "optional_input", "inputs.npz"))
	delete(in, "b")
	got, err := m.Predict(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	checkOutputs(t, got, readArrays(t, modelsDir, "optional_input", "outputs.npz"), readMeta(t, "optional_input").Cases[0].Tolerance)
}
