// Package espalier opens Core ML models and programs of the Neural Engine, and runs them, on any machine.
//
//	m, err := espalier.Open("model.mlpackage")
//	…
//	out, err := m.Predict(ctx, map[string]any{"x": tensor.Of(pixels, 1, 3, 224, 224)})
//	y := out["y"].Tensor.Float32s()
//
// A model has functions, most have one. A function takes features by name, arrays (*tensor.Tensor) and
// pictures (image.Image), and gives features by name. A function with states keeps them in a State that the
// caller makes and passes to each prediction.
//
// The program of a hardware container (.hwx) runs on the virtual engine. Its features are the ports: arrays
// N, C, H, W in the element type of the port.
package espalier

import (
	"errors"
	"fmt"
	"io"

	"github.com/espalier-ane/espalier/coreml"
	"github.com/espalier-ane/espalier/hwx"
)

// Config says how models are opened. The zero Config is the one that Open uses.
type Config struct {
	Numerics Numerics
	// Resize is what happens to a picture of a size that the model does not take.
	Resize Resize
}

// ErrUnsupported is wrapped by errors about models that can be read but not run.
var ErrUnsupported = errors.New("not supported yet")

// Model is an open model. It is safe for concurrent use.
type Model struct {
	file      io.Closer
	functions []*Function // the default one first
}

// Open reads a model: a package, a model file, a compiled model, MIL text or a hardware container.
func Open(path string) (*Model, error) { return Config{}.Open(path) }

// Open reads a model.
func (c Config) Open(path string) (*Model, error) {
	m := &Model{}
	if hwx.IsContainerFile(path) {
		file, err := hwx.Open(path)
		if err != nil {
			return nil, err
		}
		m.file = file
		if m.functions, err = c.containerFunctions(file); err != nil {
			file.Close()
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	} else {
		file, err := coreml.Open(path)
		if err != nil {
			return nil, err
		}
		m.file = file
		if m.functions, err = c.functions(file); err != nil {
			file.Close()
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	for _, f := range m.functions {
		f.path = path
	}
	return m, nil
}

// Close releases the model's files. No prediction may be under way, and tensors that came from the
// model must not be used afterwards.
func (m *Model) Close() error { return m.file.Close() }

// Functions are the model's functions, the default one first.
func (m *Model) Functions() []*Function { return m.functions }

// Function finds a function by name; the empty name is the default one's.
func (m *Model) Function(name string) (*Function, error) {
	names := make([]string, len(m.functions))
	for i, f := range m.functions {
		if name == "" || f.Name() == name {
			return f, nil
		}
		names[i] = f.Name()
	}
	return nil, fmt.Errorf("there is no function %q: the model has %q", name, names)
}
