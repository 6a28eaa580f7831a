package espalier_test

import (
	"bytes"
	"os"
	"testing"

	"github.com/espalier-ane/espalier"
	"github.com/espalier-ane/espalier/tensor"
)

// LowMemory changes how weights are held, and results by rounding at most.
func TestLowMemory(t *testing.T) {
	for _, name := range []string{"conv2d_basic", "tiny_mobilenet", "linear_mlp"} {
		folder := "testdata/models/" + name
		file, err := os.ReadFile(folder + "/inputs.npz")
		if err != nil {
			t.Fatal(err)
		}
		inputs, err := tensor.ReadNPZ(bytes.NewReader(file), int64(len(file)))
		if err != nil {
			t.Fatal(err)
		}
		var results [2]map[string][]float32
		for i, low := range []bool{false, true} {
			m, err := espalier.Config{LowMemory: low}.Open(folder + "/model.mlpackage")
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			given := map[string]any{}
			for _, x := range inputs {
				given[x.Name] = x.Tensor
			}
			out, err := m.Predict(t.Context(), given)
			if err != nil {
				t.Fatal(err)
			}
			results[i] = map[string][]float32{}
			for name, v := range out {
				if v.Tensor != nil {
					results[i][name] = v.Tensor.Float32s()
				}
			}
		}
		for output, want := range results[0] {
			for i, v := range results[1][output] {
				if d := v - want[i]; d > 0.01 || d < -0.01 {
					t.Errorf("%s: element %d of %s is %v, and %v with little memory", name, i, output, want[i], v)
				}
			}
		}
	}
}
