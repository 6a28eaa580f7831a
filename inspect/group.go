package inspect

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// A SharedFinding is a finding with the targets that it holds for.
type SharedFinding struct {
	Finding
	Targets []string
}

// Findings joins the findings that targets share, by operation, then in the order of the targets.
func (f *Function) Findings() []SharedFinding {
	var all []SharedFinding
	at := map[Finding]int{}
	for _, t := range f.Targets {
		for _, x := range t.Findings {
			i, ok := at[x]
			if !ok {
				i = len(all)
				at[x] = i
				all = append(all, SharedFinding{Finding: x})
			}
			all[i].Targets = append(all[i].Targets, t.Name)
		}
	}
	slices.SortStableFunc(all, func(a, b SharedFinding) int { return cmp.Compare(a.Operation, b.Operation) })
	return all
}

// A Group is what people read: one gate or hazard, over all operations that meet it on the same targets and have the same
// remedy.
type Group struct {
	ID         string
	Severity   Severity
	Effect     string // of a hazard
	Operations []int  // indices; none if it is about the whole function
	Targets    []string

	Text    string    // of the first operation
	Texts   int       // how many different ones there are, roughly: no fewer than two if it is not one
	Measure []Measure // each once
	Remedy  string
	Source  string
}

// A Measure is what a target allows and what an operation has.
type Measure struct{ Limit, Found string }

// Groups joins the findings of a function, the gravest first, then in the order of the operations.
//
//	conv "a" kernel 15 on h13, h14     conv-kernel-range on h13, h14: conv "a" and "b",
//	conv "b" kernel 17 on h13, h14  →  limit 13, found 15, 17
//
// Those without a remedy have their text instead of it.
func (f *Function) Groups() []*Group {
	var groups []*Group
	joined := map[string]*Group{}
	for _, g := range f.meetings() {
		key := fmt.Sprintf("%q", []string{g.ID, string(g.Severity), cmp.Or(g.Remedy, g.Text), strings.Join(g.Targets, ",")})
		into := joined[key]
		if into == nil {
			joined[key] = g
			groups = append(groups, g)
			continue
		}
		into.Operations = append(into.Operations, g.Operations...)
		for _, m := range g.Measure {
			into.measure(m)
		}
		if g.Text != into.Text {
			into.Texts++
		}
	}
	slices.SortStableFunc(groups, func(a, b *Group) int {
		return cmp.Or(cmp.Compare(a.Severity.rank(), b.Severity.rank()), cmp.Compare(a.Effect, b.Effect)) // numbers before time
	})
	return groups
}

// meetings are groups of one operation each: the targets on which it meets a gate, whatever they find in detail.
func (f *Function) meetings() []*Group {
	type gate struct {
		operation  int
		id, remedy string
		severity   Severity
	}
	var all []*Group
	at := map[gate]*Group{}
	for _, x := range f.Findings() {
		key := gate{x.Operation, x.ID, x.Remedy, x.Severity}
		g := at[key]
		if g == nil {
			g = &Group{ID: x.ID, Severity: x.Severity, Effect: x.Effect, Text: x.Text, Texts: 1, Remedy: x.Remedy, Source: x.Source}
			if x.Operation >= 0 {
				g.Operations = []int{x.Operation}
			}
			at[key] = g
			all = append(all, g)
		}
		for _, t := range x.Targets {
			if !slices.Contains(g.Targets, t) {
				g.Targets = append(g.Targets, t)
			}
		}
		g.measure(Measure{x.Limit, x.Found})
		if x.Text != g.Text {
			g.Texts++
		}
	}
	for _, g := range all {
		f.sortTargets(g.Targets)
	}
	return all
}

func (g *Group) measure(m Measure) {
	if m.Found != "" && !slices.Contains(g.Measure, m) {
		g.Measure = append(g.Measure, m)
	}
}

// measures says what the limit is and what was found: the limit once if it is one, else beside each.
func (g *Group) measures() string {
	if len(g.Measure) == 0 {
		return ""
	}
	limit := g.Measure[0].Limit
	one := !slices.ContainsFunc(g.Measure, func(m Measure) bool { return m.Limit != limit })
	most, found := shownFound, []string{}
	if !one {
		most = shownPairs
	}
	for _, m := range g.Measure {
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

// label is the severity, and what a hazard does.
func (g *Group) label() string {
	if g.Effect != "" {
		return fmt.Sprintf("%s for %s", g.Severity, g.Effect)
	}
	return string(g.Severity)
}

// sortTargets puts names of targets into the order of the report.
func (f *Function) sortTargets(names []string) {
	place := map[string]int{}
	for i, t := range f.Targets {
		place[t.Name] = i
	}
	slices.SortFunc(names, func(a, b string) int { return place[a] - place[b] })
}

// on says which targets a group is about.
func (f *Function) on(targets []string) string {
	if len(targets) == len(f.Targets) && len(targets) > 2 {
		return "every target"
	}
	if len(targets) > 4 && 3*len(targets) >= 2*len(f.Targets) {
		var others []string
		for _, t := range f.Targets {
			if !slices.Contains(targets, t.Name) {
				others = append(others, t.Name)
			}
		}
		return "every target but " + strings.Join(others, ", ")
	}
	return strings.Join(targets, ", ")
}

// some names the first few of a list and counts the rest.
func some(list []string, most int) string {
	if len(list) <= most+1 { // "and 1 more" would be as long as the name
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(list[:most], ", "), len(list)-most)
}

// names are the operations of a group, with their lines if the model is a text.
func (g *Group) names(f *Function) []string {
	var names []string
	for _, i := range g.Operations {
		o := f.Operations[i]
		name := shortName(o.Name)
		if o.Line > 0 {
			name += fmt.Sprintf(" (line %d)", o.Line)
		}
		if o.Origin != "" {
			name += " from " + printable(o.Origin)
		}
		names = append(names, name)
	}
	return names
}

// title is what a group is about: the kinds of its operations and how many there are of each.
func (g *Group) title(f *Function) string {
	var kinds []string
	number := map[string]int{}
	for _, i := range g.Operations {
		kind := f.Operations[i].Kind
		if number[kind]++; number[kind] == 1 {
			kinds = append(kinds, kind)
		}
	}
	if kinds == nil {
		return "the function"
	}
	for i, kind := range kinds {
		kinds[i] = times(shortName(kind), number[kind])
	}
	return some(kinds, shownKinds)
}

// shortName is a name as a report shows it: a model may have names of any length.
func shortName(name string) string {
	const longest = 120
	if runes := []rune(name); len(runes) > longest {
		name = string(runes[:longest]) + "…"
	}
	return printable(name)
}
