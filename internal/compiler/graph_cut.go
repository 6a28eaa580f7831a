package compiler

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/segment"
)

// cutGraph makes the segments of a graph: one, or more where the target makes attention and other hidden units programs of
// their own. They are the levels that cut has for operations, but that no two such units share one:
//
//	x ─ FurthestPointSampling ─ RadiusSearch ─ y     segments 0, 1
//	x ─ CrossProduct ─┐
//	x ─ CrossProduct ─┴─ Add ─ y                     segments 0, 1, 2
//
// A value that another segment needs leaves its own by an output. A state is a port of each segment that needs it, and not
// such a value: until the segment that writes it, its buffer holds what was before, and afterwards what is left there.
//
//	state %s -> %t      segment 0   %t = f(%s), writes s
//	                    segment 1   reads %t: from s
//	                                reads %s: from an output of segment 0
func cutGraph(g *anec.Graph, name string, t *hal.Target) (*graphFunction, error) {
	c := &graphCutter{graph: g, home: map[*anec.Layer]int{}, writer: map[*anec.State]int{}, symbols: map[*anec.Value]string{}}
	c.split(t)
	c.findWriters()
	f := &graphFunction{}
	for _, v := range g.Inputs {
		f.inputs = append(f.inputs, graphPort{v.Name, v.Type})
		c.symbols[v] = v.Name
	}
	for _, s := range g.States {
		if v := g.Value(s.Name); v != nil && v != s.Before {
			return nil, fmt.Errorf("state %q has the name of another value", s.Name)
		}
		f.states = append(f.states, graphPort{s.Name, s.Before.Type})
	}
	for i, v := range g.Outputs {
		if !slices.Contains(g.Outputs[:i], v) { // one that is named twice is one port
			f.outputs = append(f.outputs, graphPort{c.leave(v), v.Type})
		}
	}
	c.findBorders()
	for _, p := range slices.Concat(f.inputs, f.outputs, f.states) {
		if err := p.check(); err != nil {
			return nil, err
		}
	}
	for i := range c.layers {
		part, err := c.part(i, fmt.Sprintf("%s_%d", name, i))
		if err != nil {
			return nil, err
		}
		for _, p := range slices.Concat(part.inputs, part.outputs) {
			if err := p.check(); err != nil {
				return nil, err
			}
		}
		f.parts = append(f.parts, part)
	}
	return f, nil
}

// A graphCutter knows what crosses the borders of segments. Segments are numbers, in the order in which they run.
type graphCutter struct {
	graph  *anec.Graph
	layers [][]*anec.Layer     // by segment
	home   map[*anec.Layer]int // the segment of a layer
	writer map[*anec.State]int // the segment that writes a state; none for one that nothing writes

	symbols map[*anec.Value]string // of inputs and of what leaves a segment
	leaving [][]*anec.Value        // by segment
	needs   []map[*anec.Value]bool // by segment: what it reads, of its own or of others
}

// split gives each layer its segment.
func (c *graphCutter) split(t *hal.Target) {
	order := c.graph.Order()
	index := make(map[*anec.Layer]int, len(order))
	waits, lanes := make([][]int, len(order)), make([]int, len(order))
	for i, l := range order {
		index[l] = i
		for _, v := range l.Reads() {
			if v.Def != nil {
				waits[i] = append(waits[i], index[v.Def])
			}
		}
		if cutsOut(l, t) {
			lanes[i] = ownLane
		}
	}
	levels := fewestLevels(waits, lanes)
	inOrder := make([]int, len(order))
	for i := range inOrder {
		inOrder[i] = i
	}
	slices.SortStableFunc(inOrder, func(a, b int) int { return cmp.Compare(levels[a], levels[b]) })
	for k, i := range inOrder {
		if k == 0 || levels[i] != levels[inOrder[k-1]] || lanes[i] == ownLane {
			c.layers = append(c.layers, nil)
		}
		c.home[order[i]] = c.last()
		c.layers[c.last()] = append(c.layers[c.last()], order[i])
	}
	needsOne := func(v *anec.Value) bool { return v.Def == nil && !slices.Contains(c.graph.Inputs, v) }
	if len(c.layers) == 0 && (slices.ContainsFunc(c.graph.Outputs, needsOne) || slices.ContainsFunc(c.graph.States, (*anec.State).Written)) {
		c.layers = make([][]*anec.Layer, 1) // to hand over what no layer makes
	}
	c.leaving, c.needs = make([][]*anec.Value, len(c.layers)), make([]map[*anec.Value]bool, len(c.layers))
	for i, layers := range c.layers {
		c.needs[i] = map[*anec.Value]bool{}
		for _, l := range layers {
			for _, v := range l.Reads() {
				c.needs[i][v] = true
			}
		}
	}
}

