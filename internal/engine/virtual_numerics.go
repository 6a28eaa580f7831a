package engine

import (
	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/strided"
	"github.com/espalier-ane/espalier/td"
)

// stridedRules are numerics as the kernels of operations take them; nil for plain
// arithmetic.
func stridedRules(n *hal.Numerics) *strided.Rules {
	r := strided.Rules{
		NaNToInf:        n.NaNToInf,
		Settle:          n.IndeterminateToZero,
		FlushProducts:   n.FlushArraySubnormals,
		DropZeroSign:    n.DropZeroSign,
		RoundToHalf:     n.RoundToHalf,
		RoundReductions: n.RoundReductions,
		Stages:          n.RoundStages,
		HalfAway:        !n.RoundHalfEven,
		Sentinels:       n.TableSentinels,
		Port:            n.SaturateAtPort,
		Partials:        n.SaturatePartials,
		Lanes:           n.TileLanes,
		CropGain:        n.WidthSliceGain,
	}
	if n.TableFromKnots {
		r.Tables = &strided.Tables{Exp2: tableFunction(td.Exp2Table()), Inverse: tableFunction(td.ReciprocalTable())}
	}
	if r == (strided.Rules{}) {
		return nil
	}
	return &r
}
