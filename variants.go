package espalier

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/espalier-ane/espalier/bundle"
	"github.com/espalier-ane/espalier/coreml"
	"github.com/espalier-ane/espalier/e5rt"
	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/build"
	"github.com/espalier-ane/espalier/internal/compiler"
	"github.com/espalier-ane/espalier/internal/host"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/internal/trace"
	"github.com/espalier-ane/espalier/tensor"
)

// variants run a function of a program or a graph: for each set of shapes that its inputs come with there is a variant, compiled on
// first use.
type variants struct {
	from       *source
	features   *features
	config     Config
	manifest   bundle.Function // what a manifest says of the features
	target     *hal.Target
	numerics   Numerics
	engineOnly bool
	trace      func(*compiler.Pass, *segment.Segment, time.Duration) // is told of passes; may be nil

	only atomic.Pointer[compiled] // the variant of a function that leaves no input open, once it is there

	patching sync.Mutex                // of who gives variants weights
	given    map[string]*tensor.Tensor // weights of all variants, of a function that leaves inputs open

	mu      sync.Mutex
	byShape map[string]*variant // of the inputs that the function leaves open
	calls   int                 // of find
}

// maxVariants bounds the variants of a function: each has its program, and buffers for the predictions under way. A
// service that takes every length of a text keeps those that it used last.
const maxVariants = 64

// A variant is a function compiled for concrete shapes.
type variant struct {
	used  int           // the number of the call that asked for it last
	ready chan struct{} // closed when it is compiled, or somebody gave up on it
	err   error
	*compiled
}

func newVariants(from *source, described *features, target *hal.Target, numerics Numerics, engineOnly bool) *variants {
	return &variants{
		from: from, features: described, manifest: manifestFunction(&described.FunctionDescription),
		target: target, numerics: numerics, engineOnly: engineOnly, byShape: map[string]*variant{},
	}
}

func (v *variants) run(ctx context.Context, inputs map[string]any, s states) (map[string]*Value, error) {
	args, err := v.features.arguments(ctx, inputs, v.from.argument)
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

func (v *variants) bind(ctx context.Context, inputs, outputs map[string]any) (bound, error) {
	if only := v.only.Load(); only != nil {
		return only.bind(ctx, inputs, outputs)
	}
	shapes, err := v.openShapes(ctx, inputs)
	if err != nil {
		return nil, err
	}
	one, err := v.variant(ctx, shapes)
	if err != nil {
		return nil, err
	}
	if shapes == nil {
		v.only.Store(one.compiled)
	}
	return one.bind(ctx, inputs, outputs)
}

// openShapes are the shapes of the inputs that the function leaves open; nil if there are none.
func (v *variants) openShapes(ctx context.Context, inputs map[string]any) (map[string][]int, error) {
	var shapes map[string][]int
	for _, in := range v.from.openInputs() {
		i := slices.IndexFunc(v.features.Inputs, func(d coreml.Feature) bool { return d.Name == in.Name })
		given := inputs[in.Name]
		t, err := v.features.array(ctx, v.features.Inputs[i], given)
		if err == nil {
			t, err = fitShape(t, in.Type)
		}
		if err != nil {
			return nil, &InputError{Name: in.Name, Missing: given == nil, Err: err}
		}
		if shapes == nil {
			shapes = map[string][]int{}
		}
		shapes[in.Name] = t.Shape()
	}
	return shapes, nil
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
		one, isNew := v.find(key)
		if isNew {
			v.make(ctx, one, key, shapes)
		}
		select {
		case <-one.ready:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if one.compiled != nil || one.err != nil {
			return one, one.err
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
}

// make compiles a variant. One that is given up, by its context or by a panic, is forgotten: it has neither a program nor an
// error.
func (v *variants) make(ctx context.Context, one *variant, key string, shapes map[string][]int) {
	defer func() {
		if one.compiled == nil && one.err == nil {
			v.forget(key, one)
		}
		close(one.ready)
	}()
	compiled, err := v.compile(ctx, shapes)
	if err == nil {
		err = v.patched(ctx, one, compiled)
	}
	if isCompileLimit(err) {
		v.forget(key, one) // the next one may be luckier
	}
	if ctx.Err() == nil || !errors.Is(err, ctx.Err()) {
		one.err = err
	}
}

// find returns the variant of a key, a new one if there is none: who gets that has to make it.
func (v *variants) find(key string) (found *variant, isNew bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	one := v.byShape[key]
	if one == nil {
		if len(v.byShape) >= maxVariants {
			v.dropOldest()
		}
		one, isNew = &variant{ready: make(chan struct{})}, true
		v.byShape[key] = one
	}
	v.calls++
	one.used = v.calls
	return one, isNew
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
	if one, isNew := v.find(v.key(v.open(shapes))); isNew {
		one.compiled = c
		close(one.ready)
	}
}

// open keeps the shapes of the inputs that the function leaves open.
func (v *variants) open(shapes map[string][]int) map[string][]int {
	kept := map[string][]int{}
	for _, in := range v.from.openInputs() {
		if shapes[in.Name] != nil {
			kept[in.Name] = shapes[in.Name]
		}
	}
	return kept
}

func (v *variants) key(shapes map[string][]int) string {
	var b strings.Builder
	for _, in := range v.from.openInputs() {
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
	times := trace.Of(ctx)
	began := times.Begin()
	built, err := v.build(ctx, &compiler.Job{
		Target: v.target, Numerics: string(v.numerics), EngineOnly: v.engineOnly, Variant: true, Mutable: v.config.Mutable, Trace: traced(times, v.trace),
		Functions: []compiler.Entry{v.from.entry(shapes, v.manifest)},
	})
	if err != nil {
		return nil, err
	}
	if built.Cached {
		times.End(fetching, 0, began)
	} else {
		times.End(compiling, 0, began)
	}
	began = times.Begin()
	options := e5rt.Options{Threads: v.config.Threads, Concurrency: v.config.Concurrency, LowMemory: v.config.LowMemory, Limits: v.features.limits.use()}
	hosted, err := hostOf(built)
	if err != nil {
		return nil, err
	}
	if hosted != nil {
		hosted.SetLimits(options.Limits)
		options.Host = hosted
	}
	library, err := e5rt.OpenContext(ctx, built.Bundle, options)
	if err != nil {
		return nil, err
	}
	times.End(loading, 0, began)
	made, err := newCompiled("variant", v.features, library.Functions()[0])
	if err != nil {
		return nil, err
	}
	made.origins = built.Origins[0]
	return made, nil
}

// build compiles a job, or takes it from the cache. What the cache has mapped of it is closed with the model.
func (v *variants) build(ctx context.Context, job *compiler.Job) (*build.Built, error) {
	c := &v.config
	cache, err := build.At(c.Cache)
	if err != nil && c.Note != nil {
		c.Note(err)
	}
	built, err := cache.Build(ctx, build.Request{
		Job: job, Model: c.path, Note: c.Note, Copy: c.life == nil || c.Weights == CopiedWeights,
	})
	if err != nil {
		return nil, err
	}
	for _, m := range built.Mapped {
		if c.life != nil {
			c.life.keep(m)
		}
	}
	return built, nil
}

// hostOf makes the host program of a bundle ready, nil if it has none: the compiler's, or the text of one that was kept.
func hostOf(built *build.Built) (*host.Host, error) {
	if built.Host != nil {
		return host.New(built.Host)
	}
	hosted, _, err := host.FromBundle(built.Bundle)
	return hosted, err
}
