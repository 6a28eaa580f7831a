package espalier

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/espalier-ane/espalier/coreml"
	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/ops"
	"github.com/espalier-ane/espalier/mil"
)

// modelFunctions makes the functions of a Core ML model, the default one first.
func (c Config) modelFunctions(ctx context.Context, file *coreml.Model) ([]*Function, error) {
	if file.Type.IsPipeline() {
		f, err := c.pipelineFunction(ctx, file)
		return []*Function{f}, err
	}
	if file.Type != coreml.MLProgram {
		err := fmt.Errorf("a model of type %v: %w: only ML programs and pipelines of them can be run", file.Type, ErrUnsupported)
		if remedy := file.Type.Remedy(); remedy != "" {
			err = fmt.Errorf("%w; %s", err, remedy)
		}
		return nil, err
	}
	p, err := file.Program()
	if err != nil {
		return nil, err
	}
	var made []string
	if c.RandomWeights != nil {
		if made, err = file.FillWeights(*c.RandomWeights); err != nil {
			return nil, err
		}
	}
	if err := file.LoadWeights(ctx); err != nil {
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
		from := &source{program: p, function: p.Function(d.Name)}
		if from.function == nil {
			return nil, fmt.Errorf("function %q is described, but the program does not have it", d.Name)
		}
		described := c.features(d)
		if err := from.check(described); err != nil {
			return nil, fmt.Errorf("function %q: %w", d.Name, err)
		}
		f, err := c.programFunction(from, described)
		if err != nil {
			return nil, err
		}
		f.random = made
		if d.Name == file.Description.DefaultFunction {
			all = slices.Insert(all, 0, f)
		} else {
			all = append(all, f)
		}
	}
	return all, nil
}

// programFunction makes a function of a program, and says who runs it: the engine, with the host for what it does not
// take, or the host alone. known are variants of it that are compiled already.
func (c Config) programFunction(from *source, described *features, known ...*compiled) (*Function, error) {
	target, err := c.target()
	if err != nil {
		return nil, err
	}
	f := &Function{config: c, features: described}
	units := cmp.Or(c.Units, AllUnits)
	switch {
	case units == CPUOnly || units == AllUnits && c.Numerics == FP32:
		f.numerics = c.Numerics.orDefault()
		f.runner, err = newEvaluator(from, described, f.numerics, c.Threads)
		return f, err
	case c.Numerics == FP32:
		return nil, fmt.Errorf("%w: %s is the host's, which units %q leave out", ErrNumerics, c.Numerics, units)
	}
	return f, c.onEngine(f, from, target, known...)
}

// onEngine makes the engine run a function, with the host for what it does not take.
func (c Config) onEngine(f *Function, from *source, target *hal.Target, known ...*compiled) (err error) {
	if f.numerics, err = c.engineProfile(); err != nil {
		return err
	}
	v := newVariants(from, f.features, target, f.numerics, c.Units == EngineOnly)
	v.config = c
	v.trace = tracer(c.Pass)
	for _, one := range known {
		v.add(one)
	}
	f.runner = v
	return nil
}

// target is the engine that a model is compiled for.
func (c Config) target() (*hal.Target, error) { return hal.Lookup(cmp.Or(c.Target, string(Virtual))) }
