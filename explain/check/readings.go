package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/espalier-ane/espalier/hal"
)

// A Reading is a name of a chip or device on which sources disagree, and the targets that it may be.
type Reading struct {
	Name    string   // as it was asked for
	Targets []string // the likeliest first
	Said    string   // what each source says
}

func newReadings(choices []hal.Choice) (all []Reading) {
	for _, c := range choices {
		if !c.Disputed() {
			continue
		}
		r := Reading{Name: c.Name, Said: c.Readings()}
		for _, t := range c.Targets() {
			r.Targets = append(r.Targets, t.Name)
		}
		all = append(all, r)
	}
	return all
}

// notes say, with the first function, on which names sources disagree.
func (r *Report) notes(f *Function) (notes []string) {
	if f != r.Functions[0] {
		return nil
	}
	for _, reading := range r.Readings {
		notes = append(notes, printable(fmt.Sprintf("sources disagree on %s: %s", reading.Name, reading.Said)))
	}
	return notes
}

// A line is a target as forms list it, or several that are readings of one name and have the same verdict:
//
//	h13p  A14?  runs whole on the engine
//	h14   M2    runs whole on the engine  →  h13p or h14  A14  runs whole on the engine
type line struct {
	name, chip string
	*Target
}

// lines are the targets of a function, in their order.
func (r *Report) lines(f *Function) (all []line) {
	joined := map[string]bool{}
	for _, t := range f.Targets {
		if joined[t.Name] {
			continue
		}
		l := line{t.Name, t.Chip, t}
		for _, reading := range r.Readings {
			if reading.agree(f, t) {
				l.name, l.chip = strings.Join(reading.Targets, " or "), printable(reading.Name)
				for _, name := range reading.Targets {
					joined[name] = true
				}
				break
			}
		}
		all = append(all, l)
	}
	return all
}

// agree reports whether a target is a reading of the name, and all of them have its verdict.
func (r Reading) agree(f *Function, t *Target) bool {
	if len(r.Targets) < 2 || !slices.Contains(r.Targets, t.Name) {
		return false
	}
	for _, other := range f.Targets {
		if slices.Contains(r.Targets, other.Name) && (other.Verdict(f) != t.Verdict(f) || other.Authoring(f) != t.Authoring(f)) {
			return false
		}
	}
	return true
}
