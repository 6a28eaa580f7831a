package compiler

import (
	"fmt"
	"slices"
	"strings"

	"github.com/espalier-ane/espalier/internal/diag"
)

// An Outcome is what authoring does for an operation, beside converting it.
type Outcome uint8

// The outcomes.
const (
	Won  Outcome = iota + 1 // the engine takes its layers as units, and the host runs the converted operation
	Left                    // the host runs it by both routes
	Lost                    // the engine runs the converted operation, and does not take its layers as units
)

// A RouteChange is an operation that one of the routes leaves to the host.
type RouteChange struct {
	Index   int // of the placements' operations
	Outcome Outcome
	Finding *diag.Finding // at the operation
}

// CompareRoutes says what authoring would win of a function on a target, and what would still be missing. Both placements are of
// one examination and one target.
func CompareRoutes(converted, authored *Placement) (changes []RouteChange) {
	for i, c := range converted.Ops {
		a, x := authored.Ops[i], converted.Operations[i]
		host, takes := c.Backend == OnHost, a.Backend != OnHost
		if host && takes && a.Finding != nil && a.Finding.ID == diag.OurUnit {
			takes = false // what only we have wins nothing on a chip
		}
		change := RouteChange{Index: i}
		var f diag.Finding
		switch {
		case host && takes:
			change.Outcome, f = Won, x.wonFinding(a.Finding)
		case host:
			change.Outcome, f = Left, x.leftFinding(c.Finding, a.Finding)
		case !takes:
			change.Outcome, f = Lost, x.lostFinding(a.Finding)
		default:
			continue
		}
		f.Source = "guide 4 and 26, two compile routes"
		if a.Finding != nil && !takes && a.Finding.Source != "" {
			f.Source = a.Finding.Source
		}
		change.Finding = f.At(diag.Note, converted.placeOf(c))
		changes = append(changes, change)
	}
	return changes
}

func (x *Examined) wonFinding(said *diag.Finding) diag.Finding {
	f := diag.Finding{ID: diag.AuthoredTakes, Text: x.asUnits() + " the engine takes it", Remedy: diag.AuthorDirectly}
	if said != nil && said.Against != "" {
		f.Confidence, f.Against = said.Confidence, said.Against
	}
	return f
}

func (x *Examined) leftFinding(converted, authored *diag.Finding) diag.Finding {
	f := *authored.At(0, diag.Place{})
	f.ID = diag.AuthoredRefuses
	switch {
	case x.noForm() != nil:
		f.Text, f.Limit, f.Found, f.Remedy = "there are no native layers to author: "+authored.Text, "", "", ""
	case authored.ID == diag.OurUnit:
		f.Text = x.asUnits() + " only our compiler takes it: " + authored.Text
	case converted != nil && converted.ID == authored.ID:
		f.Text, f.Limit, f.Found, f.Remedy = x.asUnits()+" the same gate refuses it", "", "", ""
	default:
		f.Text = x.asUnits() + " it is refused too: " + authored.Text
	}
	return f
}

func (x *Examined) lostFinding(authored *diag.Finding) diag.Finding {
	f := *authored.At(0, diag.Place{})
	f.ID, f.Remedy = diag.AuthoredLoses, "leave it to the conversion route"
	f.Text = x.asUnits() + " it is refused: " + authored.Text
	return f
}

// asUnits names the units that the operation would be written as.
func (x *Examined) asUnits() string {
	var kinds []string
	for _, l := range x.workers() {
		if k := l.Kind().String(); !slices.Contains(kinds, k) {
			kinds = append(kinds, k)
		}
	}
	switch len(kinds) {
	case 0:
		return "as another name for a value"
	case 1:
		return fmt.Sprintf("as the unit %s of a network description", kinds[0])
	}
	return fmt.Sprintf("as the units %s of a network description", strings.Join(kinds, ", "))
}
