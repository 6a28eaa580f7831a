package anec

import (
	"fmt"
	"maps"
	"slices"
)

// Clone returns a graph of the same values and layers that shares nothing with g but what no edit changes: parameters, the parts
// of an epilogue that name no value, constants and origins.
func (g *Graph) Clone() *Graph {
	c := &Graph{Name: g.Name, Ports: g.Ports, Form2020: g.Form2020, nextID: g.nextID, names: make(map[string]*Value, len(g.names)), numbered: maps.Clone(g.numbered)}
	values := make(map[*Value]*Value, len(g.Values)+1)
	values[nil] = nil
	for _, v := range g.Values {
		twin := *v
		values[v] = &twin
		c.Values = append(c.Values, &twin)
	}
	for name, v := range g.names {
		c.names[name] = values[v]
	}
	twins := func(of []*Value) []*Value {
		list := slices.Clone(of)
		for i, v := range list {
			list[i] = values[v]
		}
		return list
	}
	layers := make(map[*Layer]*Layer, len(g.Layers)+1)
	layers[nil] = nil
	for _, l := range g.Layers {
		twin := *l
		twin.Tops, twin.Bottoms = twins(l.Tops), slices.Clone(l.Bottoms)
		e := &twin.Epilogue
		e.Steps = slices.Clone(e.Steps)
		if e.GOC != nil {
			goc := *e.GOC
			e.GOC = &goc
		}
		if e.Quant != nil {
			quant := *e.Quant
			e.Quant = &quant
		}
		for _, slot := range twin.slots() {
			*slot = values[*slot]
		}
		layers[l] = &twin
		c.Layers = append(c.Layers, &twin)
	}
	for _, v := range c.Values {
		v.Def, v.Uses = layers[v.Def], slices.Clone(v.Uses)
		for i, l := range v.Uses {
			v.Uses[i] = layers[l]
		}
	}
	c.Inputs, c.Outputs = twins(g.Inputs), twins(g.Outputs)
	for _, s := range g.States {
		c.States = append(c.States, &State{Name: s.Name, Before: values[s.Before], After: values[s.After]})
	}
	return c
}

// CopyLayers adds copies of layers of another graph, in the order given, with the constants that they read. here has what
// the other values that they read are in g, by those of the other graph; it gets what is added.
func (g *Graph) CopyLayers(layers []*Layer, here map[*Value]*Value) error {
	for _, l := range layers {
		twin := Layer{Bottoms: slices.Clone(l.Bottoms), Epilogue: l.Epilogue.clone()}
		for _, slot := range twin.slots() {
			if *slot == nil {
				continue
			}
			v, err := g.CopyValue(*slot, here)
			if err != nil {
				return l.errorf("%w", err)
			}
			*slot = v
		}
		spec := Spec{Name: l.Name, Params: l.Params, Bottoms: twin.Bottoms, OutputType: l.OutputType, Epilogue: twin.Epilogue, Origin: l.Origin}
		for _, top := range l.Tops {
			spec.Tops = append(spec.Tops, top.Name)
		}
		copied, err := g.Add(spec)
		if err != nil {
			return err
		}
		for i, top := range l.Tops {
			copied.Tops[i].Type.Interleave = top.Type.Interleave
			here[top] = copied.Tops[i]
		}
	}
	return nil
}

// CopyValue is what a value of another graph is here, and adds it if it is a constant that is not there.
func (g *Graph) CopyValue(v *Value, here map[*Value]*Value) (*Value, error) {
	if there := here[v]; there != nil {
		return there, nil
	}
	if v.Const == nil {
		return nil, fmt.Errorf("value %q is not there", v.Name)
	}
	c, err := g.AddConstant(v.Name, v.Const)
	if err != nil {
		return nil, err
	}
	c.Type.Interleave = v.Type.Interleave
	here[v] = c
	return c, nil
}
