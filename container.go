package espalier

import (
	"context"
	"fmt"
	"sync"

	"github.com/espalier-ane/espalier/coreml"
	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/internal/engine"
)

// engineFunction is a function that runs on the engine.
type engineFunction struct {
	program  *engine.Program
	contexts sync.Pool // of *engine.Context: one for each prediction under way
}

// containerFunctions makes the one function of a container: its program, with the ports as features.
func (c Config) containerFunctions(file *hwx.File) ([]*Function, error) {
	if c.Units == CPUOnly {
		return nil, fmt.Errorf("%w: a container runs on the engine, which the units %s leave out", ErrUnits, c.Units)
	}
	if err := c.checkContainer(file); err != nil {
		return nil, err
	}
	profile, err := c.profile()
	if err != nil {
		return nil, err
	}
	numerics, err := profile.engine()
	if err != nil {
		return nil, err
	}
	thread, err := file.Program()
	if err != nil {
		return nil, err
	}
	program, err := engine.Load(file, numerics)
	if err != nil {
		return nil, err
	}
	f := &Function{config: c, engine: &engineFunction{program: program}}
	f.description.Name = thread.Name
	f.engine.contexts.New = func() any { return program.NewContext() }
	for _, p := range program.Ports() {
		d := coreml.Feature{Name: p.Name, Type: &coreml.ArrayType{DType: p.Type, Shape: p.Shape[:]}}
		if p.Direction == engine.Output {
			f.description.Outputs = append(f.description.Outputs, d)
		} else {
			f.description.Inputs = append(f.description.Inputs, d)
		}
	}
	return []*Function{f}, nil
}

// checkContainer refuses a container for another target than the one that is asked for. Dies of one generation have the
// same containers.
func (c Config) checkContainer(file *hwx.File) error {
	if c.Target == "" {
		return nil
	}
	t, err := c.target()
	if err != nil {
		return err
	}
	found, err := file.Target()
	if err != nil {
		return err
	}
	if found.CPUSubtype != t.Container().CPUSubtype {
		return fmt.Errorf("%w: the container is for %s, not for %s", ErrTarget, found.Name, t.Name)
	}
	return nil
}

// predictOnEngine runs the function of a container.
func (f *Function) predictOnEngine(ctx context.Context, inputs map[string]any) (map[string]*Value, error) {
	c := f.engine.contexts.Get().(*engine.Context)
	defer f.engine.contexts.Put(c)
	for _, d := range f.Inputs() {
		t, err := f.featureTensor(d, inputs[d.Name])
		if err == nil {
			err = c.SetTensor(d.Name, t)
		}
		if err != nil {
			return nil, &InputError{Name: d.Name, Missing: inputs[d.Name] == nil, Err: err}
		}
	}
	if err := f.engine.program.Run(ctx, c); err != nil {
		return nil, err
	}
	out := map[string]*Value{}
	for _, d := range f.Outputs() {
		t, err := c.Tensor(d.Name)
		if err != nil {
			return nil, fmt.Errorf("output %q: %w", d.Name, err)
		}
		out[d.Name] = &Value{Feature: d, Tensor: t}
	}
	return out, nil
}
