package anec

import (
	"errors"
	"fmt"
	"slices"
)

// Verify holds a graph to its rules: names and IDs are unique, every value has
// one origin, what is read is there and knows its readers, no layer reads what
// comes of it, each layer keeps its kind's contract and shape rule. It returns
// all complaints at once.
func Verify(g *Graph) error {
	v := verifier{graph: g, values: map[*Value]bool{}, there: map[*Layer]bool{}, ids: map[int]string{}}
	for _, l := range g.Layers {
		v.there[l] = true
	}
	v.origins()
	v.layers()
	v.ends()
	v.circles()
	return errors.Join(v.complaints...)
}

type verifier struct {
	graph      *Graph
	values     map[*Value]bool
	there      map[*Layer]bool
	ids        map[int]string
	complaints []error
}

func (v *verifier) complain(format string, args ...any) {
	v.complaints = append(v.complaints, fmt.Errorf(format, args...))
}

func (v *verifier) id(id int, what string) {
	if other, taken := v.ids[id]; taken {
		v.complain("%s has ID %d, which %s has", what, id, other)
	}
	v.ids[id] = what
}

// origins checks each value by itself.
func (v *verifier) origins() {
	names := map[string]bool{}
	given := map[*Value]int{}
	for _, in := range v.graph.given() {
		given[in]++
	}
	for _, val := range v.graph.Values {
		what := fmt.Sprintf("value %q", val.Name)
		if v.values[val] || names[val.Name] {
			v.complain("%s stands twice", what)
		}
		v.values[val], names[val.Name] = true, true
		if v.graph.names[val.Name] != val {
			v.complain("%s is not found by its name", what)
		}
		v.id(val.ID, what)
		if err := val.Type.check(); err != nil {
			v.complain("%s: %w", what, err)
		}
		origins := given[val]
		if val.Const != nil {
			origins++
			if t, err := val.Const.check(); err != nil {
				v.complain("%s: %w", what, err)
			} else if !t.Same(val.Type) {
				v.complain("%s is %v, its constant %v", what, val.Type, t)
			}
		}
		if val.Def != nil {
			origins++
			if !slices.Contains(val.Def.Tops, val) {
				v.complain("%s is no top of layer %q, which it names", what, val.Def.Name)
			}
			if !v.there[val.Def] {
				v.complain("%s comes from layer %q, which is not in the graph", what, val.Def.Name)
			}
		}
		if origins != 1 {
			v.complain("%s has %d origins, want one: an input, a state, a constant or a layer", what, origins)
		}
	}
	for i, val := range v.graph.given() {
		if !v.values[val] {
			v.complain("input or state %d is not among the values", i)
		}
	}
}

// given returns the values that enter the graph.
func (g *Graph) given() []*Value {
	given := slices.Clone(g.Inputs)
	for _, s := range g.States {
		given = append(given, s.Before)
	}
	return given
}

// layers checks each layer against its kind, and that values know their readers.
func (v *verifier) layers() {
	uses := map[*Value][]*Layer{}
	seen := map[*Layer]bool{}
	sorted := slices.Clone(v.graph.Layers)
	slices.SortFunc(sorted, byID)
	for _, l := range sorted {
		if seen[l] {
			v.complain("layer %q stands twice", l.Name)
			continue
		}
		seen[l] = true
		v.id(l.ID, fmt.Sprintf("layer %q", l.Name))
		whole := true
		for _, r := range l.Reads() {
			if !v.values[r] {
				whole = false
				v.complaints = append(v.complaints, l.errorf("reads %q, which is not in the graph", r.Name))
			}
			if n := len(uses[r]); n == 0 || uses[r][n-1] != l {
				uses[r] = append(uses[r], l)
			}
		}
		for _, top := range l.Tops {
			if top.Def != l || !v.values[top] {
				whole = false
				v.complaints = append(v.complaints, l.errorf("top %q is not its own", top.Name))
			}
		}
		if whole {
			v.types(l)
		}
	}
	for _, val := range v.graph.Values {
		if !slices.Equal(val.Uses, uses[val]) {
			v.complain("value %q knows %d readers, has %d", val.Name, len(val.Uses), len(uses[val]))
		}
	}
}

func (v *verifier) types(l *Layer) {
	types, err := l.TopTypes()
	if err != nil {
		v.complaints = append(v.complaints, err)
		return
	}
	if len(types) != len(l.Tops) {
		v.complaints = append(v.complaints, l.errorf("has %d tops, makes %d", len(l.Tops), len(types)))
		return
	}
	for i, t := range types {
		if top := l.Tops[i]; !t.Same(top.Type) {
			v.complaints = append(v.complaints, l.errorf("top %q is %v, the rule says %v", top.Name, top.Type, t))
		}
	}
}

// ends checks where the graph begins and ends.
func (v *verifier) ends() {
	for i, out := range v.graph.Outputs {
		if !v.values[out] {
			v.complain("output %d is not in the graph", i)
		}
	}
	for _, s := range v.graph.States {
		switch {
		case s.Before == nil || s.After == nil || !v.values[s.After]:
			v.complain("state %q: its value before or after is not in the graph", s.Name)
		case !s.Before.Type.Same(s.After.Type):
			v.complain("state %q is %v before and %v after", s.Name, s.Before.Type, s.After.Type)
		}
	}
}

// circles complains of layers that read what comes of them.
func (v *verifier) circles() {
	order := v.graph.Order()
	if len(order) == len(v.graph.Layers) {
		return
	}
	placed := map[*Layer]bool{}
	for _, l := range order {
		placed[l] = true
	}
	var first *Layer
	for _, l := range v.graph.Layers {
		if !placed[l] && (first == nil || l.ID < first.ID) {
			first = l
		}
	}
	if first != nil {
		v.complaints = append(v.complaints, first.errorf("stands in or after a circle of layers that read each other"))
	}
}
