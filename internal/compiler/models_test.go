package compiler

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/espalier-ane/espalier/coreml"
	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/testkit"
	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// A modelCase is a function of one of the models, with the shapes that a case of it has.
type modelCase struct {
	model    string
	program  *mil.Program
	function *mil.Function
	shapes   map[string][]int
}

// modelCases opens the models and calls f for each of their functions, those of the stages of pipelines too.
func modelCases(t *testing.T, f func(t *testing.T, c modelCase)) {
	root := filepath.Join(testkit.Root(t), "testdata", "models")
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		t.Run(e.Name(), func(t *testing.T) {
			dir := filepath.Join(root, e.Name())
			m, err := coreml.Open(filepath.Join(dir, "model.mlpackage"))
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			shapes := caseShapes(t, dir)
			var visit func(name string, m *coreml.Model)
			visit = func(name string, m *coreml.Model) {
				for i, stage := range m.Stages {
					visit(fmt.Sprintf("%s.%d", name, i), stage.Model)
				}
				if m.Type != coreml.MLProgram {
					return
				}
				p, err := m.Program()
				if err != nil {
					t.Fatal(err)
				}
				for _, fn := range p.Functions {
					f(t, modelCase{name, p, fn, flexible(fn, m.Description.Function(fn.Name), shapes)})
				}
			}
			visit(e.Name(), m)
		})
	}
}

// caseShapes are the shapes of the inputs of a model's first case.
func caseShapes(t *testing.T, dir string) map[string][]int {
	data, err := os.ReadFile(filepath.Join(dir, "meta.json"))
	if err != nil {
		t.Fatal(err)
	}
	var meta struct{ Cases []struct{ Inputs string } }
	if err := json.Unmarshal(data, &meta); err != nil {
		t.Fatal(err)
	}
	arrays, err := tensor.OpenNPZ(filepath.Join(dir, meta.Cases[0].Inputs))
	if err != nil {
		t.Fatal(err)
	}
	shapes := map[string][]int{}
	for _, a := range arrays {
		shapes[a.Name] = a.Tensor.Shape()
	}
	return shapes
}

// flexible keeps the shapes of inputs that the function leaves open; a picture has that of its description.
func flexible(f *mil.Function, d *coreml.FunctionDescription, shapes map[string][]int) map[string][]int {
	open := map[string][]int{}
	for _, in := range d.Inputs {
		if t, ok := in.Type.(*coreml.ImageType); ok {
			shapes[in.Name] = t.DefaultShape()
		}
	}
	for _, v := range f.OpenInputs() {
		if shapes[v.Name] != nil {
			open[v.Name] = shapes[v.Name]
		}
	}
	return open
}

func virtual(t testing.TB) *hal.Target {
	target, err := hal.Lookup("virtual")
	if err != nil {
		t.Fatal(err)
	}
	return target
}
