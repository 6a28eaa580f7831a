package anec

import "github.com/espalier-ane/espalier/tensor"

// A Builder adds to a graph and keeps the first error, so that a lowering can
// be written as expressions. After an error it returns nil values and does
// nothing more.
type Builder struct {
	Graph *Graph

	// Origin is given to every layer that is added.
	Origin []string

	err error
}

// Err returns the first error.
func (b *Builder) Err() error { return b.err }

// Fail keeps an error of the caller's, unless there is one already.
func (b *Builder) Fail(err error) {
	if b.err == nil {
		b.err = err
	}
}

// TakeErr returns the first error and forgets it: the builder builds again.
func (b *Builder) TakeErr() error {
	err := b.err
	b.err = nil
	return err
}

// Layer adds a layer with one top, named like it, and returns the top. A name
// that is taken gets a number.
func (b *Builder) Layer(name string, p Params, bottoms ...*Value) *Value {
	return b.LayerAs(tensor.Invalid, name, p, bottoms...)
}

// LayerAs is Layer with an element type for the top.
func (b *Builder) LayerAs(out tensor.DType, name string, p Params, bottoms ...*Value) *Value {
	tops := b.Layers(out, name, p, bottoms...)
	if len(tops) == 0 {
		return nil
	}
	return tops[0]
}

// Layers is LayerAs for kinds with several tops.
func (b *Builder) Layers(out tensor.DType, name string, p Params, bottoms ...*Value) []*Value {
	if b.err != nil {
		return nil
	}
	l, err := b.Graph.Add(Spec{Name: b.Graph.FreshName(name), Params: p, Bottoms: bottoms, OutputType: out, Origin: b.Origin})
	if err != nil {
		b.err = err
		return nil
	}
	return l.Tops
}

// Constant adds a constant. A name that is taken gets a number.
func (b *Builder) Constant(name string, c *Constant) *Value {
	if b.err != nil {
		return nil
	}
	v, err := b.Graph.AddConstant(b.Graph.FreshName(name), c)
	b.err = err
	return v
}

// Scalar adds a constant of one fp32 element.
func (b *Builder) Scalar(name string, f float32) *Value {
	return b.Constant(name, ConstantOf(tensor.Of([]float32{f}, 1, 1, 1, 1, 1)))
}
