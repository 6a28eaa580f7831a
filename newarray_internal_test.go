package espalier

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/espalier-ane/espalier/coreml"
	"github.com/espalier-ane/espalier/tensor"
)

// Memory that lies as the engine has it is copied nowhere, on virtual and on h13: neither is it moved, nor does a cast run. What
// comes out is what Predict gives.
func TestPredictIntoCopiesNothing(t *testing.T) {
	for _, name := range []string{"conv2d_basic", "linear_mlp", "stateful_counter", "stateful_torch", "transformer_block"} {
		for _, target := range []string{"virtual", "h13"} {
			t.Run(name+"/"+target, func(t *testing.T) {
				m, err := Config{Target: target}.Open(filepath.Join("testdata", "models", name, "model.mlpackage"))
				if err != nil {
					t.Fatal(err)
				}
				defer m.Close()
				testCopiesNothing(t, m.Functions()[0])
			})
		}
	}
}

func testCopiesNothing(t *testing.T, f *Function) {
	inputs, outputs, plain := map[string]any{}, map[string]any{}, map[string]any{}
	for _, d := range f.Inputs() {
		x, err := f.NewArray(t.Context(), d.Name)
		if err != nil {
			t.Fatal(err)
		}
		values := make([]float32, x.Len())
		for i := range values {
			values[i] = float32(i%13-6) / 8
		}
		if err := x.CopyFrom(tensor.FromFloat32s(x.DType(), values, x.Shape()...)); err != nil {
			t.Fatal(err)
		}
		inputs[d.Name], plain[d.Name] = x, x.Clone()
	}
	for _, d := range f.Outputs() {
		y, err := f.NewArray(t.Context(), d.Name)
		if err != nil {
			t.Fatal(err)
		}
		outputs[d.Name] = y
	}
	call, err := f.Bind(t.Context(), inputs, outputs)
	if err != nil {
		t.Fatal(err)
	}
	var want map[string]*Value
	for range 2 {
		if len(f.States()) == 0 {
			if want, err = f.Predict(t.Context(), plain); err == nil {
				err = call.Run(t.Context())
			}
		} else if want, err = f.PredictWithState(t.Context(), plain, f.NewState()); err == nil {
			err = call.RunWithState(t.Context(), f.NewState())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, y := range outputs {
		if got := y.(*tensor.Tensor).Float32s(); !slices.Equal(got, want[name].Tensor.Float32s()) {
			t.Errorf("%s is %v, want %v", name, got, want[name].Tensor.Float32s())
		}
	}
	b := call.bound.(*boundOperation)
	if s := b.operation.Stats(); s.Runs != 2 || s.Copied != 0 {
		t.Errorf("%+v, want nothing copied", s)
	}
	for _, p := range slices.Concat(b.inputs, b.outputs) {
		if !p.direct || p.remake || len(p.moves) > 0 {
			t.Errorf("%s is moved", p.feature.Name)
		}
	}
}

// Memory that the model declares is cast, and not moved beside that.
func TestPredictIntoCastsOnce(t *testing.T) {
	m, err := Config{Target: "h13"}.Open(filepath.Join("testdata", "models", "conv2d_basic", "model.mlpackage"))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	f := m.Functions()[0]
	given := [2]map[string]any{{}, {}}
	for i, list := range [][]coreml.Feature{f.Inputs(), f.Outputs()} {
		for _, d := range list {
			a := d.Type.(*coreml.ArrayType)
			given[i][d.Name] = tensor.New(arrayDType(a), a.Shape...)
		}
	}
	call, err := f.Bind(t.Context(), given[0], given[1])
	if err != nil {
		t.Fatal(err)
	}
	if err := call.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	b := call.bound.(*boundOperation)
	for _, p := range slices.Concat(b.inputs, b.outputs) {
		if !p.direct || len(p.moves) > 0 {
			t.Errorf("%s is moved", p.feature.Name)
		}
	}
	want := int64(0)
	for _, p := range slices.Concat(b.inputs, b.outputs) {
		want += int64(len(p.given.(*tensor.Tensor).Bytes()))
	}
	if s := b.operation.Stats(); s.Copied == 0 || s.Copied > want {
		t.Errorf("%+v, want %d bytes or less: those of the ports, once", s, want)
	}
	if _, err := f.NewArray(t.Context(), "nothing"); err == nil {
		t.Error("an array for nothing")
	}
}
