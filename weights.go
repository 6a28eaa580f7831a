package espalier

import (
	"context"
	"fmt"
	"maps"

	"github.com/espalier-ane/espalier/e5rt"
	"github.com/espalier-ane/espalier/internal/compiler"
	"github.com/espalier-ane/espalier/tensor"
)

// AllWeights, in Config.Mutable, stands for every constant of fp16 or fp32 that has more than one element.
const AllWeights = compiler.AllWeights

// A Weight is a constant of a model that SetWeights may give other elements.
type Weight = e5rt.Weight

// A weighted runner has weights that may change.
type weighted interface {
	weights() []Weight
	setWeights(ctx context.Context, elements map[string]*tensor.Tensor) error
}

// Weights are the constants that SetWeights may give other elements: those that Config.Mutable names, and of a bundle those that
// were named when it was compiled.
func (f *Function) Weights() []Weight {
	if w, ok := f.runner.(weighted); ok {
		return w.weights()
	}
	return nil
}

// SetWeights gives constants of the function other elements, by their names in the model: arrays of their shapes, converted to their
// types. Nothing is compiled: what depends on them is packed anew, which takes about as long as to copy them. Every prediction that
// begins after SetWeights has returned has the new ones, all of them; one that is under way keeps those that it has.
//
//	c := espalier.Config{Mutable: []string{"fc_weight", "fc_bias"}}
//	m, err := c.Open("model.mlpackage")
//	for … {
//		… predict, and compute gradients …
//		err = m.SetWeights(ctx, map[string]*tensor.Tensor{"fc_weight": w, "fc_bias": b})
//	}
func (f *Function) SetWeights(ctx context.Context, elements map[string]*tensor.Tensor) error {
	w, ok := f.runner.(weighted)
	if !ok {
		return f.about(fmt.Errorf("weights that change: %w: only of functions on the engine", ErrUnsupported))
	}
	return f.about(f.whileOpen(ctx, func() error { return w.setWeights(ctx, elements) }))
}

// SetWeights gives constants of the model's default function other elements.
func (m *Model) SetWeights(ctx context.Context, elements map[string]*tensor.Tensor) error {
	return m.functions[0].SetWeights(ctx, elements)
}

func (c *compiled) weights() []Weight { return c.function.Weights() }

func (c *compiled) setWeights(ctx context.Context, elements map[string]*tensor.Tensor) error {
	return c.function.SetWeights(ctx, elements)
}

func (v *variants) weights() (list []Weight) {
	if v.from.function == nil { // of a graph nothing is mutable
		return nil
	}
	for _, w := range compiler.MutableWeights(v.from.function, v.config.Mutable) {
		d, _ := tensor.ParseDType(w.Type)
		list = append(list, Weight{Name: w.Name, Type: d, Shape: w.Shape})
	}
	return list
}

// setWeights patches every variant that is there, and notes what to give those that come. Of a function that leaves no input open
// there is but one.
func (v *variants) setWeights(ctx context.Context, elements map[string]*tensor.Tensor) error {
	if len(v.from.openInputs()) == 0 {
		one, err := v.variant(ctx, nil)
		if err != nil {
			return err
		}
		return one.setWeights(ctx, elements)
	}
	if err := e5rt.CheckWeights(v.from.function.Name, v.weights(), elements); err != nil {
		return err
	}
	v.patching.Lock()
	defer v.patching.Unlock()
	if v.given == nil {
		v.given = map[string]*tensor.Tensor{}
	}
	for name, t := range elements {
		v.given[name] = t.Clone() // the caller may write into his
	}
	for _, one := range v.ready() {
		if err := one.setWeights(ctx, elements); err != nil {
			return err
		}
	}
	return nil
}

// ready are the variants that are compiled.
func (v *variants) ready() (list []*compiled) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for one := range maps.Values(v.byShape) {
		if one.compiled != nil {
			list = append(list, one.compiled)
		}
	}
	return list
}

// patched gives a variant that was just compiled the weights of the others, and publishes it.
func (v *variants) patched(ctx context.Context, one *variant, c *compiled) (err error) {
	v.patching.Lock()
	defer v.patching.Unlock()
	if len(v.given) > 0 {
		err = c.setWeights(ctx, v.given)
	}
	if err == nil {
		v.mu.Lock()
		one.compiled = c
		v.mu.Unlock()
	}
	return err
}
