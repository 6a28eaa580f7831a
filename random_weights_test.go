package espalier

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/espalier-ane/espalier/coreml"
	"github.com/espalier-ane/espalier/tensor"
)

// Every test model that comes with a weight file runs without it, compressed ones too, with finite values.
func TestRandomWeights(t *testing.T) {
	t.Parallel()
	packages, err := filepath.Glob(filepath.Join("testdata", "models", "*", "model.mlpackage"))
	if err != nil || len(packages) == 0 {
		t.Fatal(err, packages)
	}
	ran := 0
	for _, path := range packages {
		name := filepath.Base(filepath.Dir(path))
		copied := filepath.Join(t.TempDir(), name+".mlpackage")
		if err := os.CopyFS(copied, os.DirFS(path)); err != nil {
			t.Fatal(err)
		}
		weights, err := filepath.Glob(filepath.Join(copied, "Data", "com.apple.CoreML", "weights", "*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range weights {
			if err := os.Remove(w); err != nil {
				t.Fatal(err)
			}
		}
		if predictRandom(t, name, copied) {
			ran++
		}
	}
	if ran < 30 {
		t.Errorf("%d of %d models ran with random weights", ran, len(packages))
	}
}

// predictRandom runs a model without its weights, and reports whether it needed any.
func predictRandom(t *testing.T, name, path string) bool {
	seed := uint64(1)
	m, err := Config{RandomWeights: &seed, Units: CPUOnly}.Open(path)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return false
	}
	defer m.Close()
	f := m.Functions()[0]
	if len(f.RandomWeights()) == 0 {
		return false
	}
	inputs := map[string]any{}
	for _, d := range f.Inputs() {
		switch typ := d.Type.(type) {
		case *coreml.ArrayType:
			shape, _ := typ.DefaultShape()
			n, _ := tensor.Count(shape)
			vals := make([]float32, n)
			for i := range vals {
				vals[i] = float32(i%5) / 4
			}
			inputs[d.Name] = tensor.FromFloat32s(typ.DType, vals, shape...)
		case *coreml.ImageType:
			shape := []int{typ.Height, typ.Width}
			if typ.ColorSpace.Channels() == 3 {
				shape = append(shape, 3)
			}
			inputs[d.Name] = tensor.New(tensor.UInt8, shape...)
		}
	}
	out, err := f.PredictWithState(t.Context(), inputs, f.NewState())
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return true
	}
	for output, v := range out {
		if v.Tensor.DType().IsFloat() {
			for _, x := range v.Tensor.Float64s() {
				if math.IsNaN(x) || math.IsInf(x, 0) {
					t.Errorf("%s: %s has %v", name, output, x)
					break
				}
			}
		}
	}
	return true
}
