package espalier_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/espalier-ane/espalier"
	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/netplist"
	"github.com/espalier-ane/espalier/tensor"
)

// procedureList is a network description with two procedures of one input: y is relu of x, z is x².
func procedureList(t *testing.T) string {
	t.Helper()
	list := &netplist.File{Version: "1.0.10"}
	for _, p := range []struct {
		name, output string
		unit         *netplist.Unit
	}{
		{"rectify", "y", &netplist.Unit{Name: "r", Type: "Neuron", Bottom: []string{"x"}, Params: netplist.Dict{"Type": "ReLU"}}},
		{"square", "z", &netplist.Unit{Name: "s", Type: "Neuron", Bottom: []string{"x"}, Params: netplist.Dict{"Type": "Sqr"}}},
	} {
		list.Networks = append(list.Networks, &netplist.Network{Name: "of_" + p.name, Units: []*netplist.Unit{p.unit}})
		list.ProcedureList = append(list.ProcedureList, &netplist.Entry{
			Name: p.name, Operations: []netplist.Operation{{Name: "op", Network: "of_" + p.name}},
			Inputs:  []*netplist.Port{{Symbol: "x", Dims: netplist.Dims{1, 1, 2, 2, 4}, Operation: "op"}},
			Outputs: []*netplist.Port{{Symbol: p.output, Unit: p.unit.Name, Operation: "op"}},
		})
	}
	path, err := list.Save(t.TempDir(), netplist.XML, nil)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// linked compiles a model into one container and opens it.
func linked(t *testing.T, m *espalier.Model, target string) (*espalier.Model, []byte) {
	t.Helper()
	p, err := m.Compile(t.Context(), espalier.CompileOptions{Target: target})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "linked.hwx")
	if err := p.WriteContainer(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	opened, err := espalier.Config{Target: target}.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { opened.Close() })
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return opened, data
}

// The functions of a model in one container give what each gives in a container of its own, bit for bit.
func TestProceduresOfAModel(t *testing.T) {
	for _, target := range []string{"virtual", "h13"} {
		m := openModel(t, espalier.Config{Target: target}, "multifunction")
		all, data := linked(t, m, target)
		file, err := hwx.NewFile(data)
		if err != nil {
			t.Fatal(err)
		}
		procedures, err := file.Procedures()
		if err != nil {
			t.Fatal(err)
		}
		if len(procedures) != len(m.Functions()) || len(all.Functions()) != len(m.Functions()) {
			t.Fatalf("%s: %d procedures, %d functions of %d", target, len(procedures), len(all.Functions()), len(m.Functions()))
		}
		for i, f := range m.Functions() {
			if procedures[i].Name != f.Name() {
				t.Errorf("%s: procedure %d is %q, want %q", target, i, procedures[i].Name, f.Name())
			}
			alone := single(t, m, f.Name(), target)
			in := alone.Functions()[0].Inputs()[0]
			values := make([]float64, 24)
			for j := range values {
				values[j] = float64(j*(i+1)%7) - 3
			}
			x := tensor.Of(values, 1, 1, 3, 8)
			function, err := all.Function(f.Name())
			if err != nil {
				t.Fatal(err)
			}
			want, err := alone.Predict(t.Context(), map[string]any{in.Name: x})
			if err != nil {
				t.Fatal(err)
			}
			got, err := function.Predict(t.Context(), map[string]any{in.Name: x})
			if err != nil {
				t.Fatal(err)
			}
			for name, v := range want {
				if g := got[name]; g == nil || !bytes.Equal(g.Tensor.Bytes(), v.Tensor.Bytes()) {
					t.Errorf("%s: %s: output %s is %v, alone %v", target, f.Name(), name, g, v)
				}
			}
		}
	}
}

// The procedures of a network description are those of the container, and have one symbol where they have one input.
func TestProceduresOfAList(t *testing.T) {
	for _, target := range []string{"virtual", "h13"} {
		m, err := espalier.Config{Target: target}.Open(procedureList(t))
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		all, data := linked(t, m, target)
		file, err := hwx.NewFile(data)
		if err != nil {
			t.Fatal(err)
		}
		inputs, outputs, err := file.IOSymbols()
		if err != nil || len(inputs) != 1 || len(outputs) != 2 || outputs[1].Name != "z" {
			t.Errorf("%s: input symbols %v, output symbols %v (%v)", target, inputs, outputs, err)
		}
		x := tensor.Of([]float64{-2, -1, 0, 1, 2, 3, 4, 5, -8, 8, -9, 9, 10, 11, 12, -13}, 1, 2, 2, 4)
		for name, want := range map[string]func(float32) float32{
			"rectify": func(x float32) float32 { return max(x, 0) },
			"square":  func(x float32) float32 { return x * x },
		} {
			f, err := all.Function(name)
			if err != nil {
				t.Fatal(err)
			}
			got, err := f.Predict(t.Context(), map[string]any{"x": x})
			if err != nil {
				t.Fatal(err)
			}
			for i, v := range x.Float32s() {
				if y := got[f.Outputs()[0].Name].Tensor.Float32s()[i]; y != want(v) {
					t.Errorf("%s: %s of %v is %v", target, name, v, y)
				}
			}
		}
	}
}

// A bundle with one container for all segments runs as one with a container each, hosts between them.
func TestOneContainerOfABundle(t *testing.T) {
	for _, name := range []string{"multifunction", "classifier_labels"} {
		m := openModel(t, espalier.Config{}, name)
		for _, one := range []bool{false, true} {
			p, err := m.Compile(t.Context(), espalier.CompileOptions{OneContainer: one})
			if err != nil {
				t.Fatal(err)
			}
			dir := filepath.Join(t.TempDir(), "b.bundle")
			if _, err := p.WriteBundle(t.Context(), dir); err != nil {
				t.Fatal(err)
			}
			containers, err := os.ReadDir(filepath.Join(dir, "segments"))
			if err != nil || one && len(containers) != 1 {
				t.Errorf("%s: %v (%v)", name, containers, err)
			}
			opened, err := espalier.Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer opened.Close()
			for i, f := range opened.Functions() {
				suffix := map[bool]string{true: "", false: "_1"}[i == 0]
				inputs := map[string]any{}
				for key, x := range readArrays(t, modelsDir, name, "inputs"+suffix+".npz") {
					inputs[key] = x
				}
				got, err := f.Predict(t.Context(), inputs)
				if err != nil {
					t.Fatal(err)
				}
				want, err := m.Functions()[i].Predict(t.Context(), inputs)
				if err != nil {
					t.Fatal(err)
				}
				for key, v := range want {
					if v.Tensor != nil && !bytes.Equal(got[key].Tensor.Bytes(), v.Tensor.Bytes()) {
						t.Errorf("%s: %s: output %s differs", name, f.Name(), key)
					}
				}
			}
		}
	}
}

// single is a container of one function.
func single(t *testing.T, m *espalier.Model, function, target string) *espalier.Model {
	t.Helper()
	p, err := m.Compile(t.Context(), espalier.CompileOptions{Target: target, Function: function})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "single.hwx")
	if err := p.WriteContainer(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	opened, err := espalier.Config{Target: target}.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { opened.Close() })
	return opened
}
