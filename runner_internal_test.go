package espalier

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/espalier-ane/espalier/coreml"
	"github.com/espalier-ane/espalier/tensor"
)

// A model that decodes keeps its state where it is: over many steps its memory does not move, and what it holds is what
// the host evaluator holds.
func TestStateStaysInPlace(t *testing.T) {
	path := filepath.Join("testdata", "models", "stateful_kv_cache", "model.mlpackage")
	compiled, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer compiled.Close()
	host, err := Config{Units: CPUOnly}.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer host.Close()
	s, want := compiled.NewState(), host.NewState()
	names := []string{"k_cache", "v_cache"}
	address := func(name string) *byte {
		held, err := s.held.Tensor(name)
		if err != nil {
			t.Fatal(err)
		}
		start, _ := held.Memory()
		return start
	}
	first := map[string]*byte{}
	for _, name := range names {
		first[name] = address(name)
	}
	for step := range 64 {
		x := make([]float32, 16)
		for i := range x {
			x[i] = float32((step*7+i*3)%11-5) / 8
		}
		in := map[string]any{"x": tensor.FromFloat32s(tensor.Float16, x, 1, 1, 16), "pos": tensor.Of([]int32{int32(step % 16)}, 1)}
		if _, err := compiled.PredictWithState(context.Background(), in, s); err != nil {
			t.Fatal(err)
		}
		if _, err := host.PredictWithState(context.Background(), in, want); err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if address(name) != first[name] {
				t.Fatalf("step %d: the memory of %s has moved", step, name)
			}
			got, _ := s.Tensor(name)
			held, _ := want.Tensor(name)
			if c := tensor.Compare(got, held, 0.005); !c.Match {
				t.Fatalf("step %d: %s: %s", step, name, c.Reason)
			}
		}
	}
}

// Every form of model has one of four runners; a container runs on the runtime as a bundle does.
func TestRunners(t *testing.T) {
	model := filepath.Join("testdata", "models", "linear_mlp", "model.mlpackage")
	m, err := Open(model)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	program, err := m.Compile(t.Context(), CompileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	bundle, container := filepath.Join(dir, "m.bundle"), filepath.Join(dir, "m.hwx")
	if _, err := program.WriteBundle(t.Context(), bundle); err != nil {
		t.Fatal(err)
	}
	if err := program.WriteContainer(t.Context(), container); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		config Config
		path   string
		want   runner
	}{
		{Config{}, model, &variants{}},
		{Config{Units: CPUOnly}, model, &evaluator{}},
		{Config{Numerics: FP32}, model, &evaluator{}},
		{Config{}, bundle, &compiled{}},
		{Config{}, container, &compiled{}},
		{Config{}, filepath.Join("hwx", "testdata", "conv3x2.hwx"), &compiled{}},
		{Config{}, filepath.Join("testdata", "models", "pipeline_two", "model.mlpackage"), &pipeline{}},
	} {
		m, err := c.config.Open(c.path)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := fmt.Sprintf("%T", m.functions[0].runner), fmt.Sprintf("%T", c.want); got != want {
			t.Errorf("%s with %+v runs by %s, want %s", c.path, c.config, got, want)
		}
		m.Close()
	}
}

// Stages have no states, and so a pipeline that describes some is refused, not run without them.
func TestPipelineWithStates(t *testing.T) {
	m, err := coreml.Open(filepath.Join("testdata", "models", "pipeline_two", "model.mlpackage"))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	m.Description.Functions[0].States = []coreml.Feature{{Name: "s", Type: &coreml.StateType{Array: &coreml.ArrayType{Shape: []int{1}}}}}
	if _, err := (Config{}).modelFunctions(t.Context(), m); !errors.Is(err, ErrUnsupported) {
		t.Errorf("got %v, want %v", err, ErrUnsupported)
	}
}

func TestVariantsAreBounded(t *testing.T) {
	r := &variants{byShape: map[string]*variant{}}
	first, _ := r.find("0")
	for i := range 3 * maxVariants {
		r.find(fmt.Sprint(i % (2 * maxVariants)))
		if now, _ := r.find("0"); now != first {
			t.Fatalf("after %d others, one that is always asked for was dropped", i)
		}
	}
	if len(r.byShape) != maxVariants {
		t.Errorf("%d variants, want %d", len(r.byShape), maxVariants)
	}
}

// A bundle of a flexible model is compiled for the default shape already: the first prediction compiles nothing.
func TestBundleBringsItsVariant(t *testing.T) {
	m, err := Open(filepath.Join("testdata", "models", "flex_enum", "model.mlpackage"))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	program, err := m.Compile(t.Context(), CompileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "flex.bundle")
	if _, err := program.WriteBundle(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	b, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	r := b.functions[0].runner.(*variants)
	if r.from.function.Name != "main" {
		t.Errorf("its source is the function %s, want main, as it was compiled", r.from.function.Name)
	}
	if len(r.byShape) != 1 {
		t.Fatalf("%d variants before the first prediction, want the one that the bundle brings", len(r.byShape))
	}
	for i, shape := range [][]int{{1, 3, 16, 16}, {1, 3, 24, 32}} { // the default one first
		if _, err := b.Predict(t.Context(), map[string]any{"x": tensor.New(tensor.Float32, shape...)}); err != nil {
			t.Fatal(err)
		}
		if len(r.byShape) != i+1 {
			t.Errorf("%d variants after %d shapes", len(r.byShape), i+1)
		}
	}
}
