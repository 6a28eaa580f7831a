package compiler

import (
	"errors"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/internal/ops"
	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// An Examination is a function as every target sees it: the types and values that are known, and each operation by
// itself as native layers. Placement on a target asks it.
type Examination struct {
	Function   *mil.Function
	Analysis   *ops.Analysis
	Operations []*Examined // in program order; constants and what nobody needs are not among them

	// Constants are the operations whose results are known when the program is compiled, those that are needed.
	Constants []*mil.Operation

	// AbsentWeights says that weight files are not there, and zeros stand for their arrays.
	AbsentWeights bool

	top map[*mil.Operation]bool // the operations of the function's body, not of nested blocks
}

// An Examined operation has a native form, or a reason why it has none.
type Examined struct {
	Op      *mil.Operation
	Layers  *anec.Graph   // the operation alone
	Refusal *diag.Finding // nil if it has a native form
	Wide    tensor.DType  // a type of its values that no chip computes with; Invalid if there is none
}

// Examine lowers every operation of a function by itself, for concrete shapes of its inputs.
func Examine(f *mil.Function, shapes map[string][]int) (*Examination, error) {
	analysis, err := ops.Analyze(f, shapes)
	if err != nil {
		return nil, err
	}
	e := &Examination{Function: f, Analysis: analysis, top: map[*mil.Operation]bool{}}
	e.AbsentWeights = absentWeights(f)
	for _, op := range f.Body.Operations {
		e.top[op] = true
	}
	needed := e.needed()
	for _, op := range f.Body.Operations {
		switch {
		case !needed[op]:
			continue
		case e.isConstant(op):
			e.Constants = append(e.Constants, op)
			continue
		}
		x := &Examined{Op: op, Layers: anec.New(op.Name()), Wide: e.wide(op)}
		l := newLowerer(e, x.Layers)
		l.open = true
		if err := l.lower(op); err != nil {
			if fault, ok := errors.AsType[*ops.LoweringError](err); ok {
				return nil, &ops.Error{Function: f.Name, Op: op, Err: fault}
			}
			x.Refusal = diag.FindingOf(err, diag.NoLayer)
		}
		e.Operations = append(e.Operations, x)
	}
	return e, nil
}

// wide finds a type of more than 16 bits that an operation computes with. A cast only moves between types.
func (e *Examination) wide(op *mil.Operation) (found tensor.DType) {
	if op.Kind == "cast" {
		return tensor.Invalid
	}
	look := func(v *mil.Value) {
		t, ok := e.Analysis.Type(v).(*mil.TensorType)
		if ok && (t.DType == tensor.Float32 || t.DType == tensor.Float64) && found == tensor.Invalid && !(v.Def != nil && e.isConstant(v.Def)) {
			found = t.DType
		}
	}
	op.VisitUses(look)
	for _, v := range op.Outputs {
		look(v)
	}
	return found
}

// On places the function on a target, by the conversion route.
func (e *Examination) On(t *hal.Target) *Placement { return e.place(t, anec.Converted, nil) }

// place gives every operation a backend on a target, by a route.
func (e *Examination) place(t *hal.Target, r anec.Route, refused map[string]*diag.Finding) *Placement {
	p := &Placement{Examination: e, Target: t, Route: r}
	for _, x := range e.Operations {
		placed := &Placed{Op: x.Op, Verdict: x.verdict(t, r)}
		if f := refused[x.Op.Name()]; f != nil {
			placed.Verdict = onHost(NoPath, f)
		}
		p.Ops = append(p.Ops, placed)
	}
	p.findBoundaryCasts()
	p.cut()
	for p.findCastsBetween() || p.leaveViews() {
		p.cut()
	}
	return p
}
