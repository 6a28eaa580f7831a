package anec

import (
	"fmt"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/td"
)

func validateReduction(l *Layer, t *hal.Target) *diag.Finding {
	p := l.Params.(*Reduction)
	if r := wantInputs(l, 1, diag.Finding{ID: diag.ReductionInputs, Text: "Reduction layer can only have one bottom", Source: "guide 17"}); r != nil {
		return r
	}
	x := l.Bottoms[0]
	if p.Square {
		if r := needs(t, hal.CapSquareAfterReduction, diag.Finding{
			ID: diag.ReductionSquare, Text: "square operation after reduction is not supported",
			Remedy: "square the result in an ElementWise of its own", Source: "guide B and 24",
		}); r != nil {
			return r
		}
	}
	if p.Axes&^allAxes != 0 {
		return &diag.Finding{
			ID: diag.ReductionAxis, Text: fmt.Sprintf("reduction axes %#b: each axis is at most 4", uint8(p.Axes)),
			Limit: "0 to 4", Found: fmt.Sprintf("%#b", uint8(p.Axes)), Remedy: "name axes among N, D, C, H, W", Source: "gate: guide B; text: ours",
		}
	}
	switch p.Type {
	case td.ReduceProduct:
		return &diag.Finding{
			ID: diag.ReductionType, Text: fmt.Sprintf("Reduction type %v is not supported", p.Type),
			Limit: "ZinIrReductionType 0 to 10", Found: p.Type.String(), Remedy: "write exp of the sum of log, for what is positive", Source: "gate: guide A and C.1; text: ours",
		}
	case td.ReduceMin:
		if t.Family <= hal.A13 && !x.Type.DType.IsFloat() {
			return &diag.Finding{
				ID: diag.ReductionMinFormat, Text: "ReduceMin for non fp type is not supported for A13 and below",
				Limit: "fp16", Found: x.Type.DType.String(), Remedy: "cast to fp16 before, or negate and take the maximum", Source: fromStrings,
			}
		}
	case td.ReduceArgMin, td.ReduceArgMax:
		for a := range td.Axis(NumAxes) {
			if p.Axes.Has(a) {
				return wantArgExtent(x.Type.Dims, a)
			}
		}
	}
	return wantArithmetic(l)
}