// cutsOut reports whether a layer is a segment of its own. One that a model's operation has become was not authored, and only
// attention cuts there too.
func cutsOut(l *anec.Layer, t *hal.Target) bool {
	if segment.IsAttention(l) {
		return t.Ways.AttentionCuts
	}
	return t.Ways.HiddenCuts && l.Info().Hidden == anec.Yes && len(l.Origin) == 0
}

// last is the segment that runs last.
func (c *graphCutter) last() int { return len(c.layers) - 1 }

// findWriters finds the segments that write states: those of the layers that make what is left there, or else the last.
func (c *graphCutter) findWriters() {
	for _, s := range c.graph.States {
		if !s.Written() {
			continue
		}
		c.writer[s] = c.last()
		if s.After.Def != nil {
			c.writer[s] = c.home[s.After.Def]
		}
		c.needs[c.writer[s]][s.After] = true
	}
}

// stateOf finds the state whose buffer holds a value in a segment; nil if there is none.
func (c *graphCutter) stateOf(v *anec.Value, segment int) *anec.State {
	for _, s := range c.graph.States {
		at, isWritten := c.writer[s]
		switch {
		case v == s.Before && (!isWritten || segment <= at), v == s.After && isWritten && segment > at:
			return s
		}
	}
	return nil
}

// leave makes a value leave the segment that has it, and returns its symbol. An input needs no segment.
func (c *graphCutter) leave(v *anec.Value) string {
	if symbol, ok := c.symbols[v]; ok {
		return symbol
	}
	symbol, from := v.Name, c.last()
	if v.Def != nil {
		from = c.home[v.Def]
	}
	for _, s := range c.graph.States {
		if v == s.Before { // whose symbol is the state's
			symbol = c.graph.FreshName(v.Name + "@before")
			if at, ok := c.writer[s]; ok {
				from = at
			}
		}
	}
	c.symbols[v] = symbol
	c.leaving[from] = append(c.leaving[from], v)
	c.needs[from][v] = true
	return symbol
}

// findBorders makes leave what another segment needs.
func (c *graphCutter) findBorders() {
	for segment := range c.layers {
		for _, v := range c.sortedNeeds(segment) {
			if v.Const == nil && !c.has(segment, v) {
				c.leave(v)
			}
		}
	}
}

// has reports whether a segment makes a value, or has it in a state.
func (c *graphCutter) has(segment int, v *anec.Value) bool {
	return v.Def != nil && c.home[v.Def] == segment || c.stateOf(v, segment) != nil
}

func (c *graphCutter) sortedNeeds(segment int) []*anec.Value {
	return slices.SortedFunc(maps.Keys(c.needs[segment]), func(a, b *anec.Value) int { return cmp.Compare(a.ID, b.ID) })
}

// part makes the graph of a segment.
func (c *graphCutter) part(segment int, name string) (*graphPart, error) {
	g := anec.New(name)
	p := &graphPart{graph: g, layers: c.layers[segment]}
	here := map[*anec.Value]*anec.Value{} // by the values of the whole graph
	for _, v := range c.sortedNeeds(segment) {
		if v.Const != nil || c.has(segment, v) {
			continue
		}
		in, err := g.AddInput(c.symbols[v], v.Type)
		if err != nil {
			return nil, err
		}
		here[v] = in
		p.inputs = append(p.inputs, graphPort{in.Name, v.Type})
	}
	states := map[*anec.State]*anec.State{}
	for _, s := range c.graph.States {
		at, isWritten := c.writer[s]
		held := s.Before
		if isWritten && segment > at {
			held = s.After
		}
		if !(isWritten && segment == at) && !c.needs[segment][held] {
			continue
		}
		state, err := g.AddState(s.Name, s.Before.Type)
		if err != nil {
			return nil, err
		}
		if here[held] == nil {
			here[held] = state.Before
		}
		states[s] = state
		p.states = append(p.states, graphPort{s.Name, s.Before.Type})
	}
	if err := g.CopyLayers(c.layers[segment], here); err != nil {
		return nil, err
	}
	for _, s := range c.graph.States {
		if at, isWritten := c.writer[s]; isWritten && segment == at {
			after, err := g.CopyValue(s.After, here)
			if err != nil {
				return nil, err
			}
			states[s].After = after
		}
	}
	for _, v := range c.leaving[segment] {
		out, err := g.CopyValue(v, here)
		if err != nil {
			return nil, err
		}
		g.AddOutput(out)
		p.outputs = append(p.outputs, graphPort{c.symbols[v], v.Type})
	}
	for _, l := range g.Layers {
		if len(l.Origin) == 0 {
			l.Origin = []string{l.Name} // what errors about fused layers name
		}
	}
	return p, anec.Verify(g)
}
