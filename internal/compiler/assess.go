package compiler

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/mil"
)

// An Assessor says of placements of one function what they cost and what may go wrong on the way. Targets that cut a
// function alike, and fuse alike, share the layers of their segments, and what is known of them: it is worked out once for
// each cut.
type Assessor struct {
	of       *Examination
	index    map[*mil.Operation]int
	values   map[*mil.Value]int // by the order in which they are met
	segments map[string]*assessed
}

// An assessed segment has its layers after fusion.
type assessed struct {
	graph  *anec.Graph
	ranges *Ranges
}

// NewAssessor returns an assessor of placements of the function.
func (e *Examination) NewAssessor() *Assessor {
	a := &Assessor{of: e, index: map[*mil.Operation]int{}, values: map[*mil.Value]int{}, segments: map[string]*assessed{}}
	for i, x := range e.Operations {
		a.index[x.Op] = i
	}
	return a
}

// Assess estimates the time of a placement and finds its hazards, in the order of its segments.
func (a *Assessor) Assess(ctx context.Context, p *Placement) (Estimate, []Hazard, error) {
	var estimates []Estimate
	var hazards []Hazard
	host := 0
	for _, part := range p.Parts {
		if part.Backend == OnHost {
			host++
			continue
		}
		if err := ctx.Err(); err != nil {
			return Estimate{}, nil, err
		}
		s, err := a.segment(p, part)
		if err != nil {
			return Estimate{}, nil, err
		}
		estimates = append(estimates, EstimateSegment(s.graph, p.Target))
		hazards = append(hazards, FindHazards(s.graph, p.Target, s.ranges)...)
	}
	return EstimateModel(estimates, host), hazards, nil
}

// segment lowers a part and fuses its layers, or finds it among those that another target cut before.
func (a *Assessor) segment(p *Placement, part *Part) (*assessed, error) {
	key := fusesLike(p.Target) + a.key(part)
	if s := a.segments[key]; s != nil {
		return s, nil
	}
	g, err := p.graph(fmt.Sprintf("%s_%d", p.Function.Name, len(a.segments)), part, &symbols{place: p})
	if err != nil {
		return nil, err
	}
	fusing := &Segment{Name: g.Name, Target: p.Target, Graph: g}
	for i := range passes {
		if passes[i].Phase != Fuse {
			continue
		}
		if err := passes[i].Run(fusing); err != nil {
			return nil, fmt.Errorf("segment %s: pass %s: %w", g.Name, passes[i].Name, err)
		}
	}
	// A segment has its share of what a function may read, so that many segments take no longer than one, and what is said
	// of a cut does not depend on those that were assessed before.
	share := rangeBudget * len(part.Ops) / max(len(p.Ops), 1)
	s := &assessed{graph: g, ranges: findRanges(g, p.AbsentWeights, share)}
	a.segments[key] = s
	return s, nil
}

// fusesLike is the same for targets whose layers fuse alike: what the passes of fusion ask of a target.
func fusesLike(t *hal.Target) string {
	affine, _ := t.Streams(hal.Int8Affine)
	blocks, _ := t.Streams(hal.Blockwise)
	return fmt.Sprint(t.Ways, t.Limits.WorkingSet, affine, blocks, ":")
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
