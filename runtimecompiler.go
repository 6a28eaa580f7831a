package espalier

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/espalier-ane/espalier/bundle"
	"github.com/espalier-ane/espalier/e5rt"
	"github.com/espalier-ane/espalier/hwx"
	"github.com/espalier-ane/espalier/internal/build"
	"github.com/espalier-ane/espalier/internal/host"
	"github.com/espalier-ane/espalier/internal/osfile"
)

// NewCompiler makes the compiler that package e5rt asks for: of models as Open takes them, with a configuration that its
// options may change.
//
// A bundle and a container are compiled already. Of other models, FindPrecompiled looks at the cache of the configuration; or, if
// there is a CompilerOptions.Bundle, at that, as make does: a bundle there is taken if it is for the target and the
// numerics, and no file of the model is newer.
func NewCompiler(c Config) e5rt.Compiler { return runtimeCompiler{c} }

type runtimeCompiler struct{ config Config }

// with is the configuration that the options ask for.
func (r runtimeCompiler) with(o e5rt.CompilerOptions) Config {
	c := r.config
	c.Target = cmp.Or(o.Target, c.Target)
	c.Numerics = cmp.Or(Numerics(o.Numerics), c.Numerics)
	if o.EngineOnly {
		c.Units = EngineOnly
	}
	if o.Mutable != nil {
		c.Mutable = o.Mutable
	}
	return c
}

func (r runtimeCompiler) Compile(ctx context.Context, model string, o e5rt.CompilerOptions) (*e5rt.Compiled, error) {
	c := r.with(o)
	path, err := r.precompiled(model, o)
	if err != nil {
		return nil, err
	}
	if path != "" && (path == model || !o.ForceRecompilation) {
		return c.openCompiled(ctx, path)
	}
	if o.Bundle == "" || len(o.Shapes) > 0 {
		return c.compileModel(ctx, model, o, (*build.Cache).Build)
	}
	m, err := c.OpenContext(ctx, model)
	if err != nil {
		return nil, err
	}
	p, err := m.Compile(ctx, CompileOptions{})
	if err == nil {
		_, err = p.WriteBundle(ctx, o.Bundle)
	}
	if err := errors.Join(err, m.Close()); err != nil {
		return nil, err
	}
	return c.openCompiled(ctx, o.Bundle)
}

func (r runtimeCompiler) IsNewCompileRequired(ctx context.Context, model string, o e5rt.CompilerOptions) (bool, error) {
	if o.ForceRecompilation {
		return true, nil
	}
	found, err := r.FindPrecompiled(ctx, model, o)
	if errors.Is(err, e5rt.ErrNotFound) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	return false, found.Close()
}

func (r runtimeCompiler) FindPrecompiled(ctx context.Context, model string, o e5rt.CompilerOptions) (*e5rt.Compiled, error) {
	path, err := r.precompiled(model, o)
	switch {
	case err != nil:
		return nil, err
	case path != "":
		return r.with(o).openCompiled(ctx, path)
	case o.Bundle != "" && len(o.Shapes) == 0:
		return nil, fmt.Errorf("%s: a bundle of the model: %w", model, e5rt.ErrNotFound)
	}
	o.ForceRecompilation = false // which does not matter here
	return r.with(o).compileModel(ctx, model, o, (*build.Cache).Find)
}

