package compiler

import (
	"slices"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// What the passes of legalization share: they write a layer of which the target has no task as others.

// A rule rewrites a layer: it builds others and returns the value that takes the place of the layer's top. It
// returns nil for a layer that may stay, before it has built anything.
type rule func(b *anec.Builder, l *anec.Layer) (*anec.Value, error)

// rewriteKinds makes a pass of a rule for layers of some kinds.
func rewriteKinds(r rule, kinds ...anec.Kind) func(*segment.Segment) error {
	return func(s *segment.Segment) error {
		var refused refusals
		for _, l := range s.Graph.Order() {
			if slices.Contains(kinds, l.Kind()) {
				refused.add(l, rewrite(s.Graph, l, r))
			}
		}
		return refused.err()
	}
}

// rewrite applies a rule. What the rule gives has the layer's epilogue and output type still to come: they go
// into the layer that gives it if there is room, else behind it.
func rewrite(g *anec.Graph, l *anec.Layer, r rule) error {
	b := &anec.Builder{Graph: g, Origin: l.Origin}
	v, err := r(b, l)
	if err == nil {
		err = b.Err()
	}
	if err != nil || v == nil {
		return err
	}
	if v, err = withEpilogue(b, v, l); err != nil {
		return err
	}
	return takeOver(g, l, v)
}

// A builder adds a layer.
type builder func(p anec.Params, bottoms ...*anec.Value) *anec.Value

// A coreRule writes a layer as moves around one that computes, which it has built by core.
type coreRule func(b *anec.Builder, l *anec.Layer, core builder) (*anec.Value, error)

// rewriteCore applies a rule. Where all elements have the epilogue in common it stays with what computes: it costs nothing
// there. The axes are those along which it may differ still, for the moves leave them as they are.
func rewriteCore(g *anec.Graph, l *anec.Layer, axes td.Axes, r coreRule) error {
	bare, err := bareType(l)
	if err != nil {
		return err
	}
	e := &l.Epilogue
	inside := e.Transpose == nil && e.Quant == nil && e.Texture == nil && e.Broadcast == (anec.Dims{})
	for _, v := range l.Reads()[len(l.Bottoms):] {
		for a, n := range v.Type.Dims {
			inside = inside && (n == 1 || axes.Has(td.Axis(a)))
		}
	}
	if inside {
		b := &anec.Builder{Graph: g, Origin: l.Origin}
		v, err := r(b, l, func(p anec.Params, bottoms ...*anec.Value) *anec.Value {
			return layerWith(b, l.Top().Type.DType, l.Name, p, *e, bottoms...)
		})
		if err == nil {
			err = b.Err()
		}
		if err != nil || v == nil {
			return err
		}
		return takeOver(g, l, v)
	}
	return rewrite(g, l, func(b *anec.Builder, l *anec.Layer) (*anec.Value, error) {
		return r(b, l, func(p anec.Params, bottoms ...*anec.Value) *anec.Value {
			return layerAs(b, bare.DType, l.Name, p, bottoms...)
		})
	})
}

// takeOver puts a value in the place of a layer's top.
func takeOver(g *anec.Graph, l *anec.Layer, v *anec.Value) error {
	if err := g.ReplaceUses(l.Top(), v); err != nil {
		return err
	}
	return g.Remove(l)
}

// withEpilogue is a value after the epilogue of a layer, in the type that the layer stores.
func withEpilogue(b *anec.Builder, v *anec.Value, l *anec.Layer) (*anec.Value, error) {
	out := l.Top().Type.DType
	if l.Epilogue.Empty() && v.Type.DType == out {
		return v, nil
	}
	if v.Def == nil || v.Def.Info().NoTask != "" || !v.Def.Epilogue.Empty() || len(v.Uses) > 0 {
		if v = layerAs(b, out, l.Name, &anec.Copy{}, v); v == nil {
			return nil, b.Err()
		}
	}
	err := b.Graph.Edit(v.Def, func(d *anec.Layer) {
		d.Epilogue, d.OutputType = l.Epilogue, outputType(out, d.Params, l.Epilogue, d.Bottoms...)
	})
	return v, err
}

// outputType is what a layer has to say in order to store elements of a type: nothing if it does so anyway.
func outputType(d tensor.DType, p anec.Params, e anec.Epilogue, bottoms ...*anec.Value) tensor.DType {
	l := anec.Layer{Params: p, Epilogue: e, Bottoms: bottoms}
	if types, err := l.TopTypes(); err == nil && types[0].DType == d {
		return tensor.Invalid
	}
	return d
}

// between is the element type of a value that one task would have kept to itself: fp32, as it is inside a task;
// integers as they are.
func between(d tensor.DType) tensor.DType {
	if d.IsFloat() {
		return tensor.Float32
	}
	return d
}

// bareType is the type of a layer's top without epilogue and output type.
func bareType(l *anec.Layer) (anec.Type, error) {
	bare := *l
	bare.Epilogue, bare.OutputType = anec.Epilogue{}, tensor.Invalid
	types, err := bare.TopTypes()
	if err != nil {
		return anec.Type{}, err
	}
	return types[0], nil
}

// ewNumber is a step that combines with a number.
func ewNumber(k td.EWKind, a float32) anec.Step { return anec.Step{Code: td.MicroEW, EW: k, A: a} }

// ewValue is a step that combines with a value.
func ewValue(k td.EWKind, v *anec.Value) anec.Step {
	return anec.Step{Code: td.MicroEW, EW: k, Operand: v}
}

// layerAs adds a layer that stores elements of a type.
func layerAs(b *anec.Builder, d tensor.DType, name string, p anec.Params, bottoms ...*anec.Value) *anec.Value {
	return layerWith(b, d, name, p, anec.Epilogue{}, bottoms...)
}

// layerWith is layerAs with an epilogue.
func layerWith(b *anec.Builder, d tensor.DType, name string, p anec.Params, e anec.Epilogue, bottoms ...*anec.Value) *anec.Value {
	if b.Err() != nil {
		return nil
	}
	l, err := b.Graph.Add(anec.Spec{
		Name: b.Graph.FreshName(name), Params: p, Bottoms: bottoms, Epilogue: e,
		OutputType: outputType(d, p, e, bottoms...), Origin: b.Origin,
	})
	if err != nil {
		b.Fail(err)
		return nil
	}
	return l.Top()
}

// cutTo leaves the first rows and columns of a value, as many as the extents say.
func cutTo(b *anec.Builder, name string, y *anec.Value, d anec.Dims) *anec.Value {
	for _, a := range []td.Axis{anec.H, anec.W} {
		if b.Err() == nil && y.Type.Dims[a] > d[a] {
			y = b.Layer(name, &anec.InputView{Axis: a, Size: d[a], Step: 1}, y)
		}
	}
	return y
}
