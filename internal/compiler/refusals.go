package compiler

import (
	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/internal/ops"
	"github.com/espalier-ane/espalier/mil"
)

// The compiler's validators of layers decide where operations run. Those of whole networks are asked after that, about
// what the engine would be given: one module and one network for each of its segments.
//
//	operations of a segment ─→ module ─┐
//	layers as converted ─────→ network ┼─→ validators ─→ findings, of the function or of a layer
//	weights that are edited ───────────┘
//
// Nothing is placed otherwise for what they say: it is how Apple's compiler and ours differ.

// FindRefusals is what the validators of whole networks say of a segment. The module is nil for a network that was not
// converted.
func FindRefusals(m *anec.Module, n *anec.Network, t *hal.Target) []*diag.Finding {
	var found []*diag.Finding
	if m != nil {
		found = anec.ValidateModuleCreate(m, n, t)
	} else {
		found = anec.ValidateNetwork(n, t)
	}
	return append(found, anec.ValidateMutableProcedure(n.Graph, n.Edits, t)...)
}

// module is a segment as the validators of modules see it.
func (p *Placement) module(part *Part) *anec.Module {
	m := &anec.Module{Schema: anec.CurrentSchema}
	for _, o := range part.Ops {
		_, converts := ops.ConversionOf(o.Op.Kind)
		described := anec.Operation{Name: o.Op.Name(), Type: o.Op.Kind, Converts: converts}
		for _, v := range o.Op.Outputs {
			if t, ok := p.Analysis.Type(v).(*mil.TensorType); ok {
				described.Rank = max(described.Rank, len(t.Shape))
				described.Dynamic = described.Dynamic || t.AnyRank || !t.Shape.Known()
			}
		}
		m.Operations = append(m.Operations, described)
	}
	return m
}

// withoutRepeats has findings once: those of the function come with every segment.
func withoutRepeats(found []*diag.Finding) (once []*diag.Finding) {
	seen := map[diag.Finding]bool{}
	for _, f := range found {
		if !seen[*f] {
			seen[*f] = true
			once = append(once, f)
		}
	}
	return once
}
