package compiler

import (
	"context"
	"fmt"
	"slices"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/internal/estimate"
	"github.com/espalier-ane/espalier/internal/segment"
)

// A GraphAssessment is what a target makes of a graph, without compiling it to the end: the gates of the authored route, and the
// passes up to legalization.
type GraphAssessment struct {
	Layers   []*anec.Layer // in the order in which they run
	Verdicts []Verdict     // of the layers: OnEngine or Nowhere
	Segments [][]int       // indices of layers; nil if one is not taken

	Estimate estimate.Estimate
	Findings []*diag.Finding // about segments or the whole graph, beside those of the verdicts
}

// AssessGraph holds a graph against a target.
func AssessGraph(ctx context.Context, given *anec.Graph, t *hal.Target) (*GraphAssessment, error) {
	name := graphName(given)
	if err := anec.Verify(given); err != nil {
		return nil, fmt.Errorf("graph %s: %w", name, err)
	}
	g := given.Clone()
	g.Sweep()
	a := &GraphAssessment{Layers: g.Order(), Estimate: estimate.Estimate{Absent: "the engine does not take every layer"}}
	a.Verdicts = make([]Verdict, len(a.Layers))
	index := map[string]int{}
	for i, l := range a.Layers {
		index[l.Name] = i
		l.Origin = []string{l.Name} // what is said of fused layers is said of these
		a.Verdicts[i] = judgeUnit(l, t)
	}
	if a.refused() {
		return a, nil
	}
	if a.ports(g, t, index); a.refused() {
		return a, nil
	}
	cut, err := cutGraph(g, name, t)
	if err != nil {
		return nil, fmt.Errorf("graph %s: %w", name, err)
	}
	var estimates []estimate.Estimate
	for i, part := range cut.parts {
		var layers []int
		for _, l := range part.layers {
			layers = append(layers, index[l.Name])
		}
		a.Segments = append(a.Segments, layers)
		network := part.graph.Clone()
		s := &segment.Segment{Name: fmt.Sprintf("%s_%d", name, i), Target: t, Graph: part.graph}
		dry := &Job{Target: t}
		if err := dry.fuse(ctx, s); err != nil {
			return nil, err
		}
		ranges := estimate.FindRanges(s.Graph, false, estimate.RangeBudget*len(part.layers)/max(len(a.Layers), 1))
		estimates = append(estimates, estimate.Segment(s.Graph, t))
		inGraph := func(name string) bool { _, ok := index[name]; return ok }
		a.Findings = append(a.Findings, FindHazards(s.Graph, t, ranges, inGraph)...)
		a.Findings = append(a.Findings, FindRefusals(nil, &anec.Network{Graph: network}, t)...)
		s.Graph = s.Graph.Clone()
		if err := dry.makeLegal(ctx, s); err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			for _, e := range layerErrors(err) {
				for _, origin := range e.Origin {
					if i, ok := index[origin]; ok {
						a.refuse(i, e.Err)
					}
				}
			}
			if !a.refused() {
				return nil, err
			}
		}
	}
	if a.refused() {
		a.Segments, a.Findings = nil, nil
		return a, nil
	}
	a.Estimate = estimate.Model(estimates, 0)
	a.Findings = withoutRepeats(a.Findings)
	return a, nil
}

func (a *GraphAssessment) refused() bool {
	return slices.ContainsFunc(a.Verdicts, func(v Verdict) bool { return v.Backend == Nowhere })
}

// ports says what there is to say of ports. One that the target does not lay so is refused with the layers at it.
func (a *GraphAssessment) ports(g *anec.Graph, t *hal.Target, index map[string]int) {
	for v, f := range portFindings(g, t) {
		at := v.Uses
		if v.Def != nil {
			at = []*anec.Layer{v.Def}
		}
		if f.Severity != diag.Refusal || len(a.Layers) == 0 {
			a.Findings = append(a.Findings, f)
			continue
		}
		if len(at) == 0 { // nothing reads the port: all the same there is no program
			at = a.Layers[:1]
		}
		for _, l := range at {
			a.refuse(index[l.Name], f)
		}
	}
}

// refuse notes what a pass says of a layer, the first time.
func (a *GraphAssessment) refuse(i int, err error) {
	if a.Verdicts[i].Backend != Nowhere {
		a.Verdicts[i] = Verdict{Status: NoPath, Backend: Nowhere, Finding: diag.FindingOf(err, diag.NoTask).At(diag.Refusal, diag.Place{})}
	}
}
