package check

import (
	"context"
	"fmt"
	"strings"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/compiler"
)

// A Route is how work comes to a chip's compiler, which has other gates for each.
type Route string

// The routes. Both is the conversion route, and beside it what authoring would win and lose.
const (
	Converted Route = "converted" // operations of a model, through the converter: each has a first generation of chips
	Authored  Route = "authored"  // native layers of a network description: feature bytes of the chip decide
	Both      Route = "both"
)

// ParseRoute reads the name of a route. "" is that of the file: converted for a model, authored for a network description.
func ParseRoute(name string) (Route, error) {
	switch r := Route(name); r {
	case "", Converted, Authored, Both:
		return r, nil
	}
	return "", fmt.Errorf("%q is no route: expected %s, %s or %s", name, Authored, Converted, Both)
}

// A RouteError is about a route that a file cannot take.
type RouteError struct{ Route Route }

func (e *RouteError) Error() string {
	return fmt.Sprintf("route %s: a network description is not converted: it has the authored route alone", e.Route)
}

// Authoring is what the authored route makes of a function otherwise. All are indices of operations.
type Authoring struct {
	Won  []int // the host runs the converted operation, and the engine would take its layers as units
	Left []int // the host runs it by both routes
	Lost []int // the engine runs the converted operation, and would refuse its layers as units
}

// Authoring is what the authored route would make of a target, in words; "" if nobody asked.
func (t *Target) Authoring(f *Function) string {
	if t.Authored == nil {
		return ""
	}
	var parts []string
	say := func(what string, list []int) {
		if len(list) > 0 {
			parts = append(parts, what+f.kinds(list))
		}
	}
	say("wins ", t.Authored.Won)
	say("loses ", t.Authored.Lost)
	switch {
	case parts == nil && t.Authored.Left == nil:
		parts = []string{"the same"}
	case parts == nil:
		parts = []string{"wins nothing"}
	}
	say("still on the host: ", t.Authored.Left)
	return "authored: " + strings.Join(parts, "; ")
}

// compare adds what the authored route makes of the function otherwise.
func (c *check) compare(ctx context.Context, out *Target, converted *compiler.Placement) error {
	authored, err := c.assessor.Place(ctx, converted.Target, anec.Authored)
	if err != nil {
		return err
	}
	out.Authored = &Authoring{}
	lists := map[compiler.Outcome]*[]int{compiler.Won: &out.Authored.Won, compiler.Left: &out.Authored.Left, compiler.Lost: &out.Authored.Lost}
	for _, change := range compiler.CompareRoutes(converted, authored) {
		*lists[change.Outcome] = append(*lists[change.Outcome], change.Index)
		out.Findings = append(out.Findings, change.Finding)
	}
	return nil
}
