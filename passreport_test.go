package espalier

import (
	"slices"
	"testing"

	"github.com/espalier-ane/espalier/coreml"
	"github.com/espalier-ane/espalier/tensor"
)

// Config.Pass hears of the passes when shapes come for the first time, and not again.
func TestPassesOfFirstUse(t *testing.T) {
	var passes []string
	m, err := Config{Pass: func(p PassReport) { passes = append(passes, p.Pass) }}.Open("testdata/models/linear_mlp/model.mlpackage")
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	in := m.Functions()[0].Inputs()[0]
	shape, _ := in.Type.(*coreml.ArrayType).DefaultShape()
	for range 2 {
		if _, err := m.Predict(t.Context(), map[string]any{in.Name: tensor.New(tensor.Float32, shape...)}); err != nil {
			t.Fatal(err)
		}
	}
	var want []string
	for _, p := range Passes() {
		want = append(want, p.Name)
	}
	if slices.Sort(passes); len(passes) == 0 || len(slices.Compact(slices.Clone(passes))) != len(passes) {
		t.Errorf("got %q, want some of %q, each once", passes, want)
	}
}
