package compiler

import (
	"cmp"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/segment"
)

// pull asks that a value lie at a spot. Through views it comes to the layer that makes the elements, which then
// writes them where the view shows them at the spot:
//
//	%a = MatMul(…)          [4,8,2]   strides  2 8 1  ^  so %a is written
//	%t = anec.transpose(%a)      [8,4,2]   strides  8 2 1  |  so %t has to lie
//	%y = anec.reshape(%t)        [8,8]     strides  8 1    |  asked of %y
//	output %y
//
// It is refused, and a copy needed, if what makes the elements has no choice: an input, a state, a constant; what
// lies at another spot already; a view of less than all; a native task, which cannot write there; or if another
// view of them could not be expressed then.
// also may refuse too, with the value that has the choice.
func (p *planner) pull(v *anec.Value, at segment.Spot, also func(*anec.Value, segment.Spot) bool) bool {
	source, s := v, at
	for source.Def != nil && p.isView(source.Def) {
		l, ok := source.Def, false
		if s, ok = segment.BottomOf(l, s); !ok {
			return false
		}
		source = l.Bottoms[0]
	}
	if source.Def == nil || source.Type.DType.SubByte() {
		return false
	}
	if _, taken := p.demands[source]; taken {
		return false
	}
	if !p.native.Names(s, source.Type) && !p.derived[source.Def] && !p.kept[source.Def] && p.native.Takes(p.Segment, source.Def) == nil {
		return false
	}
	if p.derived[source.Def] != (s.Buffer.Region == segment.InDerived) || !p.viewsHold(source, s) {
		return false
	}
	if state := s.Buffer.State; state != nil {
		// The parts of a concatenation are written long before it: too early for a state.
		if !p.isTask(source.Def) || !p.readsEnd(state.Before, p.spots[state.Before], source.Def, s) {
			return false
		}
	}
	if also != nil && !also(source, s) {
		return false
	}
	p.demands[source] = s
	p.asked = append(p.asked, promise{v, at})
	return true
}

// A seen is a value as a walk over views sees it.
type seen struct {
	value *anec.Value
	spot  segment.Spot
}

// viewsHold reports whether all views of a value can still be expressed if it lies at a spot, but for those that
// could not anyway.
func (p *planner) viewsHold(v *anec.Value, at segment.Spot) bool {
	for work := []seen{{v, at}}; len(work) > 0; {
		x := work[len(work)-1]
		work = work[:len(work)-1]
		for _, l := range x.value.Uses {
			if !p.isView(l) {
				continue
			}
			y, ok := segment.ViewOf(l, x.spot)
			if ok {
				work = append(work, seen{l.Top(), y})
			} else if !p.awkward[l] {
				return false
			}
		}
	}
	return true
}

// readsEnd reports whether the bytes of a value that lies at from may be written over by a layer, whose top lies
// at to: whoever reads them, through views too, comes before the layer, or is the layer and reads each element no
// later than it writes there.
func (p *planner) readsEnd(v *anec.Value, from segment.Spot, writer *anec.Layer, to segment.Spot) bool {
	for work := []seen{{v, from}}; len(work) > 0; {
		x := work[len(work)-1]
		work = work[:len(work)-1]
		for _, l := range x.value.Uses {
			if p.isView(l) {
				if y, ok := segment.ViewOf(l, x.spot); ok {
					work = append(work, seen{l.Top(), y})
					continue
				} // else it is copied there
			}
			if p.later(l, writer) {
				return false
			}
			if l == writer && !(overwrites(l, x.value) && x.spot.Same(to, x.value.Type.Dims)) {
				return false
			}
		}
	}
	return true
}

// later reports whether a layer comes after another in the order that will be. Copies at one position stand in the
// order in which they were made.
func (p *planner) later(l, than *anec.Layer) bool {
	return cmp.Or(cmp.Compare(p.position[l], p.position[than]), cmp.Compare(l.ID, than.ID)) > 0
}

