package espalier

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/espalier-ane/espalier/tensor"
)

// A large input is read where it is and a large output written where the caller gets it; an operation keeps neither.
func TestPredictLends(t *testing.T) {
	path := filepath.Join(t.TempDir(), "model.mil")
	const text = `program(1.3)
{
func main<ios17>(tensor<fp16, [1, 4, 128, 128]> x) {
	tensor<fp16, [1, 4, 128, 128]> y = relu(x = x)[name = string("y")];
} -> (y, x);
}
`
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, target := range []string{"virtual", "h13"} {
		m, err := Config{Target: target}.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		values := make([]float32, 4*128*128)
		for i := range values {
			values[i] = float32(i%7 - 3)
		}
		x := tensor.FromFloat32s(tensor.Float16, values, 1, 4, 128, 128)
		var last *byte
		for range 3 {
			out, err := m.Predict(t.Context(), map[string]any{"x": x})
			if err != nil {
				t.Fatal(err)
			}
			for i, v := range out["y"].Tensor.Float32s() {
				if v != max(values[i], 0) {
					t.Fatalf("%s: element %d is %v, want %v", target, i, v, max(values[i], 0))
				}
			}
			if !slices.Equal(x.Float32s(), values) || !slices.Equal(out["x"].Tensor.Float32s(), values) {
				t.Errorf("%s: the input has changed", target)
			}
			y, _ := out["y"].Tensor.Memory()
			passed, _ := out["x"].Tensor.Memory()
			given, _ := x.Memory()
			if y == last || passed == given {
				t.Errorf("%s: outputs share memory with others", target)
			}
			last = y
		}
		one, err := m.functions[0].runner.(*variants).variant(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		o := one.function.TakeOut()
		for _, name := range []string{"x", "y"} {
			held, err := o.Value(name)
			if err != nil {
				t.Fatal(err)
			}
			at, _ := held.(*tensor.Tensor).Memory()
			if given, _ := x.Memory(); at == given || at == last {
				t.Errorf("%s: the operation has kept the memory of %s", target, name)
			}
		}
		l := loan{operation: o}
		p := one.function.Inputs()[0]
		if !l.lend(&p, x) || len(l.ports) != 1 {
			t.Errorf("%s: the input is not lent", target)
		}
		l.end()
	}
}
