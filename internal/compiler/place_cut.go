package compiler

import (
	"slices"

	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/mil"
)

// cut makes maximal segments. Every operation gets a level: that of the operations it waits for, or the next
// one where the backend changes. Even levels are one backend's, odd ones the other's, so a level is a
// segment, and segments run in the order of their levels:
//
//	engine  a─b───────e─f        level 0: a b   1: c d   2: e f
//	host        └─c─d─┘
//
// Which backend has level 0 is chosen such that there are fewer segments.
//
// Where the target makes attention a program of its own, every third level is for attention. A cut of this kind is one
// between two segments of the engine:
//
//	engine     a─b───d─e         level 0: a b   1: attention   2: –   3: d e
//	attention      └─┘
func (p *Placement) cut() {
	p.Parts = nil
	levels := fewestLevels(p.waits(), p.lanes())
	parts := map[int]*Part{}
	for i, o := range p.Ops {
		if o.Backend == AtBoundary {
			continue
		}
		o.level = levels[i]
		part := parts[o.level]
		if part == nil {
			part = &Part{Backend: o.Backend}
			parts[o.level] = part
			p.Parts = append(p.Parts, part)
		}
		part.Ops = append(part.Ops, o)
	}
	slices.SortFunc(p.Parts, func(a, b *Part) int { return a.Ops[0].level - b.Ops[0].level })
	p.giveConstantOutputs()
	p.findBorders()
	p.dropIdleParts()
}

// dropIdleParts takes out segments of the host that nobody needs after all: what they make are empty arrays, which the
// engine does without. One that writes states stays, and returns something, be it unused, because a function has to.
func (p *Placement) dropIdleParts() {
	p.Parts = slices.DeleteFunc(p.Parts, func(part *Part) bool {
		return part.Backend == OnHost && len(part.Outputs) == 0 && !part.writesStates()
	})
	for _, part := range p.Parts {
		for _, o := range part.Ops {
			if part.Backend == OnHost && len(part.Outputs) == 0 && len(o.Op.Outputs) > 0 {
				part.Outputs = o.Op.Outputs[:1]
			}
		}
	}
}

func (p *Part) writesStates() bool {
	return slices.ContainsFunc(p.Ops, func(o *Placed) bool { return writesState(o.Op) })
}

// waits are the operations, by their index, that each operation comes after: those whose values it reads, and the
// one before it that touches the same state.
func (p *Placement) waits() [][]int {
	by := map[*mil.Value]int{}
	touched := map[*mil.Value]int{}
	waits := make([][]int, len(p.Ops))
	for i, o := range p.Ops {
		o.Op.VisitUses(func(v *mil.Value) {
			if _, isState := v.Type.(*mil.StateType); isState {
				if j, ok := touched[v]; ok && j != i {
					waits[i] = append(waits[i], j)
				}
				touched[v] = i
			} else if j, ok := by[v]; ok {
				waits[i] = append(waits[i], j)
			}
		})
		for _, v := range o.Op.Outputs {
			by[v] = i
		}
		if x := boundaryArgument(o); x != nil { // who waits for a cast waits for what it casts
			if j, ok := by[x]; ok {
				by[o.Op.Outputs[0]] = j
			} else {
				delete(by, o.Op.Outputs[0])
			}
		}
	}
	return waits
}

// Operations of one lane may share a segment.
const (
	engineLane = iota
	hostLane
	ownLane // each by itself
)

// lanes are those of all operations; -1 for one that is in no segment.
func (p *Placement) lanes() []int {
	lanes := make([]int, len(p.Ops))
	for i, o := range p.Ops {
		switch {
		case o.Backend == AtBoundary:
			lanes[i] = -1
		case o.Backend == OnHost:
			lanes[i] = hostLane
		case p.Target.Ways.AttentionCuts && slices.ContainsFunc(p.Operations[i].Layers.Layers, segment.IsAttention):
			lanes[i] = ownLane
		}
	}
	return lanes
}

// fewestLevels gives every operation its level, with the first lane chosen such that there are few. waits are the
// operations before it that each comes after.
func fewestLevels(waits [][]int, lanes []int) []int {
	var levels []int
	for first := range slices.Max(append(lanes, hostLane)) + 1 {
		if other := levelsFrom(waits, lanes, first); levels == nil || distinct(other) < distinct(levels) {
			levels = other
		}
	}
	return levels
}

