package espalier_test

import (
	"context"
	"errors"
	"image"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/espalier-ane/espalier"
	"github.com/espalier-ane/espalier/tensor"
)

func TestInputErrorsSayWhatIsExpected(t *testing.T) {
	ok := tensor.New(tensor.Float32, 2, 6)
	for _, tc := range []struct {
		name    string
		in      map[string]any
		missing bool
		want    []string
	}{
		{"missing", map[string]any{}, true, []string{`input "x"`, "missing", "fp32 array [2, 6]"}},
		{"extra", map[string]any{"x": ok, "z": ok}, false, []string{`input "z"`, "no such input", "x, b"}},
		{"wrong shape", map[string]any{"x": tensor.New(tensor.Float32, 6, 2)}, false, []string{`input "x"`, "[2, 6]", "[6, 2]"}},
		{"wrong type", map[string]any{"x": tensor.Of(make([]string, 12), 2, 6)}, false, []string{`input "x"`, "holds string", "fp32"}},
		{"too large", map[string]any{"x": tensor.FromFloat32s(tensor.Float64, make([]float32, 12), 2, 6), "b": huge(2, 4)}, false, []string{`input "b"`, "1e+300", "fp32 cannot hold"}},
		{"a picture for an array", map[string]any{"x": image.NewGray(image.Rect(0, 0, 6, 2))}, false, []string{`input "x"`, "array [2, 6]", "a picture of 6 × 2"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := openModel(t, espalier.Config{}, "optional_input")
			_, err := m.Predict(context.Background(), tc.in)
			var e *espalier.InputError
			if !errors.As(err, &e) || e.Missing != tc.missing {
				t.Fatalf("the error is %v", err)
			}
			for _, w := range tc.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("the error %q does not say %q", err, w)
				}
			}
		})
	}
}

func huge(shape ...int) *tensor.Tensor {
	n, _ := tensor.Count(shape)
	vals := make([]float64, n)
	for i := range vals {
		vals[i] = 1e300
	}
	return tensor.Of(vals, shape...)
}

func TestNaNIsPassedOn(t *testing.T) {
	m := openModel(t, espalier.Config{}, "linear_mlp")
	in := asInputs(readArrays(t, modelsDir, "linear_mlp", "inputs.npz"))
	for name, v := range in {
		bad := v.(*tensor.Tensor).Clone()
		tensor.Data[float32](bad)[0] = float32(math.NaN())
		in[name] = bad
	}
	out, err := m.Predict(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, v := range out {
		for _, f := range v.Tensor.Float64s() {
			found = found || math.IsNaN(f)
		}
	}
	if !found {
		t.Error("the NaN did not reach any output")
	}
}

func TestPictureOfAnotherSize(t *testing.T) {
	img := image.NewNRGBA(image.Rect(0, 0, 100, 50))
	m := openModel(t, espalier.Config{}, "image_rgb")
	_, err := m.Predict(context.Background(), map[string]any{"image": img})
	if !errors.Is(err, espalier.ErrPictureSize) || !strings.Contains(err.Error(), "32 × 32") {
		t.Errorf("the error is %v", err)
	}
	m = openModel(t, espalier.Config{Resize: espalier.Fit}, "image_rgb")
	if _, err := m.Predict(context.Background(), map[string]any{"image": img}); err != nil {
		t.Error(err)
	}
}

// A picture and the array of its pixels are the same input.
func TestPictureEqualsItsPixels(t *testing.T) {
	for _, name := range []string{"image_rgb", "image_bgr_meanstd", "classifier_labels"} {
		m := openModel(t, espalier.Config{}, name)
		px := readArrays(t, modelsDir, name, "inputs.npz")["image"]
		h, w := px.Shape()[0], px.Shape()[1]
		img := image.NewNRGBA(image.Rect(0, 0, w, h))
		for i := range h * w {
			copy(img.Pix[4*i:], px.Bytes()[3*i:3*i+3])
			img.Pix[4*i+3] = 255
		}
		a, err := m.Predict(context.Background(), map[string]any{"image": px})
		if err != nil {
			t.Fatal(err)
		}
		b, err := m.Predict(context.Background(), map[string]any{"image": img})
		if err != nil {
			t.Fatal(err)
		}
		for out := range a {
			if c := tensor.Compare(b[out].Tensor, a[out].Tensor, 0); !c.Match {
				t.Errorf("%s %s: %s", name, out, c.Reason)
			}
		}
	}
}

func TestFunctionsByName(t *testing.T) {
	m := openModel(t, espalier.Config{}, "multifunction")
	for _, f := range m.Functions() {
		if g, err := m.Function(f.Name()); err != nil || g != f {
			t.Errorf("function %q: %v", f.Name(), err)
		}
	}
	if _, err := m.Function("adapter_z"); err == nil || !strings.Contains(err.Error(), "adapter_a") {
		t.Errorf("the error is %v", err)
	}
}

func TestStatesBelongToTheirFunction(t *testing.T) {
	m := openModel(t, espalier.Config{}, "stateful_counter")
	other := openModel(t, espalier.Config{}, "stateful_counter")
	in := asInputs(readArrays(t, modelsDir, "stateful_counter", readMeta(t, "stateful_counter").Cases[0].Inputs))
	if _, err := m.Predict(context.Background(), in); err == nil || !strings.Contains(err.Error(), "NewState") {
		t.Errorf("a prediction without its state: %v", err)
	}
	if _, err := m.PredictWithState(context.Background(), in, other.NewState()); err == nil {
		t.Error("a state of another model was taken")
	}
	s := m.NewState()
	name := m.Functions()[0].States()[0].Name
	before, err := s.Tensor(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range before.Float64s() {
		if v != 0 {
			t.Fatalf("a new state holds %v", v)
		}
	}
	if _, err := m.PredictWithState(context.Background(), in, s); err != nil {
		t.Fatal(err)
	}
	after, _ := s.Tensor(name)
	if tensor.Compare(after, before, 0).Match {
		t.Error("the prediction did not change its state")
	}
	if _, err := s.Tensor("nothing"); err == nil {
		t.Error("there is a state called nothing")
	}
}

func TestConcurrentPredictionsAgree(t *testing.T) {
	m := openModel(t, espalier.Config{}, "tiny_resnet")
	in := asInputs(readArrays(t, modelsDir, "tiny_resnet", "inputs.npz"))
	want, err := m.Predict(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			got, err := m.Predict(context.Background(), in)
			if err != nil {
				t.Error(err)
				return
			}
			for name := range want {
				if c := tensor.Compare(got[name].Tensor, want[name].Tensor, 0); !c.Match {
					t.Errorf("%s: %s", name, c.Reason)
				}
			}
		})
	}
	wg.Wait()
}

