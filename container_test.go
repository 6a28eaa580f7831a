package espalier_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/espalier-ane/espalier"
	"github.com/espalier-ane/espalier/coreml"
	"github.com/espalier-ane/espalier/tensor"
)

func containerPath(name string) string { return filepath.Join("hwx", "testdata", name) }

func openContainer(t *testing.T, name string, c espalier.Config) *espalier.Model {
	t.Helper()
	m, err := c.Open(containerPath(name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

func TestContainer(t *testing.T) {
	m := openContainer(t, "conv3x2.hwx", espalier.Config{})
	f, err := m.Function("")
	if err != nil || f.Name() != "net" || len(m.Functions()) != 1 || len(f.States()) != 0 {
		t.Fatalf("got function %v, %v", f, err)
	}
	describe := func(list []coreml.Feature) string {
		var texts []string
		for _, d := range list {
			texts = append(texts, d.Name+" "+d.Type.String())
		}
		return strings.Join(texts, ", ")
	}
	if got := describe(f.Inputs()); got != "image fp16 array [1, 3, 1, 1]" {
		t.Errorf("inputs: %s", got)
	}
	if got := describe(f.Outputs()); got != "probs@output fp16 array [1, 2, 1, 1]" {
		t.Errorf("outputs: %s", got)
	}
	out, err := m.Predict(context.Background(), map[string]any{"image": tensor.Of([]float64{1, 2, -4}, 1, 3, 1, 1)})
	if err != nil {
		t.Fatal(err)
	}
	// Weights 0.25 to 1.5, biases ±0.5.
	if got := out["probs@output"].Tensor; got.String() != "fp16[1, 2, 1, 1]" || !slices.Equal(got.Float32s(), []float32{-1.25, -3}) {
		t.Errorf("got %v %v", got, got.Float32s())
	}
}

// Predictions under way at the same time do not share memory.
func TestContainerConcurrently(t *testing.T) {
	m := openContainer(t, "add64.hwx", espalier.Config{})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			vals := make([]float32, 64)
			for j := range vals {
				vals[j] = float32(64*i + j)
			}
			for range 50 {
				x := tensor.Of(vals, 1, 64, 1, 1)
				out, err := m.Predict(context.Background(), map[string]any{"image": x, "image2": x})
				if err != nil {
					t.Error(err)
					return
				}
				for j, got := range out["probs@output"].Tensor.Float32s() {
					if got != 2*vals[j] {
						t.Errorf("element %d is %v, want %v", j, got, 2*vals[j])
						return
					}
				}
			}
		})
	}
	wg.Wait()
}

func TestContainerInputs(t *testing.T) {
	m := openContainer(t, "conv3x2.hwx", espalier.Config{})
	for _, c := range []struct {
		name    string
		inputs  map[string]any
		missing bool
		want    string
	}{
		{"missing", nil, true, "it is missing: expected fp16 array [1, 3, 1, 1]"},
		{"shape", map[string]any{"image": tensor.New(tensor.Float16, 3)}, false, "expected fp16 array [1, 3, 1, 1], found fp16[3]"},
		{"overflow", map[string]any{"image": tensor.Of([]float32{0, 70000, 0}, 1, 3, 1, 1)}, false, "element [0, 1, 0, 0] is 70000, which fp16 cannot hold"},
		{"no array", map[string]any{"image": 3}, false, "found a int"},
	} {
		_, err := m.Predict(context.Background(), c.inputs)
		input, ok := errors.AsType[*espalier.InputError](err)
		if !ok || input.Name != "image" || input.Missing != c.missing || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v", c.name, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := m.Predict(ctx, map[string]any{"image": tensor.New(tensor.Float16, 1, 3, 1, 1)}); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled prediction gives %v", err)
	}
}

func TestContainerNumerics(t *testing.T) {
	hot := map[string]any{"image": tensor.Of([]float32{30000, 30000, 30000}, 1, 3, 1, 1)}
	for profile, want := range map[espalier.Numerics]float32{
		"": 44992, espalier.Virtual: 44992, "h13": tensor.F16(0x7c00), "H13": tensor.F16(0x7c00), "h13,saturate-at-port=0": 44992,
	} {
		m := openContainer(t, "conv3x2.hwx", espalier.Config{Numerics: profile})
		out, err := m.Predict(context.Background(), hot)
		if err != nil {
			t.Fatal(err)
		}
		if got := out["probs@output"].Tensor.Float32s()[0]; got != want {
			t.Errorf("numerics %v: got %v, want %v", profile, got, want)
		}
	}
	open := func(n espalier.Numerics, path string) error {
		_, err := espalier.Config{Numerics: n}.Open(path)
		return err
	}
	if err := open(espalier.FP32, containerPath("conv3x2.hwx")); !errors.Is(err, espalier.ErrNumerics) {
		t.Errorf("a container with fp32: %v", err)
	}
	model := filepath.Join("testdata", "models", "linear_mlp", "model.mlpackage")
	if _, err := (espalier.Config{Numerics: "h13", Units: espalier.CPUOnly}).Open(model); !errors.Is(err, espalier.ErrNumerics) {
		t.Errorf("a package on the host with h13: %v", err)
	}
	for target, ok := range map[string]bool{"h13": true, "m1": true, "h13g": true, "h14": false, "virtual": false} {
		m, err := espalier.Config{Target: target}.Open(containerPath("conv3x2.hwx"))
		if ok != (err == nil) || !ok && !errors.Is(err, espalier.ErrTarget) {
			t.Errorf("a container for h13 with target %s: %v", target, err)
		}
		if err == nil {
			m.Close()
		}
	}
	for _, path := range []string{model, containerPath("conv3x2.hwx")} {
		if err := open("h99", path); err == nil || errors.Is(err, espalier.ErrNumerics) || !strings.Contains(err.Error(), `"h99"`) {
			t.Errorf("%s with h99: %v", path, err)
		}
	}
	for name, ok := range map[string]bool{"virtual": true, "fp32": true, "h13": true, "m1,nan-to-inf=false": true, "": false, "h99": false, "h13,x=1": false, "fp32,nan-to-inf=true": false} {
		if n, err := espalier.ParseNumerics(name); (err == nil) != ok || ok && n.String() != name {
			t.Errorf("ParseNumerics(%q) = %v, %v", name, n, err)
		}
	}
}
