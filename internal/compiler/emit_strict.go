package compiler

import (
	"errors"
	"fmt"
	"strings"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/internal/segment"
)

// A StrictError is about layers whose tasks the chip itself could not run: no register of it is known to say what they
// compute. Without Job.Strict they are tasks of ours in its container.
type StrictError struct {
	Target string
	Known  bool          // the chip's registers are known, but not what these layers take
	Layers []*anec.Layer // each once, in the order of the tasks
	Why    []error       // of Known, for each: what stands in the way, a *diag.Reason
}

// Error names the layers: with what stands in the way of each, in a line of its own, where that is known.
func (e *StrictError) Error() string {
	count := "1 layer is"
	if len(e.Layers) > 1 {
		count = fmt.Sprintf("%d layers are", len(e.Layers))
	}
	why, before, between := "the registers of "+e.Target+" are not known, and they would be tasks of ours", " ", "; "
	if e.Known {
		why, before, between = "no tasks of "+e.Target+" are certain for them, and they would be tasks of ours", "\n  ", "\n  "
	}
	return fmt.Sprintf("strict: %s refused: %s:%s%s", count, why, before, strings.Join(e.names(), between))
}

// names are the layers, by what they are in the model.
func (e *StrictError) names() (names []string) {
	for i, l := range e.Layers {
		if i == maxStrictNames {
			return append(names, fmt.Sprintf("and %d more", len(e.Layers)-i))
		}
		name := l.Name
		if len(l.Origin) > 0 {
			name = strings.Join(l.Origin, ", ")
		}
		name = fmt.Sprintf("%s (%v)", name, l.Kind())
		if e.Known && e.Why[i] != nil {
			name += ": " + e.Why[i].Error()
			if r, ok := errors.AsType[*diag.Reason](e.Why[i]); ok {
				name += fmt.Sprintf(" [%s]", r.ID)
			}
		}
		names = append(names, name)
	}
	return names
}

// maxStrictNames bounds the layers that an error lists.
const maxStrictNames = 20

// checkStrict refuses the tasks of a segment that are ours and not the target's.
func checkStrict(s *segment.Segment) error {
	if s.Target.Family == hal.Virtual { // ours are its own
		return nil
	}
	e := &StrictError{Target: s.Target.Name, Known: s.Target.HasNativeEncoding()}
	for _, t := range s.Tasks {
		if t.Unit != nil || len(e.Layers) > 0 && e.Layers[len(e.Layers)-1] == t.Layer {
			continue
		}
		e.Layers, e.Why = append(e.Layers, t.Layer), append(e.Why, s.Declined[t.Layer])
	}
	if len(e.Layers) > 0 {
		return e
	}
	return nil
}
