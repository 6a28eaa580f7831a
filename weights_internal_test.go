package espalier

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// otherElements are some for each weight, near what it has.
func otherElements(t *testing.T, list []Weight, constants map[string]*mil.Constant, seed uint64) map[string]*tensor.Tensor {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 1))
	made := map[string]*tensor.Tensor{}
	for _, w := range list {
		has, err := constants[w.Name].Load()
		if err != nil {
			t.Fatal(err)
		}
		values := slices.Clone(has.Float32s())
		for i := range values {
			values[i] = tensor.F16(tensor.ToF16(values[i]*(0.5+r.Float32()) + 0.01*r.Float32()))
		}
		made[w.Name] = tensor.FromFloat32s(w.Type, values, w.Shape...)
	}
	return made
}

func constantsOf(f *mil.Function) map[string]*mil.Constant {
	all := map[string]*mil.Constant{}
	for _, op := range f.Body.Operations {
		if op.Kind == "const" {
			all[op.Outputs[0].Name] = op.Attributes.Get("val")
		}
	}
	return all
}

// TestMutableModels patches all weights of each model, and compares with the model that has these weights from the beginning: the
// bits must be the same.
func TestMutableModels(t *testing.T) {
	names := []string{
		"conv2d_basic", "conv_transpose", "linear_mlp_fp32", "lstm_uni", "norms2d", "transformer_block",
	}
	if os.Getenv("ESPALIER_ALL_MODELS") != "" {
		names = nil
		entries, err := os.ReadDir("testdata/models")
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			names = append(names, e.Name())
		}
	}
	for _, target := range []string{"virtual", "h13"} {
		for _, name := range names {
			t.Run(target+"/"+name, func(t *testing.T) {
				t.Parallel()
				testMutableModel(t, target, filepath.Join("testdata/models", name))
			})
		}
	}
}

func testMutableModel(t *testing.T, target, dir string) {
	ctx := context.Background()
	unfit := t.Fatal // of the models that are named; among all some have no such weights
	if os.Getenv("ESPALIER_ALL_MODELS") != "" {
		unfit = t.Skip
	}
	open := func(mutable ...string) *Model {
		m, err := Config{Target: target, Mutable: mutable, Cache: NoCache}.Open(filepath.Join(dir, "model.mlpackage"))
		if err != nil {
			unfit(err)
		}
		t.Cleanup(func() { m.Close() })
		return m
	}
	m := open(AllWeights)
	f := m.functions[0]
	if _, ok := f.runner.(*variants); !ok || len(f.Weights()) == 0 {
		unfit("no weights")
	}
	from, err := f.runner.source()
	if err != nil {
		t.Fatal(err)
	}
	inputs, err := tensor.OpenNPZ(filepath.Join(dir, "inputs.npz"))
	if err != nil {
		unfit(err)
	}
	given := map[string]any{}
	for _, a := range inputs {
		given[a.Name] = a.Tensor
	}
	predict := func(m *Model) map[string]*Value {
		t.Helper()
		predict := func() (map[string]*Value, error) { return m.Predict(ctx, given) }
		if len(m.functions[0].States()) > 0 {
			predict = func() (map[string]*Value, error) { return m.PredictWithState(ctx, given, m.functions[0].NewState()) }
		}
		out, err := predict()
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	predict(m)
	elements := otherElements(t, f.Weights(), constantsOf(from.function), 7)
	if err := m.SetWeights(ctx, elements); err != nil {
		t.Fatal(err)
	}
	got := predict(m)
	for _, mutable := range []bool{true, false} {
		other := open()
		if mutable {
			other = open(AllWeights)
		}
		source, _ := other.functions[0].runner.source()
		for name, k := range constantsOf(source.function) {
			if elements[name] != nil {
				k.Tensor, k.File = elements[name], nil
			}
		}
		want := predict(other)
		for name := range want {
			if want[name].Tensor == nil || want[name].Tensor.DType() == tensor.String {
				continue
			}
			x, y := got[name].Tensor, want[name].Tensor
			if mutable {
				if string(x.Bytes()) != string(y.Bytes()) {
					t.Errorf("%s: not what a model with these weights gives", name)
				}
				continue
			}
			worst, scale := 0.0, 1e-3
			a, b := x.Float64s(), y.Float64s()
			for i := range a {
				worst, scale = max(worst, a[i]-b[i], b[i]-a[i]), max(scale, b[i], -b[i])
			}
			if worst > 0.02*scale {
				t.Errorf("%s: differs by %g of %g from a model without mutable weights", name, worst, scale)
			}
		}
	}
}
