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
	Finding *diag.Finding // nil if there is nothing to say
}

// verdict judges an operation. Three gates stand one after the other: the conversion route knows the operation from
// a family on, the validators take its layers, and code is generated for them. Passing one says nothing of the
// next.
func (x *Examined) verdict(t *hal.Target) Verdict {
	if t.Family == hal.Virtual {
		switch {
		case x.Refusal != nil:
			return onHost(NoPath, x.Refusal)
		case slices.ContainsFunc(x.Layers.Layers, isFresh):
			return onHost(NoPath, &diag.Finding{ID: diag.NoTask, Text: segment.FreshNumbers, Remedy: "give a seed"})
		}
		return Verdict{}
	}
	c, ok := ops.ConversionOf(x.Op.Kind)
	switch {
	case !ok:
		return onHost(NoPath, &diag.Finding{ID: diag.NoConversion, Text: "the converter does not know the operation"})
	case c.Instead != "":
		return noEngineOperation(x.Op.Kind, c)
	case c.Internal != "" && !c.Engine:
		return onHost(Bridge, &diag.Finding{ID: diag.NoCodeGeneration, Text: c.Internal, Remedy: c.Outside, Source: "guide A"})
	case x.Refusal != nil:
		f := *x.Refusal
		f.Source = "ours: what has no native form"
		return onHost(NoPath, &f)
	}
	if x.Wide != tensor.Invalid {
		return onHost(NoPath, &diag.Finding{
			ID: diag.TypeNotOnEngine, Text: "the frontend accepts the type, the engine does not compute with it",
			Limit: "fp16", Found: x.Wide.String(), Source: "guide 3, 4 and 17",
			Remedy: "compute in fp16: convert the model with a compute precision of FLOAT16, or cast the operands before the operation",
		})
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
		f := &diag.Finding{ID: standIn.ID, Text: fmt.Sprintf("%s: %s", standIn.Subject, standIn.Text), Source: standIn.Source}
		f.Confidence, f.Against = standIn.On(t.Family)
		return Verdict{Status: Bridge, Finding: f}
	case below && reject == nil:
		return onHost(Bridge, floorFinding(x.Op.Kind, floor, t, ok))
	case c.Host != "" && x.laterTakes(t):
		v := engineUnless(reject, Bridge)
		v.Finding.Text += "; what stands in is " + c.Host
		return v
	case below && x.laterTakes(t):
		v := engineUnless(reject, FamilyGated)
		v.Finding.Text += fmt.Sprintf("; %s is native on %s", x.Op.Kind, floor.OrLater())
		return v
	}
	return x.rejected(reject, t)
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
func (x *Examined) rejected(r *diag.Finding, t *hal.Target) Verdict {
	if x.laterTakes(t) {
		return engineUnless(r, FamilyGated)
	}
	return engineUnless(r, NoPath)
}

// laterTakes reports whether the gates of a later family take the operation.
func (x *Examined) laterTakes(t *hal.Target) bool {
	for _, later := range hal.Targets() {
		if later.Family <= t.Family || later.Family == hal.Virtual || later.Like() != nil { // whose gates are those of another one
			continue
		}
		if r, _ := x.gates(later); r == nil {
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
	f.Remedy += ", or author the native layer directly, which the validators here take"
	return f
}

// gates is what the first gate says that does not take the operation's layers, nil if all do; and what stands in for a
// layer that the target does not have.
//
// Casts beside the layer that does the work give a result the type that MIL has for it; a chip has it at the layer's
// port. Only an operation that is a cast itself is held to the gates of casts.
func (x *Examined) gates(t *hal.Target) (*diag.Finding, *anec.CodegenVerdict) {
	var standIn *anec.CodegenVerdict
	for _, l := range x.Layers.Order() {
		if l.Kind() == anec.KindTypeCast && x.Op.Kind != "cast" {
			continue
		}
		s := anec.StandInFor(l, t, anec.Converted)
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
