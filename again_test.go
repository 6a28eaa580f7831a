package espalier_test

import (
	"maps"
	"os"
	"path/filepath"
	"runtime"
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

// LowMemory changes how weights are held, and results by rounding at most. Every way to
// open a model heeds it.
func TestLowMemory(t *testing.T) {
	packed := func(c espalier.Config, path string) (bytes int64) {
		var p espalier.Profile
		f := open(t, c, path).Functions()[0]
		if _, err := f.Predict(p.Watch(t.Context()), inputsOf(t, "tiny_mobilenet")); err != nil {
			t.Fatal(err)
		}
		for _, step := range f.Profile(&p) {
			bytes += step.Memory.Packed
		}
		return bytes
	}
	model := filepath.Join(modelsDir, "tiny_mobilenet", "model.mlpackage")
	for _, path := range []string{model, compiled(t, openModel(t, espalier.Config{}, "tiny_mobilenet"), "virtual", "little.bundle")} {
		if usual, little := packed(espalier.Config{}, path), packed(espalier.Config{LowMemory: true}, path); little == 0 || 10*little > 7*usual {
			t.Errorf("%s: %d bytes of weights are packed, and %d with little memory", filepath.Base(path), usual, little)
		}
	}
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

// oneProduct is a program of one task, which no other drives out of a thread's scratch.
const oneProduct = `program(1.0)
{
    func main<ios16>(tensor<fp16, [20, 24]> x, tensor<fp16, [24, 40]> y) {
        tensor<bool, []> no = const()[name = tensor<string, []>("no"), val = tensor<bool, []>(false)];
        tensor<fp16, [20, 40]> z = matmul(x = x, y = y, transpose_x = no, transpose_y = no)[name = tensor<string, []>("z")];
    } -> (z);
}`

func TestInputsOfOneTaskChange(t *testing.T) {
	numbers := func(from float32, rows, cols int) *tensor.Tensor {
		values := make([]float32, rows*cols)
		for i := range values {
			values[i] = from + float32(i%7)
		}
		return tensor.FromFloat32s(tensor.Float16, values, rows, cols)
	}
	m, err := espalier.OpenBytes("one.mil", []byte(oneProduct))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for _, from := range []float32{1, -3, 5} {
		x, y := numbers(from, 20, 24), numbers(from+1, 24, 40)
		got := predictFloats(t, m, map[string]any{"x": x, "y": y})["z"]
		var want float32 // of the first element
		for k := range 24 {
			want += x.Float32s()[k] * y.Float32s()[40*k]
		}
		if len(got) != 800 || got[0] != want {
			t.Fatalf("from %g on: %v, expected %g first", from, got[:min(1, len(got))], want)
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

// Compressed weights are read as they are stored: next to nothing is made of them when
// a model is loaded.
func TestCompressedWeightsStay(t *testing.T) {
	if runtime.GOARCH != "amd64" || os.Getenv("ESPALIER_ISA") == "go" {
		t.Skip("without machine code, they are decoded beforehand")
	}
	for _, name := range []string{"comp_pal4", "comp_lin8_sym", "comp_lin8_channel_ios18"} {
		var p espalier.Profile
		f := openModel(t, espalier.Config{}, name).Functions()[0]
		if _, err := f.Predict(p.Watch(t.Context()), inputsOf(t, name)); err != nil {
			t.Fatal(err)
		}
		for _, s := range f.Profile(&p) {
			if 10*s.Memory.Packed > 2*s.Memory.Weights {
				t.Errorf("%s: %d bytes are made of %d", name, s.Memory.Packed, s.Memory.Weights)
			}
		}
	}
}
