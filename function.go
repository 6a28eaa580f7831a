package espalier

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/espalier-ane/espalier/coreml"
	"github.com/espalier-ane/espalier/internal/trace"
	"github.com/espalier-ane/espalier/tensor"
)

// Function is a callable part of a model. It is safe for concurrent use.
type Function struct {
	path     string    // of the model, for errors
	life     *lifetime // of the model; nil in a stage of a pipeline
	config   Config
	features *features
	numerics Numerics
	runner   runner
	random   []string   // weight files that are absent, and were made up
	warnings []*Finding // of the reader
}

// A runner is how a function runs. Opening a model chooses one for each of its functions; nothing else asks which one it
// is, but for Compile, which takes a pipeline apart.
//
//	compiled   a function of a bundle or container, on the runtime
//	variants   a function of a program, or a graph, compiled for each set of shapes that comes
//	pipeline   functions one after the other
//	evaluator  a function of a program, on the host alone
type runner interface {
	// run makes the outputs of the inputs, both by the names of features. It changes the states, which newState of the
	// same runner made; they are nil for a function without any.
	run(ctx context.Context, inputs map[string]any, s states) (map[string]*Value, error)

	// bind prepares such runs on memory of the caller, both by the names of features. An output may be left out.
	bind(ctx context.Context, inputs, outputs map[string]any) (bound, error)

	// newState makes the states of the function, all zero.
	newState() states

	// source is what the function can be compiled from, or why it cannot be.
	source() (*source, error)

	// profile is what the steps took in all runs that were watched.
	profile(*trace.Times) []StepProfile
}

// states are what a runner keeps from one run to the next.
type states interface {
	// Tensor returns what a state holds, perhaps in a wider element type than the declared one. It may be the memory of the
	// state itself.
	Tensor(name string) (*tensor.Tensor, error)

	// Set gives a state the elements of an array of its shape, of the declared element type or that of Tensor.
	Set(name string, t *tensor.Tensor) error
}

// Name is the function's name.
func (f *Function) Name() string { return f.features.Name }

// Inputs are what the function takes.
func (f *Function) Inputs() []coreml.Feature { return f.features.Inputs }

// Outputs are what the function gives.
func (f *Function) Outputs() []coreml.Feature { return f.features.Outputs }

// States are what the function keeps between predictions.
func (f *Function) States() []coreml.Feature { return f.features.States }

// Numerics is the profile that the function computes with.
func (f *Function) Numerics() Numerics { return f.numerics }

// RandomWeights are the weight files, as the program spells them, that were absent and have random values: see Config.RandomWeights.
func (f *Function) RandomWeights() []string { return f.random }

// Predict runs the model's default function.
func (m *Model) Predict(ctx context.Context, inputs map[string]any) (map[string]*Value, error) {
	return m.functions[0].Predict(ctx, inputs)
}

// PredictWithState runs the model's default function on a state.
func (m *Model) PredictWithState(ctx context.Context, inputs map[string]any, s *State) (map[string]*Value, error) {
	return m.functions[0].PredictWithState(ctx, inputs, s)
}

// Predict runs a function without states. An input is an array or a picture (image.Image); an optional one may be left
// out, and none may be nil. An array is a *tensor.Tensor, a flat slice of Go numbers, bools or strings, or a single one of
// them: []float32, []int, 0.5. A slice has the shape that the input has; where that may have several, a tensor says which.
// Arrays are converted to the declared element type if every value survives.
func (f *Function) Predict(ctx context.Context, inputs map[string]any) (map[string]*Value, error) {
	if err := f.needsNoState(); err != nil {
		return nil, err
	}
	return f.named(f.predict(ctx, inputs, nil))
}

// PredictWithState runs a function on states that NewState made for it, and changes them. A state that another prediction has
// is ErrBusy.
func (f *Function) PredictWithState(ctx context.Context, inputs map[string]any, s *State) (map[string]*Value, error) {
	if err := f.takeState(s); err != nil {
		return nil, err
	}
	defer s.release()
	return f.named(f.predict(ctx, inputs, s.held))
}

// named puts the model before an error that is about it, and not about an input.
func (f *Function) named(out map[string]*Value, err error) (map[string]*Value, error) {
	return out, f.about(err)
}

// predict is where all runners meet.
func (f *Function) predict(ctx context.Context, inputs map[string]any, s states) (out map[string]*Value, err error) {
	err = f.called(ctx, func() (err error) {
		if err := f.checkInputNames(inputs); err != nil {
			return err
		}
		out, err = f.runner.run(ctx, inputs, s)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (f *Function) checkInputNames(inputs map[string]any) error {
	for name, given := range inputs {
		if !hasFeature(f.Inputs(), name) {
			return &InputError{Name: name, Err: fmt.Errorf("there is no such input: expected %s", featureNames(f.Inputs()))}
		}
		if isNil(given) {
			return &InputError{Name: name, Err: errors.New("it is nil: leave out an optional input, and give every other one")}
		}
	}
	return nil
}

func featureNames(fs []coreml.Feature) string {
	names := make([]string, len(fs))
	for i, f := range fs {
		names[i] = f.Name
	}
	return strings.Join(names, ", ")
}
