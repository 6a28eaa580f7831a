package espalier

import "testing"

// The hint of a configuration comes to the functions of the runtime, whatever they are opened from.
func TestConcurrencyReachesTheRuntime(t *testing.T) {
	const path = "testdata/models/conv2d_basic/model.mlpackage"
	m, err := Config{Concurrency: 3}.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if _, err := m.Predict(t.Context(), map[string]any{"x": make([]float32, 3*17*15)}); err != nil {
		t.Fatal(err)
	}
	for _, one := range m.functions[0].runner.(*variants).byShape {
		if n := one.compiled.function.Concurrency(); n != 3 {
			t.Errorf("of a model: %d", n)
		}
	}
	p, err := m.Compile(t.Context(), CompileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	kept := t.TempDir() + "/m.bundle"
	if _, err := p.WriteBundle(t.Context(), kept); err != nil {
		t.Fatal(err)
	}
	b, err := Config{Concurrency: 4}.Open(kept)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if n := b.functions[0].runner.(*compiled).function.Concurrency(); n != 4 {
		t.Errorf("of a bundle: %d", n)
	}
}
