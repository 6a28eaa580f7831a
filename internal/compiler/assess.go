package compiler

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/internal/estimate"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/mil"
)

// An Assessor says of placements of one function what they cost and what may go wrong on the way. Targets that cut a
// function alike, and fuse alike, share the layers of their segments, and what is known of them: it is worked out once for
// each cut.
type Assessor struct {
	of       *Examination
	index    map[*mil.Operation]int
	named    map[string]*mil.Operation
	values   map[*mil.Value]int // by the order in which they are met
	segments map[string]*assessed
	refusals map[string]error // of segments that were tried: nil if every layer was taken
}

// An assessed segment has its layers as they were converted, and after fusion.
type assessed struct {
	network *anec.Graph
	graph   *anec.Graph
	ranges  *estimate.Ranges
}

// NewAssessor returns an assessor of placements of the function.
func (e *Examination) NewAssessor() *Assessor {
	a := &Assessor{
		of: e, index: map[*mil.Operation]int{}, named: map[string]*mil.Operation{}, values: map[*mil.Value]int{}, segments: map[string]*assessed{}, refusals: map[string]error{},
	}
	for i, x := range e.Operations {
		a.index[x.Op] = i
		a.named[x.Op.Name()] = x.Op
	}
	return a
}

// inModel reports whether a layer's origin is an operation that the report has: constants are none.
func (a *Assessor) inModel(operation string) bool { return a.named[operation] != nil }

// Place places the function on a target as a compile does: what the passes up to legalization, or the tasks, do not take goes
// to the host. By the authored route it is what would become of the function if its operations were written as units.
func (a *Assessor) Place(ctx context.Context, t *hal.Target, r anec.Route) (*Placement, error) {
	return a.of.placeUntilTaken(t, r, func(p *Placement) error {
		var refused []error
		for _, part := range p.Parts {
			if part.Backend == OnEngine {
				refused = append(refused, a.try(ctx, p, part))
			}
		}
		return errors.Join(refused...)
	})
}

// try makes a part legal, to see what is refused of it. Targets of which the passes see the same are tried once, and those that
// fuse alike begin with the same layers.
func (a *Assessor) try(ctx context.Context, p *Placement, part *Part) error {
	key := legalLike(p.Target) + a.key(part)
	if err, ok := a.refusals[key]; ok {
		return err
	}
	fused, err := a.segment(ctx, p, part)
	if err != nil {
		return err
	}
	dry := &Job{Target: p.Target}
	s := &segment.Segment{Name: fused.graph.Name, Target: p.Target, Graph: fused.graph.Clone(), AbsentWeights: p.AbsentWeights}
	err = dry.makeLegal(ctx, s)
	if ctx.Err() == nil {
		a.refusals[key] = err
	}
	return err
}

// Assess estimates the time of a placement, and finds its hazards and what refuses it as a whole, in the order of its segments.
func (a *Assessor) Assess(ctx context.Context, p *Placement) (estimate.Estimate, []*diag.Finding, error) {
	var estimates []estimate.Estimate
	var found []*diag.Finding
	host := 0
	for _, part := range p.Parts {
		if part.Backend == OnHost {
			host++
			continue
		}
		if err := ctx.Err(); err != nil {
			return estimate.Estimate{}, nil, err
		}
		s, err := a.segment(ctx, p, part)
		if err != nil {
			return estimate.Estimate{}, nil, err
		}
		estimates = append(estimates, estimate.Segment(s.graph, p.Target))
		found = append(found, FindHazards(s.graph, p.Target, s.ranges, a.inModel)...)
		var module *anec.Module
		if p.Route == anec.Converted {
			module = p.module(part)
		}
		found = append(found, FindRefusals(module, &anec.Network{Graph: s.network, Converted: module != nil}, p.Target)...)
	}
	for _, f := range found {
		f.Place.Function = a.of.Function.Name
		if op := a.named[f.Place.Operation]; op != nil {
			f.Place.Line, f.Place.Offset = op.Pos.Line, op.Pos.Offset
		}
	}
	return estimate.Model(estimates, host), withoutRepeats(found), nil
}

// segment lowers a part and fuses its layers, or finds it among those that another target cut before.
func (a *Assessor) segment(ctx context.Context, p *Placement, part *Part) (*assessed, error) {
	key := fusesLike(p.Target) + a.key(part)
	if s := a.segments[key]; s != nil {
		return s, nil
	}
	g, err := p.graph(fmt.Sprintf("%s_%d", p.Function.Name, len(a.segments)), part, &symbols{place: p})
	if err != nil {
		return nil, err
	}
	network := g.Clone()
	fusing := &segment.Segment{Name: g.Name, Target: p.Target, Graph: g, AbsentWeights: p.AbsentWeights}
	if err := (&Job{Target: p.Target}).fuse(ctx, fusing); err != nil {
		return nil, err
	}
	// A segment has its share of what a function may read, so that many segments take no longer than one, and what is said
	// of a cut does not depend on those that were assessed before.
	share := estimate.RangeBudget * len(part.Ops) / max(len(p.Ops), 1)
	s := &assessed{network: network, graph: g, ranges: estimate.FindRanges(g, p.AbsentWeights, share)}
	a.segments[key] = s
	return s, nil
}

// fusesLike is the same for targets whose layers fuse alike: what the passes of fusion ask of a target.
func fusesLike(t *hal.Target) string {
	affine, _ := t.Streams(hal.Int8Affine)
	blocks, _ := t.Streams(hal.Blockwise)
	return fmt.Sprint(t.Ways, t.Limits.WorkingSet, affine, blocks, t.Family < hal.A13, t.Limits.Tensor, t.Limits.Transpose, t.Numerics.SaturateAtPort != 0, t.Encoders, ":")
}

// legalLike is the same for targets that layers are made legal for alike: what the passes up to legalization ask of a target. How
// many engines it has is not among it: where a layer is split goes by that, and not whether it is taken.
func legalLike(t *hal.Target) string {
	return fmt.Sprint(t.Limits, t.Numerics.WidthSliceGain, t.Has(hal.CapTexture), t.Has(hal.CapKernelStreaming)) + fusesLike(t)
}

// key tells cuts apart: by the operations of a part and the values that leave it.
func (a *Assessor) key(part *Part) string {
	var b []byte
	for _, o := range part.Ops {
		b = binary.AppendUvarint(b, uint64(a.index[o.Op])+1)
	}
	b = append(b, 0)
	for _, v := range part.Outputs {
		n, ok := a.values[v]
		if !ok {
			n = len(a.values)
			a.values[v] = n
		}
		b = binary.AppendUvarint(b, uint64(n))
	}
	return string(b)
}
