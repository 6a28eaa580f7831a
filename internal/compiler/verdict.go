package compiler

import (
	"fmt"
	"slices"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/internal/ops"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/tensor"
)

// A Status is how a target's compiler takes an operation by a route: the words of the guide's appendix A, which has the conversion
// route.
type Status uint8

// The statuses.
const (
	Native      Status = iota // one or more native layers
	FamilyGated               // native on a later family
	Bridge                    // reached through a stand-in, inside a graph, or by direct authoring only
	NoPath                    // on no chip
)

var statusNames = [...]string{"native", "family-gated", "bridge", "no path"}

func (s Status) String() string { return statusNames[s] }

// A Verdict is what becomes of an operation on a target.
type Verdict struct {
	Status  Status
	Backend Backend
	Finding *diag.Finding // nil if there is nothing to say
}

// verdict judges an operation by a route. By the conversion route three gates stand one after the other: it knows the operation
// from a family on, the validators take its layers, and code is generated for them. Passing one says nothing of the next. The
// authored route does not have the first: see authored.
func (x *Examined) verdict(t *hal.Target, r anec.Route) Verdict {
	if t.Family == hal.Virtual {
		switch {
		case x.Refusal != nil:
			return onHost(NoPath, x.Refusal)
		case slices.ContainsFunc(x.Layers.Layers, isFresh):
			return onHost(NoPath, &diag.Finding{ID: diag.NoTask, Text: segment.FreshNumbers, Remedy: "give a seed"})
		}
		return Verdict{}
	}
	if r == anec.Authored {
		return x.authored(t)
	}
	c, ok := ops.ConversionOf(x.Op.Kind)
	switch {
	case !ok:
		return onHost(NoPath, &diag.Finding{ID: diag.NoConversion, Text: "the converter does not know the operation"})
	case c.Instead != "":
		return noEngineOperation(x.Op.Kind, c)
	case c.Internal != "" && !c.Engine:
		return onHost(Bridge, &diag.Finding{ID: diag.NoCodeGeneration, Text: c.Internal, Remedy: c.Outside, Source: "guide A"})
	}
	if f := x.noForm(); f != nil {
		return onHost(NoPath, f)
	}
	reject, standIn := x.gates(t, r)
	if c.Internal != "" {
		return engineUnless(reject, Bridge)
	}
	floor, ok := hal.MinimumFamily(c.Native)
	if !ok {
		floor = hal.A13 // where guide A begins: it says that earlier engines run none of its operations
	}
	switch below := t.Family < floor; {
	case !below && reject == nil && standIn == nil:
		return Verdict{Status: Native}
	case !below && reject == nil:
		return Verdict{Status: Bridge, Finding: rowFinding(standIn.ID, standIn, t)}
	case below && reject == nil:
		return onHost(Bridge, floorFinding(x.Op.Kind, floor, t, ok))
	case c.Host != "" && x.laterTakes(t, r):
		v := engineUnless(reject, Bridge)
		v.Finding.Text += "; what stands in is " + c.Host
		return v
	case below && x.laterTakes(t, r):
		v := engineUnless(reject, FamilyGated)
		v.Finding.Text += fmt.Sprintf("; %s is native on %s", x.Op.Kind, floor.OrLater())
		return v
	}
	return x.rejected(reject, t, r)
}

// noForm is why an operation has no form for a chip, whatever the route; nil if it has one.
func (x *Examined) noForm() *diag.Finding {
	switch {
	case x.Refusal != nil:
		f := *x.Refusal
		f.Source = "ours: what has no native form"
		return &f
	case x.Wide != tensor.Invalid:
		return wideFinding(x.Wide)
	}
	return nil
}

// wideFinding is about a type that no chip computes with.
func wideFinding(d tensor.DType) *diag.Finding {
	return &diag.Finding{
		ID: diag.TypeNotOnEngine, Text: "the frontend accepts the type, the engine does not compute with it",
		Limit: "fp16", Found: d.String(), Source: "guide 3, 4 and 17",
		Remedy: "compute in fp16: convert the model with a compute precision of FLOAT16, or cast the operands before the operation",
	}
}

