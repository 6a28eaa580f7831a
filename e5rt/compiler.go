package e5rt

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/espalier-ane/espalier/bundle"
)

// A Compiler makes bundles of models. This package has none, so that a program that only runs bundles does not carry one: who
// wants it injects it, as the one of the package espalier.
//
//	lib, err := e5rt.Compile(ctx, espalier.NewCompiler(espalier.Config{}), "model.mlpackage", e5rt.CompilerOptions{}, e5rt.Options{})
type Compiler interface {
	// Compile compiles the model at a path, or takes what FindPrecompiled finds.
	Compile(ctx context.Context, model string, o CompilerOptions) (*Compiled, error)

	// IsNewCompileRequired reports whether Compile would have to compile.
	IsNewCompileRequired(ctx context.Context, model string, o CompilerOptions) (bool, error)

	// FindPrecompiled finds a bundle of the model that is as Compile would make it; an error that wraps ErrNotFound says that
	// there is none. Options.ForceRecompilation does not matter here.
	FindPrecompiled(ctx context.Context, model string, o CompilerOptions) (*Compiled, error)
}

// CompilerOptions say how a model is compiled. The zero options are as the compiler was made.
type CompilerOptions struct {
	Target     string // by any name that package hal resolves
	Numerics   string // the profile; "": that of the target
	EngineOnly bool   // refuses what the host would have to run: of the seeds' compute devices, 0x4 alone

	// Shapes are those of inputs that the model leaves open (range shapes), by function and input. The others have their
	// default shapes.
	Shapes map[string]map[string][]int

	// Mutable names the constants that Function.SetWeights may give other elements, as the model does; nil: those that the
	// compiler was made with.
	Mutable []string

	// ForceRecompilation compiles even if there is a bundle.
	ForceRecompilation bool

	// Bundle is the folder where the compiled model is kept, for FindPrecompiled; "": it is not. What is compiled for other
	// than the default shapes is not kept there.
	Bundle string
}

// Compiled is what a Compiler makes: what Open takes, and what it stands on.
type Compiled struct {
	Bundle  *bundle.Bundle
	Host    Host         // of its host segments; nil if it has none
	Changed func() error // says that a file it stands on was written to; nil if only the bundle's own are there
	Close   func() error
}

// Compile has a compiler make a library of a model. Closing the library closes what it stands on.
func Compile(ctx context.Context, c Compiler, model string, how CompilerOptions, o Options) (*Library, error) {
	made, err := c.Compile(ctx, model, how)
	if err != nil {
		return nil, err
	}
	lib, err := made.open(ctx, o)
	if err != nil {
		return nil, err
	}
	lib.special = &specializer{compiler: c, model: model, how: how, options: o, turn: make(chan struct{}, 1)}
	return lib, nil
}

// open makes the library of what is compiled, which closes it.
func (c *Compiled) open(ctx context.Context, o Options) (*Library, error) {
	if c.Host != nil {
		o.Host = c.Host
	}
	lib, err := OpenContext(ctx, c.Bundle, o)
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	lib.changed, lib.under = c.Changed, c.Close
	return lib, nil
}

// A specializer compiles functions of a library for other shapes of their inputs: each once, unless it is forced to.
type specializer struct {
	compiler Compiler
	model    string
	how      CompilerOptions
	options  Options
	turn     chan struct{} // full while one is compiled

	mu   sync.Mutex
	list []specialized // until they are released, or the library is closed
}

// specialized is a function for shapes of its inputs.
type specialized struct {
	name     string
	shapes   map[string][]int
	library  *Library
	function *Function
}

// OperationOptions say which operation of a library is meant.
type OperationOptions struct {
	Function string // its name; "": the first

	// Shapes are those of inputs that may have several (range shapes). An input that is not named has the one that the
	// function is compiled for.
	Shapes map[string][]int

	// ForceRespecialization compiles the function for the shapes even if it is.
	ForceRespecialization bool
}

// HasRangeShapes reports whether an input of the function may have other shapes than the one it is compiled for.
func (f *Function) HasRangeShapes() bool {
	for _, in := range f.library.manifest(f).Inputs {
		if in.Array != nil && (len(in.Array.Ranges) > 0 || len(in.Array.Shapes) > 0) {
			return true
		}
	}
	return false
}

// fits reports whether the function is compiled for such shapes, and what is wrong with them if it never can be.
func (f *Function) fits(shapes map[string][]int) (bool, error) {
	fits := true
	for name, shape := range shapes {
		i, ok := f.symbols[name]
		if !ok || !slices.Contains(f.inputs, i) {
			return false, fmt.Errorf("input %q of function %s: %w", name, f.name, ErrNotFound)
		}
		fits = fits && slices.Equal(f.slots[i].shape, shape)
	}
	return fits, nil
}