func TestPredictStopsWithItsContext(t *testing.T) {
	m := openModel(t, espalier.Config{}, "tiny_resnet")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := m.Predict(ctx, asInputs(readArrays(t, modelsDir, "tiny_resnet", "inputs.npz")))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
}

func TestClassesAreRanked(t *testing.T) {
	m := openModel(t, espalier.Config{}, "classifier_labels")
	out, err := m.Predict(context.Background(), asInputs(readArrays(t, modelsDir, "classifier_labels", "inputs.npz")))
	if err != nil {
		t.Fatal(err)
	}
	top := out["classLabel_probs"].Top(2)
	if len(top) != 2 || top[0].Probability < top[1].Probability || top[0].Label != out["classLabel"].Tensor.Strings()[0] {
		t.Errorf("the classes are %v, the label %v", top, out["classLabel"].Tensor.Strings())
	}
}

func TestOpenNamesTheFile(t *testing.T) {
	_, err := espalier.Open(filepath.Join("testdata", "no-such-model.mlpackage"))
	if err == nil || !strings.Contains(err.Error(), "no-such-model.mlpackage") {
		t.Errorf("the error is %v", err)
	}
}

// openText opens a model that is a MIL text: the body of a function with the input x.
func openText(t *testing.T, input, body, output string) *espalier.Model {
	t.Helper()
	text := "program(1.0)\n{\nfunc main<ios18>(" + input + ") {\n" + body + "\n} -> (" + output + ");\n}\n"
	path := filepath.Join(t.TempDir(), "model.mil")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	m, err := espalier.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

// What a prediction gives and keeps is its own: an input that the caller changes afterwards does not show in outputs,
// and an output that the caller changes does not show in the model.
func TestOutputsShareNoMemory(t *testing.T) {
	m := openText(t, "tensor<fp32, [2]> x", `tensor<fp32, [2]> k = const()[name = string("k"), val = tensor<fp32, [2]>([3, 4])];
		tensor<int32, [2]> s = const()[name = string("s"), val = tensor<int32, [2]>([2, 1])];
		tensor<fp32, [2, 1]> y = reshape(x = x, shape = s);`, "x, y, k")
	in := []float32{1, 2}
	predict := func() map[string]*espalier.Value {
		out, err := m.Predict(context.Background(), map[string]any{"x": tensor.Of(in, 2)})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	out := predict()
	in[0] = 7
	for _, name := range []string{"x", "y"} {
		if got := out[name].Tensor.Float32s()[0]; got != 1 {
			t.Errorf("output %s is %v after the input has changed", name, got)
		}
	}
	tensor.Data[float32](out["k"].Tensor)[0] = 9
	if got := predict()["k"].Tensor.Float32s()[0]; got != 3 {
		t.Errorf("a constant is %v after an output has changed", got)
	}
}

func TestStatesShareNoMemory(t *testing.T) {
	m := openText(t, "tensor<int32, [2]> x, state<tensor<int32, [2]>> s", `write_state(data = x, input = s)[name = string("w")];
		tensor<int32, [2]> y = read_state(input = s)[name = string("y")];`, "y")
	s := m.NewState()
	in := []int32{1, 2}
	if _, err := m.PredictWithState(context.Background(), map[string]any{"x": tensor.Of(in, 2)}, s); err != nil {
		t.Fatal(err)
	}
	in[0] = 7
	for range 2 {
		held, err := s.Tensor("s")
		if err != nil {
			t.Fatal(err)
		}
		if got := held.Int64s()[0]; got != 1 {
			t.Errorf("the state holds %v, expected 1", got)
		}
		tensor.Data[int32](held)[0] = 9
	}
}

func TestModelWithoutFunctions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "model.mil")
	if err := os.WriteFile(path, []byte("program(1.0)\n{\n}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if m, err := espalier.Open(path); err == nil {
		m.Close()
		t.Error("a program without functions opens")
	} else if !strings.Contains(err.Error(), "no functions") {
		t.Errorf("the error is %v", err)
	}
}
