package anec

import (
	"fmt"
	"math"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/diag"
)

// validateResize: a unit has the extents or the ratio of an axis, never both that
// disagree. Without a texture engine a software route takes the layer's place
// (other rounding); the two legacy families have neither.
func validateResize(l *Layer, t *hal.Target) *diag.Finding {
	p, x := l.Params.(*Resize), l.Bottoms[0].Type.Dims
	for i, a := range planeAxes {
		if p.Size[i] == 0 || p.Scale[i] == 0 {
			continue
		}
		if by := math.Floor(float64(p.Scale[i]) * float64(x[a])); by != float64(p.Size[i]) {
			return &diag.Finding{
				ID: diag.ResizeBoth, Text: fmt.Sprintf("resize %s: dimension %d and ratio %s are both given", axisNames[a], p.Size[i], formatFloat(p.Scale[i])),
				Limit: "dimension or ratio", Found: "both, and they disagree", Remedy: "give the ratio size/extent, or resample at given coordinates",
				Source: fromGates + textOurs,
			}
		}
	}
	return validateResizeRoute(t)
}

func validateResizeAs(_ *Layer, t *hal.Target) *diag.Finding { return validateResizeRoute(t) }

func validateResizeRoute(t *hal.Target) *diag.Finding {
	if !legacy(t) {
		return nil
	}
	return needs(t, hal.CapTexture, diag.Finding{
		ID: diag.ResizeNoRoute, Text: "failed to map resize layer on this arch",
		Remedy: "upsample by a transposed convolution", Source: fromGates + "; guide 35: resize from A13 on",
	})
}

const resizeBySoftware = "runs by software: transposes and convolutions, with other rounding"

var resizeCodegen = []CodegenVerdict{
	{
		ID: diag.StandIn, Subject: "resize on M1", Route: Converted, From: hal.A13, To: hal.A13, StandIn: true,
		Text: resizeBySoftware, Status: hal.Measured, Source: "guide 24, 35 and A",
	},
	{
		ID: diag.StandIn, Subject: "resize as a unit on M1", Route: Authored, From: hal.A13, To: hal.A13, StandIn: true,
		Text: resizeBySoftware, Status: hal.Decoded, Source: "guide 35, DecomposeResize, and B (gates)",
		Disputed: []hal.Family{hal.A13}, Against: "as a sampler of its own it is rejected on the M1: guide 26 and B (arch-gated negatives)",
	},
}
