package anec

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/espalier-ane/espalier/tensor"
)

// AddInput adds an input.
func (g *Graph) AddInput(name string, t Type) (*Value, error) {
	v, err := g.newValue(name, t)
	if err != nil {
		return nil, fmt.Errorf("input %q: %w", name, err)
	}
	g.Inputs = append(g.Inputs, v)
	return v, nil
}

// AddState adds a state, which nothing writes yet: its After is its Before.
func (g *Graph) AddState(name string, t Type) (*State, error) {
	v, err := g.newValue(name, t)
	if err != nil {
		return nil, fmt.Errorf("state %q: %w", name, err)
	}
	s := &State{Name: name, Before: v, After: v}
	g.States = append(g.States, s)
	return s, nil
}

// AddConstant adds a constant.
func (g *Graph) AddConstant(name string, c *Constant) (*Value, error) {
	t, err := c.check()
	if err != nil {
		return nil, fmt.Errorf("constant %q: %w", name, err)
	}
	v, err := g.newValue(name, t)
	if err != nil {
		return nil, fmt.Errorf("constant %q: %w", name, err)
	}
	v.Const = c
	return v, nil
}

// AddOutput makes a value the next output.
func (g *Graph) AddOutput(v *Value) { g.Outputs = append(g.Outputs, v) }

// A Spec is what a layer is made of.
type Spec struct {
	Name       string
	Params     Params
	Bottoms    []*Value // nil entries and a short tail are optional ones left out
	Tops       []string // names; those that are missing follow the layer's
	OutputType tensor.DType
	Epilogue   Epilogue
	Origin     []string
}

// Add adds a layer, with tops of the types that its kind's rule gives.
func (g *Graph) Add(s Spec) (*Layer, error) {
	l := &Layer{
		Name: s.Name, Params: s.Params, Bottoms: trimAbsent(slices.Clone(s.Bottoms)),
		OutputType: s.OutputType, Epilogue: s.Epilogue, Origin: s.Origin,
	}
	types, err := l.TopTypes()
	if err != nil {
		return nil, err
	}
	if len(s.Tops) > len(types) {
		return nil, l.errorf("%d names for %d tops", len(s.Tops), len(types))
	}
	names := make([]string, len(types))
	for i := range names {
		names[i] = topName(&s, i)
		if taken := g.names[names[i]]; taken != nil || slices.Contains(names[:i], names[i]) {
			return nil, l.errorf("a value %q is there already", names[i])
		}
	}
	l.ID = g.newID()
	for i, t := range types {
		v, err := g.newValue(names[i], t)
		if err != nil {
			return nil, l.errorf("top %q: %w", names[i], err)
		}
		v.Def = l
		l.Tops = append(l.Tops, v)
	}
	g.Layers = append(g.Layers, l)
	g.addUses(l)
	return l, nil
}

func topName(s *Spec, i int) string {
	switch {
	case i < len(s.Tops):
		return s.Tops[i]
	case i == 0:
		return s.Name
	}
	return s.Name + "." + strconv.Itoa(i)
}

// trimAbsent cuts optional bottoms that are not there from the end.
func trimAbsent(bottoms []*Value) []*Value {
	for len(bottoms) > 0 && bottoms[len(bottoms)-1] == nil {
		bottoms = bottoms[:len(bottoms)-1]
	}
	return bottoms
}

// Edit lets a function change what a layer is and reads: params, bottoms,
// epilogue. Afterwards uses and the types of the tops are right again; if the
// layer then breaks its kind's rule, it is put back and the rule's complaint
// returned. The number of tops must stay.
func (g *Graph) Edit(l *Layer, change func(*Layer)) error {
	old := *l
	old.Bottoms, old.Epilogue = slices.Clone(l.Bottoms), l.Epilogue.clone()
	l.Params = cloneParams(l.Params) // layers may share them
	g.dropUses(l)
	change(l)
	l.Bottoms = trimAbsent(l.Bottoms)
	types, err := l.TopTypes()
	if err == nil && len(types) != len(l.Tops) {
		err = l.errorf("makes %d tops, had %d", len(types), len(l.Tops))
	}
	if err != nil {
		l.Params, l.Bottoms, l.Epilogue, l.OutputType = old.Params, old.Bottoms, old.Epilogue, old.OutputType
		g.addUses(l)
		return err
	}
	for i, t := range types {
		t.Interleave = l.Tops[i].Type.Interleave
		l.Tops[i].Type = t
	}
	g.addUses(l)
	return nil
}

// ReplaceUses makes every reader of a value, outputs and states too, read
// another one of the same type instead.
func (g *Graph) ReplaceUses(old, by *Value) error {
	if !old.Type.Same(by.Type) {
		return fmt.Errorf("%q is %v, %q is %v", old.Name, old.Type, by.Name, by.Type)
	}
	g.replaceReads(old, by)
	for i, v := range g.Outputs {
		if v == old {
			g.Outputs[i] = by
		}
	}
	for _, s := range g.States {
		if s.After == old {
			s.After = by
		}
	}
	return nil
}

