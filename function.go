package espalier

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/espalier-ane/espalier/coreml"
	"github.com/espalier-ane/espalier/e5rt"
	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/ops"
	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// Function is a callable part of a model. It is safe for concurrent use.
type Function struct {
	path        string // of the model, for errors
	description coreml.FunctionDescription
	config      Config

	source  *mil.Program    // of an ML program; nil for a bundle
	program *mil.Function   // the function of it
	road    *road           // over compiler and engine
	bundle  *variant        // of a bundle: compiled already
	eval    *ops.Evaluator  // on the host alone: Config.Units and Config.Numerics ask for it
	stages  []*Function     // of a pipeline
	engine  *engineFunction // of a container
}

// functions makes the functions of a model, the default one first.
func (c Config) functions(file *coreml.Model) ([]*Function, error) {
	if file.Type.IsPipeline() {
		f, err := c.pipeline(file)
		return []*Function{f}, err
	}
	if file.Type != coreml.MLProgram {
		return nil, fmt.Errorf("a model of type %v: %w: only ML programs and pipelines of them can be run", file.Type, ErrUnsupported)
	}
	p, err := file.Program()
	if err != nil {
		return nil, err
	}
	if err := mil.Verify(p); err != nil {
		return nil, err
	}
	if err := ops.Verify(p); err != nil {
		return nil, err
	}
	if len(file.Description.Functions) == 0 {
		return nil, errors.New("the model has no functions")
	}
	var all []*Function
	for _, d := range file.Description.Functions {
		f := &Function{description: d, config: c, source: p, program: p.Function(d.Name)}
		if f.program == nil {
			return nil, fmt.Errorf("function %q is described, but the program does not have it", d.Name)
		}
		if err := f.checkFeatures(); err != nil {
			return nil, fmt.Errorf("function %q: %w", d.Name, err)
		}
		if err := c.choose(f, p); err != nil {
			return nil, err
		}
		if d.Name == file.Description.DefaultFunction {
			all = slices.Insert(all, 0, f)
		} else {
			all = append(all, f)
		}
	}
	return all, nil
}

// choose says who runs a function of a program: the engine, with the host for what it does not take, or the
// host alone.
func (c Config) choose(f *Function, p *mil.Program) error {
	target, err := c.target()
	if err != nil {
		return err
	}
	units := cmp.Or(c.Units, AllUnits)
	switch {
	case units == CPUOnly || units == AllUnits && c.Numerics == FP32:
		numerics, err := c.Numerics.host()
		if err != nil {
			return err
		}
		f.eval, err = ops.NewEvaluator(f.program, numerics)
		return err
	case c.Numerics == FP32:
		return fmt.Errorf("%w: %s is the host's, which units %q leave out", ErrNumerics, c.Numerics, units)
	}
	numerics, err := c.profile()
	if err != nil {
		return err
	}
	if _, err := numerics.engine(); err != nil {
		return err
	}
	f.road = &road{
		target: target, numerics: numerics, engineOnly: units == EngineOnly, program: p, function: f.program,
		features: manifestFunction(&f.description), variants: map[string]*variant{},
	}
	return nil
}

// target is the engine that a model is compiled for.
func (c Config) target() (*hal.Target, error) { return hal.Lookup(cmp.Or(c.Target, string(Virtual))) }

// checkFeatures holds the description of the features against the inputs and outputs of the program.
func (f *Function) checkFeatures() error {
	described := map[string]bool{}
	for _, d := range f.Inputs() {
		described[d.Name] = true
		v := f.input(d.Name)
		if v == nil {
			return fmt.Errorf("input %q is described, but the program does not take it", d.Name)
		}
		if _, ok := v.Type.(*mil.TensorType); !ok {
			return fmt.Errorf("input %q is described as %v, but the program takes a %v", d.Name, d.Type, v.Type)
		}
	}
	for _, d := range f.States() {
		described[d.Name] = true
		v := f.input(d.Name)
		if v == nil {
			return fmt.Errorf("state %q is described, but the program does not take it", d.Name)
		}
		if !isConcreteState(v.Type) {
			return fmt.Errorf("state %q is described, but the program takes a %v", d.Name, v.Type)
		}
		if err := ops.CheckMemory(v.Type.(*mil.StateType).Elem); err != nil {
			return fmt.Errorf("state %q: %w", d.Name, err)
		}
	}
	for _, v := range f.program.Inputs {
		if !described[v.Name] {
			return fmt.Errorf("the program takes %q, but the description does not have it", v.Name)
		}
	}
	for _, d := range f.Outputs() {
		if f.output(d.Name) < 0 {
			return fmt.Errorf("output %q is described, but the program does not give it", d.Name)
		}
	}
	return nil
}

// isConcreteState reports whether a type is that of a state whose array can be made.
func isConcreteState(t mil.Type) bool {
	s, ok := t.(*mil.StateType)
	if !ok {
		return false
	}
	a, ok := s.Elem.(*mil.TensorType)
	if !ok || a.AnyRank {
		return false
	}
	_, ok = a.Shape.Count()
	return ok
}

