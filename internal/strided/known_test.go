package strided

import (
	"testing"

	"github.com/espalier-ane/espalier/td"
)

// What td calls known is computed, and nothing else.
func TestKernelsComputeWhatIsKnown(t *testing.T) {
	check := func(what interface{ String() string }, known, computed bool) {
		if known != computed {
			t.Errorf("%T %v: known %t, computed %t", what, what, known, computed)
		}
	}
	for n := range 256 {
		function := td.Function(n)
		check(function, function.Known(), functions[function] != nil)
		pool := td.PoolKind(n)
		_, computed := poolers[pool]
		check(pool, pool.Known(), computed)
		reduction := td.ReductionKind(n)
		_, computed = reducers[reduction]
		check(reduction, reduction.Known(), computed || reduction == td.ReduceArgMin || reduction == td.ReduceArgMax)
		grid := td.SamplingGrid(n)
		check(grid, grid.Known(), grids[grid] != nil)
		coordinate := td.CoordinateMode(n)
		_, computed = positions[coordinate]
		check(coordinate, coordinate.Known(), computed)
		// Of these, all that have a name have a meaning.
		kind := td.EWKind(n)
		_, computed = pairOf(kind)
		check(kind, kind.Valid(), computed || kind == td.EWSelect)
		scaled := td.ScaledEWKind(n)
		check(scaled, scaled.Valid(), scaledKinds[scaled] != nil)
		padding := td.PaddingMode(n)
		check(padding, padding.Valid(), paddings[padding] != nil)
		rounding := td.NearestRounding(n)
		check(rounding, rounding.Valid(), roundings[rounding] != nil)
		box := td.BoxMode(n)
		check(box, box.Valid(), boxes[box] != nil)
	}
	for _, class := range td.OpClasses() {
		op := &Op{Params: td.NewParams(class), Operands: make([]Operand, 5)}
		if Find(op) == nil {
			t.Errorf("%v has no kernel", class)
		}
	}
}
