package compiler

import (
	"slices"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/diag"
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
	onlyViews := p.onlyViews()
	moved := map[*Placed]bool{}
	for _, part := range p.Parts {
		if part.Backend != OnEngine || len(part.Ops) == 0 || len(part.States) > 0 ||
			slices.ContainsFunc(part.Ops, func(o *Placed) bool { return !onlyViews(o) }) {
			continue
		}
		for _, o := range part.Ops {
			o.leave()
			moved[o] = true
		}
	}
	by, readers := p.definers(), p.readers()
	for _, o := range p.Ops { // a cast of the descriptor has no engine beside it any more
		x := boundaryArgument(o)
		if x == nil || by[x] == nil || by[x].Backend != OnHost {
			continue
		}
		after := readers[o.Op.Outputs[0]]
		beside := moved[by[x]] || slices.ContainsFunc(after, func(r *Placed) bool { return moved[r] })
		if beside && !slices.ContainsFunc(after, func(r *Placed) bool { return r.Backend == OnEngine }) {
			o.leave()
		}
	}
	return len(moved) > 0
}

// onlyViews finds the operations that are nothing but views.
func (p *Placement) onlyViews() func(*Placed) bool {
	layers := make(map[*mil.Operation]*anec.Graph, len(p.Operations))
	for _, x := range p.Operations {
		layers[x.Op] = x.Layers
	}
	return func(o *Placed) bool {
		return !slices.ContainsFunc(layers[o.Op].Layers, func(l *anec.Layer) bool { return !l.Info().View.Only })
	}
}

// leave gives the host an operation that moves.
func (o *Placed) leave() {
	o.Backend = OnHost
	o.Finding = &diag.Finding{
		ID: diag.ViewOnHost, Text: "it only moves what the host makes, or what the host reads", Source: "ours: a segment of its own would cost a dispatch",
	}
}
