package espalier

import (
	"context"
	"fmt"

	"github.com/espalier-ane/espalier/e5rt"
	"github.com/espalier-ane/espalier/internal/build"
	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// A compiled function runs on the runtime: a function of a bundle, or a variant of one of a program.
type compiled struct {
	form      string // what it was opened from, for errors
	features  *features
	function  *e5rt.Function
	arguments map[string]mil.Type         // of the input ports
	bound     *e5rt.Pool[*boundOperation] // one for each prediction under way, with the memory of their last callers
	origins   []build.Origins             // by segment; nil of what was compiled before
}

func newCompiled(form string, described *features, f *e5rt.Function) (*compiled, error) {
	c := &compiled{form: form, features: described, function: f, arguments: map[string]mil.Type{}}
	c.bound = e5rt.NewPool(f.Concurrency(), func() (*boundOperation, error) { return newBoundOperation(c) })
	for _, p := range f.Inputs() {
		c.arguments[p.Name] = mil.Tensor(tensor.String) // a port without a layout: the host's
		if p.Type != tensor.Invalid {
			c.arguments[p.Name] = mil.Tensor(p.Type, tensor.ShapeOf(p.Shape...)...)
		}
	}
	return c, f.Load(context.Background()) // it allocates, and waits for nobody
}

func (c *compiled) run(ctx context.Context, inputs map[string]any, s states) (map[string]*Value, error) {
	args, err := c.features.arguments(ctx, inputs, func(name string) mil.Type { return c.arguments[name] })
	if err != nil {
		return nil, err
	}
	return c.compute(ctx, args, s)
}

// compute runs the function on arrays of the types and shapes of its ports.
func (c *compiled) compute(ctx context.Context, args map[string]*tensor.Tensor, s states) (map[string]*Value, error) {
	o := c.function.TakeOut()
	defer c.function.PutBack(o)
	l := loan{operation: o}
	defer l.end()
	for _, p := range c.function.Inputs() {
		if l.lend(&p, args[p.Name]) {
			continue
		}
		if err := o.Set(p.Name, args[p.Name]); err != nil {
			return nil, err
		}
	}
	for _, p := range c.function.Outputs() {
		if c.arguments[p.Name] == nil { // else it is an input that is passed on
			l.lendNew(&p)
		}
	}
	held, _ := s.(*e5rt.State)
	if err := o.Run(ctx, held); err != nil {
		return nil, err
	}
	return c.features.values(o.Value, l.isOwn) // copies of the rest: what the operation holds is its memory
}

func (c *compiled) newState() states { return c.function.NewState() }

func (c *compiled) source() (*source, error) {
	return nil, fmt.Errorf("this is a %s, which is compiled already", c.form)
}
