package espalier

import (
	"context"
	"fmt"
	"slices"

	"github.com/espalier-ane/espalier/coreml"
	"github.com/espalier-ane/espalier/e5rt"
	"github.com/espalier-ane/espalier/tensor"
)

// NewArray makes an array of zeros for an input or output, such that Bind and PredictInto copy nothing of it: it has the element
// type and lies as the engine has it. That may be fp16 where the model declares fp32, with gaps between rows on a chip; Set its
// elements with CopyFrom, and read them with Float32s. Where the engine has nothing to do with it, or the function
// takes several shapes, it is what the model declares.
func (f *Function) NewArray(ctx context.Context, name string) (t *tensor.Tensor, err error) {
	for _, d := range slices.Concat(f.Inputs(), f.Outputs()) {
		if d.Name != name {
			continue
		}
		err = f.whileOpen(ctx, func() (err error) {
			t, err = f.newArray(ctx, d)
			return err
		})
		return t, f.about(err)
	}
	return nil, f.about(fmt.Errorf("there is no input or output %q: expected %s, %s", name, featureNames(f.Inputs()), featureNames(f.Outputs())))
}

func (f *Function) newArray(ctx context.Context, d coreml.Feature) (*tensor.Tensor, error) {
	var on *compiled
	switch r := f.runner.(type) {
	case *pipeline:
		if of, ok := r.user(d.Name); ok {
			return of.newArray(ctx, d)
		}
	case *compiled:
		on = r
	case *variants:
		if len(r.from.openInputs()) == 0 {
			one, err := r.variant(ctx, nil)
			if err != nil {
				return nil, err
			}
			on = one.compiled
		}
	}
	if on != nil {
		if l, ok := on.layoutOf(d); ok {
			b, err := e5rt.NewBuffer(l)
			if err != nil {
				return nil, err
			}
			return b.Tensor()
		}
	}
	array, ok := d.Type.(*coreml.ArrayType)
	if !ok || array.Shape == nil {
		return nil, fmt.Errorf("%q is %v, of which there is no one array", d.Name, d.Type)
	}
	return tensor.New(arrayDType(array), array.Shape...), nil
}

// layoutOf is how the memory for a feature lies best; false if it has no layout.
func (c *compiled) layoutOf(d coreml.Feature) (e5rt.Layout, bool) {
	for _, p := range slices.Concat(c.function.Inputs(), c.function.Outputs()) {
		if p.Name != d.Name || p.Type == tensor.Invalid {
			continue
		}
		if l, err := c.function.EngineLayout(p.Name); err == nil && mayBe(l.Type, outputDType(d, p.Type)) {
			return l, true
		}
		return p.Layout(), true
	}
	return e5rt.Layout{}, false
}

// mayBe reports whether memory of an element type may be given for a feature that declares another and be used as it is: nothing
// is lost on the way there and back.
func mayBe(d, declared tensor.DType) bool {
	return d == declared || d == tensor.Float16 && (declared == tensor.Float32 || declared == tensor.Float64)
}
