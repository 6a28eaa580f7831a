package layers

import (
	"fmt"
	"slices"
	"strings"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/anec"
)

// summarize makes the row of a kind.
func summarize(k anec.Kind) Summary {
	info := k.Info()
	s := Summary{Name: info.Name, Standing: info.Standing.String(), Class: int(info.Class), Bottoms: []Operand{}, Tops: info.Contract.Tops}
	for _, o := range info.Contract.Bottoms {
		s.Bottoms = append(s.Bottoms, Operand{o.Name, o.Optional, o.Repeats, o.Const, o.Weight, o.Indices})
	}
	if info.Standing != anec.Ours {
		s.Type = info.Name
	}
	if info.Standing == anec.Descriptor {
		s.Descriptor = "ANEC" + info.Desc + "LayerDesc"
	}
	s.Converted = firstConverted(k)
	s.Authored, _ = firstAuthored(k)
	return s
}

// explain adds what is beside the row.
func explain(k anec.Kind) *Kind {
	info := k.Info()
	e := &Kind{
		Summary: summarize(k), Fields: []Field{}, Example: exampleOf(k).line, Gates: gatesOf(k), Codegen: codegenOf(k), Operations: operationsOf(k),
		NoValidator: info.NoValidator, Sources: []string{}, Inferred: info.Unsure,
		Virtual: encode(k, "virtual"), H13: encode(k, "h13"),
	}
	for _, f := range anec.Fields(k) {
		e.Fields = append(e.Fields, Field{f.Name, f.Type(k), f.Tokens(k), f.Default(k), f.Net, f.Inferred})
	}
	if info.Desc != "" {
		e.Validator = "_ANECValidate" + info.Desc + "Layer"
	}
	if e.Authored == nil {
		_, e.NoAuthored = firstAuthored(k)
	}
	for _, word := range strings.Fields(info.Sources) {
		e.Sources = append(e.Sources, anec.SourceTitle(word))
	}
	return e
}

// An example is a graph with one plain layer of a kind.
type example struct {
	graph *anec.Graph
	layer *anec.Layer
	line  string // that of the layer
}

// exampleOf makes the example of a kind.
func exampleOf(k anec.Kind) example {
	g, err := k.ExampleGraph()
	if err != nil {
		panic(fmt.Sprintf("bug: the example of %v: %v", k, err))
	}
	e := example{graph: g, layer: g.Layers[0]}
	for line := range strings.Lines(anec.Print(g)) {
		if strings.HasPrefix(line, "%") {
			e.line = strings.TrimSpace(line)
		}
	}
	return e
}

// chips are the first targets of the families, oldest first.
func chips() (list []*hal.Target) {
	for f := hal.A11Legacy; f <= hal.A18; f++ {
		i := slices.IndexFunc(hal.Targets(), func(t *hal.Target) bool { return t.Family == f })
		list = append(list, hal.Targets()[i])
	}
	return list
}

func newChip(t *hal.Target) *Chip { return &Chip{t.Name, t.Family.String(), t.Family.OrLater()} }

// older reports whether a chip came before another.
func older(a, b *Chip) bool {
	place := func(c *Chip) int {
		return slices.IndexFunc(chips(), func(t *hal.Target) bool { return t.Name == c.Target })
	}
	return place(a) < place(b)
}

// converterMakes are the operations of which a chip's converter makes another kind than our lowering does (guide A: argmax along
// an axis is native from the M1 on; guide 24: what is over a whole axis from the M3 on).
var converterMakes = map[string]string{"reduce_argmax": "ArgMinMax"}

// firstConverted is the first chip of which the engine runs an operation that becomes layers of the kind.
func firstConverted(k anec.Kind) (first *Chip) {
	for _, o := range allOperations() {
		kinds := o.Layers
		if other, ok := converterMakes[o.Name]; ok {
			kinds = []string{other}
		}
		if c := o.Converted; c != nil && slices.Contains(kinds, k.String()) && (first == nil || older(c, first)) {
			first = c
		}
	}
	return first
}

// firstAuthored is the first chip that takes the example of a kind in a network description, or what the last one says.
func firstAuthored(k anec.Kind) (c *Chip, reason string) {
	if k.Info().Standing == anec.Ours {
		return nil, "no network description has it: the kind is ours"
	}
	l := exampleOf(k).layer
	for _, t := range chips() {
		r := anec.Gate(l, t, anec.Authored)
		if r == nil {
			return newChip(t), ""
		}
		reason = r.Text
	}
	return nil, reason
}

// codegenOf is what is known of the code that comes of a kind.
func codegenOf(k anec.Kind) []Codegen {
	list := []Codegen{}
	for _, v := range k.Info().Codegen {
		c := Codegen{
			ID: v.ID, Subject: v.Subject, Route: v.Route.String(), From: v.From.String(), To: v.To.String(), Outcome: "code",
			Text: v.Text, Remedy: v.Remedy, Known: v.Status.String(), Source: v.Source, Against: v.Against,
			isAbout: func(t *hal.Target) bool { return t.Family >= v.From && t.Family <= v.To },
		}
		switch {
		case v.Fails:
			c.Outcome = "no code"
		case v.StandIn:
			c.Outcome = "code of other layers"
		}
		for _, f := range v.Seen {
			c.Seen = append(c.Seen, f.String())
		}
		list = append(list, c)
	}
	return list
}
