package compiler

import (
	"slices"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/segment"
)

// orderStates makes the layers that overwrite a state wait for those that read what it held, so that they can do
// it in place:
//
//	%old  = Reduction(%cache)                     first
//	%next = anec.ring_buffer_writer(%cache, %update)     then: nobody reads %cache any more
//
// Where a reader needs what the writer makes, it stays behind it, and memory finds another way.
func (sc *scheduler) orderStates() {
	for _, s := range sc.graph.States {
		held := s.After
		for held != s.Before && held.Def != nil {
			l := held.Def
			if segment.IsView(l) {
				held = l.Bottoms[0]
				continue
			}
			if l.Kind() != anec.KindRingBufferWriter {
				sc.waitForReaders(l, s.Before)
				break
			}
			held = l.Bottoms[0] // of a row of writers, each overwrites what the one before has left
			sc.waitForReaders(l, held)
		}
	}
}

func (sc *scheduler) waitForReaders(writer *anec.Layer, v *anec.Value) {
	w := sc.number[writer]
	var readers []int
	for work := []*anec.Value{v}; len(work) > 0; {
		v := work[len(work)-1]
		work = work[:len(work)-1]
		for _, l := range v.Uses {
			if l == writer {
				continue
			}
			readers = append(readers, sc.number[l])
			if segment.IsView(l) {
				work = append(work, l.Tops...)
			}
		}
	}
	if len(readers) == 0 {
		return
	}
	after := sc.after(w)
	for _, r := range readers {
		if !after[r] && !slices.Contains(sc.deps[w], r) {
			sc.depend(w, r)
		}
	}
}

// after returns the layers that must come after one, itself among them.
func (sc *scheduler) after(i int) []bool {
	seen := make([]bool, len(sc.layers))
	seen[i] = true
	for work := []int{i}; len(work) > 0; {
		i := work[len(work)-1]
		work = work[:len(work)-1]
		for _, f := range sc.feeds[i] {
			if !seen[f] {
				seen[f] = true
				work = append(work, f)
			}
		}
	}
	return seen
}
