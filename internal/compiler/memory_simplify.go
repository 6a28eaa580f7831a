package compiler

import (
	"fmt"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/segment"
)

// simplify leaves layers that move nothing without an epilogue, and writes flattening as what it is:
//
//	%y = anec.reshape(%x) | post relu         →   %t = anec.reshape(%x);    %y = anec.copy(%t) | post relu
//	%y = anec.flatten(%x) {order = NHWC}          →   %t = anec.transpose(%x);  %y = anec.reshape(%t)
//	%y = anec.unflatten(%x) {order = NHWC}        →   %t = anec.reshape(%x);    %y = anec.transpose(%t)
func (p *planner) simplify() error {
	old := p.Order
	p.Order = make([]*anec.Layer, 0, len(old))
	for _, l := range old {
		if movesNothing(l) && !segment.IsBare(l) {
			moved, err := p.Graph.Add(anec.Spec{Name: p.Graph.FreshName(l.Name + "_view"), Params: l.Params, Bottoms: l.Bottoms, Origin: l.Origin})
			if err != nil {
				return err
			}
			err = p.Graph.Edit(l, func(l *anec.Layer) { l.Params, l.Bottoms = &anec.Copy{}, moved.Tops })
			if err != nil {
				return err
			}
			if moved, err = p.unflattened(moved); err != nil {
				return err
			}
			p.Order = append(p.Order, moved)
		} else if _, err := p.unflattened(l); err != nil {
			return err
		}
		p.Order = append(p.Order, l)
	}
	for i, l := range p.Order {
		p.position[l] = 4 * i
		for _, v := range l.Tops {
			if v.Type.Interleave > 1 {
				return fmt.Errorf("%q has interleave %d, which has no place here", v.Name, v.Type.Interleave)
			}
		}
	}
	p.derived = segment.DerivedLayers(p.Order)
	return nil
}

// movesNothing reports whether the kind of the layer moves nothing, whatever its epilogue does.
func movesNothing(l *anec.Layer) bool {
	return l.Info().View.Only || l.Kind() == anec.KindConcat
}

// unflattened rewrites a Flatten or Unflatten. A layer that it has to add stands before the given one in the order
// that is being made.
func (p *planner) unflattened(l *anec.Layer) (*anec.Layer, error) {
	order, inner := anec.FlattenNCHW, anec.Params(nil)
	outer := anec.Params(&anec.Reshape{Dims: l.Top().Type.Dims})
	switch f := l.Params.(type) {
	case *anec.Flatten:
		order, inner = f.Order, &anec.Transpose{Perm: channelsLast}
	case *anec.Unflatten:
		order, inner = f.Order, &anec.Reshape{Dims: channelsLast.Apply(l.Top().Type.Dims)}
		if order == anec.FlattenNHWC {
			outer = &anec.Transpose{Perm: channelsLast.Inverse()}
		}
	default:
		return l, nil
	}
	bottoms := l.Bottoms
	if order == anec.FlattenNHWC {
		first, err := p.Graph.Add(anec.Spec{Name: p.Graph.FreshName(l.Name + "_view"), Params: inner, Bottoms: l.Bottoms, Origin: l.Origin})
		if err != nil {
			return nil, err
		}
		p.Order = append(p.Order, first)
		bottoms = first.Tops
	}
	return l, p.Graph.Edit(l, func(l *anec.Layer) { l.Params, l.Bottoms = outer, bottoms })
}

// channelsLast has the channels innermost.
var channelsLast = anec.Perm{anec.N, anec.D, anec.H, anec.W, anec.C}