// compileModel makes a bundle in memory of what the cache builds, or finds.
func (c Config) compileModel(ctx context.Context, model string, o e5rt.CompilerOptions, ask func(*build.Cache, context.Context, build.Request) (*build.Built, error)) (*e5rt.Compiled, error) {
	m, err := c.OpenContext(ctx, model)
	if err != nil {
		return nil, err
	}
	fail := func(err error) (*e5rt.Compiled, error) {
		return nil, fmt.Errorf("%s: %w", model, errors.Join(err, m.Close()))
	}
	job, err := m.job(CompileOptions{Shapes: o.Shapes})
	if err != nil {
		return fail(err)
	}
	var cache *build.Cache
	if !o.ForceRecompilation {
		if cache, err = build.At(c.Cache); err != nil && c.Note != nil {
			c.Note(err)
		}
	}
	var built *build.Built
	err = c.Limits.compile(ctx, func(ctx context.Context) (err error) {
		defer osfile.Protect().Catch(&err)
		built, err = ask(cache, ctx, build.Request{Job: job, Model: model, Note: c.Note, Copy: c.Weights == CopiedWeights})
		return err
	})
	if err == nil && built == nil {
		err = fmt.Errorf("a bundle of the model: %w", e5rt.ErrNotFound)
	}
	if err != nil {
		return fail(err)
	}
	for _, mapped := range built.Mapped {
		m.life.keep(mapped)
	}
	made := &e5rt.Compiled{Bundle: built.Bundle, Changed: m.life.files.Changed}
	made.Close = func() error { return errors.Join(made.Bundle.Close(), m.Close()) }
	hosted, err := hostOf(built)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", model, errors.Join(err, made.Close()))
	}
	if hosted != nil {
		hosted.SetLimits(c.Limits.use())
		made.Host = hosted
	}
	return made, nil
}

// precompiled finds the bundle or container to take; "" if there is none.
func (r runtimeCompiler) precompiled(model string, o e5rt.CompilerOptions) (string, error) {
	if bundle.IsBundle(model) || hwx.IsContainerFile(model) {
		if len(o.Shapes) > 0 {
			return "", fmt.Errorf("%s: it is compiled already, and not for other shapes", model)
		}
		return model, nil
	}
	changed, err := lastChange(model)
	if err != nil || o.Bundle == "" || len(o.Shapes) > 0 || !bundle.IsBundle(o.Bundle) {
		return "", err
	}
	made, err := os.Stat(filepath.Join(o.Bundle, "manifest.json"))
	if err != nil || changed.After(made.ModTime()) {
		return "", nil
	}
	b, err := bundle.Open(o.Bundle)
	if err != nil {
		return "", nil // it will be replaced
	}
	defer b.Close()
	c := r.with(o)
	target, err := c.target()
	if err != nil {
		return "", err
	}
	numerics, err := c.engineProfile()
	if err != nil {
		return "", err
	}
	if b.Manifest.Target != target.Name || !numerics.same(Numerics(b.Manifest.Numerics)) {
		return "", nil
	}
	for i := range b.Manifest.Functions {
		if c.checkUnits(&b.Manifest.Functions[i]) != nil {
			return "", nil
		}
	}
	return o.Bundle, nil
}

// lastChange is when a file of a model was last written to.
func lastChange(model string) (last time.Time, err error) {
	err = filepath.WalkDir(model, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && info.ModTime().After(last) {
			last = info.ModTime()
		}
		return err
	})
	return last, err
}

// openCompiled opens a bundle or container as the runtime takes it.
func (c Config) openCompiled(ctx context.Context, path string) (*e5rt.Compiled, error) {
	if !bundle.IsBundle(path) {
		return c.openCompiledContainer(path)
	}
	b, err := bundle.OpenContext(ctx, path)
	if err != nil {
		return nil, err
	}
	made := &e5rt.Compiled{Bundle: b, Close: b.Close}
	hosted, _, err := host.FromBundle(b)
	if err == nil {
		err = c.takeCompiled(b.Manifest)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, errors.Join(err, b.Close()))
	}
	if hosted != nil {
		hosted.SetLimits(c.Limits.use())
		made.Host = hosted
	}
	return made, nil
}

func (c Config) openCompiledContainer(path string) (*e5rt.Compiled, error) {
	file, err := hwx.Open(path)
	if err != nil {
		return nil, err
	}
	err = c.checkContainer(file)
	var numerics Numerics
	if err == nil {
		numerics, err = c.engineProfile()
	}
	var b *bundle.Bundle
	if err == nil {
		b, err = bundle.OfContainer(file, string(numerics))
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, errors.Join(err, file.Close()))
	}
	return &e5rt.Compiled{Bundle: b, Changed: file.Changed, Close: func() error { return errors.Join(b.Close(), file.Close()) }}, nil
}
