package espalier_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier"
	"github.com/espalier-ane/espalier/coreml"
	"github.com/espalier-ane/espalier/internal/testkit"
	"github.com/espalier-ane/espalier/tensor"
)

// otherPlaces are models for which h13 has tasks of ours that name the place of a constant in the weight file, which the text has another
// one of. Their words differ there, their results do not. A list keeps the places.
var otherPlaces = map[string]string{
	"flex_seq_transformer": "text", "stateful_torch": "text",
}

// Every model that is one segment on the engine gives the same when its layers are written down, read and compiled again: the same
// results, and for h13 the same words.
func TestLiftedModels(t *testing.T) {
	for _, name := range modelNames(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, target := range []string{"virtual", "h13"} {
				m := open(t, espalier.Config{Target: target}, testkit.Shared(t, "models", name, "model.mlpackage"))
				for _, f := range m.Functions() {
					p, err := m.Compile(t.Context(), espalier.CompileOptions{Function: f.Name()})
					if err != nil {
						t.Fatal(err)
					}
					if all := p.Functions(); len(all) == 1 && len(all[0].Segments) == 1 && all[0].Segments[0].Container != nil {
						liftAndCompare(t, name, target, p)
					}
				}
			}
		})
	}
}

func liftAndCompare(t *testing.T, name, target string, p *espalier.Program) {
	t.Helper()
	dir := t.TempDir()
	container, text, list := filepath.Join(dir, "net.hwx"), filepath.Join(dir, "net.anec"), filepath.Join(dir, "list")
	if err := p.WriteContainer(t.Context(), container); err != nil {
		t.Fatal(err)
	}
	if err := p.WriteGraphs(t.Context(), text); err != nil {
		t.Fatal(err)
	}
	if _, err := p.WriteNetplist(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	want := runPorts(t, open(t, espalier.Config{Target: target}, container).Functions()[0])
	segment := p.Functions()[0].Segments[0]
	for form, path := range map[string]string{"text": text, "list": list} {
		if form == "text" && target == "virtual" {
			continue // what differs shows on h13 too
		}
		m := open(t, espalier.Config{Target: target}, path)
		again, err := m.Compile(t.Context(), espalier.CompileOptions{})
		if err != nil {
			t.Fatalf("%s on %s: %v", form, target, err)
		}
		other := again.Functions()[0].Segments
		if len(other) != 1 || other[0].Tasks != segment.Tasks {
			t.Errorf("%s on %s: %d segments, %d tasks, want %d", form, target, len(other), other[0].Tasks, segment.Tasks)
			continue
		}
		same := bytes.Equal(segment.Container.Text().Data, other[0].Container.Text().Data)
		if target == "h13" && same == strings.Contains(otherPlaces[name], form) {
			t.Errorf("%s on %s: words are the same: %v", form, target, same)
		}
		got := runPorts(t, m.Functions()[0])
		for port, v := range want {
			if got[port] == nil || !bytes.Equal(got[port].Bytes(), v.Bytes()) {
				t.Errorf("%s on %s: another result at %s", form, target, port)
			}
		}
	}
}

// runPorts runs a function on arrays that follow from their shapes, and returns what it gives and what its states hold.
func runPorts(t *testing.T, f *espalier.Function) map[string]*tensor.Tensor {
	t.Helper()
	in, out := map[string]any{}, map[string]*tensor.Tensor{}
	for i, d := range f.Inputs() {
		array := d.Type.(*coreml.ArrayType)
		n, _ := tensor.Count(array.Shape)
		values := make([]int64, n)
		for k := range values {
			values[k] = int64((7*k + i) % 3) // an index, as it may be
		}
		x, err := tensor.FromInt64s(tensor.Int32, values, array.Shape...).Convert(array.DType)
		if err != nil {
			t.Fatal(err)
		}
		in[d.Name] = x
	}
	s := f.NewState()
	for range 2 {
		values, err := f.PredictWithState(t.Context(), in, s)
		if err != nil {
			t.Fatal(err)
		}
		for name, v := range values {
			out[strings.TrimSuffix(name, "__engine")] = v.Tensor // containers of models have the names of values there
		}
	}
	for _, d := range f.States() {
		v, err := s.Tensor(d.Name)
		if err != nil {
			t.Fatal(err)
		}
		out["state "+d.Name] = v.Clone()
	}
	return out
}

// What is there and is not ours stays.
func TestLiftReplacesItsOwnAlone(t *testing.T) {
	dir := t.TempDir()
	m := open(t, espalier.Config{}, testkit.Shared(t, "models", "conv2d_basic", "model.mlpackage"))
	p, err := m.Compile(t.Context(), espalier.CompileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	text, list := filepath.Join(dir, "net.anec"), filepath.Join(dir, "list")
	for range 2 { // the second time it replaces the first
		if err := p.WriteGraphs(t.Context(), text); err != nil {
			t.Fatal(err)
		}
		if _, err := p.WriteNetplist(t.Context(), list); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 3 {
		t.Errorf("the folder has %v, %v", entries, err)
	}
	writeFiles(t, dir, map[string]string{"list/mine": "", "other/mine": "", "net.anec": "program", "two.weights": "", "file": ""})
	for _, path := range []string{"net.anec", "two.anec"} {
		if err := p.WriteGraphs(t.Context(), filepath.Join(dir, path)); err == nil || !strings.Contains(err.Error(), "it is not replaced") {
			t.Errorf("%s: %v", path, err)
		}
	}
	for _, path := range []string{"list", "other", "file"} {
		if _, err := p.WriteNetplist(t.Context(), filepath.Join(dir, path)); err == nil || !strings.Contains(err.Error(), "it is not replaced") {
			t.Errorf("%s: %v", path, err)
		}
	}
	m.Close()
	if err := p.WriteGraphs(t.Context(), filepath.Join(dir, "late.anec")); err == nil {
		t.Error("a model that is closed was written")
	}
}

// A model that the host runs whole has no native layers. An empty list would be none that anything reads.
func TestLiftOfNothing(t *testing.T) {
	dir := t.TempDir()
	m := open(t, espalier.Config{Target: "h13"}, testkit.Shared(t, "models", "b_nms", "model.mlpackage"))
	p, err := m.Compile(t.Context(), espalier.CompileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, inList := p.WriteNetplist(t.Context(), filepath.Join(dir, "list"))
	for _, err := range []error{inList, p.WriteGraphs(t.Context(), filepath.Join(dir, "net.anec"))} {
		if err == nil || !strings.Contains(err.Error(), "the host runs all of it") {
			t.Error(err)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("it wrote %v, %v", entries, err)
	}
}
