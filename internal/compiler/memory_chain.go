package compiler

import (
	"math/bits"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/segment"
)

// findChains marks the values that supply the next task directly:
//
//	task 0  %a = anec.convolution(%x)         %a is not written whole: task 1 takes each tile as it comes
//	task 1  %y = anec.convolution(%a)
func findChains(s *segment.Segment) error {
	if !keepsOnChip(s) {
		return nil
	}
	for _, v := range s.Plan.OnChip.Values {
		v.Chain = chainClause(s, v)
		v.Streams = v.Chain != segment.Chainable && v.Layout.Bytes() > s.Plan.OnChip.Budget
	}
	return nil
}

// chainClause goes through the conjunction.
func chainClause(s *segment.Segment, v *segment.ChipValue) segment.ChainRule {
	oc := s.Plan.OnChip
	switch {
	case v.Maker < 0 || oc.Tasks[v.Maker].AtLoad:
		return segment.NotMade
	case !s.Target.Has(hal.CapChaining):
		return segment.ChainingOff
	case v.Leaves || len(v.Readers) != 1 || len(s.Plan.Layers[v.Maker].Tops) != 1:
		return segment.SeveralReads
	}
	from, to := oc.Tasks[v.Maker].Unit, oc.Tasks[v.Readers[0]].Unit
	maker, reader := s.Plan.Layers[v.Maker], s.Plan.Layers[v.Readers[0]]
	switch {
	case from.Class() != to.Class():
		return segment.OtherClass
	case !from.SharesEngine(to):
		return segment.OtherEngine
	case !sameGeometry(maker, reader, v.Value):
		return segment.OtherGeometry
	case v.Readers[0] != v.Maker+1:
		return segment.Gap
	case emittedRows(maker, s.Target) < neededRows(reader, v.Value, s.Target):
		return segment.RowsMissing
	}
	return segment.Chainable
}

// sameGeometry reports whether the tiles that a task emits are those that the reader declares: it reads the value itself,
// no view of it, once, and not along other axes than it was computed.
func sameGeometry(maker, reader *anec.Layer, v *anec.Value) bool {
	if maker.Epilogue.Transpose != nil || maker.Epilogue.Texture != nil || reader.Kind() == anec.KindReshape {
		return false
	}
	times := 0
	for _, read := range reader.Reads() {
		if read == v {
			times++
		}
	}
	return times == 1
}

// tileRows is how many rows of its result a task computes at a time: the pixels of a patch, with rows on whole powers of
// two (oracles 5).
func tileRows(l *anec.Layer, t *hal.Target) int {
	live := 0
	for _, v := range l.Reads() {
		if v.Const == nil {
			live++
		}
	}
	pixels := t.Residency.PatchPixels[0]
	if live > 1 {
		pixels = t.Residency.PatchPixels[1]
	}
	d := l.Top().Type.Dims
	if l.Kind() == anec.KindReduction { // it walks over what it reads
		d = l.Bottoms[0].Type.Dims
	}
	width := max(t.Limits.PatchWidthFloor, powerOfTwo(d[anec.W]), 1)
	return max(min(pixels/width, powerOfTwo(d[anec.H])), 1)
}

// powerOfTwo is the least that is not smaller.
func powerOfTwo(n int) int {
	if n <= 1 {
		return 1
	}
	return 1 << bits.Len(uint(n-1))
}

// emittedRows are those of a task's first tile.
func emittedRows(l *anec.Layer, t *hal.Target) int {
	return min(tileRows(l, t), l.Top().Type.Dims[anec.H]) // a reduction over rows emits its one row
}

// neededRows are the rows of an operand that a task reads for its first tile, overlap and all.
func neededRows(l *anec.Layer, v *anec.Value, t *hal.Target) int {
	return l.Info().Rows(l, v, min(tileRows(l, t), v.Type.Dims[anec.H]))
}
