package compiler

import (
	"slices"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/mil"
)

// leaveViews gives the host the engine's segments that have nothing but views, if the host has something to do, and
// reports whether there were any:
//
//	host a ─ reshape ─ host b        one segment of the host, not three
//
// A view costs the engine nothing inside a segment. A segment of its own is a dispatch, and two crossings.
func (p *Placement) leaveViews() bool {
	host := slices.ContainsFunc(p.Parts, func(part *Part) bool { return part.Backend == OnHost })
	if !host {
		return false
	}
	layers := make(map[*mil.Operation]*anec.Graph, len(p.Operations))
	for _, x := range p.Operations {
		layers[x.Op] = x.Layers
	}
	onlyViews := func(o *Placed) bool {
		return !slices.ContainsFunc(layers[o.Op].Layers, func(l *anec.Layer) bool { return !viewKinds[l.Kind()] })
	}
	found := false
	for _, part := range p.Parts {
		if part.Backend != OnEngine || len(part.Ops) == 0 || len(part.States) > 0 ||
			slices.ContainsFunc(part.Ops, func(o *Placed) bool { return !onlyViews(o) }) {
			continue
		}
		found = true
		for _, o := range part.Ops {
			o.leave()
		}
	}
	by := p.definers()
	for _, o := range p.Ops { // a cast of what the engine made for an output has no engine before it any more
		if x := boundaryArgument(o); x != nil && by[x] != nil && by[x].Backend == OnHost {
			o.leave()
		}
	}
	return found
}

// leave gives the host an operation that moves.
func (o *Placed) leave() {
	o.Backend, o.Reason = OnHost, "it only moves what the host makes, or what the host reads"
	o.Finding = &Finding{ID: "view-on-host", Text: o.Reason, Source: "ours: a segment of its own would cost a dispatch"}
}
