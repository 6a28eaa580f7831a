package espalier_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier"
	"github.com/espalier-ane/espalier/coreml"
)

// A program that no one container holds is refused with what stands in the way: the operations of the host, each with
// its finding, and what to write instead.
func TestContainerRefusalSaysWhy(t *testing.T) {
	m := openModel(t, espalier.Config{}, "classifier_labels")
	p, err := m.Compile(t.Context(), espalier.CompileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	err = p.WriteContainer(t.Context(), filepath.Join(t.TempDir(), "x.hwx"))
	if !errors.Is(err, espalier.ErrContainer) {
		t.Fatalf("got %v", err)
	}
	for _, want := range []string{
		"function main is 1 of the engine and 1 of the host",
		"classLabel (classify) runs on the host [no-layer]: its results are a label and a dictionary, which no tensor is",
		"write a bundle",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v\ndoes not say %q", err, want)
		}
	}
}

// A missing weight file is named when the model is opened, with what to do: a service learns of it when it starts, not from the
// first request. With random weights the model opens.
func TestMissingWeightsNameTheFileAndTheRemedy(t *testing.T) {
	top := t.TempDir()
	path := filepath.Join(top, "model.mlpackage")
	if err := os.CopyFS(path, os.DirFS(filepath.Join(modelsDir, "conv2d_basic", "model.mlpackage"))); err != nil {
		t.Fatal(err)
	}
	weights := filepath.Join(path, "Data", "com.apple.CoreML", "weights", "weight.bin")
	if err := os.Remove(weights); err != nil {
		t.Fatal(err)
	}
	check := func(what string, err error) {
		t.Helper()
		missing, ok := errors.AsType[*coreml.MissingWeightsError](err)
		if !ok || missing.File != weights || missing.Path != "@model_path/weights/weight.bin" || !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: got %v, want an error about %s", what, err, weights)
		}
		if err != nil && !strings.Contains(err.Error(), "copy the model with its whole folder, or convert it again") {
			t.Errorf("%s: %v has no remedy", what, err)
		}
	}
	_, err := espalier.Open(path)
	check("Open", err)
	_, err = espalier.Config{Units: espalier.CPUOnly, Weights: espalier.CopiedWeights}.Open(path)
	check("Open on the host, with copies", err)
	_, err = espalier.OpenFS(os.DirFS(top), "model.mlpackage")
	if _, ok := errors.AsType[*coreml.MissingWeightsError](err); !ok {
		t.Errorf("OpenFS: got %v", err)
	}
	seed := uint64(1)
	m, err := espalier.Config{RandomWeights: &seed}.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	in := map[string]any{}
	for _, d := range m.Functions()[0].Inputs() {
		in[d.Name] = zeroInput(d)
	}
	if _, err = m.Predict(t.Context(), in); err != nil {
		t.Errorf("with random weights: %v", err)
	}
}

// A bundle that lacks a file, and a container that was taken out of its bundle, say what to do.
func TestMissingFilesOfABundle(t *testing.T) {
	m := openModel(t, espalier.Config{}, "conv2d_basic")
	p, err := m.Compile(t.Context(), espalier.CompileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "model.bundle")
	if _, err := p.WriteBundle(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	_, err = espalier.Open(filepath.Join(dir, "segments", "0.hwx"))
	if !errors.Is(err, espalier.ErrWeights) || !strings.Contains(err.Error(), "open the bundle") {
		t.Errorf("a container without its weights: %v", err)
	}
	if err := os.Remove(filepath.Join(dir, "weights", "weight.bin")); err != nil {
		t.Fatal(err)
	}
	_, err = espalier.Open(dir)
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "weights/weight.bin: file does not exist: copy the bundle with all its files, or compile the model again") {
		t.Errorf("a bundle without its weights: %v", err)
	}
}
