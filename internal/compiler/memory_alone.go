package compiler

import (
	"slices"
	"strings"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/encode"
	"github.com/espalier-ane/espalier/internal/segment"
)

// planAlone lays out a segment of which one layer has tasks, and native ones, as Apple's compiler does it: ports by
// name, nothing in scratch memory but what the tasks keep between them, the constants where they are packed.
//
//	%y = anec.add(%x, %z)   →   a planar task: x from entry 4, z from entry 6, y to entry 5
//
// Views have no tasks: what they show is read through them. Others are for the memory plan.
func planAlone(s *segment.Segment) error {
	native := encode.Of(s.Target)[0]
	ports, ok := alonePorts(s)
	if !s.Target.HasNativeEncoding() || !ok {
		return nil
	}
	order := s.Graph.Order()
	layers := aloneLayers(s, order, native.Groups(s, order))
	declines := func(l *anec.Layer) bool { return !segment.IsView(l) && native.Takes(s, l) != nil }
	if layers == nil || slices.ContainsFunc(layers, declines) {
		return nil
	}
	c := &segment.Choice{Segment: s, Layers: layers, Spots: map[*anec.Value]segment.Spot{}, IsView: segment.IsView}
	s.BeginMemory()
	for i, p := range ports {
		b := s.NewBuffer(segment.InPort)
		b.Port = i
		at := segment.Spot{Buffer: b}
		at.Strides, b.Size = segment.PortLayout(p.Value.Type, s.Target)
		c.Spots[p.Value] = at
	}
	for _, l := range order {
		if _, port := c.Spots[l.Top()]; !port && segment.IsView(l) {
			if x, ok := c.Spots[l.Bottoms[0]]; ok {
				if y, ok := segment.ViewOf(l, x); ok {
					c.Spots[l.Top()] = y
				}
			}
		}
	}
	tasks, err := native.Choose(c)
	if err == nil {
		err = native.Fits(c, tasks)
	}
	if err != nil {
		s.Packed.Reset(0)
		s.Declined[c.Layer()] = err
		return nil
	}
	s.Alone, s.Selected[c.Layer()], s.Temporaries = true, tasks, c.Bytes
	s.StandsFor[c.Layer()], s.Touched[c.Layer()] = c.Layer(), c.Touched
	s.Order, s.Layout = order, &segment.Layout{Spots: c.Spots}
	s.Plan = &segment.Plan{Ports: ports, Layers: []*anec.Layer{c.Layer()}, Places: map[*anec.Value]segment.Place{}}
	for v, at := range c.Spots {
		s.Plan.Places[v] = segment.Place{Region: segment.InPort, Port: at.Buffer.Port, Offset: at.Offset, Strides: at.Strides}
	}
	return nil
}

// alonePorts are the ports of a segment in the order of Apple's compiler; false if such a segment has none like these.
func alonePorts(s *segment.Segment) (ports []segment.Port, ok bool) {
	g := s.Graph
	for _, v := range g.Inputs {
		ports = append(ports, segment.Port{Name: v.Name, Value: v, In: true})
	}
	for i, v := range g.Outputs {
		if v.Def == nil || slices.Contains(g.Outputs[:i], v) {
			return nil, false
		}
		ports = append(ports, segment.Port{Name: s.OutputName(i), Value: v, Out: true})
	}
	if s.Target.Form2020 {
		ports, _ = outputsFirst(ports)
	} else {
		slices.SortStableFunc(ports, func(a, b segment.Port) int { return strings.Compare(a.Name, b.Name) })
	}
	return ports, len(g.States) == 0
}

// outputsFirst is the order of ports of Apple's compiler of 2020, and which place each has in it (h13 1.5).
func outputsFirst(ports []segment.Port) (ordered []segment.Port, place []int) {
	place = make([]int, len(ports))
	for _, outputs := range []bool{true, false} {
		for i, p := range ports {
			if outputs == !p.In {
				place[i] = len(ordered)
				ordered = append(ordered, p)
			}
		}
	}
	return ordered, place
}

// aloneLayers is the one layer that is to have tasks, and before it those that it computes along; nil if there are several.
func aloneLayers(s *segment.Segment, order []*anec.Layer, roots map[*anec.Layer]*anec.Layer) []*anec.Layer {
	derived := segment.DerivedLayers(order)
	var root *anec.Layer
	for _, l := range order {
		stands := slices.ContainsFunc(order, func(m *anec.Layer) bool { return roots[m] == l })
		if roots[l] != nil || derived[l] || segment.IsView(l) && !stands {
			continue
		}
		if root != nil {
			return nil
		}
		root = l
	}
	if root == nil { // nothing but views
		if len(s.Graph.Outputs) != 1 {
			return nil
		}
		root = s.Graph.Outputs[0].Def
	}
	var layers []*anec.Layer
	for _, l := range order {
		if roots[l] == root {
			layers = append(layers, l)
		}
	}
	layers = append(layers, root)
	for _, v := range s.Graph.Outputs {
		if !slices.Contains(layers, v.Def) {
			return nil
		}
	}
	return layers
}
