package compiler

import (
	"slices"
	"strings"

	"github.com/espalier-ane/espalier/internal/anec"
)

// planAlone lays out a segment of which one layer has tasks, in the chip's own encoding, as Apple's compiler does it: ports by
// name, nothing in scratch memory but what the tasks keep between them, the constants where they are packed.
//
//	%y = ElementWise(%x, %z) Type=Add   →   a planar task: x from entry 4, z from entry 6, y to entry 5
//
// Views have no tasks: what they show is read through them. Others are for the memory plan.
func planAlone(s *Segment) error {
	own := encodersOf(s.Target)[0]
	ports, ok := alonePorts(s)
	if !s.Target.HasOwnEncoding() || !ok {
		return nil
	}
	order := s.Graph.Order()
	layers := aloneLayers(s, order, own.Groups(s, order))
	if layers == nil {
		return nil
	}
	c := &choice{Segment: s, layers: layers, spots: map[*anec.Value]spot{}, isView: isView}
	s.beginMemory()
	for i, p := range ports {
		b := s.newBuffer(InPort)
		b.port = i
		at := spot{buffer: b}
		at.strides, b.size = portLayout(p.Value.Type, s.Target)
		c.spots[p.Value] = at
	}
	for _, l := range order {
		if _, port := c.spots[l.Top()]; !port && isView(l) {
			if x, ok := c.spots[l.Bottoms[0]]; ok {
				if y, ok := viewOf(l, x); ok {
					c.spots[l.Top()] = y
				}
			}
		}
	}
	tasks, err := own.Choose(c)
	if err == nil {
		err = own.Fits(c, tasks)
	}
	if err != nil {
		s.Packed.reset(0)
		s.Declined[c.layer()] = err
		return nil
	}
	s.alone, s.Selected[c.layer()], s.Temporaries = true, tasks, c.temporaries
	s.StandsFor[c.layer()] = c.layer()
	s.Order = order
	s.Plan = &Plan{Ports: ports, Layers: []*anec.Layer{c.layer()}, Places: map[*anec.Value]Place{}}
	for v, at := range c.spots {
		s.Plan.Places[v] = Place{Region: InPort, Port: at.buffer.port, Offset: at.offset, Strides: at.strides}
	}
	return nil
}

// alonePorts are the ports of a segment in the order of Apple's compiler; false if such a segment has none like these.
func alonePorts(s *Segment) (ports []Port, ok bool) {
	g := s.Graph
	for _, v := range g.Inputs {
		ports = append(ports, Port{Name: v.Name, Value: v, In: true})
	}
	for i, v := range g.Outputs {
		if v.Def == nil || slices.Contains(g.Outputs[:i], v) {
			return nil, false
		}
		ports = append(ports, Port{Name: s.outputName(i), Value: v, Out: true})
	}
	slices.SortStableFunc(ports, func(a, b Port) int { return strings.Compare(a.Name, b.Name) })
	return ports, len(g.States) == 0
}

// aloneLayers is the one layer that is to have tasks, and before it those that it computes along; nil if there are several.
func aloneLayers(s *Segment, order []*anec.Layer, roots map[*anec.Layer]*anec.Layer) []*anec.Layer {
	derived := derivedLayers(order)
	var root *anec.Layer
	for _, l := range order {
		stands := slices.ContainsFunc(order, func(m *anec.Layer) bool { return roots[m] == l })
		if roots[l] != nil || derived[l] || isView(l) && !stands {
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
