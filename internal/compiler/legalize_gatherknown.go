package compiler

import (
	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/segment"
)

// legalizeKnownGather joins the slices that a gather takes, where its indices are known and the target has no engine that
// gathers: the software that stands in for it copies (guide 4 and 35).
//
//	const %i : int32[1,1,1,4,1] {data = [0, 1, 2, 7]}
//	%y = anec.gather(%x, %i) {axes = [H]}
//
//	%a = anec.input_view(%x) {axis = H, offset = 0, size = 3}
//	%b = anec.input_view(%x) {axis = H, offset = 7, size = 1}
//	%y = anec.concat(%a, %b) {axis = H}
//
// W is exchanged for H before, and back: a slice that begins inside of a row is no view on every chip. Indices in too many runs
// stay a gather.
func legalizeKnownGather(s *segment.Segment) error {
	if s.Target.Has(hal.CapTexture) {
		return nil
	}
	err := rewriteKinds(gatheredRuns, anec.KindGather)(s)
	s.Graph.Sweep() // nobody reads the indices any more
	return err
}

// mostRuns is how many slices take the place of a gather.
const mostRuns = 4

func gatheredRuns(b *anec.Builder, l *anec.Layer) (*anec.Value, error) {
	x := l.Bottoms[0]
	axis, indices, ok := segment.KnownIndices(l)
	if !ok {
		return nil, nil
	}
	runs := runsOf(indices)
	if len(runs) > mostRuns {
		return nil, nil
	}
	along, exchange := axis, &anec.Transpose{Perm: segment.Exchange(anec.H, anec.W)}
	if axis == anec.W && (len(runs) > 1 || runs[0].Offset != 0) {
		x, along = b.Layer(l.Name, exchange, x), anec.H
	}
	parts := make([]*anec.Value, len(runs))
	for i := range runs {
		runs[i].Axis = along
		parts[i] = b.Layer(l.Name, &runs[i], x)
	}
	y := parts[0]
	if len(parts) > 1 {
		y = b.Layer(l.Name, &anec.Concat{Axis: along}, parts...)
	}
	if along != axis {
		y = b.Layer(l.Name, exchange, y)
	}
	return y, b.Err()
}

// runsOf are the slices that indices stand for: each as long as the indices go on by one.
func runsOf(indices []int) (runs []anec.InputView) {
	for _, at := range indices {
		if last := len(runs) - 1; last >= 0 && runs[last].Offset+runs[last].Size == at {
			runs[last].Size++
			continue
		}
		runs = append(runs, anec.InputView{Offset: at, Size: 1, Step: 1})
	}
	return runs
}
