package compiler

import (
	"fmt"
	"slices"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/ops"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/tensor"
)

// A Status is how a target's compiler takes an operation by the conversion route: the words of the guide's appendix A.
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
	Finding *Finding // nil if there is nothing to say
}

// A Finding is something about an operation on a target that its author should know.
type Finding struct {
	ID   string // stable: which gate or hazard
	Text string // what it is; a gate's in the compiler's own words where they are known

	Limit, Found string // what the target allows, and what the operation has; "" if it is not about a size
	Remedy       string // what to write instead
	Source       string
}

// verdict judges an operation. Three gates stand one after the other: the conversion route knows the operation from
// a family on, the validators take its layers, and code is generated for them. Passing one says nothing of the
// next.
func (x *Examined) verdict(t *hal.Target) Verdict {
	if t.Family == hal.Virtual {
		switch {
		case x.Refusal != "":
			return Verdict{Status: NoPath, Backend: OnHost, Finding: &Finding{ID: "no-layer", Text: x.Refusal}}
		case slices.ContainsFunc(x.Layers.Layers, isFresh):
			return Verdict{Status: NoPath, Backend: OnHost, Finding: &Finding{
				ID: "no-task", Text: segment.FreshNumbers, Remedy: "give a seed",
			}}
		}
		return Verdict{}
	}
	c, ok := ops.ConversionOf(x.Op.Kind)
	switch {
	case !ok:
		return Verdict{Status: NoPath, Backend: OnHost, Finding: &Finding{ID: "no-conversion", Text: "the converter does not know the operation"}}
	case c.Instead != "":
		return noEngineOperation(x.Op.Kind, c)
	case c.Internal != "" && !c.Engine:
		return Verdict{Status: Bridge, Backend: OnHost, Finding: &Finding{ID: "no-code-generation", Text: c.Internal, Remedy: c.Outside, Source: "guide A"}}
	case x.Refusal != "":
		return Verdict{Status: NoPath, Backend: OnHost, Finding: &Finding{ID: "no-layer", Text: x.Refusal, Source: "ours: what has no native form"}}
	}
	if x.Wide != tensor.Invalid {
		return Verdict{Status: NoPath, Backend: OnHost, Finding: &Finding{
			ID: "type-not-on-engine", Text: "the frontend accepts the type, the engine does not compute with it",
			Limit: "fp16", Found: x.Wide.String(), Source: "guide 3, 4 and 17",
			Remedy: "compute in fp16: convert the model with a compute precision of FLOAT16, or cast the operands before the operation",
		}}
	}
	reject, standIn := x.gates(t)
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
		return Verdict{Status: Bridge, Finding: &Finding{
			ID: "stand-in", Text: fmt.Sprintf("%s: %s", standIn.Subject, standIn.Text), Source: standIn.Source,
		}}
	case below && reject == nil:
		return Verdict{Status: Bridge, Backend: OnHost, Finding: floorFinding(x.Op.Kind, floor, t, ok)}
	case c.Host != "" && x.laterTakes(t):
		v := engineUnless(reject, Bridge)
		v.Finding.Text += "; what stands in is " + c.Host
		return v
	case below && x.laterTakes(t):
		v := engineUnless(reject, FamilyGated)
		v.Finding.Text += fmt.Sprintf("; %s is native from the family %v on", x.Op.Kind, floor)
		return v
	}
	return x.rejected(reject, t)
}

// isFresh reports whether a layer makes other numbers in every run.
func isFresh(l *anec.Layer) bool {
	p, ok := l.Params.(*anec.Random)
	return ok && p.Fresh
}

// noEngineOperation is the verdict on an operation that the converter leaves to the host on every chip.
func noEngineOperation(kind string, c ops.Conversion) Verdict {
	return Verdict{Status: NoPath, Backend: OnHost, Finding: &Finding{
		ID: "no-engine-operation", Text: fmt.Sprintf("%s has no engine operation on any chip", kind), Remedy: c.Instead, Source: "guide A",
	}}
}

// rejected is the verdict on an operation that a validator or code generation refuses: gated if a later family takes it.
func (x *Examined) rejected(r *anec.Reject, t *hal.Target) Verdict {
	if x.laterTakes(t) {
		return engineUnless(r, FamilyGated)
	}
	return engineUnless(r, NoPath)
}

// laterTakes reports whether the gates of a later family take the operation.
func (x *Examined) laterTakes(t *hal.Target) bool {
	for _, later := range hal.Targets() {
		if later.Family <= t.Family || later.Family == hal.Virtual {
			continue
		}
		if r, _ := x.gates(later); r == nil {
			return true
		}
	}
	return false
}

// engineUnless is a verdict for the engine, or, where a layer is rejected, for the host.
func engineUnless(r *anec.Reject, s Status) Verdict {
	if r == nil {
		return Verdict{Status: s}
	}
	return Verdict{Status: s, Backend: OnHost, Finding: &Finding{r.ID, r.Text, r.Limit, r.Found, r.Remedy, r.Source}}
}

// floorFinding is about an operation whose layers pass, but not by the conversion route. A floor that no table has is where
// guide A begins: nothing says that the layers could be authored below it.
func floorFinding(kind string, floor hal.Family, t *hal.Target, inTable bool) *Finding {
	remedy := fmt.Sprintf("choose a target of the family %v or later", floor)
	if inTable {
		remedy += ", or author the native layer directly, which the validators here take"
	}
	return &Finding{
		ID: "minimum-family", Text: fmt.Sprintf("%s is native from the family %v on", kind, floor), Limit: floor.String(), Found: t.Family.String(),
		Remedy: remedy, Source: "guide 24 and A",
	}
}

// gates is what the first gate says that does not take the operation's layers, nil if all do; and what stands in for a
// layer that the target does not have.
//
// Casts beside the layer that does the work give a result the type that MIL has for it; a chip has it at the layer's
// port. Only an operation that is a cast itself is held to the gates of casts.
func (x *Examined) gates(t *hal.Target) (*anec.Reject, *anec.CodegenVerdict) {
	var standIn *anec.CodegenVerdict
	for _, l := range x.Layers.Order() {
		if l.Kind() == anec.KindTypeCast && x.Op.Kind != "cast" {
			continue
		}
		s := anec.StandInFor(l, t)
		if s != nil {
			standIn = s
		}
		if r := anec.Validate(l, t); r != nil && (s == nil || s.Lifts != r.ID) {
			return r, nil
		}
		if r := anec.Codegen(l, t); r != nil {
			return r, nil
		}
	}
	return nil, standIn
}