// levelsFrom gives every operation its level, where the first one belongs to a lane.
func levelsFrom(waits [][]int, lanes []int, first int) []int {
	all := slices.Max(append(lanes, hostLane)) + 1
	levels := make([]int, len(lanes))
	for i := range lanes {
		if lanes[i] < 0 {
			levels[i] = -1 // nothing waits for it: it runs before all segments or after
			continue
		}
		level := 0
		for _, j := range waits[i] {
			if lanes[j] == lanes[i] && lanes[i] != ownLane {
				level = max(level, levels[j])
			} else {
				level = max(level, levels[j]+1)
			}
		}
		for (level+first)%all != lanes[i] {
			level++
		}
		levels[i] = level
	}
	return levels
}

func distinct(levels []int) int {
	seen := map[int]bool{}
	for _, l := range levels {
		if l >= 0 {
			seen[l] = true
		}
	}
	return len(seen)
}

// maxConstantOutputs is how many outputs that are constants the engine hands over: a container has few ports.
const maxConstantOutputs = 64

// giveConstantOutputs sees to outputs that are constants: a segment of the engine hands them over, or of the host what the
// engine cannot hold, and what are too many. An output that is an input needs nobody: it is one symbol.
func (p *Placement) giveConstantOutputs() {
	by := p.definers()
	given := 0
	for _, v := range p.Function.Body.Outputs {
		if by[v] != nil || isInput(p.Function, v) {
			continue
		}
		backend := OnHost
		if given < maxConstantOutputs && p.holdable(v) {
			backend = OnEngine
			given++
		}
		part := p.lastPart(backend)
		if !slices.Contains(part.Outputs, v) {
			part.Outputs = append(part.Outputs, v)
		}
	}
}

// lastPart is the last segment of a backend, one more if there is none.
func (p *Placement) lastPart(b Backend) *Part {
	for i := len(p.Parts) - 1; i >= 0; i-- {
		if p.Parts[i].Backend == b {
			return p.Parts[i]
		}
	}
	part := &Part{Backend: b}
	p.Parts = append(p.Parts, part)
	return part
}

// findBorders finds the values that cross the borders of segments.
func (p *Placement) findBorders() {
	home := map[*mil.Value]*Part{}
	for _, part := range p.Parts {
		for _, o := range part.Ops {
			for _, v := range o.Op.Outputs {
				home[v] = part
			}
		}
	}
	leave := func(v *mil.Value) {
		if from := home[v]; from != nil && !slices.Contains(from.Outputs, v) {
			from.Outputs = append(from.Outputs, v)
		}
	}
	for _, part := range p.Parts {
		seen := map[*mil.Value]bool{}
		enter := func(v *mil.Value) {
			if seen[v] || home[v] == part || !p.crosses(v) || part.Backend == OnEngine && p.isEmpty(v) {
				return
			}
			seen[v] = true
			if _, ok := v.Type.(*mil.StateType); ok {
				part.States = append(part.States, v)
				return
			}
			part.Inputs = append(part.Inputs, v)
			leave(v)
		}
		for _, o := range part.Ops {
			o.Op.VisitUses(enter)
		}
		for _, v := range part.Outputs {
			if home[v] == nil {
				enter(v)
			}
		}
	}
	for _, o := range p.Ops {
		if o.Backend == AtBoundary {
			o.Op.VisitUses(leave)
		}
	}
	for _, v := range p.Function.Body.Outputs {
		leave(v)
	}
}

// isEmpty reports whether a value has no elements. No layer reads one: where the engine takes an operation that has such an
// argument, a concatenation, it does without.
func (p *Placement) isEmpty(v *mil.Value) bool {
	t, ok := p.Analysis.Type(v).(*mil.TensorType)
	if !ok || !t.Shape.Known() {
		return false
	}
	n, _ := t.Shape.Count()
	return n == 0
}

// crosses reports whether a value comes from outside of every segment, or from another: not a constant, and not
// one of a nested block.
func (p *Placement) crosses(v *mil.Value) bool {
	if v.Def != nil && p.isConstant(v.Def) {
		return false
	}
	if isInput(p.Function, v) {
		return true
	}
	return v.Def != nil && p.top[v.Def]
}
