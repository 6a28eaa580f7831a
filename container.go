package espalier

import (
	"context"
	"errors"
	"fmt"

	"github.com/espalier-ane/espalier/bundle"
	"github.com/espalier-ane/espalier/e5rt"
	"github.com/espalier-ane/espalier/hwx"
)

// containerFunctions makes the functions of a container, one for each of its procedures: those of a bundle made in memory, of one
// segment each, with the ports as features.
func (c Config) containerFunctions(ctx context.Context, file *hwx.File) ([]*Function, error) {
	if c.Units == CPUOnly {
		return nil, fmt.Errorf("%w: a container runs on the engine, which the units %s leave out", ErrUnits, c.Units)
	}
	if err := c.checkContainer(file); err != nil {
		return nil, err
	}
	if s := file.External(); s != nil {
		return nil, fmt.Errorf("%w: %d bytes of weights are in a file of the bundle that it is of: open the bundle, or compile the model to a container, which has them", ErrWeights, s.Size)
	}
	numerics, err := c.engineProfile()
	if err != nil {
		return nil, err
	}
	b, err := bundle.OfContainer(file, string(numerics))
	if err != nil {
		return nil, err
	}
	library, err := e5rt.OpenContext(ctx, b, e5rt.Options{Limits: c.Limits.use(), Threads: c.Threads, Concurrency: c.Concurrency, LowMemory: c.LowMemory})
	if err != nil {
		return nil, ofContainer(err)
	}
	var all []*Function
	for i, f := range library.Functions() {
		description, err := DescribeFunction(&b.Manifest.Functions[i])
		if err != nil {
			return nil, err
		}
		described := c.features(description)
		runner, err := newCompiled("hardware container", described, f)
		if err != nil {
			return nil, err
		}
		all = append(all, &Function{config: c, features: described, numerics: numerics, runner: runner})
	}
	return all, nil
}

// ofContainer takes from an error of the runtime what is about the bundle: the caller has opened a file with one program.
func ofContainer(err error) error {
	e, ok := errors.AsType[*e5rt.Error](err)
	switch {
	case !ok:
		return err
	case e.Symbol != "":
		return fmt.Errorf("port %q: %w", e.Symbol, e.Err)
	}
	return e.Err
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
