package espalier

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/espalier-ane/espalier/bundle"
	"github.com/espalier-ane/espalier/e5rt"
	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/compiler"
	"github.com/espalier-ane/espalier/internal/host"
)

// variants run a function of a program: for each set of shapes that its inputs come with there is a variant, compiled on
// first use.
type variants struct {
	from       *source
	features   *features
	manifest   bundle.Function // what a manifest says of the features
	target     *hal.Target
	numerics   Numerics
	engineOnly bool

	mu      sync.Mutex
	byShape map[string]*variant // of the inputs that the function leaves open
	calls   int                 // of find
}

// maxVariants bounds the variants of a function: each has its program, and buffers for the predictions under way. A
// service that takes every length of a text keeps those that it used last.
const maxVariants = 64

// A variant is a function compiled for concrete shapes.
type variant struct {
	used int // the number of the call that asked for it last
	once sync.Once
	err  error
	*compiled
}

func newVariants(from *source, described *features, target *hal.Target, numerics Numerics, engineOnly bool) *variants {
	return &variants{
		from: from, features: described, manifest: manifestFunction(&described.FunctionDescription),
		target: target, numerics: numerics, engineOnly: engineOnly, byShape: map[string]*variant{},
	}
}

func (v *variants) run(ctx context.Context, inputs map[string]any, s states) (map[string]*Value, error) {
	args, err := v.features.arguments(inputs, v.from.argument)
	if err != nil {
		return nil, err
	}
	shapes := make(map[string][]int, len(args))
	for name, t := range args {
		shapes[name] = t.Shape()
	}
	one, err := v.variant(ctx, v.open(shapes))
	if err != nil {
		return nil, err
	}
	return one.compute(ctx, args, s)
}

// newState makes states that serve every variant: the shapes of inputs change nothing about them.
func (v *variants) newState() states {
	var ports []e5rt.Port
	for _, d := range v.features.States {
		t := v.from.state(d.Name)
		shape, _ := t.Shape.Ints()
		ports = append(ports, e5rt.Port{Name: d.Name, Type: t.DType, Shape: shape})
	}
	return e5rt.NewState(ports...)
}

func (v *variants) source() (*source, error) { return v.from, nil }

// variant finds the one for the shapes of open inputs, and compiles it if it is new. One that a caller gave up on is
// compiled anew by the next, be it one that has waited for it.
func (v *variants) variant(ctx context.Context, shapes map[string][]int) (*variant, error) {
	key := v.key(shapes)
	for {
		one := v.find(key)
		one.once.Do(func() { one.compiled, one.err = v.compile(ctx, shapes) })
		if isCompileLimit(one.err) {
			v.forget(key, one) // the next one may be luckier
			return one, one.err
		}
		if !errors.Is(one.err, context.Canceled) && !errors.Is(one.err, context.DeadlineExceeded) {
			return one, one.err
		}
		v.forget(key, one)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
}

// find returns the variant of a key, a new one if there is none.
func (v *variants) find(key string) *variant {
	v.mu.Lock()
	defer v.mu.Unlock()
	one := v.byShape[key]
	if one == nil {
		if len(v.byShape) >= maxVariants {
			v.dropOldest()
		}
		one = &variant{}
		v.byShape[key] = one
	}
	v.calls++
	one.used = v.calls
	return one
}

// dropOldest takes out the variant that was not asked for the longest; predictions under way keep theirs.
func (v *variants) dropOldest() {
	oldest := ""
	for key, one := range v.byShape {
		if oldest == "" || one.used < v.byShape[oldest].used {
			oldest = key
		}
	}
	delete(v.byShape, oldest)
}

// forget takes a variant out, if it is still there.
func (v *variants) forget(key string, one *variant) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.byShape[key] == one {
		delete(v.byShape, key)
	}
}

// add takes in a variant that is compiled already.
func (v *variants) add(c *compiled) {
	shapes := map[string][]int{}
	for _, p := range c.function.Inputs() {
		shapes[p.Name] = p.Shape
	}
	one := v.find(v.key(v.open(shapes)))
	one.once.Do(func() { one.compiled = c })
}

// open keeps the shapes of the inputs that the function leaves open.
func (v *variants) open(shapes map[string][]int) map[string][]int {
	kept := map[string][]int{}
	for _, in := range v.from.function.OpenInputs() {
		if shapes[in.Name] != nil {
			kept[in.Name] = shapes[in.Name]
		}
	}
	return kept
}

func (v *variants) key(shapes map[string][]int) string {
	var b strings.Builder
	for _, in := range v.from.function.OpenInputs() {
		fmt.Fprintf(&b, "%v;", shapes[in.Name])
	}
	return b.String()
}

func (v *variants) compile(ctx context.Context, shapes map[string][]int) (made *compiled, err error) {
	err = v.features.limits.compile(ctx, func(ctx context.Context) error {
		made, err = v.compileWithin(ctx, shapes)
		return err
	})
	return made, err
}

func (v *variants) compileWithin(ctx context.Context, shapes map[string][]int) (*compiled, error) {
	result, err := compiler.Compile(ctx, &compiler.Job{
		Target: v.target, Numerics: string(v.numerics), Program: v.from.program, EngineOnly: v.engineOnly,
		Functions: []compiler.Entry{{Function: v.from.function, Shapes: shapes, Features: v.manifest}},
	})
	if err != nil {
		return nil, err
	}
	options := e5rt.Options{Limits: v.features.limits.use(), Done: ctx.Done()}
	if result.Host != nil {
		hosted, err := host.New(result.Host)
		if err != nil {
			return nil, err
		}
		hosted.SetLimits(options.Limits)
		options.Host = hosted
	}
	library, err := e5rt.Open(result.Bundle, options)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err != nil {
		return nil, err
	}
	return newCompiled("variant", v.features, library.Functions()[0]), nil
}
