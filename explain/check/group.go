package check

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/espalier-ane/espalier/internal/diag"
)

// A Group is findings that are read as one: how far they are joined, the method says that makes it.
type Group struct {
	*Finding // the first, which speaks for the others

	Operations []int    // indices; none if it is about the whole function
	Layers     []string // native layers that no operation of the model stands for
	Targets    []string // in the order of the report

	Texts       int          // how many different ones there are, roughly: no fewer than two if it is not one
	Measures    []Measure    // each once
	Confidences []Confidence // each once, the surest first

	of *Function
}

// A Measure is what a target allows and what an operation has.
type Measure struct{ Limit, Found string }

// Findings joins the findings that are equal on several targets, by operation, then in the order of the targets.
func (f *Function) Findings() []*Group {
	indexOf := f.places()
	var all []*Group
	for _, t := range f.Targets {
		for _, x := range t.Findings {
			g := &Group{Finding: x, Targets: []string{t.Name}, Texts: 1, of: f}
			if i := indexOf(x.Place); i >= 0 {
				g.Operations = []int{i}
			} else if x.Place.Layer != "" {
				g.Layers = []string{x.Place.Layer}
			}
			if x.Found != "" {
				g.Measures = []Measure{{x.Limit, x.Found}}
			}
			if x.Confidence != 0 {
				g.Confidences = []Confidence{x.Confidence}
			}
			all = append(all, g)
		}
	}
	all = join(all, func(g *Group) any {
		key := *g.Finding
		if len(g.Operations) > 0 {
			key.Place.Layer = "" // targets name the layers of an operation otherwise
		}
		return key
	})
	slices.SortStableFunc(all, func(a, b *Group) int { return cmp.Compare(a.First(), b.First()) })
	return all
}

// places finds the index of the operation at a place, -1 if there is none. Names are unique but for operations that only
// write a state, which have none of their own: these are told apart by where they stand.
func (f *Function) places() func(diag.Place) int {
	index := make(map[diag.Place]int, 2*len(f.Operations))
	for i, o := range f.Operations {
		index[diag.Place{Operation: o.Name}] = i
	}
	for i, o := range f.Operations {
		index[diag.Place{Operation: o.Name, Line: o.Line, Offset: o.Offset}] = i
	}
	return func(p diag.Place) int {
		if p.Operation == "" {
			return -1
		}
		for _, key := range []diag.Place{{Operation: p.Operation, Line: p.Line, Offset: p.Offset}, {Operation: p.Operation}} {
			if i, ok := index[key]; ok {
				return i
			}
		}
		return -1
	}
}

// meetings are groups of one operation each: the targets on which it meets a gate, whatever they find in detail.
func (f *Function) meetings() []*Group {
	type gate struct {
		operation int
		layer     string
		id        diag.ID
		remedy    string
		severity  Severity
	}
	return join(f.Findings(), func(g *Group) any {
		return gate{g.First(), strings.Join(g.Layers, ""), g.ID, g.Remedy, g.Severity}
	})
}

// Groups joins the findings of a function as people read them, one gate or hazard over all operations that meet it on the
// same targets and have the same remedy: the gravest first, then in the order of the operations.
//
//	conv "a" kernel 15 on h13, h14     conv-kernel-range on h13, h14: conv "a" and "b",
//	conv "b" kernel 17 on h13, h14  →  limit 13, found 15, 17
//
// Those without a remedy have their text instead of it.
func (f *Function) Groups() []*Group {
	type gate struct {
		id             diag.ID
		severity       Severity
		remedy, target string
	}
	groups := join(f.meetings(), func(g *Group) any {
		return gate{g.ID, g.Severity, cmp.Or(g.Remedy, g.Text), strings.Join(g.Targets, ",")}
	})
	slices.SortStableFunc(groups, func(a, b *Group) int {
		return cmp.Or(cmp.Compare(a.Severity, b.Severity), cmp.Compare(a.Effect(), b.Effect())) // numbers before time
	})
	return groups
}

// join makes one of the groups that have the same key, in the order of the first of each.
func join(groups []*Group, key func(*Group) any) (joined []*Group) {
	at := map[any]*Group{}
	for _, g := range groups {
		k := key(g)
		if into := at[k]; into != nil {
			into.add(g)
			continue
		}
		at[k] = g
		joined = append(joined, g)
	}
	for _, g := range joined {
		g.of.sortTargets(g.Targets)
	}
	return joined
}

// add takes in another group.
func (g *Group) add(other *Group) {
	if !slices.Equal(g.Operations, other.Operations) {
		g.Operations = append(g.Operations, other.Operations...)
	}
	if !slices.Equal(g.Layers, other.Layers) {
		g.Layers = append(g.Layers, other.Layers...)
	}
	g.Targets = union(g.Targets, other.Targets)
	g.Measures = union(g.Measures, other.Measures)
	g.Confidences = union(g.Confidences, other.Confidences)
	slices.SortFunc(g.Confidences, func(a, b Confidence) int { return cmp.Compare(b, a) })
	if other.Text != g.Text {
		g.Texts++
	}
	if g.Against == "" && other.Against != "" {
		first := *g.Finding // which belongs to its target
		first.Against = other.Against
		g.Finding = &first
	}
}

