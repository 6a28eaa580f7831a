package espalier_test

import (
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier"
	"github.com/espalier-ane/espalier/coreml"
	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/internal/osfile"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// compiled writes what a model compiles to: a bundle, or a container if the name ends so.
func compiled(t *testing.T, m *espalier.Model, target, name string) string {
	t.Helper()
	p, err := m.Compile(t.Context(), espalier.CompileOptions{Target: target})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), name)
	if filepath.Ext(name) == ".hwx" {
		err = p.WriteContainer(t.Context(), path)
	} else {
		_, err = p.WriteBundle(t.Context(), path)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func open(t *testing.T, c espalier.Config, path string) *espalier.Model {
	t.Helper()
	m, err := c.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

// asFeature is an array in the type and shape of a feature.
func asFeature(t *testing.T, v *tensor.Tensor, d coreml.Feature) *tensor.Tensor {
	t.Helper()
	array := d.Type.(*coreml.ArrayType)
	v, err := v.Convert(array.DType)
	if err == nil {
		v, err = v.Reshape(array.Shape...)
	}
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// A state is one whatever runs the function: its model, the bundle, and the container, of which a port that is read and
// written is a state. Two states do not mix.
func TestStatesInEveryForm(t *testing.T) {
	for _, c := range []struct{ model, target string }{
		{"stateful_counter", "virtual"}, {"stateful_counter", "h13"},
		{"stateful_torch", "virtual"}, {"stateful_torch", "h13"},
		{"stateful_kv_cache", "virtual"},
	} {
		t.Run(c.model+"/"+c.target, func(t *testing.T) {
			model := openModel(t, espalier.Config{Target: c.target}, c.model)
			forms := map[string]*espalier.Function{
				"model":     model.Functions()[0],
				"bundle":    open(t, espalier.Config{}, compiled(t, model, c.target, "m.bundle")).Functions()[0],
				"container": open(t, espalier.Config{Target: c.target}, compiled(t, model, c.target, "m.hwx")).Functions()[0],
			}
			var states []string
			for _, d := range model.Functions()[0].States() {
				states = append(states, d.Name)
			}
			held := map[string][2]*espalier.State{}
			for name, f := range forms {
				held[name] = [2]*espalier.State{f.NewState(), f.NewState()}
				if _, err := f.Predict(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "has states") {
					t.Errorf("%s: without states: %v", name, err)
				}
			}
			for step := range 6 {
				which := step * step % 3 % 2 // now one, now the other
				given := map[string]*tensor.Tensor{}
				for _, d := range forms["container"].Inputs() {
					array := d.Type.(*coreml.ArrayType)
					n, _ := tensor.Count(array.Shape)
					x := make([]float32, n)
					for i := range x {
						x[i] = float32((step*5+i)%7) / 4
						if !array.DType.IsFloat() {
							x[i] = float32(step)
						}
					}
					given[d.Name] = tensor.FromFloat32s(tensor.Float32, x, n)
				}
				outputs := map[string]map[string]*espalier.Value{}
				for name, f := range forms {
					in := map[string]any{}
					for _, d := range f.Inputs() {
						in[d.Name] = asFeature(t, given[d.Name], d)
					}
					out, err := f.PredictWithState(t.Context(), in, held[name][which])
					if err != nil {
						t.Fatalf("%s: %v", name, err)
					}
					outputs[name] = out
				}
				for name := range forms {
					for output, want := range outputs["model"] {
						if got := outputs[name][output]; got == nil || !slices.Equal(got.Tensor.Float32s(), want.Tensor.Float32s()) {
							t.Errorf("%s, step %d: output %q is %v, the model's %v", name, step, output, got, want.Tensor.Float32s())
						}
					}
					for _, state := range states {
						got, err := held[name][which].Tensor(state)
						if err != nil {
							t.Fatalf("%s: %v", name, err)
						}
						if want, _ := held["model"][which].Tensor(state); !slices.Equal(got.Float32s(), want.Float32s()) {
							t.Errorf("%s, step %d: state %q is %v, the model's %v", name, step, state, got.Float32s(), want.Float32s())
						}
					}
				}
			}
			if _, err := held["container"][0].Tensor("none"); err == nil || !strings.Contains(err.Error(), `no state "none": expected `+strings.Join(states, ", ")) {
				t.Errorf("a state that is not there: %v", err)
			}
			for name, f := range forms {
				for other, states := range held {
					if _, err := f.PredictWithState(t.Context(), nil, states[0]); other != name && (err == nil || !strings.Contains(err.Error(), "was not made for function")) {
						t.Errorf("the %s on a state of the %s: %v", name, other, err)
					}
				}
			}
		})
	}
}

// A function that takes several shapes takes them from the bundle too, which has its program with it.
func TestShapesInEveryForm(t *testing.T) {
	model := openModel(t, espalier.Config{}, "flex_range")
	b := open(t, espalier.Config{}, compiled(t, model, "", "m.bundle"))
	onHost := open(t, espalier.Config{Units: espalier.CPUOnly}, compiled(t, model, "", "m.bundle"))
	for _, c := range readMeta(t, "flex_range").Cases {
		in := asInputs(readArrays(t, modelsDir, "flex_range", c.Inputs))
		want, err := model.Predict(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		got, err := b.Predict(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		host, err := onHost.Predict(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		for name, w := range want {
			if !sameBits(got[name].Tensor, w.Tensor) {
				t.Errorf("%s: output %q of the bundle differs", c.Inputs, name)
			}
			if c := tensor.Compare(host[name].Tensor, w.Tensor, 0.01); !c.Match {
				t.Errorf("output %q on the host: %s", name, c.Reason)
			}
		}
	}
}

// What can be compiled says its source, everything else why it cannot be.
func TestCompileInEveryForm(t *testing.T) {
	model := openModel(t, espalier.Config{}, "linear_mlp")
	for want, m := range map[string]*espalier.Model{
		"this is a bundle, which is compiled already":             open(t, espalier.Config{}, compiled(t, model, "", "m.bundle")),
		"this is a hardware container, which is compiled already": open(t, espalier.Config{}, compiled(t, model, "", "m.hwx")),
		"stage 0 of the pipeline: this is a bundle, which is":     open(t, espalier.Config{}, compiled(t, openModel(t, espalier.Config{}, "pipeline_two"), "", "p.bundle")),
		"the units cpu leave the engine out":                      openModel(t, espalier.Config{Units: espalier.CPUOnly}, "linear_mlp"),
	} {
		if _, err := m.Compile(t.Context(), espalier.CompileOptions{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
		if m.Functions()[0].Numerics() != espalier.Virtual {
			t.Errorf("%s: numerics %v", want, m.Functions()[0].Numerics())
		}
	}
}

// A pipeline runs on the units that are asked for, stage by stage.
func TestPipelineUnits(t *testing.T) {
	in := asInputs(readArrays(t, modelsDir, "pipeline_two", readMeta(t, "pipeline_two").Cases[0].Inputs))
	var results []map[string]*espalier.Value
	for _, c := range []espalier.Config{{}, {Units: espalier.CPUOnly}, {Target: "h13"}} {
		m := openModel(t, c, "pipeline_two")
		out, err := m.Predict(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		again, err := m.PredictWithState(t.Context(), in, m.NewState()) // it has none
		if err != nil {
			t.Fatal(err)
		}
		for name, v := range out {
			if !sameBits(v.Tensor, again[name].Tensor) {
				t.Errorf("%+v: output %q differs with a state", c, name)
			}
		}
		results = append(results, out)
	}
	for _, r := range results[1:] {
		for name, w := range results[0] {
			if c := tensor.Compare(r[name].Tensor, w.Tensor, 0.02); !c.Match {
				t.Errorf("output %q: %s", name, c.Reason)
			}
		}
	}
	m := openModel(t, espalier.Config{Units: espalier.CPUOnly, Numerics: espalier.FP32}, "pipeline_two")
	if n := m.Functions()[0].Numerics(); n != espalier.FP32 {
		t.Errorf("numerics %v, want %v", n, espalier.FP32)
	}
}

// oddContainer computes x = x + y: an input and an output have one name, and elements have gaps between them.
func oddContainer(t *testing.T) string {
	t.Helper()
	target, err := hal.Lookup("virtual")
	if err != nil {
		t.Fatal(err)
	}
	port := func(name string, d hwx.Direction) hwx.PortSpec {
		return hwx.PortSpec{Name: name, Direction: d, Element: hwx.ElementFloat16, Shape: [4]uint32{1, 2, 1, 3}, Strides: [4]uint64{64, 32, 32, 4}}
	}
	operand := func(port int) td.Operand {
		return td.Operand{
			Base: hwx.BasePorts + port, Type: tensor.Float16, Interleave: 1,
			Dims: [td.NumAxes]int{1, 1, 2, 1, 3}, Strides: [td.NumAxes]int64{64, 64, 32, 32, 4},
		}
	}
	op := &td.Op{Params: &td.ElementWise{Kind: td.EWAdd}, Operands: []td.Operand{operand(2), operand(0), operand(1)}}
	task, err := op.Task(td.V256)
	if err != nil {
		t.Fatal(err)
	}
	spec := hwx.Spec{
		Form: hwx.Form2026, Subtype: target.CPUSubtype, Windows: []int{0, 1, 2},
		Ports: []hwx.PortSpec{port("x", hwx.In), port("y", hwx.In), port("x", hwx.Out)},
	}
	if err := spec.SetTasks([]*td.Task{task}); err != nil {
		t.Fatal(err)
	}
	file, err := hwx.Build(spec)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "odd.hwx")
	if err := osfile.WriteAtomic(path, func(w io.Writer) error {
		_, err := file.WriteTo(w)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestOddContainer(t *testing.T) {
	m := open(t, espalier.Config{}, oddContainer(t))
	x, y := []float32{1, 2, 3, 4, 5, 6}, []float32{10, 20, 30, 40, 50, 60}
	out, err := m.Predict(t.Context(), map[string]any{"x": tensor.Of(x, 1, 2, 1, 3), "y": tensor.Of(y, 1, 2, 1, 3)})
	if err != nil {
		t.Fatal(err)
	}
	if got := out["x@output"]; got == nil || !slices.Equal(got.Tensor.Float32s(), []float32{11, 22, 33, 44, 55, 66}) {
		t.Errorf("got %v", out)
	}
}

// A container without the weights that are in another file of its bundle says so, in words about the file.
func TestContainerWithoutWeights(t *testing.T) {
	model := openModel(t, espalier.Config{}, "linear_mlp")
	dir := compiled(t, model, "", "m.bundle")
	path := filepath.Join(dir, "segments", "0.hwx")
	_, err := espalier.Open(path)
	if !errors.Is(err, espalier.ErrWeights) || !strings.HasPrefix(err.Error(), path+": ") || strings.Contains(err.Error(), "Op0") {
		t.Errorf("got %v", err)
	}
}
