package compiler

import (
	"fmt"

	"github.com/espalier-ane/espalier/internal/anec"
)

// The positions of copies that stand before all layers, and after all.
const (
	atStart = -1
	atEnd   = int(^uint(0) >> 1)
)

// addCopy adds a copy of a value that is no view.
func (p *planner) addCopy(v *anec.Value) (*anec.Layer, error) {
	spec := anec.Spec{Name: p.Graph.FreshName(v.Name + "_copy"), Params: &anec.Copy{}, Bottoms: []*anec.Value{v}}
	if v.Def != nil {
		spec.Origin = v.Def.Origin
	}
	if v.Type.DType.SubByte() {
		return nil, fmt.Errorf("%q of %v would have to be copied, but elements that share bytes cannot be written", v.Name, v.Type)
	}
	l, err := p.Graph.Add(spec)
	if err != nil {
		return nil, err
	}
	p.kept[l] = true
	return l, nil
}

// copyAtEnd copies a value after all layers.
func (p *planner) copyAtEnd(v *anec.Value) (*anec.Layer, error) {
	l, err := p.addCopy(v)
	if err == nil {
		p.last = append(p.last, l)
		p.position[l] = atEnd
	}
	return l, err
}

// copyWhenMade copies a value as soon as it is there.
func (p *planner) copyWhenMade(v *anec.Value) (*anec.Layer, error) {
	l, err := p.addCopy(v)
	switch {
	case err != nil:
	case v.Def == nil:
		p.first = append(p.first, l)
		p.position[l] = atStart
	default:
		p.after[v.Def] = append(p.after[v.Def], l)
		p.position[l] = p.position[v.Def] + 1
	}
	return l, err
}

// copyBefore copies a value just before a layer.
func (p *planner) copyBefore(v *anec.Value, reader *anec.Layer) (*anec.Layer, error) {
	l, err := p.addCopy(v)
	if err == nil {
		p.before[reader] = append(p.before[reader], l)
		p.position[l] = p.position[reader] - 1
		if p.derived[reader] {
			p.derived[l] = true
		}
	}
	return l, err
}