// Specialize finds a function for shapes of its inputs: the one that the library was opened with, one that was compiled before,
// or one that the compiler of the library makes now. A library that was opened from a bundle has no compiler.
func (l *Library) Specialize(ctx context.Context, o OperationOptions) (*Function, error) {
	f := l.functions[0]
	if o.Function != "" {
		var err error
		if f, err = l.Function(o.Function); err != nil {
			return nil, err
		}
	}
	fits, err := f.fits(o.Shapes)
	switch {
	case err != nil:
		return nil, err
	case fits && !o.ForceRespecialization:
		return f, nil
	case l.special == nil:
		return nil, &Error{Function: f.name, Err: fmt.Errorf("it is not compiled for the shapes %v, and the library has no compiler", o.Shapes)}
	}
	place, open := l.gate.Enter(ctx)
	if !open {
		return nil, &Error{Function: f.name, Err: ErrClosed}
	}
	defer l.gate.Leave(place)
	return l.special.function(ctx, f, o)
}

// function finds the function for the shapes, or compiles it.
func (s *specializer) function(ctx context.Context, f *Function, o OperationOptions) (*Function, error) {
	if found := s.find(f.name, o.Shapes); found != nil && !o.ForceRespecialization {
		return found, nil
	}
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-s.turn }()
	if found := s.find(f.name, o.Shapes); found != nil && !o.ForceRespecialization { // by who had the turn
		return found, nil
	}
	how := s.how
	how.ForceRecompilation = how.ForceRecompilation || o.ForceRespecialization
	how.Shapes = maps.Clone(how.Shapes)
	if how.Shapes == nil {
		how.Shapes = map[string]map[string][]int{}
	}
	shapes := make(map[string][]int, len(o.Shapes)) // the caller may change his
	for name, shape := range o.Shapes {
		shapes[name] = slices.Clone(shape)
	}
	how.Shapes[f.name] = shapes
	made, err := s.compiler.Compile(ctx, s.model, how)
	if err != nil {
		return nil, err
	}
	lib, err := made.open(ctx, s.options)
	if err != nil {
		return nil, err
	}
	special, err := lib.Function(f.name)
	if err == nil {
		if fits, _ := special.fits(shapes); !fits {
			err = &Error{Function: f.name, Err: fmt.Errorf("the compiler made it for other shapes than %v", shapes)}
		}
	}
	if err != nil {
		return nil, errors.Join(err, lib.Close())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	lib.owner = s
	s.list = append(s.list, specialized{f.name, shapes, lib, special})
	return special, nil
}

// Release lets go of a function that Specialize made: it waits for the runs under way as Library.Close does, and closes what was
// compiled for the shapes. Operations of it give ErrClosed then; who asks for the shapes again has them compiled again. A library
// keeps what nobody releases until it is closed, and its own functions in any case.
func (f *Function) Release() error {
	if f.library.owner == nil {
		return nil
	}
	f.library.owner.drop(f.library)
	return f.library.Close()
}

// drop takes out what was compiled into a library.
func (s *specializer) drop(lib *Library) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = slices.DeleteFunc(s.list, func(one specialized) bool { return one.library == lib })
}

// find finds the function that was compiled last for the shapes.
func (s *specializer) find(name string, shapes map[string][]int) *Function {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := len(s.list) - 1; i >= 0; i-- {
		if one := &s.list[i]; one.name == name && maps.EqualFunc(one.shapes, shapes, slices.Equal[[]int]) {
			return one.function
		}
	}
	return nil
}

// close closes what was compiled.
func (s *specializer) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []error
	for _, one := range s.list {
		all = append(all, one.library.Close())
	}
	return errors.Join(all...)
}

// NewOperation makes the buffers of a call of a function, for shapes of its inputs.
func (l *Library) NewOperation(ctx context.Context, o OperationOptions) (*Operation, error) {
	f, err := l.Specialize(ctx, o)
	if err != nil {
		return nil, err
	}
	return f.NewOperation(), nil
}

// TakeOut is Function.TakeOut of the function for the shapes. The operation goes back by PutBack.
func (l *Library) TakeOut(ctx context.Context, o OperationOptions) (*Operation, error) {
	f, err := l.Specialize(ctx, o)
	if err != nil {
		return nil, err
	}
	return f.TakeOut(), nil
}

// PutBack gives an operation back that TakeOut took out.
func (l *Library) PutBack(o *Operation) { o.function.PutBack(o) }
