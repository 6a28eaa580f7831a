package espalier

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/espalier-ane/espalier/tensor"
)

// What one stage of a pipeline makes is where the next one reads it: nothing is copied between them, nor at the ends if
// the memory there lies as the engine has it. The numbers are those of the stages one by one.
func TestPipelineHandsOn(t *testing.T) {
	for _, target := range []string{"virtual", "h13"} {
		t.Run(target, func(t *testing.T) {
			m, err := Config{Target: target}.Open(filepath.Join("testdata", "models", "pipeline_two", "model.mlpackage"))
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			f := m.Functions()[0]
			p := f.runner.(*pipeline)
			x, err := f.NewArray(t.Context(), "x")
			if err != nil {
				t.Fatal(err)
			}
			y, err := f.NewArray(t.Context(), "y")
			if err != nil {
				t.Fatal(err)
			}
			values := make([]float32, x.Len())
			for i := range values {
				values[i] = float32(i%9-4) / 4
			}
			if err := x.CopyFrom(tensor.FromFloat32s(x.DType(), values, x.Shape()...)); err != nil {
				t.Fatal(err)
			}
			given := map[string]any{"x": x.Clone()}
			predicted, err := f.Predict(t.Context(), given)
			if err != nil {
				t.Fatal(err)
			}
			for _, stage := range p.stages {
				out, err := stage.Predict(t.Context(), given)
				if err != nil {
					t.Fatal(err)
				}
				given = map[string]any{}
				for name, v := range out {
					given[name] = v.Tensor
				}
			}
			want := given["y"].(*tensor.Tensor).Float32s()
			call, err := f.Bind(t.Context(), map[string]any{"x": x}, map[string]any{"y": y})
			if err != nil {
				t.Fatal(err)
			}
			var before []int64 // of the prediction above, which may have run on the same operation
			for _, b := range call.bound.(*chain).stages {
				before = append(before, b.(*boundOperation).operation.Stats().Copied)
			}
			if err := call.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := y.Float32s(); !slices.Equal(got, want) || !slices.Equal(predicted["y"].Tensor.Float32s(), want) {
				t.Errorf("got %v, Predict %v, want %v", got, predicted["y"].Tensor.Float32s(), want)
			}
			for i, b := range call.bound.(*chain).stages {
				b := b.(*boundOperation)
				if s := b.operation.Stats(); s.Runs == 0 || s.Copied != before[i] {
					t.Errorf("stage %d: %+v, want nothing copied", i, s)
				}
				for _, p := range slices.Concat(b.inputs, b.outputs) {
					if !p.direct || p.remake || len(p.moves) > 0 {
						t.Errorf("stage %d: %s is moved", i, p.feature.Name)
					}
				}
			}
		})
	}
}