// ReplaceReads is ReplaceUses for layers alone: outputs and states stay as they are, and are not looked through.
func (g *Graph) ReplaceReads(old, by *Value) error {
	if !old.Type.Same(by.Type) {
		return fmt.Errorf("%q is %v, %q is %v", old.Name, old.Type, by.Name, by.Type)
	}
	g.replaceReads(old, by)
	return nil
}

func (g *Graph) replaceReads(old, by *Value) {
	for _, l := range slices.Clone(old.Uses) {
		g.ReplaceRead(l, old, by)
	}
}

// ReplaceRead makes one layer read another value of the same type instead.
func (g *Graph) ReplaceRead(l *Layer, old, by *Value) {
	g.dropUses(l)
	l.Bottoms, l.Epilogue.Steps = slices.Clone(l.Bottoms), slices.Clone(l.Epilogue.Steps) // others may have them too
	for _, slot := range l.slots() {
		if *slot == old {
			*slot = by
		}
	}
	g.addUses(l)
}

// Discard makes a layer read nothing, so that its bottoms no longer count it among their readers. Nobody may read
// its tops; the graph is whole again after Sweep. It is what a pass does that takes out many layers, for Remove
// looks through the whole graph.
func (g *Graph) Discard(l *Layer) error {
	for _, v := range l.Tops {
		if len(v.Uses) > 0 {
			return l.errorf("%q is still read", v.Name)
		}
	}
	g.dropUses(l)
	l.Bottoms, l.Epilogue = nil, Epilogue{}
	return nil
}

// Remove takes out a layer that nobody reads, with its tops.
func (g *Graph) Remove(l *Layer) error {
	for _, v := range l.Tops {
		if len(v.Uses) > 0 || g.IsOutput(v) {
			return l.errorf("%q is still read", v.Name)
		}
	}
	g.dropUses(l)
	for _, v := range l.Tops {
		g.removeValue(v)
	}
	if i := slices.Index(g.Layers, l); i >= 0 {
		g.Layers = slices.Delete(g.Layers, i, i+1)
	}
	return nil
}

// Sweep takes out everything that reaches no output and no state: layers, and
// constants that nobody reads. Inputs and states stay. It returns how many
// layers went.
func (g *Graph) Sweep() int {
	live := map[*Layer]bool{}
	kept := map[*Value]bool{}
	var work []*Value
	mark := func(v *Value) {
		if !kept[v] {
			kept[v] = true
			work = append(work, v)
		}
	}
	for _, v := range g.Inputs {
		mark(v)
	}
	for _, v := range g.Outputs {
		mark(v)
	}
	for _, s := range g.States {
		mark(s.Before)
		mark(s.After)
	}
	for len(work) > 0 {
		l := work[len(work)-1].Def
		work = work[:len(work)-1]
		if l == nil || live[l] {
			continue
		}
		live[l] = true
		for _, v := range l.Tops { // a layer lives with all its tops
			mark(v)
		}
		for _, v := range l.Reads() {
			mark(v)
		}
	}
	before := len(g.Layers)
	for _, l := range g.Layers {
		if !live[l] {
			g.dropUses(l)
		}
	}
	g.Layers = slices.DeleteFunc(g.Layers, func(l *Layer) bool { return !live[l] })
	g.Values = slices.DeleteFunc(g.Values, func(v *Value) bool {
		if !kept[v] {
			delete(g.names, v.Name)
		}
		return !kept[v]
	})
	return before - len(g.Layers)
}

// Rename gives a value another name. That of its layer stays.
func (g *Graph) Rename(v *Value, name string) error {
	if g.names[name] != nil && g.names[name] != v {
		return fmt.Errorf("a value %q is there already", name)
	}
	delete(g.names, v.Name)
	v.Name = name
	g.names[name] = v
	return nil
}

// FreshName returns a name that no value has: the hint itself, or with a number
// after it.
func (g *Graph) FreshName(hint string) string {
	name := hint
	for g.names[name] != nil {
		g.numbered[hint]++
		name = hint + "_" + strconv.Itoa(g.numbered[hint])
	}
	return name
}

func (g *Graph) newID() int {
	g.nextID++
	return g.nextID
}

func (g *Graph) newValue(name string, t Type) (*Value, error) {
	if t.Interleave == 0 {
		t.Interleave = 1
	}
	if name == "" || strings.ContainsAny(name, "\n\r") {
		return nil, errors.New("a value needs a name, on one line")
	}
	if g.names[name] != nil {
		return nil, fmt.Errorf("a value %q is there already", name)
	}
	if err := t.check(); err != nil {
		return nil, err
	}
	v := &Value{ID: g.newID(), Name: name, Type: t}
	g.Values = append(g.Values, v)
	g.names[name] = v
	return v, nil
}

func (g *Graph) removeValue(v *Value) {
	delete(g.names, v.Name)
	if i := slices.Index(g.Values, v); i >= 0 {
		g.Values = slices.Delete(g.Values, i, i+1)
	}
}

func (g *Graph) addUses(l *Layer) {
	for _, v := range l.Reads() {
		v.addUse(l)
	}
}

func (g *Graph) dropUses(l *Layer) {
	for _, v := range l.Reads() {
		v.dropUse(l)
	}
}
