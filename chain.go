package espalier

import (
	"context"
	"fmt"
	"slices"

	"github.com/espalier-ane/espalier/coreml"
	"github.com/espalier-ane/espalier/tensor"
)

// A chain is the stages of a pipeline, bound to memory of the caller at its ends and to arrays between them. Such an array lies as
// the engine of the stage that makes it has it: if the next one has it so too, nothing is copied on the way.
//
//	x ─ stage 0 ─ h ─ stage 1 ─ y
//	caller's      chain's       caller's
type chain struct{ stages []bound }

// chain binds the stages of a pipeline; nil if they cannot be: something else than arrays of known shapes goes from one to the
// other, or an output is no stage's.
func (p *pipeline) chain(ctx context.Context, inputs, outputs map[string]any) (*chain, error) {
	if !p.chains() {
		return nil, nil
	}
	c, have := &chain{}, map[string]any{}
	for name, v := range inputs {
		have[name] = v
	}
	for i, stage := range p.stages {
		in, out, err := p.ends(ctx, i, have, outputs)
		if err == nil {
			var b bound
			if b, err = stage.bind(ctx, in, out); err == nil {
				c.stages = append(c.stages, b)
			}
		}
		if err != nil {
			c.release()
			return nil, fmt.Errorf("stage %d of the pipeline: %w", i, err)
		}
	}
	return c, nil
}

// ends are what stage i is bound to. It adds to what there is.
func (p *pipeline) ends(ctx context.Context, i int, have, outputs map[string]any) (in, out map[string]any, err error) {
	stage := p.stages[i]
	in, out = map[string]any{}, map[string]any{}
	for _, d := range stage.Inputs() {
		if v, ok := have[d.Name]; ok {
			in[d.Name] = v
		}
	}
	for _, d := range stage.Outputs() {
		if p.reads(i+1, d.Name) {
			if have[d.Name], err = stage.newArray(ctx, d); err != nil {
				return nil, nil, err
			}
			out[d.Name] = have[d.Name]
		} else if outputs[d.Name] != nil && p.maker(d.Name) == i {
			out[d.Name] = outputs[d.Name]
		}
	}
	return in, out, nil
}

// chains reports whether the stages can be bound one behind the other.
func (p *pipeline) chains() bool {
	for i, stage := range p.stages {
		if !stage.isFixed() {
			return false
		}
		for _, d := range stage.Outputs() {
			_, isArray := d.Type.(*coreml.ArrayType)
			if last := p.maker(d.Name) == i; p.reads(i+1, d.Name) && (!isArray || last && hasFeature(p.features.Outputs, d.Name)) {
				return false
			}
		}
	}
	return !slices.ContainsFunc(p.features.Outputs, func(d coreml.Feature) bool { return p.maker(d.Name) < 0 })
}

// isFixed reports whether the runtime runs the function, for one set of shapes.
func (f *Function) isFixed() bool {
	switch r := f.runner.(type) {
	case *compiled:
		return true
	case *variants:
		return len(r.from.openInputs()) == 0
	}
	return false
}

// maker is the last stage that has an output, -1 if there is none.
func (p *pipeline) maker(output string) int {
	for i := len(p.stages) - 1; i >= 0; i-- {
		if hasFeature(p.stages[i].Outputs(), output) {
			return i
		}
	}
	return -1
}

// user is the stage that has an input or output of the pipeline: the one that makes it last, or else reads it first.
func (p *pipeline) user(name string) (*Function, bool) {
	if i := p.maker(name); i >= 0 {
		return p.stages[i], true
	}
	for _, stage := range p.stages {
		if hasFeature(stage.Inputs(), name) {
			return stage, true
		}
	}
	return nil, false
}

// reads reports whether a stage, from one on, takes an input, before another makes it anew.
func (p *pipeline) reads(from int, input string) bool {
	for _, stage := range p.stages[from:] {
		if hasFeature(stage.Inputs(), input) {
			return true
		}
		if hasFeature(stage.Outputs(), input) {
			return false
		}
	}
	return false
}

func (c *chain) run(ctx context.Context, _ states) error {
	for i, b := range c.stages {
		if err := b.run(ctx, nil); err != nil {
			return fmt.Errorf("stage %d of the pipeline: %w", i, err)
		}
	}
	return nil
}

func (c *chain) release() {
	for _, b := range c.stages {
		b.release()
	}
}

// runChain is run on a chain; nil if there is none, or the outputs are not arrays of known shapes.
func (p *pipeline) runChain(ctx context.Context, inputs map[string]any) (map[string]*Value, error) {
	if !p.chains() {
		return nil, nil
	}
	outputs, values := map[string]any{}, map[string]*Value{}
	for _, d := range p.features.Outputs {
		of := p.stages[p.maker(d.Name)]
		made := of.Outputs()[slices.IndexFunc(of.Outputs(), func(o coreml.Feature) bool { return o.Name == d.Name })]
		array, ok := made.Type.(*coreml.ArrayType)
		if !ok || array.Shape == nil {
			return nil, nil
		}
		t := tensor.New(arrayDType(array), array.Shape...)
		outputs[d.Name], values[d.Name] = t, &Value{Feature: d, Tensor: t}
	}
	c, err := p.chain(ctx, inputs, outputs)
	if c == nil || err != nil {
		return nil, err
	}
	defer c.release()
	return values, c.run(ctx, nil)
}
