package anec

import (
	"fmt"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/td"
)

// unpaddedAxes are the axes that no target pads, in the order in which they are
// looked at.
var unpaddedAxes = []struct {
	axis   td.Axis
	id     diag.ID
	text   string
	source string
	remedy string
}{
	{C, diag.PadChannel, "Channel padding is not supported on ANE", fromGates, "concatenate a constant along C"},
	{D, diag.PadDepth, "Depth dim not supported for ANEC padding", fromEnvelopes + "; text: " + fromStrings, "concatenate a constant along D"},
	{N, diag.PadBatch, "padding on the batch dimension is not supported yet", fromGates + "; text: " + fromStrings, "concatenate a constant along N"},
}

func validatePad(l *Layer, t *hal.Target) *diag.Finding {
	p := l.Params.(*Padding)
	for _, row := range unpaddedAxes {
		if n := p.Before[row.axis] + p.After[row.axis]; n != 0 {
			return &diag.Finding{ID: row.id, Text: row.text, Limit: "H, W", Found: fmt.Sprintf("%s by %d", axisNames[row.axis], n), Remedy: row.remedy, Source: row.source}
		}
	}
	if p.Mode == td.PadSymmetric || p.Mode == td.PadReflective {
		if r := needs(t, hal.CapTexture, diag.Finding{
			ID: diag.PadMode, Text: "Architecture does not support padding mode.",
			Remedy: "pad with a constant, or concatenate reversed parts", Source: fromGates + "; text: " + fromEnvelopes,
		}); r != nil {
			return r
		}
	}
	if x := l.Bottoms[0].Type.DType; p.Mode == td.PadBackground && onChip(x).IsFloat() && !(p.Value >= -maxHalf && p.Value <= maxHalf) {
		return &diag.Finding{
			ID: diag.PadValue, Text: fmt.Sprintf("Invalid background padding (%f) in L2_format (%s), it is beyond ANE limits range [%d, %d]", p.Value, onChip(x), -maxHalf, maxHalf),
			Limit: fmt.Sprintf("[%d, %d]", -maxHalf, maxHalf), Found: formatFloat(p.Value), Remedy: "pad with a value that fp16 holds", Source: fromStrings,
		}
	}
	return nil
}

// maxHalf is the largest number of fp16.
const maxHalf = 65504

var paddingCodegen = []CodegenVerdict{
	{
		ID: diag.StandIn, Subject: "padding with mirrored elements on M1", Route: Converted, From: hal.A13, To: hal.A13, StandIn: true, Lifts: diag.PadMode,
		Text: "runs by software: the texture engine is not there", Status: hal.Measured, Source: "guide A, pad; the authored layer is rejected: guide B",
		found: func(l *Layer, _ *hal.Target) (string, bool) {
			m := l.Params.(*Padding).Mode
			return fmt.Sprint(m), m == td.PadSymmetric || m == td.PadReflective
		},
	},
}
