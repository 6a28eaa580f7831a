package espalier_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier"
	"github.com/espalier-ane/espalier/tensor"
)

// textModel is a model of MIL text.
func textModel(t testing.TB, c espalier.Config, text string) *espalier.Model {
	t.Helper()
	m, err := c.OpenBytes("text.mil", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

type vector []float32

// Slices and numbers of Go are inputs, in the shape that the model has for them.
func TestPlainInputs(t *testing.T) {
	const sum = `program(1.0) {
    func main<ios17>(tensor<T, [2, 2]> x) {
        tensor<T, [2, 2]> y = add(x = x, y = x)[name = tensor<string, []>("y")];
    } -> (y);
}`
	const one = `program(1.0) {
    func main<ios17>(tensor<fp32, [1]> x) {
        tensor<fp32, [1]> y = add(x = x, y = x)[name = tensor<string, []>("y")];
    } -> (y);
}`
	floats := textModel(t, espalier.Config{}, strings.ReplaceAll(sum, "T", "fp32"))
	halves := textModel(t, espalier.Config{Units: espalier.CPUOnly}, strings.ReplaceAll(sum, "T", "fp16"))
	ints := textModel(t, espalier.Config{}, strings.ReplaceAll(sum, "T", "int32"))
	single := textModel(t, espalier.Config{}, one)
	for _, c := range []struct {
		m     *espalier.Model
		given any
		want  string // "" is twice 1, 2, 3, 4; otherwise of an error
	}{
		{floats, []float32{1, 2, 3, 4}, ""},
		{floats, vector{1, 2, 3, 4}, ""},
		{floats, []float64{1, 2, 3, 4}, ""},
		{floats, []int{1, 2, 3, 4}, ""},
		{floats, []uint8{1, 2, 3, 4}, ""},
		{halves, []float32{1, 2, 3, 4}, ""},
		{halves, []float64{1, 2, 3, 4}, ""},
		{ints, []int32{1, 2, 3, 4}, ""},
		{ints, []int64{1, 2, 3, 4}, ""},
		{ints, []int{1, 2, 3, 4}, ""},
		{ints, []uint16{1, 2, 3, 4}, ""},
		{ints, []float32{1, 2, 3, 4}, ""},
		{single, float32(1), ""},
		{single, 1.0, ""},
		{single, 1, ""},
		{single, []float32{1}, ""},
		{floats, []float32{1, 2, 3}, `input "x": expected fp32 array [2, 2], found a []float32 of 3 elements: it must have 4`},
		{floats, []float32(nil), "a []float32 of 0 elements: it must have 4"},
		{floats, float32(1), "found a float32: it must have 4"},
		{floats, [][]float32{{1, 2}, {3, 4}}, "expected fp32 array [2, 2], found a [][]float32 of 2 elements"},
		{floats, []string{"1", "2", "3", "4"}, "it holds string, expected fp32"},
		{floats, struct{}{}, "found a struct {}"},
		{floats, (*tensor.Tensor)(nil), "it is nil"},
		{ints, []float32{1, 2.5, 3, 4}, "element [0, 1] is 2.5, which int32 cannot hold"},
		{ints, []int{1, 2, 3, 1 << 31}, "element [1, 1] is 2147483648, which int32 cannot hold"},
	} {
		out, err := c.m.Predict(t.Context(), map[string]any{"x": c.given})
		if c.want != "" {
			var e *espalier.InputError
			if !errors.As(err, &e) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%T %v: got %v, want %s", c.given, c.given, err, c.want)
			}
			continue
		}
		if err != nil {
			t.Errorf("%T %v: %v", c.given, c.given, err)
			continue
		}
		for i, v := range out["y"].Tensor.Float64s() {
			if v != float64(2*(i+1)) {
				t.Errorf("%T %v: element %d is %v", c.given, c.given, i, v)
			}
		}
	}
}

// A slice has the one shape of a flexible input that fits it, if there is one.
func TestPlainFlexibleInputs(t *testing.T) {
	for _, c := range []struct {
		model, input string
		given        any
		shape        []int  // that the slice stands for
		want         string // of an error
	}{
		{"flex_enum", "x", make([]float32, 3*24*32), []int{1, 3, 24, 32}, ""},
		{"flex_enum", "x", make([]float32, 3*24*31), nil, "no shape of it has as many"},
		{"flex_seq_transformer", "ids", []int{5, 3, 1, 4, 2, 6, 7}, []int{1, 7}, ""},
		{"flex_seq_transformer", "ids", make([]int32, 65), nil, "no shape of it has as many"},
		{"flex_range", "x", make([]float32, 4*16), nil, "several shapes may have as many: give a tensor, which says its shape"},
	} {
		m := openModel(t, espalier.Config{Units: espalier.CPUOnly}, c.model)
		got, err := m.Predict(t.Context(), map[string]any{c.input: c.given})
		if c.want != "" {
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: got %v, want %s", c.model, err, c.want)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.model, err)
			continue
		}
		var array *tensor.Tensor
		switch v := c.given.(type) {
		case []float32:
			array = tensor.Of(v, c.shape...)
		case []int:
			array = tensor.New(tensor.Int32, c.shape...)
			for i := range v {
				tensor.Data[int32](array)[i] = int32(v[i])
			}
		}
		want, err := m.Predict(t.Context(), map[string]any{c.input: array})
		if err != nil {
			t.Fatal(err)
		}
		for name, w := range want {
			if !sameBits(got[name].Tensor, w.Tensor) {
				t.Errorf("%s: output %q differs from that of the tensor", c.model, name)
			}
		}
	}
}

// Whatever runs a function takes them.
func TestPlainInputsInEveryForm(t *testing.T) {
	model := openModel(t, espalier.Config{}, "linear_mlp")
	x := readArrays(t, modelsDir, "linear_mlp", "inputs.npz")["x"]
	want, err := model.Predict(t.Context(), map[string]any{"x": x})
	if err != nil {
		t.Fatal(err)
	}
	for form, m := range map[string]*espalier.Model{
		"model":  model,
		"host":   openModel(t, espalier.Config{Units: espalier.CPUOnly}, "linear_mlp"),
		"bundle": open(t, espalier.Config{}, compiled(t, model, "", "m.bundle")),
	} {
		got, err := m.Predict(t.Context(), map[string]any{"x": x.Float32s()})
		if err != nil {
			t.Errorf("%s: %v", form, err)
			continue
		}
		if c := tensor.Compare(got["y"].Tensor, want["y"].Tensor, 0.01); !c.Match {
			t.Errorf("%s: %s", form, c.Reason)
		}
	}
}
