package anec

import (
	"fmt"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/diag"
)

const textNoTranspose = "NE Input Transpose is not supported for this arch"

// validateTranspose holds the axes that move to what one pass transposes. Axes
// that change places with ones of extent 1 alone do not count: nothing moves.
//
// A limit of 0 is no reject: such targets split every transpose.
func validateTranspose(l *Layer, t *hal.Target) *diag.Finding {
	x, perm := l.Bottoms[0].Type.Dims, l.Params.(*Transpose).Perm
	if !perm.Valid() {
		return &diag.Finding{
			ID: diag.TransposePermutation, Text: "No duplicate dimension allowed", Limit: "each axis once", Found: fmt.Sprint(perm),
			Remedy: "name each axis once", Source: fromGates + "; text: " + fromDecompiled,
		}
	}
	moved := movedAxes(x, perm)
	if moved[N] {
		return &diag.Finding{
			ID: diag.TransposeBatch, Text: "Invalid N-related Transpose input dimension",
			Limit: "D, C, H, W", Found: fmt.Sprintf("batch = %d", x[N]), Remedy: "reshape so that the batch is part of another axis",
			Source: fromGates + ": last four dimensions only; text: " + fromStrings,
		}
	}
	if limit := t.Limits.Transpose; limit > 0 {
		for a, n := range x {
			if moved[a] && n > limit {
				return &diag.Finding{
					ID: diag.TransposeExtent, Text: textNoTranspose,
					Limit: fmt.Sprint(limit), Found: fmt.Sprintf("%s = %d", axisNames[a], n),
					Remedy: "split the tensor, transpose the parts and concatenate", Source: fromGates,
					Confidence: t.LimitStatus("transpose_extent_max").Confidence(),
				}
			}
		}
	}
	// Without a third dimension, a transpose of channels is made of block moves.
	if moved[C] && t.Limits.Tensor[D] == 1 && (x[H] != 1 || !factorsInto(x[C], t.Limits.StrideFactors)) {
		return &diag.Finding{
			ID: diag.TransposeChannelFactors, Text: textNoTranspose,
			Limit: fmt.Sprintf("height 1, channels a product of %v", t.Limits.StrideFactors),
			Found: fmt.Sprintf("height %d, channels %d", x[H], x[C]), Remedy: "reshape to height 1 and pad the channels", Source: fromEnvelopes,
		}
	}
	return nil
}

// movedAxes returns the axes whose elements a permutation moves: among those of
// more than one element, the ones that stand elsewhere than before.
func movedAxes(x Dims, p Perm) (moved [NumAxes]bool) {
	var before, after []int
	for a := range x {
		if x[a] > 1 {
			before = append(before, a)
		}
		if from := int(p[a]); x[from] > 1 {
			after = append(after, from)
		}
	}
	for i := range before {
		if i < len(after) && before[i] != after[i] {
			moved[before[i]], moved[after[i]] = true, true
		}
	}
	return moved
}

func validateReshape(l *Layer, t *hal.Target) *diag.Finding {
	x, y := l.Bottoms[0].Type.Dims, l.Params.(*Reshape).Dims
	have, _ := x.Count()
	if want, ok := y.Count(); !ok || want != have {
		return &diag.Finding{
			ID: diag.ReshapeElements, Text: "Error: Invalid output dimensions for Reshape unit",
			Limit: fmt.Sprint(have), Found: fmt.Sprint(want), Remedy: "keep the number of elements", Source: fromStrings,
		}
	}
	flat := Dims{x[N], 1, x[D] * x[C] * x[H] * x[W], 1, 1}
	if legacy(t) && y != x && y != flat {
		return &diag.Finding{
			ID: diag.ReshapeLegacy, Text: "cannot be lowered as Flatten on ANE",
			Limit: flat.String(), Found: y.String(), Remedy: "reshape to one axis only, or choose a later target",
			Source: fromFamilies + ": the two legacy families make every reshape a flatten",
		}
	}
	return nil
}
