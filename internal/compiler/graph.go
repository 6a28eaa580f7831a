package compiler

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/internal/segment"
)

// A graph of native layers enters past placement and lowering:
//
//	graph ─→ the gates of the target ─→ cut ─→ fuse ─→ legalize ─→ schedule ─→ memory ─→ emit
//	                  │                                   │
//	                  └────── an error that names ────────┘
//	                              the layers
//
// A layer that the engine does not take has no other form, so that there is no host to give it to.

// A graphFunction is a graph on its way to segments.
type graphFunction struct {
	inputs, outputs, states []graphPort
	parts                   []*graphPart // in the order in which they run
}

// A graphPort is a value that crosses the border of the function or of a segment.
type graphPort struct {
	symbol string // in the descriptor, and of the segment's port
	typ    anec.Type
}

// A graphPart is a segment of a graph before it is compiled.
type graphPart struct {
	graph                   *anec.Graph // inputs and states have the names of their symbols
	inputs, outputs, states []graphPort
	layers                  []*anec.Layer // of the whole graph
}

// graphFunction compiles a graph.
func (job *Job) graphFunction(ctx context.Context, given *anec.Graph, weights *WeightFile) (*Function, error) {
	name := graphName(given)
	fail := func(err error) (*Function, error) { return nil, fmt.Errorf("graph %s: %w", name, err) }
	if err := anec.Verify(given); err != nil {
		return fail(err)
	}
	g := given.Clone()
	g.Sweep()
	if err := checkGraph(g, job.Target); err != nil {
		return fail(err)
	}
	graph, err := cutGraph(g, name, job.Target)
	if err != nil {
		return fail(err)
	}
	f := &Function{Name: name, graph: graph}
	var parts []*graphPart
	var wrong []error
	for i, part := range graph.parts {
		s := job.newSegment(fmt.Sprintf("%s_%d", name, i), part.graph)
		if given.Form2020 {
			s.Target = s.Target.As2020()
		}
		for _, out := range part.outputs {
			s.Outputs = append(s.Outputs, out.symbol)
		}
		if weights != nil {
			s.Weights = weights.Data
		}
		lowered := loweredGraph(s, weights)
		lowered.Form2020 = given.Form2020
		if err := job.run(ctx, s); err != nil {
			wrong = append(wrong, err)
		}
		if len(s.Tasks) == 0 {
			continue // a state that is given the value that it has
		}
		f.add(s, nil)
		f.Lowered[len(f.Lowered)-1] = lowered
		parts = append(parts, part)
	}
	graph.parts = parts
	if err := errors.Join(wrong...); err != nil {
		return fail(err)
	}
	return f, nil
}

// checkGraph lists the layers that the target does not take, as layers of a network description.
func checkGraph(g *anec.Graph, t *hal.Target) error {
	var wrong refusals
	for _, l := range g.Order() {
		if f := layerGate(l, t); f != nil {
			wrong.add(l, f)
		}
	}
	return cmp.Or(wrong.err(), portGate(g, t))
}

// layerGate is what the first gate says that does not take a layer, nil if all do.
func layerGate(l *anec.Layer, t *hal.Target) *diag.Finding {
	if f := anec.Gate(l, t, anec.Authored); f != nil {
		return f
	}
	if why := l.Info().Refused; why != "" {
		return &diag.Finding{
			ID: diag.LayerRefused, Text: why, Limit: "a layer whose meaning is known", Found: l.Kind().String(),
			Remedy: "write what is meant with other layers", Source: "docs/layers.md, refused",
		}
	}
	if t.Family == hal.Virtual && isFresh(l) {
		return &diag.Finding{ID: diag.NoTask, Text: segment.FreshNumbers, Remedy: "give a seed"}
	}
	for _, v := range append(l.Reads(), l.Tops...) {
		if v.Const != nil {
			continue
		}
		if d := v.Type.DType; t.Numerics.RoundToHalf && d.IsFloat() && d.Bits() > 16 {
			f := wideFinding(d)
			f.Text, f.Remedy = fmt.Sprintf("%q is of %v, and the engine computes in fp16", v.Name, d), "let the value be fp16"
			return f
		}
		if n, _ := v.Type.Dims.Count(); n == 0 {
			return &diag.Finding{ID: diag.NoTask, Text: fmt.Sprintf("%q has no elements: %v", v.Name, v.Type), Remedy: "leave the layer out"}
		}
	}
	return nil
}
