package engine

import (
	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/kernel/strided"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// stridedRules are numerics as the kernels of operations take them; nil for plain
// arithmetic, where tables of knots are another function of a step and no rule.
func stridedRules(n *hal.Numerics) *strided.Rules {
	r := strided.Rules{
		NaNToInf:        n.NaNToInf,
		Settle:          n.IndeterminateToZero,
		FlushProducts:   n.FlushArraySubnormals,
		DropZeroSign:    n.DropZeroSign,
		RoundToHalf:     n.RoundToHalf,
		RoundReductions: n.RoundReductions,
		HalfAway:        !n.RoundHalfEven,
		Sentinels:       n.TableSentinels,
		Port:            n.SaturateAtPort,
		Partials:        n.SaturatePartials,
		Lanes:           n.TileLanes,
		CropGain:        n.WidthSliceGain,
	}
	if r == (strided.Rules{}) {
		return nil
	}
	return &r
}

// knotTables are the functions of which the table that a chip would load is
// known. Their arguments are x, x+A, or x times the table's own constant.
var knotTables = map[td.Function]struct {
	table func() *td.Table
	plusA bool
	times uint16 // fp16; 0: none
}{
	td.FuncSigmoid:               {td.SigmoidTable, false, 0},
	td.FuncTanh:                  {td.TanhTable, false, 0},
	td.FuncGELU:                  {td.GELUTable, false, 0},
	td.FuncGELUTanhApproximation: {td.GELUTable, false, 0},
	td.FuncExp2:                  {td.Exp2Table, false, 0},
	td.FuncExp:                   {td.Exp2Table, false, 0x3dc5}, // log2 e (oracles, fusion words)
	td.FuncLog2:                  {td.Log2Table, true, 0},
	td.FuncSqrt:                  {td.SqrtTable, false, 0},
	td.FuncRSqrt:                 {td.RSqrtTable, true, 0},
	td.FuncInverse:               {td.ReciprocalTable, true, 0},
}

// knotFunction is a function as its table has it, nil if none is known.
func knotFunction(f td.Function, a float32) func(float32) float32 {
	row, ok := knotTables[f]
	if !ok {
		return nil
	}
	table, err := row.table().Func()
	if err != nil {
		panic("bug: a table of ours: " + err.Error())
	}
	switch {
	case row.plusA:
		return func(x float32) float32 { return table(x + a) }
	case row.times != 0:
		factor := tensor.F16(row.times)
		return func(x float32) float32 { return table(x * factor) }
	}
	return table
}
