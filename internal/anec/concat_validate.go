package anec

import (
	"fmt"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/tensor"
)

func validateConcat(l *Layer, _ *hal.Target) *diag.Finding {
	p := l.Params.(*Concat)
	for _, x := range l.Bottoms[1:] {
		if have, want := interleaveOf(x), interleaveOf(l.Bottoms[0]); have != want {
			return &diag.Finding{
				ID: diag.ConcatLayout, Text: "both concat inputs must have the same layout",
				Limit: fmt.Sprintf("interleave %d", want), Found: fmt.Sprintf("interleave %d", have),
				Remedy: "give all inputs one interleave", Source: fromEnvelopes,
			}
		}
	}
	if p.Interleave && p.Axis != C {
		return &diag.Finding{
			ID: diag.ConcatInterleave, Text: "ANEC only supports interleave on C axis",
			Limit: "C", Found: p.Axis.String(), Remedy: "transpose so that the axis is C",
			Source: fromStrings + "; that it is about this layer is inferred",
		}
	}
	return nil
}

func validateTile(l *Layer, t *hal.Target) *diag.Finding {
	for a, n := range l.Params.(*Tile).Reps {
		if !factorsInto(n, t.Limits.StrideFactors) {
			return &diag.Finding{
				ID: diag.TileFactor, Text: fmt.Sprintf("Invalid tile factor %s = %d", axisNames[a], n),
				Limit: fmt.Sprintf("products of %v", t.Limits.StrideFactors), Found: fmt.Sprint(n),
				Remedy: "concatenate copies, or tile by a larger factor and take a part",
				Source: "guide A, tile: factors of 2, 3, 4 and 8" + textOurs,
			}
		}
	}
	return nil
}

// validateBroadcast: that only axes of extent 1 are repeated is the shape rule's.
func validateBroadcast(l *Layer, t *hal.Target) *diag.Finding {
	x := l.Bottoms[0].Type
	if x.Dims[D] != l.Params.(*Broadcast).Dims[D] {
		if r := needs(t, hal.CapDepthBroadcast, diag.Finding{
			ID: diag.BroadcastDepth, Text: "Broadcast along depth axis is not supported on this architecture",
			Remedy: "reshape so that the axis is another than D, or concatenate copies", Source: fromGates,
		}); r != nil {
			return r
		}
	}
	if legacy(t) && onChip(x.DType) != tensor.Float16 {
		return &diag.Finding{
			ID: diag.BroadcastLegacyType, Text: "Only fp16 is supported for A11/A12 Broadcasts.",
			Limit: "fp16", Found: x.DType.String(), Remedy: "cast to fp16 before",
			Source: fromFamilies + ": legacy broadcasts assert fp16; text: " + fromStrings,
		}
	}
	return nil
}
