package compiler

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/td"
)

// planMemory says where everything lies, and adds the copies that this takes:
//
//	before   %a = Conv(%x, %w)           after   port 1: %y
//	         %r = Reshape(%a)                    %a, %r    port 1 + 0      Conv writes there
//	         %y = Concat(%r, %x)                 %x_copy   port 1 + 512    a new layer, Copy(%x)
//	                                             %y        port 1 + 0      nobody writes it: it is its parts
//
// The layers that move nothing are views (memory_views.go). What has to lie at a certain spot — outputs, states,
// parts of concatenations — is asked of the layer that makes it (memory_demand.go); where that layer cannot comply,
// a copy does. Everything else gets a buffer of its own, or that of an operand that ends there
// (memory_inplace.go), and buffers that are not needed at the same time share bytes (memory_scratch.go).
func planMemory(s *Segment) error {
	p := &planner{
		Segment:  s,
		position: map[*anec.Layer]int{},
		kept:     map[*anec.Layer]bool{},
		before:   map[*anec.Layer][]*anec.Layer{},
		after:    map[*anec.Layer][]*anec.Layer{},
		demands:  map[*anec.Value]spot{},
		spots:    map[*anec.Value]spot{},
		awkward:  map[*anec.Layer]bool{},
		plan:     &Plan{Places: map[*anec.Value]Place{}},
		owns:     map[*anec.Layer][]*anec.Value{},
		straight: map[*anec.Value]*anec.Layer{},
	}
	for _, step := range []func() error{
		p.simplify, p.ports, p.guess, p.states, p.outputs, p.backwards, p.forwards, p.inPlace, p.constants.build, p.finish,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// A planner is a plan that is being made.
type planner struct {
	*Segment
	plan *Plan

	derived map[*anec.Layer]bool

	// position is that of a layer in the order: the layers of the schedule have multiples of 4, a copy that stands
	// before or after one has 1 less or more.
	position map[*anec.Layer]int

	// The copies that were added: kept, they are no views; and where they go into the order.
	kept          map[*anec.Layer]bool
	first, last   []*anec.Layer
	before, after map[*anec.Layer][]*anec.Layer

	demands map[*anec.Value]spot // where tops of tasks and concatenations have to lie
	spots   map[*anec.Value]spot // where values lie: first as a guess, at last
	awkward map[*anec.Layer]bool // views that strides did not express in the guess
	asked   []promise

	buffers   []*buffer
	constants constants
	tasks     []*anec.Layer

	owns     map[*anec.Layer][]*anec.Value // what tasks of the chip's own would read and write; nil: there are none
	straight map[*anec.Value]*anec.Layer   // copies for them
}

// A promise is a value that was asked to lie at a spot, and will.
type promise struct {
	value *anec.Value
	spot  spot
}

// newBuffer makes a buffer for values of a layer: bytes of constants alone are derived.
func (p *planner) newBuffer(l *anec.Layer, size int64) *buffer {
	b := &buffer{size: size, first: -1}
	if p.derived[l] {
		b.region = InDerived
	}
	p.buffers = append(p.buffers, b)
	return b
}

// newDense makes a buffer for a value of a layer whose elements fill it.
func (p *planner) newDense(l *anec.Layer, t anec.Type) spot {
	bytes, _ := t.Bytes()
	return denseSpot(p.newBuffer(l, int64(bytes)), t)
}

// newSpot makes a buffer for a value of a layer: its elements fill it, or its rows are such as tasks of the chip's own can
// say. What is made of constants only other tasks read.
func (p *planner) newSpot(l *anec.Layer, t anec.Type) spot {
	if !ownRows(p.Target) || p.derived[l] {
		return p.newDense(l, t)
	}
	at := spot{}
	var size int64
	at.strides, size = portLayout(t, p.Target)
	at.buffer = p.newBuffer(l, size)
	return at
}

// ownRows reports whether values lie in memory in rows as ports have them, such that tasks of the chip's own can read and
// write them.
func ownRows(t *hal.Target) bool { return taskVersion(t) == td.V7 }

// isView reports whether the layer becomes no task.
func (p *planner) isView(l *anec.Layer) bool { return !p.kept[l] && isView(l) }

// isTask reports whether the layer writes its tops.
func (p *planner) isTask(l *anec.Layer) bool {
	return (l.Kind() != anec.KindConcat || p.joins(l)) && !p.isView(l)
}

// ports lists what the caller binds: inputs, states, outputs, each in the order of the graph. What leaves by an output is
// known at the end.
func (p *planner) ports() error {
	add := func(port Port, state *anec.State) spot {
		at := p.portSpot(len(p.plan.Ports), port.Value.Type, state)
		p.plan.Ports = append(p.plan.Ports, port)
		return at
	}
	for _, v := range p.Graph.Inputs {
		p.spots[v] = add(Port{Name: v.Name, Value: v, In: true}, nil)
	}
	for _, s := range p.Graph.States {
		p.spots[s.Before] = add(Port{Name: s.Before.Name, Value: s.Before, In: true, Out: s.After != s.Before}, s)
	}
	for _, v := range p.Graph.Values {
		if v.Def == nil && v.Type.Interleave > 1 {
			return fmt.Errorf("%q has interleave %d, which has no place here", v.Name, v.Type.Interleave)
		}
	}
	return nil
}

// portSpot is that of a value in a port.
func (p *planner) portSpot(port int, t anec.Type, state *anec.State) spot {
	b := &buffer{region: InPort, port: port, state: state}
	at := spot{buffer: b}
	at.strides, b.size = portLayout(t, p.Target)
	return at
}

// guess finds where values lie if every task writes a dense buffer of its own. It says which values are views of
// states, and which views strides may not express.
func (p *planner) guess() error {
	own := func(v *anec.Value) spot {
		at := denseSpot(&buffer{region: InScratch}, v.Type)
		if ownRows(p.Target) && !p.derived[v.Def] {
			at.strides, _ = portLayout(v.Type, p.Target)
		}
		return at
	}
	for _, l := range p.Order {
		if !p.isView(l) {
			for _, v := range l.Tops {
				p.spots[v] = own(v)
			}
			continue
		}
		x, ok := p.spots[l.Bottoms[0]]
		if !ok {
			x = own(l.Bottoms[0]) // a constant
		}
		y, ok := viewOf(l, x)
		if !ok {
			p.awkward[l] = true
			y = own(l.Top())
		}
		p.spots[l.Top()] = y
	}
	return nil
}

// forwards puts the added copies into the order and finds where everything lies.
func (p *planner) forwards() error {
	given := map[*anec.Value]spot{}
	for _, port := range p.plan.Ports {
		if port.In {
			given[port.Value] = p.spots[port.Value]
		}
	}
	p.spots = given
	all := slices.Clone(p.first)
	for _, l := range p.Order {
		all = append(all, p.before[l]...)
		all = append(all, l)
		all = append(all, p.after[l]...)
	}
	all = append(all, p.last...)
	slices.SortStableFunc(all, func(a, b *anec.Layer) int { return cmp.Compare(p.turn(a), p.turn(b)) })
	order := make([]*anec.Layer, 0, len(all))
	for _, l := range all {
		added, err := p.settle(l)
		if err != nil {
			return &anec.LayerError{Layer: l.Name, Kind: l.Kind(), Origin: l.Origin, Err: err}
		}
		order = append(append(order, added...), l)
	}
	p.Order = order
	for _, a := range p.asked {
		if !p.spots[a.value].same(a.spot, a.value.Type.Dims) {
			return fmt.Errorf("bug: %q does not lie where it was promised to", a.value.Name)
		}
	}
	return nil
}

// turn is 0 for layers that run when the program is loaded, 1 for the others.
func (p *planner) turn(l *anec.Layer) int {
	if p.derived[l] {
		return 0
	}
	return 1
}

// settle finds the spots of a layer's tops. It returns copies that it had to add before.
func (p *planner) settle(l *anec.Layer) (added []*anec.Layer, err error) {
	for _, v := range l.Reads() {
		if v.Const != nil {
			if _, ok := p.spots[v]; !ok {
				if p.spots[v], err = p.constants.place(v, p.Weights); err != nil {
					return nil, err
				}
			}
		}
	}
	if added, err = p.straighten(l); err != nil {
		return nil, err
	}
	if p.isView(l) {
		y, ok := viewOf(l, p.spots[l.Bottoms[0]])
		if !ok && p.relayout(l) {
			return added, p.write(l)
		}
		if !ok {
			c, err := p.addCopy(l.Bottoms[0])
			if err != nil {
				return nil, err
			}
			if p.derived[l] {
				p.derived[c] = true
			}
			p.demands[c.Top()] = p.newDense(c, c.Top().Type)
			if _, err = p.settle(c); err != nil {
				return nil, err
			}
			added = append(added, c)
			p.Graph.ReplaceRead(l, l.Bottoms[0], c.Top())
			if y, ok = viewOf(l, p.spots[c.Top()]); !ok {
				return nil, fmt.Errorf("bug: %q is no view of a dense value", l.Name)
			}
		}
		p.spots[l.Top()] = y
		return added, nil
	}
	return added, p.write(l)
}

// write finds the spots of what a layer writes: where they were asked to lie, or in buffers of their own.
func (p *planner) write(l *anec.Layer) error {
	for _, v := range l.Tops {
		y, ok := p.demands[v]
		if !ok {
			if v.Type.DType.SubByte() {
				return fmt.Errorf("%q is of %v: elements that share bytes cannot be written", v.Name, v.Type)
			}
			y = p.newSpot(l, v.Type)
		}
		p.spots[v] = y
	}
	if p.isTask(l) {
		p.tasks = append(p.tasks, l)
	}
	return nil
}

// finish gives buffers their places and writes the plan down.
func (p *planner) finish() error {
	p.plan.Scratch, p.plan.ScratchSum = assignScratch(p.buffers)
	for _, b := range p.buffers {
		if b.region == InDerived && b.first >= 0 {
			b.offset = p.plan.Derived
			p.plan.Derived = aligned(p.plan.Derived + b.size)
		}
	}
	for v, s := range p.spots {
		b := s.buffer.root()
		p.plan.Places[v] = Place{Region: b.region, Port: b.port, Offset: b.offset + s.offset, Strides: s.strides}
	}
	p.plan.Layers = p.tasks
	p.plan.Constants = p.constants.bytes
	p.Plan = p.plan
	return nil
}
