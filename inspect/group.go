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

// A Group is what people read: one gate or hazard, over all operations of a kind that meet it on the same targets.
type Group struct {
	ID         string
	Severity   Severity
	Kind       string // of the operations; "" if it is about the whole function
	Operations []int  // indices
	Targets    []string

	Text   string   // of the first operation
	Texts  int      // how many different ones there are
	Limit  string   // what the targets allow
	Found  []string // what the operations have, each once
	Remedy string
	Source string
}

// Groups joins the findings of a function, the gravest first, then in the order of the operations.
//
//	conv "a" kernel 15 on h13, h14     conv-kernel-range on h13, h14: conv "a" and "b",
//	conv "b" kernel 17 on h13, h14  →  limit 13, found 15, 17
func (f *Function) Groups() []*Group {
	type gate struct {
		operation         int
		id, limit, remedy string
		severity          Severity
	}
	type meeting struct {
		gate
		group *Group
	}
	// First the targets of each operation at each gate, whatever they find in detail.
	var meetings []*meeting
	at := map[gate]*meeting{}
	for _, x := range f.Findings() {
		key := gate{x.Operation, x.ID, x.Limit, x.Remedy, x.Severity}
		m := at[key]
		if m == nil {
			g := &Group{ID: x.ID, Severity: x.Severity, Text: x.Text, Texts: 1, Limit: x.Limit, Remedy: x.Remedy, Source: x.Source}
			if x.Operation >= 0 {
				g.Kind, g.Operations = f.Operations[x.Operation].Kind, []int{x.Operation}
			}
			m = &meeting{key, g}
			at[key] = m
			meetings = append(meetings, m)
		}
		m.group.Targets = append(m.group.Targets, x.Targets...)
		m.group.Found = addOnce(m.group.Found, x.Found)
		if x.Text != m.group.Text {
			m.group.Texts++
		}
	}
	// Then the operations.
	var groups []*Group
	joined := map[string]*Group{}
	for _, m := range meetings {
		g := m.group
		f.sortTargets(g.Targets)
		key := fmt.Sprintf("%q", []string{g.Kind, g.ID, string(g.Severity), g.Limit, g.Remedy, strings.Join(g.Targets, ",")})
		into := joined[key]
		if into == nil {
			joined[key] = g
			groups = append(groups, g)
			continue
		}
		into.Operations = append(into.Operations, g.Operations...)
		for _, found := range g.Found {
			into.Found = addOnce(into.Found, found)
		}
		if g.Text != into.Text {
			into.Texts++
		}
	}
	slices.SortStableFunc(groups, func(a, b *Group) int { return cmp.Compare(a.Severity.rank(), b.Severity.rank()) })
	return groups
}

func addOnce(list []string, s string) []string {
	if s == "" || slices.Contains(list, s) {
		return list
	}
	return append(list, s)
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
		name := printable(o.Name)
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

// title is what a group is about: the kind of its operations and how many there are.
func (g *Group) title() string {
	if g.Kind == "" {
		return "the function"
	}
	return times(g.Kind, len(g.Operations))
}
