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
// N, C, H, W in the element type of the port. A port that the program reads and writes is a state.
package espalier

import (
	"errors"
	"fmt"
	"io"

	"github.com/espalier-ane/espalier/bundle"
	"github.com/espalier-ane/espalier/coreml"
	"github.com/espalier-ane/espalier/hwx"
)

// Config says how models are opened. The zero Config is the one that Open uses.
type Config struct {
	// Target is the name of the engine that models are compiled for and run on: "h13", or an alias as "m1". "" is
	// virtual, and of a bundle the one that it was compiled for.
	Target string
	// Numerics are how that engine computes. "" is as the target does, and of a bundle as it was compiled; of a
	// container without Target it is Virtual.
	Numerics Numerics
	// Units are what may run the model.
	Units Units
	// Resize is what happens to a picture of a size that the model does not take.
	Resize Resize
	// Limits are how much a model may ask for.
	Limits Limits
}

// Units are what may run a model. The zero value is AllUnits.
type Units string

// The units, by the names that the command line has.
const (
	AllUnits   Units = "all" // the engine, and the host for what the engine does not take
	EngineOnly Units = "ane" // the engine alone: a model that needs the host is refused
	CPUOnly    Units = "cpu" // the host alone
)

// ParseUnits finds units by name.
func ParseUnits(name string) (Units, error) {
	switch u := Units(name); u {
	case AllUnits, EngineOnly, CPUOnly:
		return u, nil
	}
	return "", fmt.Errorf("unknown units %q: expected %s, %s or %s", name, AllUnits, EngineOnly, CPUOnly)
}

// ErrUnits is wrapped by the error about a compiled model that needs units which it may not have.
var ErrUnits = errors.New("the model needs other units")

// ErrTarget is wrapped by the error about a compiled model that is for another target than the one asked for.
var ErrTarget = errors.New("the model is compiled for another target")

// ErrUnsupported is wrapped by errors about models that can be read but not run.
var ErrUnsupported = errors.New("not supported yet")

// Model is an open model. It is safe for concurrent use.
type Model struct {
	file      io.Closer
	functions []*Function // the default one first
}

// Open reads a model: a package, a model file, a compiled model, MIL text, a bundle or a hardware container.
func Open(path string) (*Model, error) { return Config{}.Open(path) }

// Open reads a model.
func (c Config) Open(path string) (*Model, error) {
	m := &Model{}
	var err error
	switch {
	case hwx.IsContainerFile(path):
		err = openWith(m, path, hwx.Open, c.containerFunctions)
	case bundle.IsBundle(path):
		err = openWith(m, path, bundle.Open, c.bundleFunctions)
	default:
		err = openWith(m, path, coreml.Open, c.modelFunctions)
	}
	if err != nil {
		return nil, err
	}
	for _, f := range m.functions {
		f.path = path
	}
	return m, nil
}

// openWith opens a file of one of the forms that a model has, and makes its functions.
func openWith[F io.Closer](m *Model, path string, open func(string) (F, error), functions func(F) ([]*Function, error)) error {
	file, err := open(path)
	if err != nil {
		return err
	}
	m.file = file
	if m.functions, err = functions(file); err != nil {
		file.Close()
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
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
