package compiler

import (
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/segment"
)

// legalizeSlots takes out of epilogues what no task field holds: the texture slot, a broadcast of a class that has none
// for its sources, requantization to more than 16 bits; and whole epilogues where tasks have none.
//
//	%y fp16 = Conv(%x, %w) | texture PixelShuffle X=2 Y=2 | post relu
//
//	%a fp32 = Conv(%x, %w)
//	%y fp16 = PixelShuffle(%a) X=2 Y=2 | post relu
//
// What lies between is fp32, as it was inside the task.
func legalizeSlots(s *segment.Segment) error {
	var refused refusals
	for _, l := range s.Graph.Order() {
		for l != nil && !l.Epilogue.Empty() {
			rest, err := takeOutSlot(s.Graph, l)
			refused.add(l, err)
			l = rest
		}
	}
	return refused.err()
}

// takeOutSlot cuts an epilogue before the first slot that must go, and returns the layer with what is behind it;
// nil if there is none.
func takeOutSlot(g *anec.Graph, l *anec.Layer) (*anec.Layer, error) {
	e := l.Epilogue
	switch {
	case l.Info().Epilogue == anec.EpilogueNone:
		return cutEpilogue(g, l, anec.Epilogue{}, &anec.Copy{}, e)
	case e.Texture != nil:
		tail := e
		tail.Texture = nil
		return cutEpilogue(g, l, anec.Epilogue{}, e.Texture, tail)
	case e.Broadcast != (anec.Dims{}) && l.Info().Broadcasts != anec.Yes:
		return cutEpilogue(g, l, anec.Epilogue{}, &anec.Copy{}, e) // a copy broadcasts
	case e.Quant != nil:
		if _, _, ok := segment.IntegerRange(e.Quant.Type); ok {
			return nil, nil
		}
		head := e
		head.Quant = nil
		return cutEpilogue(g, l, head, &anec.Quant{To: e.Quant.Type}, anec.Epilogue{}, e.Quant.Scale, e.Quant.Zero)
	}
	return nil, nil
}

// cutEpilogue makes two layers of one: the first with the head of its epilogue, the second of another kind, which
// reads it, with the tail. It returns the second.
func cutEpilogue(g *anec.Graph, l *anec.Layer, head anec.Epilogue, kind anec.Params, tail anec.Epilogue, operands ...*anec.Value) (*anec.Layer, error) {
	natural, err := bareType(l)
	if err != nil {
		return nil, err
	}
	middle := between(natural.DType)
	if l.Info().Epilogue == anec.EpilogueNone {
		middle = natural.DType
	}
	b := &anec.Builder{Graph: g, Origin: l.Origin}
	first := layerWith(b, middle, l.Name, l.Params, head, l.Bottoms...)
	second := layerWith(b, l.Top().Type.DType, l.Name, kind, tail, append([]*anec.Value{first}, operands...)...)
	if err := b.Err(); err != nil {
		return nil, err
	}
	return second.Def, takeOver(g, l, second)
}
