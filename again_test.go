package espalier_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/espalier-ane/espalier"
	"github.com/espalier-ane/espalier/tensor"
)

// predictFloats predicts, and returns the arrays.
func predictFloats(t *testing.T, m *espalier.Model, given map[string]any) map[string][]float32 {
	t.Helper()
	out, err := m.Predict(t.Context(), given)
	if err != nil {
		t.Fatal(err)
	}
	floats := map[string][]float32{}
	for name, v := range out {
		if v.Tensor != nil {
			floats[name] = v.Tensor.Float32s()
		}
	}
	return floats
}

// LowMemory changes how weights are held, and results by rounding at most.
func TestLowMemory(t *testing.T) {
	for _, name := range []string{"conv2d_basic", "tiny_mobilenet", "linear_mlp"} {
		given := inputsOf(t, name)
		usual := predictFloats(t, openModel(t, espalier.Config{}, name), given)
		little := predictFloats(t, openModel(t, espalier.Config{LowMemory: true}, name), given)
		for output, want := range usual {
			for i, v := range little[output] {
				if d := v - want[i]; d > 0.01 || d < -0.01 {
					t.Errorf("%s: element %d of %s is %v, and %v with little memory", name, i, output, want[i], v)
				}
			}
		}
	}
}

// A prediction knows nothing of the one before: other inputs give what a model gives
// that has just been opened, to the bit.
func TestInputsChange(t *testing.T) {
	for _, target := range []string{"virtual", "h13"} {
		for _, name := range []string{"conv2d_basic", "tiny_mobilenet", "tiny_unet", "linear_mlp", "ane_style_attention", "encoder_layer_postln"} {
			c, given := espalier.Config{Target: target}, inputsOf(t, name)
			others := map[string]any{}
			for input, v := range given {
				x := v.(*tensor.Tensor)
				if !x.DType().IsFloat() {
					others[input] = v
					continue
				}
				values := slices.Clone(x.Float32s()) // which may be x itself
				slices.Reverse(values)
				others[input] = tensor.FromFloat32s(x.DType(), values, x.Shape()...)
			}
			m := openModel(t, c, name)
			first := predictFloats(t, m, given)
			got, want := predictFloats(t, m, others), predictFloats(t, openModel(t, c, name), others)
			if !maps.EqualFunc(got, want, slices.Equal[[]float32]) {
				t.Errorf("%s on %s: other inputs give other bits after a prediction than at once", name, target)
			}
			if maps.EqualFunc(first, want, slices.Equal[[]float32]) {
				t.Errorf("%s on %s: other inputs give the same", name, target)
			}
		}
	}
}
