package espalier_test

import (
	"bytes"
	"context"
	"path/filepath"
	"testing"

	"github.com/espalier-ane/espalier"
	"github.com/espalier-ane/espalier/tensor"
)

// Every model that can be compiled for one shape runs from disk as it runs from memory, bit for bit.
func TestBundlesRunAsTheirModels(t *testing.T) {
	for _, name := range modelNames(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := openModel(t, espalier.Config{}, name)
			program, err := m.Compile(context.Background(), espalier.CompileOptions{})
			if err != nil {
				t.Fatal(err)
			}
			dir := filepath.Join(t.TempDir(), "model.bundle")
			if _, err := program.WriteBundle(t.Context(), dir); err != nil {
				t.Fatal(err)
			}
			b, err := espalier.Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			meta := readMeta(t, name)
			for _, c := range meta.Cases {
				in := asInputs(readArrays(t, modelsDir, name, c.Inputs))
				want, err := predictOnce(m, functionName(m, c.Function), in)
				if err != nil {
					t.Fatal(err)
				}
				got, err := predictOnce(b, functionName(m, c.Function), in)
				if err != nil {
					t.Errorf("%s: %v", c.Inputs, err)
					continue
				}
				for output, w := range want {
					g := got[output]
					if g == nil || !sameBits(g.Tensor, w.Tensor) {
						t.Errorf("%s: output %q differs", c.Inputs, output)
					}
				}
			}
		})
	}
}

func predictOnce(m *espalier.Model, function string, in map[string]any) (map[string]*espalier.Value, error) {
	f, err := m.Function(function)
	if err != nil {
		return nil, err
	}
	if len(f.States()) > 0 {
		return f.PredictWithState(context.Background(), in, f.NewState())
	}
	return f.Predict(context.Background(), in)
}

func sameBits(a, b *tensor.Tensor) bool {
	if a.DType() != b.DType() || a.String() != b.String() {
		return false
	}
	if a.DType() == tensor.String {
		return tensor.Compare(a, b, 0).Match
	}
	return bytes.Equal(a.Bytes(), b.Bytes())
}
