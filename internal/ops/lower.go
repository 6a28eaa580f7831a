package ops

import (
	"fmt"
	"slices"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// LowerFunc writes a call as native layers and hands the results to Lowering.Give. It knows no target: it
// gives the most fused layers that there are, and refuses what has no native form.
type LowerFunc func(*Lowering) error

// Lowering is a call on its way to native layers. The types of arguments and results are concrete, and
// constants that are not weights have values, as in a type rule.
//
// Every tensor of the model lies on the axes of a layer by anec.DimsOf, whatever made it and whoever reads it.
// A lowering that wants its axes elsewhere says so with Reshape and Transpose, which cost nothing where
// strides can express them.
type Lowering struct {
	*Call
	*anec.Builder

	scope Scope
	gives []*anec.Value
}

// Scope is where a lowering finds the values of the graph.
type Scope interface {
	// Value returns what an operation before has given, an input, or a constant.
	Value(*mil.Value) (*anec.Value, error)
	// State returns a state of the function.
	State(*mil.Value) (*anec.State, error)
}

// Refuse makes the error of a lowering that has no native form: a limit, a type, an argument that is not constant.
func (l *Lowering) Refuse(format string, args ...any) error { return noLayer(format, args...) }

// noLayer says why an operation has no native form here, for the one who reads the report.
func noLayer(format string, args ...any) error { return diag.Decline(diag.NoLayer, format, args...) }

// Name is what layers are called after: the operation.
func (l *Lowering) Name() string { return l.Op.Name() }

// In is the value of a tensor argument, be it constant.
func (l *Lowering) In(param string) *anec.Value { return l.InAt(param, 0) }

// InAt is the i-th argument of a variadic parameter. An argument that is left out and has a default is a constant.
// After an error it is nil, as all that a Builder gives.
func (l *Lowering) InAt(param string, i int) *anec.Value {
	if l.Err() != nil {
		return nil
	}
	v, err := l.argumentValue(param, i)
	if err == nil && slices.Contains(v.Type.Dims[:], 0) {
		err = noLayer("it is empty: no layer takes a tensor without elements")
	}
	if err != nil {
		l.Fail(fmt.Errorf("parameter %s: %w", param, err))
		return nil
	}
	return v
}

func (l *Lowering) argumentValue(param string, i int) (*anec.Value, error) {
	if given := l.Op.Input(param); i < len(given) {
		if v := given[i].Value; v != nil {
			if v.Const() != nil {
				return l.scope.Value(v)
			}
			if a := &l.args[param][i]; a.val == nil || isConstant(v.Def) {
				return l.scope.Value(v)
			}
		} else {
			return l.constantOf(l.Name()+"_"+param, given[i].Const)
		}
	} else if k := l.Op.Attributes.Get(param); k != nil {
		return l.constantOf(l.Name()+"_"+param, k)
	}
	if i >= len(l.args[param]) {
		return nil, fmt.Errorf("it is not bound")
	}
	// A default, or a value that verification has computed.
	a := &l.args[param][i]
	t, ok := a.val.(*tensor.Tensor)
	if !ok {
		return nil, noLayer("it is a %v", a.typ)
	}
	t, err := t.Convert(a.typ.(*mil.TensorType).DType)
	if err != nil {
		return nil, err
	}
	return LowerConstant(l.Builder, l.Name()+"_"+param, t)
}

// constantOf adds a constant of the program as it is stored.
func (l *Lowering) constantOf(name string, k *mil.Constant) (*anec.Value, error) {
	return LowerStored(l.Builder, name, k)
}

// LowerStored adds a constant of the program as it is stored.
func LowerStored(b *anec.Builder, name string, k *mil.Constant) (*anec.Value, error) {
	t, err := k.Load()
	if err != nil {
		return nil, err
	}
	v, err := LowerConstant(b, name, t)
	if err == nil {
		v.Const.Mutable = k.Mutable
	}
	return v, err
}

// LowerConstant adds an array as a constant.
func LowerConstant(b *anec.Builder, name string, t *tensor.Tensor) (*anec.Value, error) {
	if t.DType() == tensor.String {
		return nil, noLayer("no layer takes strings")
	}
	dims, err := anec.DimsOf(t.Shape())
	if err != nil {
		return nil, noLayer("%s", err.Error())
	}
	five, err := t.Reshape(dims[:]...)
	if err != nil {
		return nil, err
	}
	v := b.Constant(name, anec.ConstantOf(five))
	return v, b.Err()
}

// Raw is a constant argument as the program stores it, nil if it is computed. Call.Tensor has floating-point
// types widened; this has not.
func (l *Lowering) Raw(param string) *tensor.Tensor {
	var k *mil.Constant
	if given := l.Op.Input(param); len(given) > 0 {
		if k = given[0].Const; given[0].Value != nil {
			k = given[0].Value.Const()
		}
	} else {
		k = l.Op.Attributes.Get(param)
	}
	if k == nil {
		return nil
	}
	t, err := k.Load()
	if err != nil {
		l.Fail(fmt.Errorf("parameter %s: %w", param, err))
		return nil
	}
	return t
}

// InState is a state argument.
func (l *Lowering) InState(param string) (*anec.State, error) {
	return l.scope.State(l.Op.Input(param)[0].Value)
}

// OutDims are the extents of the i-th result.
func (l *Lowering) OutDims(i int) anec.Dims {
	dims, _ := anec.DimsOf(l.OutShape(i)) // Lower has seen to the rank
	return dims
}

// OutDType is the element type of the i-th result.
func (l *Lowering) OutDType(i int) tensor.DType { return l.Out(i).DType }

// Axis5 is where an axis of an argument, counted from 0, lies.
func (l *Lowering) Axis5(param string, axis int) td.Axis { return anec.AxisOf(l.Rank(param), axis) }

// Reshape gives a value other extents; nothing is added where they are the same, and no layer for a plain constant.
func (l *Lowering) Reshape(v *anec.Value, dims anec.Dims) *anec.Value {
	if v == nil || v.Type.Dims == dims {
		return v
	}
	if c := l.reshaped(v, dims); c != nil {
		return c
	}
	return l.Layer(l.Name(), &anec.Reshape{Dims: dims}, v)
}

// Transpose moves axes; nothing is added for the identity.
func (l *Lowering) Transpose(v *anec.Value, perm anec.Perm) *anec.Value {
	if v == nil || perm == anec.Identity {
		return v
	}
	return l.Layer(l.Name(), &anec.Transpose{Perm: perm}, v)
}

// Cast converts a value; nothing is added where the type is the same.
func (l *Lowering) Cast(v *anec.Value, d tensor.DType) *anec.Value {
	if v == nil || v.Type.DType == d {
		return v
	}
	return l.Layer(l.Name(), &anec.TypeCast{To: d}, v)
}

// Give hands over the value of the i-th result: of its element type, and of its shape on the axes.
func (l *Lowering) Give(i int, v *anec.Value) {
	for len(l.gives) <= i {
		l.gives = append(l.gives, nil)
	}
	l.gives[i] = v
}

// Lower adds the native layers of an operation to the graph of the builder and returns the values of its outputs. A
// *diag.Reason, or what the rules of package anec say, is why there are none; then the graph may have layers that nobody
// reads.
func (a *Analysis) Lower(op *mil.Operation, b *anec.Builder, scope Scope) ([]*anec.Value, error) {
	c, err := bind(op, a.in.opset, a.in)
	if err != nil {
		return nil, err
	}
	if c.Def.Lower == nil {
		return nil, noLayer("%s", withoutLayer(c.Def))
	}
	if err := c.concrete(a); err != nil {
		return nil, err
	}
	defer func(before []string) { b.Origin = before }(b.Origin) // of one that has asked for this operation's result
	b.Origin = []string{op.Name()}
	l := &Lowering{Call: c, Builder: b, scope: scope}
	err = c.Def.Lower(l)
	if err == nil {
		err = b.TakeErr()
	} else {
		b.TakeErr()
	}
	if err != nil {
		return nil, err
	}
	return l.gives, l.check()
}

// withoutLayer says why an operation has no lowering at all.
func withoutLayer(d *Def) string {
	if d.HostOnly != "" {
		return d.HostOnly
	}
	return "no native layer computes it"
}

// concrete holds the types of a call to what layers can have, and sets those of its results.
func (c *Call) concrete(a *Analysis) error {
	for i := range c.version.Params {
		p := &c.version.Params[i]
		for j := range c.args[p.Name] {
			if t, ok := c.args[p.Name][j].typ.(*mil.TensorType); ok && (t.AnyRank || !t.Shape.Known()) {
				return noLayer("the shape of %s, %v, is only known when it runs", p.Name, t)
			} else if ok && !p.Const && len(t.Shape) > anec.MaxRank {
				return noLayer("%s is of rank %d: a layer takes at most %d axes", p.Name, len(t.Shape), anec.MaxRank)
			}
		}
	}
	for _, v := range c.Op.Outputs {
		t := a.Type(v)
		tt, ok := t.(*mil.TensorType)
		if !ok {
			return noLayer("its result is a %v", t)
		}
		if tt.AnyRank || !tt.Shape.Known() {
			return noLayer("the shape of its result, %v, is only known when it runs", t)
		}
		if dims, _ := tt.Shape.Ints(); len(dims) > anec.MaxRank {
			return noLayer("its result is of rank %d: a layer takes at most %d axes", len(dims), anec.MaxRank)
		} else if slices.Contains(dims, 0) {
			return noLayer("its result, %v, is empty: no layer makes a tensor without elements", t)
		}
		c.outs = append(c.outs, tt)
	}
	return nil
}

// A LoweringError is a fault of ours: a lowering that does not give what the type rule says.
type LoweringError struct{ Msg string }

func (e *LoweringError) Error() string { return "bug: " + e.Msg }

func (l *Lowering) check() error {
	if len(l.gives) != len(l.Op.Outputs) {
		return &LoweringError{fmt.Sprintf("%s: the lowering gives %d of %d results", l.Op.Kind, len(l.gives), len(l.Op.Outputs))}
	}
	for i, v := range l.gives {
		want := anec.Type{DType: l.OutDType(i), Dims: l.OutDims(i)}
		if v == nil || !v.Type.Same(want) {
			got := "nothing"
			if v != nil {
				got = v.Type.String()
			}
			return &LoweringError{fmt.Sprintf("%s: the lowering gives %s for result %d, want %v", l.Op.Kind, got, i, want)}
		}
	}
	return nil
}