// states has what is left in a state written into its memory: by the layer that makes it, if nobody needs what was
// there any more, else by a copy after all layers.
//
//	state %cache -> %next                               one task, in place
//	%next = anec.ring_buffer_writer(%cache, %update)
//
//	state %a -> %b; state %b -> %a                      %b_copy = anec.copy(%b)   %a_copy = anec.copy(%a)      at the start
//	                                                    Copy(%b_copy) in %a  Copy(%a_copy) in %b     at the end
func (p *planner) states() error {
	held := func(v *anec.Value) *anec.State { // whose memory a value is a view of
		if s, ok := p.spots[v]; ok {
			return s.Buffer.State
		}
		return nil
	}
	// What was in a state goes elsewhere before anything is written there.
	for i, v := range p.Graph.Outputs {
		if held(v) != nil {
			l, err := p.copyWhenMade(v)
			if err != nil {
				return err
			}
			p.Graph.Outputs[i] = l.Top()
		}
	}
	written := map[*anec.State]bool{}
	for _, s := range p.Graph.States {
		written[s] = s.Written()
	}
	for _, s := range p.Graph.States {
		if from := held(s.After); written[s] && from != nil && written[from] {
			l, err := p.copyWhenMade(s.After)
			if err != nil {
				return err
			}
			s.After = l.Top()
		}
	}
	for _, s := range p.Graph.States {
		at := p.spots[s.Before]
		if !written[s] || p.pull(s.After, at, nil) {
			continue
		}
		l, err := p.copyAtEnd(s.After)
		if err != nil {
			return err
		}
		p.demands[l.Top()] = at
		s.After = l.Top()
	}
	return nil
}

// outputs has what leaves the graph written into the memory that the caller gives, or copied there.
func (p *planner) outputs() error {
	for i, v := range p.Graph.Outputs {
		at := p.portSpot(len(p.ports), v.Type, nil)
		if !p.pull(v, at, nil) {
			l, err := p.copyWhenMade(v)
			if err != nil {
				return err
			}
			v = l.Top()
			p.Graph.Outputs[i] = v
			p.demands[v] = at
		}
		p.ports = append(p.ports, segment.Port{Name: p.OutputName(i), Value: v, Out: true})
	}
	return nil
}

// backwards goes from the last layer to the first, so that whoever reads a value asks before whoever makes it is
// asked:
//
//   - a concatenation asks its parts to lie in it; for those that cannot, a copy is made just before it;
//   - a Reshape that strides cannot express asks for a bottom that is dense;
//   - a RingBufferWriter asks that what it writes over lie where its top does.
func (p *planner) backwards() error {
	for i := len(p.Order) - 1; i >= 0; i-- {
		l := p.Order[i]
		switch l.Kind() {
		case anec.KindConcat:
			if p.joins(l) {
				continue
			}
			if err := p.askParts(l); err != nil {
				return err
			}
		case anec.KindReshape:
			if x := l.Bottoms[0]; p.awkward[l] {
				p.pull(x, p.newDense(l, x.Type), nil)
			}
		case anec.KindRingBufferWriter:
			if at, ok := p.demands[l.Top()]; ok {
				p.pull(l.Bottoms[0], at, func(v *anec.Value, s segment.Spot) bool {
					// The parts of a concatenation have readers of their own.
					return p.isTask(v.Def) && p.readsEnd(v, s, l, at)
				})
			}
		}
	}
	return nil
}

func (p *planner) askParts(l *anec.Layer) error {
	at, ok := p.demands[l.Top()]
	if !ok {
		at = p.newSpot(l, l.Top().Type)
		p.demands[l.Top()] = at
	}
	parts := append([]*anec.Value(nil), l.Bottoms...)
	for i, s := range segment.PartsOf(l, at) {
		if p.pull(parts[i], s, nil) {
			continue
		}
		c, err := p.copyBefore(parts[i], l)
		if err != nil {
			return err
		}
		parts[i] = c.Top()
		p.demands[c.Top()] = s
	}
	return p.Graph.Edit(l, func(l *anec.Layer) { l.Bottoms = parts })
}
