package compiler

import (
	"github.com/espalier-ane/espalier/internal/ops"
	"github.com/espalier-ane/espalier/mil"
)

// hostFunction makes a function of a host part: copies of its operations, with the constants that they read.
func (p *Placement) hostFunction(name string, part *Part) *mil.Function {
	h := &hostWriter{place: p, cloner: mil.NewCloner(nil), there: map[*mil.Operation]bool{}}
	h.f = &mil.Function{Name: name, Opset: p.Function.Opset, Body: &mil.Block{}}
	for _, v := range part.Inputs {
		h.input(v, p.Analysis.Type(v))
	}
	for _, v := range part.States {
		h.input(v, v.Type)
	}
	for _, o := range part.Ops {
		o.Op.VisitUses(h.constant)
		h.add(h.cloner.Operation(o.Op))
	}
	for _, v := range part.Outputs {
		h.constant(v)
	}
	h.f.Body.Outputs = h.cloner.Values(part.Outputs)
	return h.f
}

type hostWriter struct {
	place  *Placement
	f      *mil.Function
	cloner *mil.Cloner
	there  map[*mil.Operation]bool // constants that the function has
}

func (h *hostWriter) add(op *mil.Operation) { h.f.Body.Operations = append(h.f.Body.Operations, op) }

// input takes a value from outside: of the type that it has here, if that is concrete.
func (h *hostWriter) input(v *mil.Value, t mil.Type) {
	if tt, ok := t.(*mil.TensorType); ok && (tt.AnyRank || !tt.Shape.Known()) {
		t = v.Type
	}
	in := &mil.Value{Name: v.Name, Type: t}
	h.cloner.Stand(in, v)
	h.f.Inputs = append(h.f.Inputs, in)
}

// constant adds the operation that defines a constant, or writes down what is known of a value.
func (h *hostWriter) constant(v *mil.Value) {
	op := v.Def
	if op == nil || h.there[op] || !h.place.top[op] || !h.place.isConstant(op) {
		return // a nested block has its own constants
	}
	h.there[op] = true
	if op.Kind == "const" || ops.IsConstexpr(op.Kind) {
		op.VisitUses(h.constant)
		h.add(h.cloner.Operation(op))
		return
	}
	for _, v := range op.Outputs {
		t, _ := h.place.Analysis.Known(v)
		known := &mil.Operation{Kind: "const"}
		known.Attributes.Set("name", mil.ConstOf(v.Name))
		known.Attributes.Set("val", mil.NewConst(t))
		known.Outputs = []*mil.Value{{Name: v.Name, Type: mil.TypeOf(t), Def: known}}
		h.cloner.Stand(known.Outputs[0], v)
		h.add(known)
	}
}
