package anec

import (
	"fmt"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/td"
)

func validateFlatten(l *Layer, t *hal.Target) *diag.Finding {
	p := l.Params.(*Flatten)
	if r := wantInputs(l, 1, diag.Finding{ID: diag.FlattenInputs, Text: "Flatten layer can only have one bottom", Source: "text: ours, after that of Unflatten"}); r != nil {
		return r
	}
	if d := l.Bottoms[0].Type.Dims[D]; d != 1 {
		return &diag.Finding{
			ID: diag.FlattenDepth, Text: fmt.Sprintf("Error: invalid input depth = %d for flatten layer. It should be 1", d),
			Limit: "1", Found: fmt.Sprint(d), Remedy: "write a Reshape", Source: "gate and text: ours, after those of Unflatten",
		}
	}
	if !p.Order.Valid() {
		return &diag.Finding{
			ID: diag.FlattenOrder, Text: "Error: unknown flatten mode. It should be NCHW or NHWC",
			Limit: "NCHW or NHWC", Found: p.Order.String(), Remedy: "use NCHW", Source: "gate: guide C.1; text: ours, after that of Unflatten",
		}
	}
	return nil
}

func validateUnflatten(l *Layer, t *hal.Target) *diag.Finding {
	p := l.Params.(*Unflatten)
	if r := wantInputs(l, 1, diag.Finding{ID: diag.UnflattenInputs, Text: "Unflatten layer can only have one bottom", Source: fromDecompiled}); r != nil {
		return r
	}
	x := l.Bottoms[0].Type.Dims
	for _, a := range []td.Axis{H, W, D} {
		if x[a] != 1 {
			return &diag.Finding{
				ID: diag.UnflattenExtent, Text: fmt.Sprintf("Error: invalid input %s = %d for unflatten layer. It should be 1", axisNames[a], x[a]),
				Limit: "1", Found: fmt.Sprint(x[a]), Remedy: "write a Reshape", Source: fromDecompiled,
			}
		}
	}
	if n := p.Dims[0] * p.Dims[1] * p.Dims[2]; n != x[C] {
		return &diag.Finding{
			ID:    diag.UnflattenCount,
			Text:  fmt.Sprintf("Error: input elements count (%d) must equal output with shape C%dH%dW%d (%d)", x[C], p.Dims[0], p.Dims[1], p.Dims[2], n),
			Limit: fmt.Sprint(x[C]), Found: fmt.Sprint(n), Remedy: "give extents whose product is the number of channels", Source: fromDecompiled,
		}
	}
	if !p.Order.Valid() {
		return &diag.Finding{
			ID: diag.UnflattenOrder, Text: "Error: unknown unflatten mode. It should be NCHW or NHWC",
			Limit: "NCHW or NHWC", Found: p.Order.String(), Remedy: "use NCHW", Source: fromDecompiled,
		}
	}
	return nil
}

var unflattenCodegen = []CodegenVerdict{
	{
		ID: diag.CodegenUnflatten, Subject: "unflatten", Route: Authored, From: firstFamily, To: lastFamily, Fails: true,
		Text: "Unflatten passes validation and fails lowering for every variant", Remedy: "reshape",
		Status: hal.Measured, Seen: []hal.Family{hal.A13, hal.A17}, Source: "guide 22, on M1; " + fromForge + "; text: ours",
	},
}
