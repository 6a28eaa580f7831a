package compiler

import (
	"fmt"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/internal/ops"
	"github.com/espalier-ane/espalier/mil"
)

// A lowerer makes a graph of native layers of operations. It is the scope in which package ops finds values.
type lowerer struct {
	of      *Examination
	builder *anec.Builder
	values  map[*mil.Value]*anec.Value
	states  map[*mil.Value]*anec.State
	open    bool // what is not there becomes an input: to try an operation by itself
}

func newLowerer(e *Examination, g *anec.Graph) *lowerer {
	return &lowerer{
		of: e, builder: &anec.Builder{Graph: g},
		values: map[*mil.Value]*anec.Value{}, states: map[*mil.Value]*anec.State{},
	}
}

// graph lowers an engine part.
func (p *Placement) graph(name string, part *Part, symbols *symbols) (*anec.Graph, error) {
	g := anec.New(name)
	l := newLowerer(p.Examination, g)
	for _, v := range part.Inputs {
		if err := l.input(v, symbols.engine(v)); err != nil {
			return nil, err
		}
	}
	for _, v := range part.States {
		if err := l.state(v); err != nil {
			return nil, err
		}
	}
	for _, o := range part.Ops {
		if err := l.lower(o.Op); err != nil {
			return nil, &ops.Error{Function: p.Function.Name, Op: o.Op, Err: err}
		}
	}
	for _, v := range part.Outputs {
		out, err := l.Value(v)
		if err != nil {
			return nil, fmt.Errorf("output %q: %w", v.Name, err)
		}
		g.AddOutput(out)
	}
	g.Sweep()
	return g, anec.Verify(g)
}

func (l *lowerer) lower(op *mil.Operation) error {
	tops, err := l.of.Analysis.Lower(op, l.builder, l)
	if err != nil {
		return err
	}
	for i, v := range op.Outputs {
		l.values[v] = tops[i]
	}
	return nil
}

// Value returns a value that is there, or makes the constant that it is.
func (l *lowerer) Value(v *mil.Value) (*anec.Value, error) {
	if have := l.values[v]; have != nil {
		return have, nil
	}
	switch {
	case v.Def != nil && ops.IsConstexpr(v.Def.Kind):
		if err := l.lower(v.Def); err != nil {
			return nil, err
		}
	case v.Const() != nil:
		made, err := ops.LowerStored(l.builder, v.Name, v.Const())
		if err != nil {
			return nil, err
		}
		l.values[v] = made
	default:
		if t, ok := l.of.Analysis.Known(v); ok {
			var err error
			l.values[v], err = ops.LowerConstant(l.builder, v.Name, t)
			return l.values[v], err
		}
		if !l.open {
			return nil, fmt.Errorf("value %q is not there", v.Name)
		}
		if err := l.input(v, v.Name); err != nil {
			return nil, err
		}
	}
	return l.values[v], nil
}

// State returns a state.
func (l *lowerer) State(v *mil.Value) (*anec.State, error) {
	if l.states[v] == nil {
		if !l.open {
			return nil, fmt.Errorf("state %q is not there", v.Name)
		}
		if err := l.state(v); err != nil {
			return nil, err
		}
	}
	return l.states[v], nil
}

func (l *lowerer) input(v *mil.Value, name string) error {
	t, err := layerType(l.of.Analysis.Type(v))
	if err == nil {
		l.values[v], err = l.builder.Graph.AddInput(name, t)
	}
	return err
}

func (l *lowerer) state(v *mil.Value) error {
	t, err := layerType(v.Type.(*mil.StateType).Elem)
	if err == nil {
		l.states[v], err = l.builder.Graph.AddState(v.Name, t)
	}
	return err
}

// layerType is the type of a value of the model as layers see it, or why they do not.
func layerType(t mil.Type) (anec.Type, error) {
	tt, ok := t.(*mil.TensorType)
	if !ok {
		return anec.Type{}, diag.Decline(diag.NoLayer, "no layer takes a %v", t)
	}
	shape, known := tt.Shape.Ints()
	if tt.AnyRank || !known {
		return anec.Type{}, diag.Decline(diag.NoLayer, "the shape of %v is only known when it runs", t)
	}
	dims, err := anec.DimsOf(shape)
	if err != nil {
		return anec.Type{}, diag.Decline(diag.NoLayer, "%s", err.Error())
	}
	if n, _ := dims.Count(); n == 0 {
		return anec.Type{}, diag.Decline(diag.NoLayer, "%v has no elements", t)
	}
	return anec.TypeOf(tt.DType, dims[:]...), nil
}

// holdable reports whether the engine can hold a value as it is. One that rounds wider floats to fp16 cannot hold them.
func (p *Placement) holdable(v *mil.Value) bool {
	t, err := layerType(p.Analysis.Type(v))
	if err != nil || p.Target.Numerics.RoundToHalf && t.DType.IsFloat() && t.DType.Bits() > 16 {
		return false
	}
	_, err = anec.New("trial").AddInput("x", t)
	return err == nil
}
