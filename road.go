package espalier

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/espalier-ane/espalier/bundle"
	"github.com/espalier-ane/espalier/coreml"
	"github.com/espalier-ane/espalier/e5rt"
	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/compiler"
	"github.com/espalier-ane/espalier/internal/host"
	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// A road is a function on its way over the compiler and the engine. It has a variant for each set of shapes
// that its inputs came with, compiled on first use.
type road struct {
	target     *hal.Target
	numerics   Numerics
	engineOnly bool
	program    *mil.Program
	function   *mil.Function
	features   bundle.Function

	mu       sync.Mutex
	variants map[string]*variant // by the shapes of the inputs
	turn     int                 // counts the calls of find
}

// maxVariants bounds the variants of a function: each has its program, and buffers for the predictions under way. A
// service that takes every length of a text keeps those that it used last.
const maxVariants = 64

// A variant is a function compiled for concrete shapes.
type variant struct {
	used       int // the turn in which it was asked for last
	once       sync.Once
	err        error
	function   *e5rt.Function
	operations sync.Pool // of *e5rt.Operation: one for each prediction under way
}

// variant finds the one for the shapes of the arguments, and compiles it if it is new. One that a caller gave up on is
// compiled anew by the next, be it one that has waited for it.
func (r *road) variant(ctx context.Context, args map[string]*tensor.Tensor) (*variant, error) {
	shapes := make(map[string][]int, len(args))
	for name, t := range args {
		shapes[name] = t.Shape()
	}
	shapes = r.open(shapes)
	key := shapeKey(r.function, shapes)
	for {
		v := r.find(key)
		v.once.Do(func() { v.err = v.compile(ctx, r, shapes) })
		if !errors.Is(v.err, context.Canceled) && !errors.Is(v.err, context.DeadlineExceeded) {
			return v, v.err
		}
		r.forget(key, v)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
}

// find returns the variant of a key, a new one if there is none.
func (r *road) find(key string) *variant {
	r.mu.Lock()
	defer r.mu.Unlock()
	v := r.variants[key]
	if v == nil {
		if len(r.variants) >= maxVariants {
			r.dropOldest()
		}
		v = &variant{}
		r.variants[key] = v
	}
	r.turn++
	v.used = r.turn
	return v
}

// dropOldest takes out the variant that was not asked for the longest; predictions under way keep theirs.
func (r *road) dropOldest() {
	oldest := ""
	for key, v := range r.variants {
		if oldest == "" || v.used < r.variants[oldest].used {
			oldest = key
		}
	}
	delete(r.variants, oldest)
}

// forget takes a variant out, if it is still there.
func (r *road) forget(key string, v *variant) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.variants[key] == v {
		delete(r.variants, key)
	}
}

// open keeps the shapes of the inputs that the function leaves open.
func (r *road) open(shapes map[string][]int) map[string][]int {
	kept := map[string][]int{}
	for _, v := range r.function.Inputs {
		if t, ok := v.Type.(*mil.TensorType); ok && (t.AnyRank || !t.Shape.Known()) && shapes[v.Name] != nil {
			kept[v.Name] = shapes[v.Name]
		}
	}
	return kept
}

func shapeKey(f *mil.Function, shapes map[string][]int) string {
	var b strings.Builder
	for _, v := range f.Inputs {
		fmt.Fprintf(&b, "%v;", shapes[v.Name])
	}
	return b.String()
}

func (v *variant) compile(ctx context.Context, r *road, shapes map[string][]int) error {
	result, err := compiler.Compile(ctx, &compiler.Job{
		Target: r.target, Numerics: string(r.numerics), Program: r.program, EngineOnly: r.engineOnly,
		Functions: []compiler.Entry{{Function: r.function, Shapes: shapes, Features: r.features}},
	})
	if err != nil {
		return err
	}
	var options e5rt.Options
	if result.Host != nil {
		if options.Host, err = host.New(result.Host); err != nil {
			return err
		}
	}
	library, err := e5rt.Open(result.Bundle, options)
	if err != nil {
		return err
	}
	v.serve(library.Functions()[0])
	return nil
}

// newVariant makes a variant of a function that is compiled.
func newVariant(f *e5rt.Function) *variant {
	v := &variant{}
	v.serve(f)
	return v
}

func (v *variant) serve(f *e5rt.Function) {
	v.function = f
	v.operations.New = func() any { return f.NewOperation() }
}

// run executes a function and returns the values of its outputs by name. Arrays are views of the operation's
// buffers, so the caller gets copies.
func (v *variant) run(ctx context.Context, args map[string]*tensor.Tensor, s *e5rt.State, outputs []coreml.Feature) (map[string]any, error) {
	o := v.operations.Get().(*e5rt.Operation)
	defer v.operations.Put(o)
	for _, p := range v.function.Inputs() {
		if err := o.Set(p.Name, args[p.Name]); err != nil {
			return nil, err
		}
	}
	if err := o.Run(ctx, s); err != nil {
		return nil, err
	}
	values := map[string]any{}
	for _, d := range outputs {
		value, err := o.Value(d.Name)
		if err != nil {
			return nil, err
		}
		if t, ok := value.(*tensor.Tensor); ok {
			value = t.Clone()
		}
		values[d.Name] = value
	}
	return values, nil
}
