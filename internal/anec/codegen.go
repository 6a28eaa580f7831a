package anec

import (
	"fmt"
	"slices"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/diag"
)

// Passing its validator does not make a layer reachable: some pass and then no
// code comes of them (guide 4 and 24, "attested is not reachable"). Which do not
// is known by trying, so rows say what was seen, and not a rule.

// A Route is how a layer comes to the compiler.
type Route uint8

// The routes.
const (
	AnyRoute  Route = iota
	Converted       // from a model, through the converter
	Authored        // in a network description, by its kind
)

func (r Route) String() string { return [...]string{"any", "converted", "authored"}[r] }

const (
	firstFamily, lastFamily = hal.A11Legacy, hal.A18

	// noBackend is what the compiler says of an operation that nothing takes.
	noBackend = "Some ops are not supported on any of the specified backends"
)

// A CodegenVerdict is what is known of the code for some layers of a kind. A later one of the kind does not soften an
// earlier one: the first that fails speaks.
type CodegenVerdict struct {
	ID      diag.ID // of the finding that comes of it, if one does
	Subject string  // the layers it is about, in words
	Route   Route

	// From and To are the families it is about, both included.
	From, To hal.Family

	Fails bool // no code; else the row says that there is, where one would doubt it

	// StandIn says that other layers take the place of this one; Lifts is the ID of
	// the validator's finding that it is spared by that, "" if none.
	StandIn bool
	Lifts   diag.ID

	Text   string // what the compiler says, where a source has it
	Remedy string
	Status hal.Status

	// Seen are the families on which that is the status; on the others it is
	// predicted. nil: all of them.
	Seen   []hal.Family
	Source string

	// Disputed are the families on which another source says otherwise; Against is
	// what it says.
	Disputed []hal.Family
	Against  string

	// found returns whether a layer is one of these, and what it has of it; nil:
	// every layer of the kind is.
	found func(l *Layer, t *hal.Target) (string, bool)
}

// holds reports whether the row is about a layer of its kind on a target, and what it found.
func (v *CodegenVerdict) holds(l *Layer, t *hal.Target, r Route) (string, bool) {
	if t.Family < v.From || t.Family > v.To || v.Route != AnyRoute && v.Route != r {
		return "", false
	}
	if v.found == nil {
		return v.Subject, true
	}
	return v.found(l, t)
}

// Codegen says whether code comes of a layer on a target, if it was converted
// from a model. nil: nothing is known against it. The target `virtual` makes code
// of everything.
func Codegen(l *Layer, t *hal.Target) *diag.Finding { return codegen(l, t, Converted) }

// CodegenAuthored is Codegen for a layer of a network description.
func CodegenAuthored(l *Layer, t *hal.Target) *diag.Finding { return codegen(l, t, Authored) }

// Gate is what the first gate of a route says that does not take a layer on a
// target: the validator, unless something stands in, or code generation. nil: it
// is taken.
//
//	layer ─→ Validate ─→ Codegen of the route ─→ nil
//	            │                 │
//	            └──── Finding ←───┘
func Gate(l *Layer, t *hal.Target, r Route) *diag.Finding {
	if f := Validate(l, t); f != nil && !lifted(f.ID, l, t, r) {
		return f
	}
	return codegen(l, t, r)
}

func codegen(l *Layer, t *hal.Target, r Route) *diag.Finding {
	if f := untoldUnit(l, t, r); f != nil {
		return f
	}
	verdicts := l.Info().Codegen
	for i := range verdicts {
		v := &verdicts[i]
		if !v.Fails {
			continue
		}
		if found, ok := v.holds(l, t, r); ok {
			f := &diag.Finding{ID: v.ID, Text: v.Text, Limit: v.limit(), Found: found, Remedy: v.Remedy, Source: v.Source}
			f.Confidence, f.Against = v.On(t.Family)
			return f
		}
	}
	return nil
}

// StandInFor finds what takes the place of a layer that a target does not have,
// and does its work on the engine. nil: nothing has to, or nothing does.
func StandInFor(l *Layer, t *hal.Target, r Route) *CodegenVerdict {
	return rowThat(l, t, r, func(v *CodegenVerdict) bool { return v.StandIn })
}

// Confirmed finds the row that says that there is code for a layer where one
// would doubt it. nil: nobody does.
func Confirmed(l *Layer, t *hal.Target, r Route) *CodegenVerdict {
	return rowThat(l, t, r, func(v *CodegenVerdict) bool { return !v.Fails && !v.StandIn })
}

// rowThat finds the first row of its kind that is about the layer and one of these.
func rowThat(l *Layer, t *hal.Target, r Route, is func(*CodegenVerdict) bool) *CodegenVerdict {
	verdicts := l.Info().Codegen
	for i := range verdicts {
		v := &verdicts[i]
		if !is(v) {
			continue
		}
		if _, ok := v.holds(l, t, r); ok {
			return v
		}
	}
	return nil
}

// StatusOn returns how the verdict is known for a family.
func (v *CodegenVerdict) StatusOn(f hal.Family) hal.Status {
	if v.Seen == nil || slices.Contains(v.Seen, f) {
		return v.Status
	}
	return hal.Predicted
}

// On is how sure the verdict is on a family, and what is said against it there.
func (v *CodegenVerdict) On(f hal.Family) (c diag.Confidence, against string) {
	if slices.Contains(v.Disputed, f) {
		return diag.Disputed, v.Against
	}
	return v.StatusOn(f).Confidence(), ""
}

// limit says where code does come.
func (v *CodegenVerdict) limit() string {
	if v.From == hal.A11Legacy && v.To < hal.A18 {
		return (v.To + 1).OrLater()
	}
	return "not " + v.Subject
}

// oldUnits are the kinds that the two oldest families have: those of the
// operations with the lowest floor, and gain and offset from tensors, which they
// have the byte of. They have no reshape but a flatten, and no broadcast of its
// own (guide 35).
var oldUnits = []Kind{
	KindConv, KindPooling, KindConcat, KindNeuron, KindGOC, KindDynamicGOC, KindFlatten, KindInputView, KindMatMul,
	KindTranspose, KindLinear, KindElementWise, KindAlias, KindQuant, KindDeQuant,
	KindCopy, KindTypeCast, KindSelect,
}

// untoldUnit rejects units on chips before the M1 of which no source tells: what
// is known of authored layers begins there.
func untoldUnit(l *Layer, t *hal.Target, r Route) *diag.Finding {
	if r != Authored || !legacy(t) || slices.Contains(oldUnits, l.Kind()) {
		return nil
	}
	return &diag.Finding{
		ID: diag.CodegenBeforeM1, Text: fmt.Sprintf("no source tells of the unit %v before the M1", l.Kind()),
		Limit: hal.A13.OrLater(), Found: t.Family.Chips(), Remedy: "choose " + hal.A13.OrLater(), Confidence: diag.Predicted,
		Source: "guide B: all families from the M1 onward; guide 24 and 35: what the two oldest families have; text: ours",
	}
}