// input finds an input of the program by name; nil if there is none.
func (f *Function) input(name string) *mil.Value {
	for _, v := range f.program.Inputs {
		if v.Name == name {
			return v
		}
	}
	return nil
}

// output finds the place of an output of the program by name; -1 if there is none.
func (f *Function) output(name string) int {
	return slices.IndexFunc(f.program.Body.Outputs, func(v *mil.Value) bool { return v.Name == name })
}

// Name is the function's name.
func (f *Function) Name() string { return f.description.Name }

// Inputs are what the function takes.
func (f *Function) Inputs() []coreml.Feature { return f.description.Inputs }

// Outputs are what the function gives.
func (f *Function) Outputs() []coreml.Feature { return f.description.Outputs }

// States are what the function keeps between predictions.
func (f *Function) States() []coreml.Feature { return f.description.States }

// Predict runs the model's default function.
func (m *Model) Predict(ctx context.Context, inputs map[string]any) (map[string]*Value, error) {
	return m.functions[0].Predict(ctx, inputs)
}

// PredictWithState runs the model's default function on a state.
func (m *Model) PredictWithState(ctx context.Context, inputs map[string]any, s *State) (map[string]*Value, error) {
	return m.functions[0].PredictWithState(ctx, inputs, s)
}

// Predict runs a function without states. An input is an array (*tensor.Tensor) or a picture
// (image.Image); an optional one may be left out. Arrays are converted to the declared element type if every
// value survives.
func (f *Function) Predict(ctx context.Context, inputs map[string]any) (map[string]*Value, error) {
	if len(f.States()) > 0 {
		return nil, fmt.Errorf("function %q has states (%s): make them with NewState and run it with PredictWithState",
			f.Name(), featureNames(f.States()))
	}
	return f.named(f.predict(ctx, inputs, nil))
}

// PredictWithState runs a function on states that NewState made for it, and changes them.
func (f *Function) PredictWithState(ctx context.Context, inputs map[string]any, s *State) (map[string]*Value, error) {
	if s == nil || s.of != f {
		return nil, fmt.Errorf("the state was not made for function %q: make it with its NewState", f.Name())
	}
	return f.named(f.predict(ctx, inputs, s))
}

// named puts the model before an error that is about it, and not about an input.
func (f *Function) named(out map[string]*Value, err error) (map[string]*Value, error) {
	if _, input := errors.AsType[*InputError](err); err != nil && !input {
		err = fmt.Errorf("%s: %w", f.path, err)
	}
	return out, err
}

func (f *Function) predict(ctx context.Context, inputs map[string]any, s *State) (map[string]*Value, error) {
	for name := range inputs {
		if !slices.ContainsFunc(f.Inputs(), func(d coreml.Feature) bool { return d.Name == name }) {
			return nil, &InputError{Name: name, Err: fmt.Errorf("there is no such input: expected %s", featureNames(f.Inputs()))}
		}
	}
	switch {
	case f.stages != nil:
		return f.predictPipeline(ctx, inputs)
	case f.engine != nil:
		return f.predictOnEngine(ctx, inputs)
	}
	args := map[string]*tensor.Tensor{}
	for _, d := range f.Inputs() {
		t, err := f.bindInput(d, inputs[d.Name])
		if err != nil {
			return nil, err
		}
		args[d.Name] = t
	}
	results, err := f.compute(ctx, args, s)
	if err != nil {
		return nil, err
	}
	out := map[string]*Value{}
	for _, d := range f.Outputs() {
		if out[d.Name], err = newValue(d, results[d.Name]); err != nil {
			return nil, fmt.Errorf("output %q: %w", d.Name, err)
		}
	}
	return out, nil
}

// compute runs the function on arguments of the program's types and returns its outputs by name.
func (f *Function) compute(ctx context.Context, args map[string]*tensor.Tensor, s *State) (map[string]any, error) {
	if f.eval != nil {
		return f.evaluate(ctx, args, s)
	}
	v := f.bundle
	if v == nil {
		var err error
		if v, err = f.road.variant(ctx, args); err != nil {
			return nil, err
		}
	}
	var state *e5rt.State
	if s != nil {
		state = s.buffers
	}
	return v.run(ctx, args, state, f.Outputs())
}

// evaluate runs the function on the host.
func (f *Function) evaluate(ctx context.Context, args map[string]*tensor.Tensor, s *State) (map[string]any, error) {
	values := map[string]ops.Value{}
	for name, t := range args {
		if s != nil {
			t = t.Clone() // a program may put it into a state, and the caller may change it later
		}
		values[name] = t
	}
	if s != nil {
		for name, v := range s.values {
			values[name] = v
		}
	}
	results, err := f.eval.Run(ctx, values)
	if err != nil {
		return nil, err
	}
	out := map[string]any{}
	for _, d := range f.Outputs() {
		out[d.Name] = results[f.output(d.Name)]
	}
	return out, nil
}

func featureNames(fs []coreml.Feature) string {
	names := make([]string, len(fs))
	for i, f := range fs {
		names[i] = f.Name
	}
	return strings.Join(names, ", ")
}
