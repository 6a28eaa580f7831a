package compiler

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/encode"
	"github.com/espalier-ane/espalier/internal/segment"
)

// layoutValues says how everything lies, with which strides and beside what, selects the tasks of each layer, and adds the copies that
// this takes. Addresses come after it:
//
//	before   %a = anec.convolution(%x, %w)           after   port 1: %y
//	         %r = anec.reshape(%a)                    %a, %r    port 1 + 0      Conv writes there
//	         %y = anec.concat(%r, %x)                 %x_copy   port 1 + 512    a new layer, Copy(%x)
//	                                             %y        port 1 + 0      nobody writes it: it is its parts
//
// The layers that move nothing are views (memory_views.go). What has to lie at a certain spot — outputs, states,
// parts of concatenations — is asked of the layer that makes it (memory_demand.go); where that layer cannot comply,
// a copy does. Everything else gets a buffer of its own, or that of an operand that ends there
// (memory_inplace.go), and buffers that are not needed at the same time share bytes (memory_scratch.go).
func layoutValues(s *segment.Segment) error {
	if s.Alone {
		return nil
	}
	encoders := encode.Of(s.Target)
	p := &planner{
		Segment:  s,
		native:   encoders[0],
		fallback: encoders[len(encoders)-1],
		position: map[*anec.Layer]int{},
		kept:     map[*anec.Layer]bool{},
		before:   map[*anec.Layer][]*anec.Layer{},
		after:    map[*anec.Layer][]*anec.Layer{},
		demands:  map[*anec.Value]segment.Spot{},
		spots:    map[*anec.Value]segment.Spot{},
		awkward:  map[*anec.Layer]bool{},
		straight: map[*anec.Value]*anec.Layer{},
		touched:  map[*anec.Value]bool{},
		covered:  map[*anec.Layer]bool{},
	}
	s.BeginMemory()
	p.constants.weights, p.constants.copied = s.NewBuffer(segment.InWeights), s.NewBuffer(segment.InConstants)
	for _, step := range []func() error{p.simplify, p.listPorts, p.guess, p.states, p.outputs, p.backwards, p.forwards} {
		if err := step(); err != nil {
			return err
		}
	}
	p.dropUnread()
	if s.Target.Form2020 {
		var place []int
		p.ports, place = outputsFirst(p.ports)
		for _, b := range s.Memories {
			if b.Region == segment.InPort {
				b.Port = place[b.Port]
			}
		}
	}
	s.Layout = &segment.Layout{Spots: p.spots, Ports: p.ports, Layers: p.tasks, Buffers: p.buffers, Constants: p.constants.pieces}
	return p.refused.err()
}

// A planner is a layout that is being made.
type planner struct {
	*segment.Segment
	native   encode.Encoder // of the native encoding, if the chip has one
	fallback encode.Encoder // takes what the other does not

	ports   []segment.Port
	derived map[*anec.Layer]bool

	// position is that of a layer in the order: the layers of the schedule have multiples of 4, a copy that stands
	// before or after one has 1 less or more.
	position map[*anec.Layer]int

	// The copies that were added: kept, they are no views; and where they go into the order.
	kept          map[*anec.Layer]bool
	first, last   []*anec.Layer
	before, after map[*anec.Layer][]*anec.Layer

	demands map[*anec.Value]segment.Spot // where tops of tasks and concatenations have to lie
	spots   map[*anec.Value]segment.Spot // where values lie: first as a guess, at last
	awkward map[*anec.Layer]bool         // views that strides did not express in the guess
	asked   []promise

	buffers   []*segment.Buffer
	pending   []*segment.Buffer // made, and not in the list yet: copies may come before them
	constants constants
	tasks     []*anec.Layer

	roots    map[*anec.Layer]*anec.Layer   // of layers that an encoder takes as one with another: that one
	members  map[*anec.Layer][]*anec.Layer // the other way round
	straight map[*anec.Value]*anec.Layer   // copies that an encoder asked for
	touched  map[*anec.Value]bool          // by native tasks
	covered  map[*anec.Layer]bool          // have native tasks, or are computed along with a layer that does
	refused  refusals                      // layers that become no task
}

// A promise is a value that was asked to lie at a spot, and will.
type promise struct {
	value *anec.Value
	spot  segment.Spot
}

// newBuffer makes a buffer for values of a layer: bytes of constants alone are derived.
func (p *planner) newBuffer(l *anec.Layer, size int64) *segment.Buffer {
	region := segment.InScratch
	if p.derived[l] {
		region = segment.InDerived
	}
	b := p.Segment.NewBuffer(region)
	b.Size = size
	p.pending = append(p.pending, b)
	return b
}

// newDense makes a buffer for a value of a layer whose elements fill it.
func (p *planner) newDense(l *anec.Layer, t anec.Type) segment.Spot {
	bytes, _ := t.Bytes()
	return segment.DenseSpot(p.newBuffer(l, int64(bytes)), t)
}

// newSpot makes a buffer for a value of a layer, in which it lies as the native encoder wants it. What is made of
// constants only other tasks read.
func (p *planner) newSpot(l *anec.Layer, t anec.Type) segment.Spot {
	if p.derived[l] {
		return p.newDense(l, t)
	}
	strides, size := p.native.Layout(t)
	return segment.Spot{Buffer: p.newBuffer(l, size), Strides: strides}
}

