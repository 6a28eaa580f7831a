package espalier

import (
	"context"
	"fmt"

	"github.com/espalier-ane/espalier/bundle"
	"github.com/espalier-ane/espalier/e5rt"
	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/host"
	"github.com/espalier-ane/espalier/mil"
)

// bundleFunctions makes the functions of a bundle: they are compiled already. One that takes several shapes was compiled
// for one of them, and has its program with it, to be compiled for others when they come.
func (c Config) bundleFunctions(ctx context.Context, b *bundle.Bundle) ([]*Function, error) {
	hosted, source, err := host.FromBundle(b)
	if err != nil {
		return nil, err
	}
	options := e5rt.Options{Limits: c.Limits.use(), Threads: c.Threads, Concurrency: c.Concurrency, LowMemory: c.LowMemory}
	if hosted != nil {
		hosted.SetLimits(c.Limits.use())
		options.Host = hosted
	}
	library, err := e5rt.OpenContext(ctx, b, options)
	if err != nil {
		return nil, err
	}
	if err := c.takeCompiled(b.Manifest); err != nil {
		return nil, err
	}
	var all []*Function
	for i, f := range library.Functions() {
		made, err := c.bundleFunction(&b.Manifest.Functions[i], f, source)
		if err != nil {
			return nil, err
		}
		all = append(all, made)
	}
	if p := b.Manifest.Pipeline; p != nil {
		made, err := c.bundlePipeline(p, all)
		return []*Function{made}, err
	}
	return all, nil
}

func (c Config) bundleFunction(m *bundle.Function, f *e5rt.Function, program *mil.Program) (*Function, error) {
	description, err := DescribeFunction(m)
	if err != nil {
		return nil, err
	}
	described := c.features(description)
	first, err := newCompiled("bundle", described, f)
	if err != nil {
		return nil, err
	}
	c.Mutable = nil
	for _, w := range m.Mutable { // other shapes have the same ones
		c.Mutable = append(c.Mutable, w.Name)
	}
	var made *Function
	if m.Source == "" {
		made = &Function{config: c, features: described, numerics: c.Numerics, runner: first}
		err = c.checkUnits(m)
	} else {
		made, err = c.flexibleFunction(program, m.Source, first)
	}
	if err != nil {
		return nil, fmt.Errorf("function %q: %w", m.Name, err)
	}
	return made, nil
}

// flexibleFunction makes a function of the program that it was compiled from, with the variant that the bundle has.
func (c Config) flexibleFunction(p *mil.Program, name string, first *compiled) (*Function, error) {
	var found *mil.Function
	if p != nil {
		found = p.Function(name)
	}
	if found == nil {
		return nil, fmt.Errorf("%s does not have its source %q", bundle.HostPath, name)
	}
	function := *found
	function.Name = first.features.Name // as it was compiled
	from := &source{program: p, function: &function}
	if err := from.check(first.features); err != nil {
		return nil, err
	}
	return c.programFunction(from, first.features, first)
}

// takeCompiled makes target and numerics those that a bundle was compiled for, and refuses others.
func (c *Config) takeCompiled(m *bundle.Manifest) error {
	if c.Target != "" {
		t, err := c.target()
		if err != nil {
			return err
		}
		if of, err := hal.Lookup(m.Target); t.Name != m.Target && (err != nil || !t.Same(of)) {
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
