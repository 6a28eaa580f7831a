package anec

import (
	"fmt"
	"slices"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/diag"
)

// Blocks lie in the plane: no target moves blocks along D. Along H and W the
// compiler makes blocks of a few sizes (guide B); PixelShuffle and PixelUnshuffle
// take these alone, the others what factors into them.

var factorNames = [3]string{"x", "y", "z"}

const depthBlocks = "reshape so that the blocks lie along H and W"

// validateShuffle is for the pair that takes single factors.
func validateShuffle(depth, factor diag.ID, kind, depthText, depthSource string, f *Factors, t *hal.Target) *diag.Finding {
	if f.Z != 1 {
		return &diag.Finding{ID: depth, Text: depthText, Limit: "1", Found: fmt.Sprint(f.Z), Remedy: depthBlocks, Source: depthSource}
	}
	for i, n := range f.each() {
		if n != 1 && !slices.Contains(t.Limits.StrideFactors, n) {
			return &diag.Finding{
				ID: factor, Text: fmt.Sprintf("returned invalid: %s factor %s = %d", kind, factorNames[i], n),
				Limit: fmt.Sprintf("1, %v", t.Limits.StrideFactors), Found: fmt.Sprint(n),
				Remedy: "do it in two steps of smaller factors", Source: fromGates + "; the text after the colon: ours",
			}
		}
	}
	return nil
}

func validatePixelShuffle(l *Layer, t *hal.Target) *diag.Finding {
	f := &l.Params.(*PixelShuffle).Factors
	if r := validateShuffle(diag.PixelShuffleDepth, diag.PixelShuffleFactor, "PixelShuffle", fmt.Sprintf("returned invalid: PixelShuffle factor z = %d", f.Z),
		fromGates+"; the text after the colon: ours", f, t); r != nil {
		return r
	}
	if c := l.Bottoms[0].Type.Dims[C]; c%(f.X*f.Y) != 0 {
		return &diag.Finding{
			ID: diag.PixelShuffleChannels, Text: "Error: PixelShuffle's channel dimension must be divisible by the product of its factors",
			Limit: fmt.Sprintf("multiples of %d", f.X*f.Y), Found: fmt.Sprint(c), Remedy: "pad the channels before", Source: fromGates + "; text: " + fromStrings,
		}
	}
	return nil
}

func validatePixelUnshuffle(l *Layer, t *hal.Target) *diag.Finding {
	f, x := &l.Params.(*PixelUnshuffle).Factors, l.Bottoms[0].Type.Dims
	if r := validateShuffle(diag.PixelUnshuffleDepth, diag.PixelUnshuffleFactor, "PixelUnshuffle", "PixelUnshuffle on z axis is not supported",
		fromGates+"; text: "+fromStrings, f, t); r != nil {
		return r
	}
	return validateDivides(diag.PixelUnshuffleExtent, "Error: Input dimensions should be divisible by the PixelUnshuffle factor", f, x)
}

// validateDivides holds the plane of x to whole blocks.
func validateDivides(id diag.ID, text string, f *Factors, x Dims) *diag.Finding {
	for i, n := range f.each() {
		if a := blockAxes[i]; n < 1 || x[a]%n != 0 {
			return &diag.Finding{
				ID: id, Text: text, Limit: fmt.Sprintf("%s a multiple of %d", axisNames[a], n), Found: fmt.Sprint(x[a]),
				Remedy: "pad H and W before", Source: fromStrings,
			}
		}
	}
	return nil
}

// validateBlocks is for the kinds that take what factors into the sizes.
func validateBlocks(depth, factor diag.ID, kind, depthText, depthSource string, f *Factors, t *hal.Target) *diag.Finding {
	if f.Z != 1 {
		return &diag.Finding{ID: depth, Text: depthText, Limit: "1", Found: fmt.Sprint(f.Z), Remedy: depthBlocks, Source: depthSource}
	}
	for i, n := range f.each() {
		if !factorsInto(n, t.Limits.StrideFactors) {
			return &diag.Finding{
				ID: factor, Text: fmt.Sprintf("Invalid %s factor %s = %d", kind, factorNames[i], n),
				Limit: fmt.Sprintf("products of %v", t.Limits.StrideFactors), Found: fmt.Sprint(n),
				Remedy: "reshape and transpose instead", Source: fromGates + ", guide 26" + textOurs,
			}
		}
	}
	return nil
}

func validateChannelToSpace(l *Layer, t *hal.Target) *diag.Finding {
	f := &l.Params.(*ChannelToSpace).Factors
	return validateBlocks(diag.ChannelToSpaceDepth, diag.ChannelToSpaceFactor, "ChannelToSpace",
		fmt.Sprintf("ChannelToSpace in z dimension is not supported, current factor.z = %d.", f.Z), fromGates, f, t)
}

func validateSpaceToChannel(l *Layer, t *hal.Target) *diag.Finding {
	f := &l.Params.(*SpaceToChannel).Factors
	return validateBlocks(diag.SpaceToChannelDepth, diag.SpaceToChannelFactor, "SpaceToChannel",
		fmt.Sprintf("SpaceToChannel in z dimension is not supported, current factor.z = %d.", f.Z),
		"guide 26: depth factor one; text: ours, after that of ChannelToSpace", f, t)
}

func validateSpaceToBatch(l *Layer, t *hal.Target) *diag.Finding {
	f, x := &l.Params.(*SpaceToBatch).Factors, l.Bottoms[0].Type.Dims
	if r := validateBlocks(diag.SpaceToBatchDepth, diag.SpaceToBatchFactor, "SpaceToBatch", "3d space_to_batch is not supported on ANE",
		"guide 26: depth factor one; text: "+fromStudy, f, t); r != nil {
		return r
	}
	return validateDivides(diag.SpaceToBatchExtent, "Error: Input dimensions should be divisible by the SpaceToBatch factor", f, x)
}

func validateBatchToSpace(l *Layer, t *hal.Target) *diag.Finding {
	f := &l.Params.(*BatchToSpace).Factors
	if r := validateBlocks(diag.BatchToSpaceDepth, diag.BatchToSpaceFactor, "BatchToSpace", "batch-to-space on z axis is not supported",
		"guide 26: depth factor one; text: "+fromStrings, f, t); r != nil {
		return r
	}
	if n := l.Bottoms[0].Type.Dims[N]; n%(f.X*f.Y) != 0 {
		return &diag.Finding{
			ID: diag.BatchToSpaceBatch, Text: fmt.Sprintf("Input batch n = %d is not divisible by factor x = %d * factor y = %d", n, f.X, f.Y),
			Limit: fmt.Sprintf("multiples of %d", f.X*f.Y), Found: fmt.Sprint(n), Remedy: "pad the batch before", Source: fromGates,
		}
	}
	return nil
}
