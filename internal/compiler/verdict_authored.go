package compiler

import (
	"fmt"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/diag"
)

// A layer of a network description does not come through the converter: no operation has a floor there. What the chip's feature
// bytes and limits say through the validators, and code generation, decides (guide 4 and 26, two compile routes).
//
//	converted  operation ─→ floor of its family ─→ validators ─→ code generation
//	authored   unit ─────────────────────────────→ validators ─→ code generation, by other rows

// authored judges an operation by the authored route: each of its layers as a unit.
func (x *Examined) authored(t *hal.Target) Verdict {
	if f := x.noForm(); f != nil {
		return onHost(NoPath, f)
	}
	if f, _ := x.gates(t, anec.Authored); f != nil {
		return x.rejected(f, t, anec.Authored)
	}
	var all Verdict
	for _, l := range x.workers() {
		if v := unitNote(l, t); v.Finding != nil && (all.Finding == nil || v.Finding.ID == diag.OurUnit) {
			all = v
		}
	}
	return all
}

// judgeUnit judges a layer as a unit of a network description. There is no host to give it to.
func judgeUnit(l *anec.Layer, t *hal.Target) Verdict {
	f := layerGate(l, t)
	if f == nil {
		v := unitNote(l, t)
		if v.Finding != nil {
			v.Finding = v.Finding.At(diag.Note, diag.Place{})
		}
		return v
	}
	v := Verdict{Status: NoPath, Backend: Nowhere, Finding: f.At(diag.Refusal, diag.Place{})}
	if later(t, func(t *hal.Target) bool { return layerGate(l, t) == nil }) {
		v.Status = FamilyGated
	}
	return v
}

// unitNote is the verdict on a unit that the target takes: what there is to say about it.
func unitNote(l *anec.Layer, t *hal.Target) Verdict {
	if t.Family == hal.Virtual {
		return Verdict{}
	}
	if l.Info().Standing == anec.Ours {
		return Verdict{Status: Bridge, Finding: &diag.Finding{
			ID: diag.OurUnit, Text: fmt.Sprintf("no network description of Apple's has the unit %v", l.Kind()), Source: l.Info().NoValidator,
		}}
	}
	if s := anec.StandInFor(l, t, anec.Authored); s != nil {
		return Verdict{Status: Bridge, Finding: rowFinding(s.ID, s, t)}
	}
	if c := anec.Confirmed(l, t, anec.Authored); c != nil {
		if f := rowFinding(diag.DisputedUnit, c, t); f.Against != "" {
			return Verdict{Finding: f}
		}
	}
	return Verdict{}
}