// union adds to a list what it does not have.
func union[T comparable](list, more []T) []T {
	for _, x := range more {
		if !slices.Contains(list, x) {
			list = append(list, x)
		}
	}
	return list
}

// sortTargets puts names of targets into the order of the report.
func (f *Function) sortTargets(names []string) {
	place := map[string]int{}
	for i, t := range f.Targets {
		place[t.Name] = i
	}
	slices.SortFunc(names, func(a, b string) int { return place[a] - place[b] })
}

// First is the first operation, -1 if there is none.
func (g *Group) First() int {
	if len(g.Operations) == 0 {
		return -1
	}
	return g.Operations[0]
}

// Rank orders severities, the gravest first.
func (g *Group) Rank() int { return int(g.Severity - diag.Refusal) }

// Label is the severity, and what a hazard does.
func (g *Group) Label() string {
	if e := g.Effect(); e != 0 {
		return fmt.Sprintf("%v for %v", g.Severity, e)
	}
	return g.Severity.String()
}

// Title is what a group is about: the kinds of its operations and how many there are of each.
func (g *Group) Title() string {
	var kinds []string
	number := map[string]int{}
	for _, i := range g.Operations {
		kind := g.of.Operations[i].Kind
		if number[kind]++; number[kind] == 1 {
			kinds = append(kinds, kind)
		}
	}
	switch {
	case kinds == nil && g.Layers == nil:
		return "the function"
	case kinds == nil:
		return count(len(g.Layers), "layer")
	}
	for i, kind := range kinds {
		kinds[i] = times(shortName(kind), number[kind])
	}
	return some(kinds, shownKinds)
}

// On says which targets a group is about.
func (g *Group) On() string {
	all, targets := g.of.Targets, g.Targets
	if len(targets) == len(all) && len(targets) > 2 {
		return "every target"
	}
	if len(targets) > 4 && 3*len(targets) >= 2*len(all) {
		var others []string
		for _, t := range all {
			if !slices.Contains(targets, t.Name) {
				others = append(others, t.Name)
			}
		}
		return "every target but " + strings.Join(others, ", ")
	}
	return strings.Join(targets, ", ")
}

// Where names some of the operations.
func (g *Group) Where() string { return some(g.names(), shownNames) }

// names are the operations of a group, with their lines if the model is a text.
func (g *Group) names() []string {
	var names []string
	for _, i := range g.Operations {
		o := g.of.Operations[i]
		name := shortName(o.Name)
		if o.Line > 0 {
			name += fmt.Sprintf(" (line %d)", o.Line)
		}
		if o.Origin != "" {
			name += " from " + printable(o.Origin)
		}
		names = append(names, name)
	}
	for _, l := range g.Layers {
		names = append(names, shortName(l))
	}
	return names
}

// Said is the finding in a sentence: that of the first operation, where they differ.
func (g *Group) Said() string {
	text := printable(g.Text)
	if g.Texts > 1 {
		text = "for the first: " + text
	}
	return text
}

// Measured says what the limit is and what was found: the limit once if it is one, else beside each.
func (g *Group) Measured() string {
	if len(g.Measures) == 0 {
		return ""
	}
	limit := g.Measures[0].Limit
	one := !slices.ContainsFunc(g.Measures, func(m Measure) bool { return m.Limit != limit })
	most, found := shownFound, []string{}
	if !one {
		most = shownPairs
	}
	for _, m := range g.Measures {
		if one {
			found = append(found, m.Found)
		} else {
			found = append(found, fmt.Sprintf("%s (limit %s)", m.Found, m.Limit))
		}
	}
	text := "found: " + some(found, most)
	if one && limit != "" {
		text = "limit: " + limit + "; " + text
	}
	return printable(text)
}

// Known says how the finding is known: in other ways on some targets than on others, perhaps.
func (g *Group) Known() string {
	var words []string
	for _, c := range g.Confidences {
		words = append(words, c.String())
	}
	if n := len(words); n > 1 {
		words = append(words[:n-2], words[n-2]+" and "+words[n-1])
	}
	return strings.Join(words, ", ")
}

// Instead is the remedy.
func (g *Group) Instead() string { return printable(g.Remedy) }

// some names the first few of a list and counts the rest.
func some(list []string, most int) string {
	if len(list) <= most+1 { // "and 1 more" would be as long as the name
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(list[:most], ", "), len(list)-most)
}

// shortName is a name as a report shows it: a model may have names of any length.
func shortName(name string) string {
	const longest = 120
	if runes := []rune(name); len(runes) > longest {
		name = string(runes[:longest]) + "…"
	}
	return printable(name)
}
