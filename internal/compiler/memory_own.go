package compiler

import (
	"slices"

	"github.com/espalier-ane/espalier/internal/anec"
)

// Tasks of a chip's own read and write rows of whole 64 bytes. Where a layer could have them, the plan lets its values lie
// so, and adds copies where that is not how they come or go:
//
//	%v = InputView(%a) Axis=W Offset=3            %v          strides 128 2 from byte 6
//	%y = ElementWise(%v, %b) Type=Add       →     %v_copy     strides  64 2; ElementWise(%v_copy, %b) is the chip's own
//
// Other layers read and write by strides, whatever they are.

// ownReads are the values that the chip's own tasks of a layer would read and write in memory, if it has certain ones.
func (p *planner) ownReads(l *anec.Layer) (touched []*anec.Value, ok bool) {
	if l == nil || !ownRows(p.Target) || p.derived[l] || p.kept[l] {
		return nil, false
	}
	if known, ok := p.owns[l]; ok {
		return known, known != nil
	}
	b := newV7build(p.Graph, machineOf(p.Segment))
	b.dry = true
	for _, v := range p.Graph.Inputs {
		if s, ok := b.denseSurface(v.Type); ok {
			b.surfaces[v] = s
		}
	}
	b.join(l)
	ops, ok := selectV7(l, b)
	if !ok || len(ops) == 0 {
		b.touched = nil
	}
	p.owns[l] = b.touched
	return b.touched, b.touched != nil
}

// ownRow reports whether tasks of the chip's own can read and write a value at a spot.
func (p *planner) ownRow(s spot, t anec.Type) bool {
	_, ok := surfaceAt(machineOf(p.Segment), s.offset, s.strides, t)
	return ok
}

// straighten copies what a layer that has tasks of the chip's own reads, where they could not read it. It returns the
// copies.
//
// A product reads through the transpose that brings its inputs to the channels: there, the copy stands before that.
func (p *planner) straighten(l *anec.Layer) (added []*anec.Layer, err error) {
	touched, ok := p.ownReads(l)
	if p.isView(l) {
		touched, ok = l.Bottoms, p.feedsProduct(l)
	}
	if !ok {
		return nil, nil
	}
	for _, v := range l.Reads() {
		at, settled := p.spots[v]
		if !settled || v.Const != nil || !slices.Contains(touched, v) || p.ownRow(at, v.Type) {
			continue
		}
		c := p.straight[v]
		if c == nil {
			if c, err = p.addCopy(v); err != nil {
				return nil, err
			}
			if _, err = p.settle(c); err != nil {
				return nil, err
			}
			p.straight[v] = c
			added = append(added, c)
		}
		p.Graph.ReplaceRead(l, v, c.Top())
	}
	return added, nil
}

// feedsProduct reports whether a layer is the transpose that brings the inputs of a product to the channels, and the
// product has tasks of the chip's own that read what is before it.
func (p *planner) feedsProduct(l *anec.Layer) bool {
	if l.Kind() != anec.KindTranspose {
		return false
	}
	return slices.ContainsFunc(l.Top().Uses, func(use *anec.Layer) bool {
		touched, ok := p.ownReads(use)
		return ok && slices.Contains(touched, l.Bottoms[0])
	})
}
