package espalier

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/espalier-ane/espalier/coreml"
	"github.com/espalier-ane/espalier/internal/osfile"
	"github.com/espalier-ane/espalier/internal/trace"
)

// OutputError is what is wrong with the memory for an output of a prediction.
type OutputError struct {
	Name string
	Err  error
}

func (e *OutputError) Error() string { return fmt.Sprintf("output %q: %v", e.Name, e.Err) }
func (e *OutputError) Unwrap() error { return e.Err }

// A Call is a function with memory of the caller for its inputs and outputs, bound once and run many times:
//
//	pixels, scores := make([]float32, 3*224*224), make([]float32, 1000)
//	call, err := f.Bind(ctx, map[string]any{"image": pixels}, map[string]any{"scores": scores})
//	for … {
//		… fill pixels …
//		err = call.Run(ctx)
//		… read scores …
//	}
//
// Run reads the inputs and writes the outputs where they are, without a copy if they have the element type and the layout that
// the engine has there, as those of NewArray do; with one conversion if the program has another than the engine. It allocates nothing where the whole function runs on the engine and all memory is of arrays, those
// of floats for floats, those of integers for integers.
//
// Runs of one Call wait for each other, as long as their contexts do. It has buffers of its own: make one for each goroutine, not for each prediction.
type Call struct {
	function *Function
	bound    bound
	turn     chan struct{} // full while it runs
}

// A bound is how a runner runs on memory of the caller.
type bound interface {
	// run is as run of the runner.
	run(ctx context.Context, s states) error
	// release says that nobody will run it again, nor has the memory any more.
	release()
}

// Bind prepares a call of the function on memory of the caller. Inputs are what Predict takes; of arrays and pictures, a
// run reads what they hold then. An output is memory, a *tensor.Tensor or a flat slice of Go numbers or strings, with as
// many elements; one that is not named is dropped. An input may have the memory of an output.
//
// Elements are converted in both directions if every value survives. The shapes of inputs are those of now: where they
// may have several, the function is compiled for these, unless it is already or the context ends.
func (f *Function) Bind(ctx context.Context, inputs, outputs map[string]any) (*Call, error) {
	c := &Call{function: f, turn: make(chan struct{}, 1)}
	err := f.whileOpen(ctx, func() (err error) {
		c.bound, err = f.bind(ctx, inputs, outputs)
		return err
	})
	if err != nil {
		return nil, f.about(err)
	}
	return c, nil
}

// Run runs the function once. When the context ends before that, or it fails, what the outputs hold is not defined. The
// memory must not be used by others until Run returns.
func (c *Call) Run(ctx context.Context) error {
	if err := c.function.needsNoState(); err != nil {
		return err
	}
	return c.run(ctx, nil)
}

// RunWithState runs a function once on states that its NewState made, and changes them.
func (c *Call) RunWithState(ctx context.Context, s *State) error {
	if err := c.function.takeState(s); err != nil {
		return err
	}
	defer s.release()
	return c.run(ctx, s.held)
}

func (c *Call) run(ctx context.Context, s states) error {
	select {
	case c.turn <- struct{}{}:
	case <-ctx.Done():
		return c.function.about(ctx.Err())
	}
	defer func() { <-c.turn }()
	return c.function.about(c.function.called(ctx, func() error { return c.bound.run(ctx, s) }))
}

// whileOpen does something while the model stays open, and makes an error of a fault in its files.
func (f *Function) whileOpen(ctx context.Context, do func() error) (err error) {
	place, err := f.life.enter(ctx)
	if err != nil {
		return err
	}
	defer f.life.leave(place, &err)
	defer osfile.Protect().Catch(&err)
	return do()
}

// called is whileOpen for a prediction.
func (f *Function) called(ctx context.Context, do func() error) error {
	times := trace.Of(ctx)
	defer times.End(predicting, 0, times.Begin())
	return f.whileOpen(ctx, do)
}

// PredictInto is Predict into memory of the caller: see Bind. When the next one has the same memory it allocates nothing
// either, on functions without flexible shapes: what it ran on is kept for a while.
func (f *Function) PredictInto(ctx context.Context, inputs, outputs map[string]any) error {
	if err := f.needsNoState(); err != nil {
		return err
	}
	return f.predictInto(ctx, inputs, outputs, nil)
}

// PredictIntoWithState is PredictInto on states that NewState made for the function, and changes them.
func (f *Function) PredictIntoWithState(ctx context.Context, inputs, outputs map[string]any, s *State) error {
	if err := f.takeState(s); err != nil {
		return err
	}
	defer s.release()
	return f.predictInto(ctx, inputs, outputs, s.held)
}

// PredictInto runs the model's default function into memory of the caller.
func (m *Model) PredictInto(ctx context.Context, inputs, outputs map[string]any) error {
	return m.functions[0].PredictInto(ctx, inputs, outputs)
}

func (f *Function) predictInto(ctx context.Context, inputs, outputs map[string]any, s states) error {
	return f.about(f.called(ctx, func() error {
		b, err := f.bind(ctx, inputs, outputs)
		if err != nil {
			return err
		}
		defer b.release()
		return b.run(ctx, s)
	}))
}

func (f *Function) bind(ctx context.Context, inputs, outputs map[string]any) (bound, error) {
	if err := f.checkInputNames(inputs); err != nil {
		return nil, err
	}
	for name := range outputs {
		if !hasFeature(f.Outputs(), name) {
			return nil, &OutputError{name, fmt.Errorf("there is no such output: expected %s", featureNames(f.Outputs()))}
		}
	}
	return f.runner.bind(ctx, inputs, outputs)
}

func hasFeature(list []coreml.Feature, name string) bool {
	return slices.ContainsFunc(list, func(d coreml.Feature) bool { return d.Name == name })
}

// about puts the model before an error that is about it, and not about what the caller gave.
func (f *Function) about(err error) error {
	if err == nil {
		return nil
	}
	if _, input := errors.AsType[*InputError](err); input {
		return err
	}
	if _, output := errors.AsType[*OutputError](err); output {
		return err
	}
	return fmt.Errorf("%s: %w", f.path, err)
}
