package anec

import (
	"fmt"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/diag"
)

// validateGather: with a texture engine a gather is native. Without one a
// software route takes its place, which takes little (IsValidForH13): data of
// batch 1 and depth 1, and where several axes are gathered along, these are three
// and their indices lie in three channels, W and D of extent 1.
func validateGather(l *Layer, t *hal.Target) *diag.Finding {
	p, x, indices := l.Params.(*Gather), l.Bottoms[0].Type.Dims, l.Bottoms[1]
	if i, c := interleaveOf(indices), indices.Type.Dims[C]; c%i != 0 {
		return &diag.Finding{
			ID: diag.GatherInterleave, Text: fmt.Sprintf("Invalid index tensor channel count %d, not divisible by interleave %d", c, i),
			Limit: fmt.Sprintf("multiples of %d", i), Found: fmt.Sprint(c), Remedy: "store the indices without interleave", Source: fromStrings,
		}
	}
	if t.Has(hal.CapTexture) {
		return nil
	}
	ix := indices.Type.Dims
	several := len(p.Axes) > 1
	for _, gate := range []struct {
		holds       bool
		what        string
		want, found int
	}{
		{x[N] == 1, "data batch", 1, x[N]},
		{x[D] == 1, "data depth", 1, x[D]},
		{!several || len(p.Axes) == 3, "gather axes", 3, len(p.Axes)},
		{!several || ix[C] == 3, "index channel", 3, ix[C]},
		{!several || ix[W] == 1, "index width", 1, ix[W]},
		{!several || ix[D] == 1, "index depth", 1, ix[D]},
	} {
		if !gate.holds {
			return &diag.Finding{
				ID: diag.GatherEnvelope, Text: "Cannot decompose layer on this architecture",
				Limit: fmt.Sprintf("%s %d", gate.what, gate.want), Found: fmt.Sprint(gate.found),
				Remedy: "gather along one axis of a tensor with batch 1 and depth 1; for indices that are known, slices or a product with a one-hot matrix",
				Source: fromGates + "; the envelope: guide 4, 17 and 35, for one axis guide A",
			}
		}
	}
	return nil
}

var gatherCodegen = []CodegenVerdict{
	{
		ID: diag.CodegenGatherND, Subject: "gather along several axes, one longer than 2048", Route: Converted, From: firstFamily, To: lastFamily, Fails: true,
		Text: fmt.Sprintf("Gathered dimensions of x exceeding %d are not supported yet.", maxGathered), Remedy: "reshape so that the axes are shorter, or gather along one axis",
		Status: hal.Decoded, Source: fromDecompiled + ": MILOpConverter::GatherND",
		found: func(l *Layer, _ *hal.Target) (string, bool) {
			x, p := l.bottom(0), l.Params.(*Gather)
			if x == nil || len(p.Axes) < 2 {
				return "", false
			}
			for _, a := range p.Axes {
				if n := x.Type.Dims[a]; n > maxGathered {
					return fmt.Sprintf("%s = %d", axisNames[a], n), true
				}
			}
			return "", false
		},
	},
	{
		Subject: "gather on M1", From: hal.A13, To: hal.A13,
		Text: "runs inside the envelope that its validator holds it to; outside, the compiler aborts", Status: hal.Measured, Source: "guide 4, 35, A and B",
	},
	{
		ID: diag.StandIn, Subject: "gather along several axes on M1", Route: Converted, From: hal.A13, To: hal.A13, StandIn: true,
		Text: "runs by software: copies, for a batch and a depth of one", Status: hal.Measured, Source: "guide A, gather_nd; guide 4 and 35, the envelope",
		found: func(l *Layer, _ *hal.Target) (string, bool) {
			axes := len(l.Params.(*Gather).Axes)
			return fmt.Sprintf("%d axes", axes), axes > 1
		},
	},
}

// maxGathered is the longest axis that a converted gather of several axes takes.
const maxGathered = 2048