// rowFinding is what a row says of a layer that the target takes.
func rowFinding(id diag.ID, row *anec.CodegenVerdict, t *hal.Target) *diag.Finding {
	f := &diag.Finding{ID: id, Text: fmt.Sprintf("%s: %s", row.Subject, row.Text), Source: row.Source}
	f.Confidence, f.Against = row.On(t.Family)
	return f
}

// onHost is the verdict on an operation that the host runs.
func onHost(s Status, f *diag.Finding) Verdict {
	return Verdict{Status: s, Backend: OnHost, Finding: f}
}

// isFresh reports whether a layer makes other numbers in every run.
func isFresh(l *anec.Layer) bool {
	p, ok := l.Params.(*anec.Random)
	return ok && p.Fresh
}

// noEngineOperation is the verdict on an operation that the converter leaves to the host on every chip.
func noEngineOperation(kind string, c ops.Conversion) Verdict {
	return onHost(NoPath, &diag.Finding{
		ID: diag.NoEngineOperation, Text: fmt.Sprintf("%s has no engine operation on any chip", kind), Remedy: c.Instead, Source: "guide A",
	})
}

// rejected is the verdict on an operation that a validator or code generation refuses: gated if a later family takes it.
func (x *Examined) rejected(f *diag.Finding, t *hal.Target, r anec.Route) Verdict {
	if x.laterTakes(t, r) {
		return onHost(FamilyGated, f)
	}
	return onHost(NoPath, f)
}

// laterTakes reports whether the gates of a later family take the operation.
func (x *Examined) laterTakes(t *hal.Target, r anec.Route) bool {
	return later(t, func(t *hal.Target) bool {
		f, _ := x.gates(t, r)
		return f == nil
	})
}

// later reports whether a target of a later family takes something.
func later(than *hal.Target, takes func(*hal.Target) bool) bool {
	for _, t := range hal.Targets() {
		if t.Family <= than.Family || t.Family == hal.Virtual || t.Like() != nil { // whose gates are those of another one
			continue
		}
		if takes(t) {
			return true
		}
	}
	return false
}

// engineUnless is a verdict for the engine, or, where a layer is rejected, for the host.
func engineUnless(r *diag.Finding, s Status) Verdict {
	if r == nil {
		return Verdict{Status: s}
	}
	return onHost(s, r)
}

// floorFinding is about an operation whose layers pass, but not by the conversion route. A floor that no table has is where
// guide A begins: nothing says that the layers could be authored below it.
func floorFinding(kind string, floor hal.Family, t *hal.Target, inTable bool) *diag.Finding {
	f := &diag.Finding{
		ID: diag.MinimumFamily, Text: fmt.Sprintf("%s is native on %s", kind, floor.OrLater()), Limit: floor.OrLater(), Found: t.Family.Chips(),
		Remedy: "choose " + floor.OrLater(), Source: "guide 24 and A",
	}
	if !inTable {
		f.Confidence = diag.Predicted
		return f
	}
	f.Remedy += ", or " + diag.AuthorDirectly
	return f
}

// gates is what the first gate of a route says that does not take the operation's layers, nil if all do; and what stands in for
// a layer that the target does not have.
func (x *Examined) gates(t *hal.Target, r anec.Route) (*diag.Finding, *anec.CodegenVerdict) {
	var standIn *anec.CodegenVerdict
	for _, l := range x.workers() {
		if f := anec.Gate(l, t, r); f != nil {
			return f, nil
		}
		if s := anec.StandInFor(l, t, r); s != nil {
			standIn = s
		}
	}
	return nil, standIn
}

// workers are the layers that do the work of the operation.
//
// Casts beside them give a result the type that MIL has for it; a chip has it at the layer's port. Only an operation that is a
// cast itself is held to the gates of casts.
func (x *Examined) workers() []*anec.Layer {
	return slices.DeleteFunc(x.Layers.Order(), func(l *anec.Layer) bool { return l.Kind() == anec.KindTypeCast && x.Op.Kind != "cast" })
}
