package espalier

import (
	"fmt"

	"github.com/espalier-ane/espalier/bundle"
	"github.com/espalier-ane/espalier/e5rt"
	"github.com/espalier-ane/espalier/internal/host"
	"github.com/espalier-ane/espalier/mil"
)

// bundleFunctions makes the functions of a bundle: they are compiled already. One that takes several shapes was compiled
// for one of them, and has its program with it, to be compiled for others when they come.
func (c Config) bundleFunctions(b *bundle.Bundle) ([]*Function, error) {
	hosted, source, err := host.FromBundle(b)
	if err != nil {
		return nil, err
	}
	library, err := e5rt.Open(b, e5rt.Options{Host: hosted})
	if err != nil {
		return nil, err
	}
	if err := c.takeCompiled(b.Manifest); err != nil {
		return nil, err
	}
	var all []*Function
	for i, compiled := range library.Functions() {
		m := &b.Manifest.Functions[i]
		f := &Function{config: c, bundle: newVariant(compiled)}
		if f.description, err = DescribeFunction(m); err != nil {
			return nil, err
		}
		if m.Source != "" {
			err = f.takeSource(source, m.Source)
		} else {
			err = c.checkUnits(m)
		}
		if err != nil {
			return nil, fmt.Errorf("function %q: %w", m.Name, err)
		}
		all = append(all, f)
	}
	return all, nil
}

// takeSource gives a function of a bundle the program that it was compiled from.
func (f *Function) takeSource(p *mil.Program, name string) error {
	if p != nil {
		f.program = p.Function(name)
	}
	if f.program == nil {
		return fmt.Errorf("%s does not have its source %q", bundle.HostPath, name)
	}
	if err := f.checkFeatures(); err != nil {
		return err
	}
	compiled := f.bundle
	f.source, f.bundle = p, nil
	if err := f.config.choose(f, p); err != nil || f.road == nil {
		return err
	}
	shapes := map[string][]int{}
	for _, port := range compiled.function.Inputs() {
		shapes[port.Name] = port.Shape
	}
	compiled.once.Do(func() {}) // it is compiled
	f.road.variants[shapeKey(f.program, f.road.open(shapes))] = compiled
	return nil
}

// takeCompiled makes target and numerics those that a bundle was compiled for, and refuses others.
func (c *Config) takeCompiled(m *bundle.Manifest) error {
	if c.Target != "" {
		t, err := c.target()
		if err != nil {
			return err
		}
		if t.Name != m.Target {
			return fmt.Errorf("%w: the bundle is compiled for %s, not for %s", ErrTarget, m.Target, t.Name)
		}
	}
	if n := Numerics(m.Numerics); c.Numerics != "" && !c.Numerics.same(n) {
		return fmt.Errorf("%w: the bundle is compiled for %s, not for %s", ErrNumerics, n, c.Numerics)
	}
	c.Target, c.Numerics = m.Target, Numerics(m.Numerics)
	return nil
}

// checkUnits refuses units that a function was not compiled for.
func (c Config) checkUnits(f *bundle.Function) error {
	for _, s := range f.Segments {
		switch {
		case c.Units == CPUOnly && s.Backend == bundle.Engine:
			return fmt.Errorf("%w: %s is compiled for the engine, which the units %s leave out", ErrUnits, s.Operation, c.Units)
		case c.Units == EngineOnly && s.Backend == bundle.Host:
			return fmt.Errorf("%w: %s runs on the host, which the units %s leave out", ErrUnits, s.Operation, c.Units)
		}
	}
	return nil
}
