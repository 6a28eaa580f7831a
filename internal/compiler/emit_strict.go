package compiler

import (
	"fmt"
	"strings"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/td"
)

// A StrictError is about layers whose tasks the chip itself could not run: no register of it is known to say what they
// compute. Without Job.Strict they are tasks of our own version in its container.
type StrictError struct {
	Target string
	Layers []*anec.Layer // each once, in the order of the tasks
	Known  bool          // the chip's registers are known, but not what one of these layers takes
	First  error         // of Known: which one that is; nil if there is none, and the numerics ask for more than tables
}

func (e *StrictError) Error() string {
	var names []string
	for _, l := range e.Layers {
		name := l.Name
		if len(l.Origin) > 0 {
			name = strings.Join(l.Origin, ", ")
		}
		names = append(names, fmt.Sprintf("%s (%v)", name, l.Kind()))
	}
	if more := len(names) - maxStrictNames; more > 0 {
		names = append(names[:maxStrictNames], fmt.Sprintf("and %d more", more))
	}
	why := "the registers of " + e.Target + " are not known, and they would be tasks of version 256"
	if e.Known {
		why = "their encoding for " + e.Target + " is not certain, and they would be extension records"
		if e.First != nil {
			why += " (" + e.First.Error() + ")"
		}
	}
	count := "1 layer is"
	if len(e.Layers) > 1 {
		count = fmt.Sprintf("%d layers are", len(e.Layers))
	}
	return fmt.Sprintf("strict: %s refused: %s: %s", count, why, strings.Join(names, "; "))
}

// maxStrictNames bounds the layers that an error lists.
const maxStrictNames = 20

// checkStrict refuses the tasks of a segment that are ours and not the target's.
func checkStrict(s *Segment, tasks []*td.Task) error {
	own := td.Version(s.Target.Container().TaskVersion)
	e := &StrictError{Target: s.Target.Name, First: firstDeclined(s)}
	for i, t := range tasks {
		if t.Version == own && !t.Extension() {
			continue
		}
		e.Known = t.Version == own
		if l := s.Tasks[i].Layer; len(e.Layers) == 0 || e.Layers[len(e.Layers)-1] != l {
			e.Layers = append(e.Layers, l)
		}
	}
	if len(e.Layers) > 0 {
		return e
	}
	return nil
}

// firstDeclined is why the chip's own encoder did not take the first layer that it did not.
func firstDeclined(s *Segment) error {
	for _, l := range s.Plan.Layers {
		if err := s.Declined[l]; err != nil && len(s.Selected[l]) > 0 {
			return &anec.LayerError{Layer: l.Name, Kind: l.Kind(), Origin: l.Origin, Err: err}
		}
	}
	return nil
}
