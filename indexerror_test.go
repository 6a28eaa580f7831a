package espalier_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/espalier-ane/espalier"
	"github.com/espalier-ane/espalier/tensor"
)

// A prediction with an index out of range that the model has checked gives one error on every unit.
func TestIndexErrorOnEveryUnit(t *testing.T) {
	file := filepath.Join(t.TempDir(), "gather.mil")
	err := os.WriteFile(file, []byte(`program(1.3)
{
  func main<ios17>(tensor<fp16, [4, 2]> x, tensor<int32, [3]> i) {
    int32 axis = const()[name = string("axis"), val = int32(0)];
    int32 batch = const()[name = string("batch"), val = int32(0)];
    bool yes = const()[name = string("yes"), val = bool(true)];
    tensor<fp16, [3, 2]> y = gather(x = x, indices = i, axis = axis, batch_dims = batch, validate_indices = yes)[name = string("y")];
  } -> (y);
}
`), 0o644)
	if err != nil {
		t.Fatal(err)
	}
	for _, config := range []espalier.Config{{}, {Units: espalier.CPUOnly}, {Target: "h13"}, {Target: "h16"}} {
		m, err := config.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range [][]int32{{0, 4, 1}, {0, -1, 1}} {
			_, err := m.Predict(t.Context(), map[string]any{"x": tensor.New(tensor.Float16, 4, 2), "i": tensor.Of(at, 3)})
			e, ok := errors.AsType[*espalier.IndexError](err)
			if !ok || e.Element != 1 || e.Index != int64(at[1]) || e.Length != 4 {
				t.Errorf("%+v, indices %v: %v", config, at, err)
			}
		}
		m.Close()
	}
}
