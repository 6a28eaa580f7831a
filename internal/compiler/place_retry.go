package compiler

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/internal/encode"
	"github.com/espalier-ane/espalier/internal/segment"
)

// What a check and a compile share, so that the verdicts of the one are what the other does:
//
//	place ─→ lower ─→ fuse ─→ legalize ─→ tasks? ─→ taken
//	  ↑                          │           │
//	  └── to the host: refused ──┴───────────┘
//
// A check stops there, a compile goes on with the segments.

// placeUntilTaken places a function on a target, by a route. An operation whose layers are refused by what is tried with a placement goes to the
// host, as one that was not lowered does; then the function is placed anew.
func (e *Examination) placeUntilTaken(t *hal.Target, r anec.Route, try func(*Placement) error) (*Placement, error) {
	refused := map[string]*diag.Finding{} // by operation
	for {
		p := e.place(t, r, refused)
		if err := try(p); err == nil || !refuse(refused, err) {
			return p, err
		}
	}
}

// refuse notes the operations that refused layers stand for; false if there is none that is new. All layers of an error
// count, so that a function of which the engine takes little is not placed anew for each of its operations.
func refuse(refused map[string]*diag.Finding, err error) bool {
	added := false
	for _, e := range layerErrors(err) {
		for _, op := range e.Origin {
			if refused[op] == nil {
				refused[op] = diag.FindingOf(e.Err, diag.NoTask)
				added = true
			}
		}
	}
	return added
}

// layerErrors are the errors about layers that an error consists of.
func layerErrors(err error) (list []*anec.LayerError) {
	switch e := err.(type) {
	case *anec.LayerError:
		return []*anec.LayerError{e}
	case interface{ Unwrap() error }:
		return layerErrors(e.Unwrap())
	case interface{ Unwrap() []error }:
		for _, part := range e.Unwrap() {
			list = append(list, layerErrors(part)...)
		}
	}
	return list
}

// refusals are the layers that a pass does not take. It goes on past them, so that its error is about all.
type refusals []error

// add notes a layer, unless there is no error.
func (r *refusals) add(l *anec.Layer, err error) {
	if err != nil {
		*r = append(*r, &anec.LayerError{Layer: l.Name, Kind: l.Kind(), Origin: l.Origin, Err: err})
	}
}

func (r refusals) err() error { return errors.Join(r...) }

// fuse takes a segment through fusion.
func (job *Job) fuse(ctx context.Context, s *segment.Segment) error {
	for i := range passes {
		if passes[i].Phase == Fuse {
			if err := job.runPass(ctx, s, i); err != nil {
				return err
			}
		}
	}
	return nil
}

// makeLegal takes a segment through legalization, and asks whether its layers become tasks. A layer that a pass refuses stays as
// it is, and the passes after it are asked still: the error is about all layers of the segment.
func (job *Job) makeLegal(ctx context.Context, s *segment.Segment) error {
	var refused []error
	for i := range passes {
		if passes[i].Phase != Legalize {
			continue
		}
		if err := job.runPass(ctx, s, i); err != nil {
			if layerErrors(err) == nil {
				return err
			}
			refused = append(refused, err)
		}
	}
	if refused == nil {
		return tryTasks(s)
	}
	return errors.Join(refused...)
}

// runPass takes a segment through a pass.
func (job *Job) runPass(ctx context.Context, s *segment.Segment, i int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	p := &passes[i]
	if job.Seed != 0 {
		shuffle(s.Graph, job.Seed, i)
	}
	start := time.Now()
	if err := p.Run(s); err != nil {
		return fmt.Errorf("segment %s: pass %s: %w", s.Name, p.Name, err)
	}
	if job.Trace != nil {
		job.Trace(p, s, time.Since(start))
	}
	return nil
}

// tryTasks asks whether each layer becomes tasks, wherever its values will lie.
func tryTasks(s *segment.Segment) error {
	encoders := encode.Of(s.Target)
	every := encoders[len(encoders)-1]
	var refused []error
	for _, l := range s.Graph.Order() {
		if err := every.Takes(s, l); err != nil {
			refused = append(refused, fmt.Errorf("segment %s: %w", s.Name, err))
		}
	}
	return errors.Join(refused...)
}
