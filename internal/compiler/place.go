package compiler

import (
	"errors"
	"slices"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/internal/ops"
	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// A Backend is what runs an operation.
type Backend uint8

// The backends.
const (
	OnEngine   Backend = iota
	OnHost             // by package ops
	AtBoundary         // a cast of the descriptor, between features or segments of the host and segments of the engine
	Nowhere            // a layer of a graph that the engine does not take: it has no other form
)

func (b Backend) String() string { return [...]string{"engine", "host", "boundary", "nowhere"}[b] }

// A Placed operation has a backend.
type Placed struct {
	Op *mil.Operation
	Verdict

	level int // the segments' order: see cut
}

// Reason says why the engine does not take an operation that the host runs; "" of others.
func (o *Placed) Reason() string {
	if o.Backend != OnHost {
		return ""
	}
	return o.Finding.Text
}

// Findings are those of the operations, in program order, at their places in the model.
func (p *Placement) Findings() (all []*diag.Finding) {
	for _, o := range p.Ops {
		if o.Finding == nil || o.Backend == AtBoundary && o.Finding.ID == diag.OurUnit { // the descriptor has it, and no unit
			continue
		}
		severity := diag.Note
		if o.Backend == OnHost {
			severity = diag.Fallback
		}
		all = append(all, o.Finding.At(severity, p.placeOf(o)))
	}
	return all
}

// placeOf is where an operation is in the model.
func (p *Placement) placeOf(o *Placed) diag.Place {
	return diag.Place{Function: p.Function.Name, Operation: o.Op.Name(), Line: o.Op.Pos.Line, Offset: o.Op.Pos.Offset}
}

// A Placement says where the operations of a function run. Constants, what follows from constants and shapes alone, and
// what nobody needs are not among them.
type Placement struct {
	*Examination
	Target *hal.Target
	Route  anec.Route
	Ops    []*Placed // in program order
	Parts  []*Part   // in the order in which they run
}

// A Part is a segment before it is compiled: its operations, in program order, and the values that cross its
// borders.
type Part struct {
	Backend         Backend // OnEngine or OnHost
	Ops             []*Placed
	Inputs, Outputs []*mil.Value
	States          []*mil.Value // inputs of the function that hold states
}

var errAbsentWeights = errors.New("the program was read without its weight files")

// needed are the operations that an output or a state depends on.
func (e *Examination) needed() map[*mil.Operation]bool {
	needed := map[*mil.Operation]bool{}
	wanted := map[*mil.Value]bool{}
	for _, v := range e.Function.Body.Outputs {
		wanted[v] = true
	}
	body := e.Function.Body.Operations
	for i := len(body) - 1; i >= 0; i-- {
		op := body[i]
		use := writesState(op)
		for _, v := range op.Outputs {
			use = use || wanted[v]
		}
		if !use {
			continue
		}
		needed[op] = true
		if e.isKnown(op) {
			continue // its arguments are not read any more
		}
		op.VisitUses(func(v *mil.Value) { wanted[v] = true })
	}
	return needed
}

// writesState reports whether an operation, or one in its blocks, changes a state.
func writesState(op *mil.Operation) bool {
	found := changesState(op)
	for _, b := range op.Blocks {
		b.Walk(func(inner *mil.Operation) { found = found || changesState(inner) })
	}
	return found
}

func changesState(op *mil.Operation) bool {
	return op.Kind == "write_state" || op.Kind == "coreml_update_state"
}

// isConstant reports whether an operation computes nothing when the program runs.
func (e *Examination) isConstant(op *mil.Operation) bool {
	return op.Kind == "const" || ops.IsConstexpr(op.Kind) || e.isKnown(op)
}

// isKnown reports whether the results follow from constants and shapes.
func (e *Examination) isKnown(op *mil.Operation) bool {
	if len(op.Outputs) == 0 || op.Kind == "const" || ops.IsConstexpr(op.Kind) {
		return false
	}
	for _, v := range op.Outputs {
		if _, ok := e.Analysis.Known(v); !ok {
			return false
		}
	}
	return true
}

// findBoundaryCasts gives the descriptor the casts between features and engine:
//
//	x ─cast fp16─ a ─ layers … b ─cast fp32─ y
//
// A cast between fp16 and fp32 of an input that the engine reads, or of what the engine makes for an output alone,
// is one between the layouts of host and engine, as Apple's descriptors have them.
func (p *Placement) findBoundaryCasts() {
	by, readers := p.definers(), p.readers()
	outputs := map[*mil.Value]bool{}
	for _, v := range p.Function.Body.Outputs {
		outputs[v] = true
	}
	for _, o := range p.Ops {
		if o.Backend != OnEngine || o.Op.Kind != "cast" {
			continue
		}
		x, y := o.Op.Input("x")[0].Value, o.Op.Outputs[0]
		if x == nil || !isHalfOrSingle(p.Analysis.Type(x)) || !isHalfOrSingle(p.Analysis.Type(y)) {
			continue
		}
		if isInput(p.Function, x) {
			for _, r := range readers[y] {
				if r.Backend == OnEngine {
					o.Backend = AtBoundary
				}
			}
		} else if from := by[x]; outputs[y] && len(readers[y]) == 0 && from != nil && from.Backend == OnEngine {
			o.Backend = AtBoundary
		}
	}
}

// findCastsBetween gives the descriptor the casts between host and engine, on targets that cannot hold fp32, and reports whether
// there were any:
//
//	host a ─cast fp16─ engine b ─cast fp32─ host c
//
// and those between the host and a feature, which no engine has to do with. A segment with nothing else but views keeps them: it
// would be none without.
func (p *Placement) findCastsBetween() bool {
	if !p.Target.Numerics.RoundToHalf {
		return false
	}
	by, readers, onlyViews := p.definers(), p.readers(), p.onlyViews()
	all := func(list []*Placed, where Backend) bool {
		return len(list) > 0 && !slices.ContainsFunc(list, func(o *Placed) bool { return o.Backend != where })
	}
	found := false
	for _, part := range p.Parts {
		works := func(o *Placed) bool { return o.Op.Kind != "cast" && !onlyViews(o) }
		if part.Backend != OnEngine || !slices.ContainsFunc(part.Ops, works) {
			continue
		}
		for _, o := range part.Ops {
			if o.Op.Kind != "cast" {
				continue
			}
			x, y := o.Op.Input("x")[0].Value, o.Op.Outputs[0]
			if x == nil || !isHalfOrSingle(p.Analysis.Type(x)) || !isHalfOrSingle(p.Analysis.Type(y)) {
				continue
			}
			from, after := by[x], readers[y]
			fromHost := from != nil && from.Backend == OnHost
			toEngine := fromHost && !p.holdable(x) && all(after, OnEngine) && !slices.Contains(p.Function.Body.Outputs, y)
			toHost := all(after, OnHost) && (isInput(p.Function, x) || from != nil && from.Backend == OnEngine && !p.holdable(y))
			if toFeature := fromHost && len(after) == 0; toEngine || toHost || toFeature {
				o.Backend = AtBoundary
				found = true
			}
		}
	}
	return found
}

func isHalfOrSingle(t mil.Type) bool {
	tt, ok := t.(*mil.TensorType)
	return ok && (tt.DType == tensor.Float16 || tt.DType == tensor.Float32)
}

func isInput(f *mil.Function, v *mil.Value) bool {
	for _, in := range f.Inputs {
		if in == v {
			return true
		}
	}
	return false
}

// readers are the placed operations by the values that they read.
func (p *Placement) readers() map[*mil.Value][]*Placed {
	readers := map[*mil.Value][]*Placed{}
	for _, o := range p.Ops {
		o.Op.VisitUses(func(v *mil.Value) { readers[v] = append(readers[v], o) })
	}
	return readers
}

// definers are the placed operations by the values that they make.
func (p *Placement) definers() map[*mil.Value]*Placed {
	by := make(map[*mil.Value]*Placed, len(p.Ops))
	for _, o := range p.Ops {
		for _, v := range o.Op.Outputs {
			by[v] = o
		}
	}
	return by
}
