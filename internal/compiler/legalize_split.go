package compiler

import (
	"fmt"
	"slices"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/td"
)

// What the passes share that write a sum of products as several, each with some of the outputs, side by side:
//
//	%y [1,1,8,4,4] = Conv(%x, %w, %b) | goc %g _ | post relu
//
//	%y_1 [1,1,4,4,4] = Conv(%x, %w_1, %b_1) | goc %g_1 _ | post relu
//	%y_2 [1,1,4,4,4] = Conv(%x, %w_2, %b_2) | goc %g_2 _ | post relu
//	%y_3 [1,1,8,4,4] = Concat(%y_1, %y_2) Axis=C
//
// The epilogue goes with the parts, and of what it reads along the outputs each part takes its own.

// maxParts bounds the layers that one becomes.
const maxParts = 1024

// A span is a run of outputs.
type span struct{ begin, size int }

// spansOf cuts outputs into runs of at most so many.
func spansOf(outputs, most int) (spans []span) {
	for begin := 0; begin < outputs; begin += most {
		spans = append(spans, span{begin, min(most, outputs-begin)})
	}
	return spans
}

// splitOutputs replaces a Conv, a Linear or a MatMul with a constant. A span of a convolution in groups has whole groups.
// It reports false, and leaves the layer, if it cannot: where weights are stored in a form that has no parts.
func splitOutputs(g *anec.Graph, l *anec.Layer, spans []span) (bool, error) {
	from, to, ok := outputAxes(l)
	e := &l.Epilogue
	if !ok || len(spans) < 2 || len(spans) > maxParts || e.Texture != nil || e.Broadcast != (anec.Dims{}) || e.Quant != nil {
		return false, nil
	}
	weights := make([]*anec.Constant, len(spans))
	whole := constantOf(l.Bottoms[1])
	for i, s := range spans {
		if weights[i], ok = partOfConstant(whole, from, s); !ok {
			return false, nil
		}
	}
	b := &anec.Builder{Graph: g, Origin: l.Origin}
	parts := make([]*anec.Value, len(spans))
	for i, s := range spans {
		w := b.Constant(l.Bottoms[1].Name, weights[i])
		x, params := l.Bottoms[0], l.Params
		if c, isConv := params.(*anec.Conv); isConv && c.Groups > 1 {
			each := l.Top().Type.Dims[to] / c.Groups // outputs of a group
			if t := e.Transpose; t != nil {
				each = t.Inverse().Apply(l.Top().Type.Dims)[to] / c.Groups
			}
			inputs := x.Type.Dims[anec.C] / c.Groups
			part := *c
			part.Groups = s.size / each
			params = &part
			x = b.Layer(x.Name, &anec.InputView{Axis: anec.C, Offset: s.begin / each * inputs, Size: part.Groups * inputs, Step: 1}, x)
		}
		own := func(v *anec.Value) *anec.Value { return partOf(b, v, to, s) }
		bottoms := []*anec.Value{x, w}
		if bias := segment.Bottom(l, 2); bias != nil {
			bottoms = append(bottoms, own(bias))
		}
		parts[i] = layerWith(b, l.Top().Type.DType, l.Name, params, partOfEpilogue(e, own), bottoms...)
	}
	axis := to
	if t := e.Transpose; t != nil {
		axis = td.Axis(slices.Index(t[:], to))
	}
	y := b.Layer(l.Name, &anec.Concat{Axis: axis}, parts...)
	if err := b.Err(); err != nil {
		return false, err
	}
	return true, takeOver(g, l, y)
}

// partOfEpilogue is an epilogue with other operands.
func partOfEpilogue(e *anec.Epilogue, own func(*anec.Value) *anec.Value) anec.Epilogue {
	part := *e
	if e.GOC != nil {
		part.GOC = &anec.GainOffset{Gain: own(e.GOC.Gain), Offset: own(e.GOC.Offset)}
	}
	part.Steps = slices.Clone(e.Steps)
	for i := range part.Steps {
		part.Steps[i].Operand = own(part.Steps[i].Operand)
	}
	return part
}

// partOf is a run of a value along an axis; all of it where it has one element there.
func partOf(b *anec.Builder, v *anec.Value, axis td.Axis, s span) *anec.Value {
	if v == nil || v.Type.Dims[axis] == 1 {
		return v
	}
	if v.Const != nil {
		if c, ok := partOfConstant(v.Const, axis, s); ok {
			return b.Constant(v.Name, c)
		}
	}
	return b.Layer(v.Name, &anec.InputView{Axis: axis, Offset: s.begin, Size: s.size, Step: 1}, v)
}

// splitLayers makes a pass of what says into which runs of outputs a layer is cut; none if it stays.
func splitLayers(spansFor func(*anec.Layer, *segment.Segment) []span) func(*segment.Segment) error {
	return func(s *segment.Segment) error {
		var refused refusals
		for _, l := range s.Graph.Order() {
			spans := spansFor(l, s)
			if len(spans) < 2 {
				continue
			}
			if _, err := splitOutputs(s.Graph, l, spans); err != nil {
				refused.add(l, fmt.Errorf("in %d parts: %w", len(spans), err))
			}
		}
		s.Graph.Sweep()
		return refused.err()
	}
}