// isView reports whether the layer becomes no task.
func (p *planner) isView(l *anec.Layer) bool { return !p.kept[l] && segment.IsView(l) }

// isTask reports whether the layer writes its tops.
func (p *planner) isTask(l *anec.Layer) bool {
	return (l.Kind() != anec.KindConcat || p.joins(l)) && !p.isView(l)
}

// listPorts lists what the caller binds: inputs, states, outputs, each in the order of the graph. What leaves by an output is
// known at the end.
func (p *planner) listPorts() error {
	add := func(port segment.Port, state *anec.State) segment.Spot {
		at := p.portSpot(len(p.ports), port.Value.Type, state)
		p.ports = append(p.ports, port)
		return at
	}
	for _, v := range p.Graph.Inputs {
		p.spots[v] = add(segment.Port{Name: v.Name, Value: v, In: true}, nil)
	}
	for _, s := range p.Graph.States {
		p.spots[s.Before] = add(segment.Port{Name: s.Before.Name, Value: s.Before, In: true, Out: s.Written()}, s)
	}
	for _, v := range p.Graph.Values {
		if v.Def == nil && v.Type.Interleave > 1 {
			return fmt.Errorf("%q has interleave %d, which has no place here", v.Name, v.Type.Interleave)
		}
	}
	return nil
}

// portSpot is that of a value in a port.
func (p *planner) portSpot(port int, t anec.Type, state *anec.State) segment.Spot {
	b := p.Segment.NewBuffer(segment.InPort)
	b.Port, b.State = port, state
	at := segment.Spot{Buffer: b}
	at.Strides, b.Size = segment.PortLayout(t, p.Target)
	return at
}

// guess finds where values lie if every task writes a dense buffer of its own. It says which values are views of
// states, and which views strides may not express.
func (p *planner) guess() error {
	own := func(v *anec.Value) segment.Spot {
		at := segment.DenseSpot(&segment.Buffer{Region: segment.InScratch}, v.Type)
		if !p.derived[v.Def] {
			at.Strides, _ = p.native.Layout(v.Type)
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
		y, ok := segment.ViewOf(l, x)
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
	given := map[*anec.Value]segment.Spot{}
	for _, port := range p.ports {
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
	when := func(l *anec.Layer) int { // 0: when the program is loaded
		if p.derived[l] {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(all, func(a, b *anec.Layer) int { return cmp.Compare(when(a), when(b)) })
	p.roots = p.native.Groups(p.Segment, slices.DeleteFunc(slices.Clone(all), func(l *anec.Layer) bool { return !p.isTask(l) }))
	p.findMembers()
	p.buffers = append(p.buffers, p.takePending()...)
	order := make([]*anec.Layer, 0, len(all))
	for i := 0; i < len(all); i++ {
		l := all[i]
		var added []*anec.Layer
		n, err := p.layOutGroup(all, i)
		if n == 0 && err == nil {
			n = 1
			added, err = p.layOut(l)
		}
		if err != nil {
			return &anec.LayerError{Layer: l.Name, Kind: l.Kind(), Origin: l.Origin, Err: err}
		}
		order = append(append(order, added...), all[i:i+n]...)
		i += n - 1
	}
	p.Order = order
	for _, a := range p.asked {
		if !p.spots[a.value].Same(a.spot, a.value.Type.Dims) {
			return fmt.Errorf("bug: %q does not lie where it was promised to", a.value.Name)
		}
	}
	return nil
}

// layOut finds the spots of a layer's tops, and selects its tasks. It returns copies that it had to add before.
func (p *planner) layOut(l *anec.Layer) (added []*anec.Layer, err error) {
	if err = p.placeConstants(l); err != nil {
		return nil, err
	}
	if p.isView(l) {
		y, ok := segment.ViewOf(l, p.spots[l.Bottoms[0]])
		if !ok && p.relayout(l) {
			return p.writeTask(l)
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
			if _, err = p.layOut(c); err != nil {
				return nil, err
			}
			added = append(added, c)
			p.Graph.ReplaceRead(l, l.Bottoms[0], c.Top())
			if y, ok = segment.ViewOf(l, p.spots[c.Top()]); !ok {
				return nil, fmt.Errorf("bug: %q is no view of a dense value", l.Name)
			}
		}
		p.spots[l.Top()] = y
		return added, nil
	}
	return p.writeTask(l)
}

// placeConstants finds the spots of the constants that a layer reads.
func (p *planner) placeConstants(l *anec.Layer) (err error) {
	for _, v := range l.Reads() {
		if _, ok := p.spots[v]; v.Const != nil && !ok {
			if p.spots[v], err = p.constants.place(v, p.Weights); err != nil {
				return err
			}
		}
	}
	return nil
}

// writeTask lays out a layer that is no view.
func (p *planner) writeTask(l *anec.Layer) (added []*anec.Layer, err error) {
	if err = p.write(l); err != nil {
		return nil, err
	}
	if !p.isTask(l) {
		p.buffers = append(p.buffers, p.takePending()...)
		return nil, nil
	}
	added, err = p.selectTasks(l)
	p.tasks = append(p.tasks, l)
	return added, err
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
	return nil
}
