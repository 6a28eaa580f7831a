package compiler

import (
	"slices"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/segment"
)

// What the passes of fusion share: which values and layers they may touch, and edits of the graph.

// A fusion is a pass at work.
type fusion struct {
	*anec.Graph
	target *hal.Target
	kept   map[*anec.Value]bool // outputs, and what states are left with
	gone   map[*anec.Layer]bool // discarded

	// overwritten are the contents of states that something writes over. Who reads them must stay where it is.
	overwritten map[*anec.Value]bool
	views       map[*anec.Value]bool // of views that were asked about: whether they are of these
	walked      int                  // how many steps that took, over all views

	origin []string // of layers that are added

	err error
}

func newFusion(s *segment.Segment) *fusion {
	g := s.Graph
	f := &fusion{Graph: g, target: s.Target, kept: map[*anec.Value]bool{}, gone: map[*anec.Layer]bool{}, overwritten: map[*anec.Value]bool{}, views: map[*anec.Value]bool{}}
	for _, v := range g.Outputs {
		f.kept[v] = true
	}
	for _, s := range g.States {
		f.kept[s.After] = true
		if s.Written() {
			f.overwritten[s.Before] = true
		}
	}
	for _, l := range g.Layers {
		if l.Kind() == anec.KindRingBufferWriter {
			f.overwritten[l.Bottoms[0]] = true
		}
	}
	return f
}

// isOverwritten reports whether a value is the content of a state that something writes over, or a view of it. What it finds of a
// view is kept, so that a chain of them is walked once: no edit makes a value a view of something else.
func (f *fusion) isOverwritten(v *anec.Value) bool {
	var views []*anec.Value
	found, known := f.views[v]
	for ; !known; found, known = f.views[v] {
		if v.Def == nil || !v.Def.Info().View.Only || len(v.Def.Bottoms) == 0 {
			found = f.overwritten[v]
			break
		}
		views = append(views, v)
		v = v.Def.Bottoms[0]
	}
	for _, v := range views {
		f.views[v] = found
	}
	f.walked += len(views)
	return found
}

// discard takes a layer out of the readers of its bottoms. That somebody still reads it is a fault of the pass.
func (f *fusion) discard(l *anec.Layer) {
	f.gone[l] = true
	f.check(f.Discard(l))
}

// check keeps an error of an edit that cannot fail, unless the pass is at fault.
func (f *fusion) check(err error) {
	if f.err == nil && err != nil {
		f.err = err
	}
}

// readBy reports whether a value is there for one layer alone.
func (f *fusion) readBy(v *anec.Value, l *anec.Layer) bool {
	return !f.kept[v] && len(v.Uses) == 1 && v.Uses[0] == l
}

// canDelay reports whether a layer may run later, where its reader stands.
func (f *fusion) canDelay(l *anec.Layer) bool {
	return !slices.ContainsFunc(l.Reads(), f.isOverwritten)
}
