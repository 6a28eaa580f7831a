package anec

import (
	"fmt"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

func validateSoftmax(l *Layer, t *hal.Target) *diag.Finding {
	if r := needs(t, hal.CapSoftmax, diag.Finding{
		ID: diag.SoftmaxCapability, Text: "Softmax is not supported by this ANE architecture",
		Remedy: "write exp, a sum as a convolution of ones, and a division",
		Source: "guide 22.5 and B",
	}); r != nil {
		return r
	}
	if r := wantInputs(l, 1, diag.Finding{ID: diag.SoftmaxInputs, Text: "Softmax layer must have only one single input.", Source: fromDecompiled}); r != nil {
		return r
	}
	if l.Params.(*Softmax).Axes == 0 {
		return &diag.Finding{
			ID: diag.SoftmaxAxes, Text: "Softmax with empty axes specified is invalid",
			Limit: "an axis or more", Found: "none", Remedy: "name the axis", Source: fromDecompiled,
		}
	}
	return wantFloat(l, diag.Finding{ID: diag.SoftmaxFloat, Text: "Softmax output tensor must be in Float format", Source: "gate: guide B; text: " + fromDecompiled})
}

func validateLayerNorm(l *Layer, t *hal.Target) *diag.Finding {
	p := l.Params.(*LayerNorm)
	if r := wantInputs(l, 1, diag.Finding{ID: diag.LayerNormInputs, Text: "LayerNorm layer must have only one single input.", Source: "gate: guide B; text: ours",
		Remedy: "make gamma and beta constants, or multiply and add after the layer"}); r != nil {
		return r
	}
	x := l.Bottoms[0].Type.Dims
	switch {
	case p.Groups < 1 || x[C]%p.Groups != 0:
		return &diag.Finding{
			ID: diag.LayerNormGroups, Text: fmt.Sprintf("LayerNorm input channels %d must be divisible by num_groups (Specified: %d)", x[C], p.Groups),
			Limit: fmt.Sprintf("a multiple of %d", p.Groups), Found: fmt.Sprint(x[C]), Remedy: "use a number of groups that divides the channels",
			Source: "gate: guide B; text: " + fromStrings,
		}
	case p.Groups > 1 && x[D] > 1:
		return &diag.Finding{
			ID: diag.LayerNormDepth, Text: "... does not yet support depth > 1",
			Limit: "1", Found: fmt.Sprint(x[D]), Remedy: "fold the depth into the height with a reshape", Source: "guide B and 17, which leave out how the text begins",
		}
	}
	r := diag.Finding{ID: diag.LayerNormFloat, Source: "gate: guide 17; text: " + fromStrings}
	if len(l.Tops) > 0 {
		r.Text = fmt.Sprintf("LayerNorm output tensor format must be Float (Specified %v)", l.Tops[0].Type.DType)
	}
	return wantFloat(l, r)
}

func validateInstanceNorm(l *Layer, t *hal.Target) *diag.Finding {
	if r := needs(t, hal.CapInstanceNorm, diag.Finding{
		ID: diag.InstanceNormCapability, Text: "InstanceNorm layer not supported for this ANE architecture",
		Remedy: "write mean and variance as global average pools, and Sub and Mult with them",
		Source: "guide 22.5 and B",
	}); r != nil {
		return r
	}
	if axes := l.Params.(*InstanceNorm).Axes; axes == 0 || axes&^td.AxesOf(D, H, W) != 0 {
		return &diag.Finding{
			ID: diag.InstanceNormAxes, Text: "InvalidUnitInstanceNormDimension",
			Limit: "D, H and W", Found: axesString(axes), Remedy: "normalize over spatial axes, or write a LayerNorm", Source: "gate: guide B; text: " + fromStrings,
		}
	}
	if r := wantInputs(l, 1, diag.Finding{ID: diag.InstanceNormInputs, Text: "InstanceNorm layer must have only one single input.", Source: "gate: guide B; text: ours",
		Remedy: "make gamma and beta constants, or multiply and add after the layer"}); r != nil {
		return r
	}
	return wantFloat(l, diag.Finding{ID: diag.InstanceNormFloat, Text: "InstanceNorm output tensor must be in Float format", Source: fromStrings})
}

func validateL2Norm(l *Layer, t *hal.Target) *diag.Finding {
	if r := wantInputs(l, 1, diag.Finding{ID: diag.L2NormInputs, Text: "L2 norm layer must have only one single input.", Source: "gate: the descriptor; text: ours"}); r != nil {
		return r
	}
	if l.Params.(*L2Norm).Axes.Has(N) {
		return &diag.Finding{
			ID: diag.L2NormAxes, Text: "L2 norm does not support batch axis",
			Limit: "D, C, H and W", Found: axesString(l.Params.(*L2Norm).Axes), Remedy: "transpose the batch to another axis", Source: fromStrings,
		}
	}
	if len(l.Tops) > 0 {
		if d := l.Tops[0].Type.DType; d != tensor.Float16 && d != tensor.Float32 {
			return &diag.Finding{
				ID: diag.L2NormFormat, Text: "Error: L2 norm output tensor format must be Float16",
				Limit: "fp16", Found: d.String(), Remedy: "leave the result in fp16 and convert it in a layer of its own", Source: fromStrings,
			}
		}
	}
	return nil
}

// validateMinMaxNorm: width and height run everywhere, the channel from family A14
// on (guide B).
func validateMinMaxNorm(l *Layer, t *hal.Target) *diag.Finding {
	if r := needs(t, hal.CapMinMaxNorm, diag.Finding{
		ID: diag.MinMaxNormCapability, Text: "MinMaxNorm is not supported on this architecture",
		Remedy: "write the minimum and the maximum as reductions, and Sub and Div with them",
		Source: "gate: guide B; text: ours, the compiler's is an encoded assert",
	}); r != nil {
		return r
	}
	if r := wantInputs(l, 1, diag.Finding{ID: diag.MinMaxNormInputs, Text: "Min/max norm layer must have only one single input.", Source: "gate: guide B; text: ours"}); r != nil {
		return r
	}
	axes := l.Params.(*MinMaxNorm).Axes
	if axes.Has(N) || axes.Has(C) && t.Family < hal.A14 {
		return &diag.Finding{
			ID: diag.MinMaxNormAxes, Text: "Min/max norm layer does not support batch/channel axis",
			Limit: "D, H and W; C on " + hal.A14.OrLater(), Found: axesString(axes), Remedy: "transpose the axis to width or height",
			Source: "gate: guide B, where a later chip takes the channel: A14 is inferred; text: " + fromStrings,
		}
	}
	return nil
}

func validateLRN(l *Layer, t *hal.Target) *diag.Finding {
	if r := needs(t, hal.CapLRN, diag.Finding{
		ID: diag.LRNCapability, Text: "LRN is not supported on this architecture.",
		Remedy: "write the sum of squares as a convolution over the channels, then Power and Mult",
		Source: "guide B",
	}); r != nil {
		return r
	}
	p := l.Params.(*LRN)
	if r := wantInputs(l, 1, diag.Finding{ID: diag.LRNInputs, Text: "LRN layer must have only one single input.", Source: "gate: guide B; text: ours"}); r != nil {
		return r
	}
	x := l.Bottoms[0].Type.Dims
	switch {
	case p.Size > x[C]:
		return &diag.Finding{
			ID: diag.LRNChannels, Text: fmt.Sprintf("LRN Channel count must be greater than kernel channel. Channel: %d, Kernel Depth: %d", x[C], p.Size),
			Limit: fmt.Sprintf("[1, %d]", x[C]), Found: fmt.Sprint(p.Size), Remedy: "make the window no larger than the channels", Source: fromStrings,
		}
	case x[D] > 1:
		return &diag.Finding{
			ID: diag.LRNDepth, Text: fmt.Sprintf("Tensor depth must be 1 for a channelwise LRN. Depth: %d", x[D]),
			Limit: "1", Found: fmt.Sprint(x[D]), Remedy: "fold the depth into the height with a reshape", Source: fromStrings,
		}
	}
	return nil
}

var minMaxNormCodegen = []CodegenVerdict{
	{
		ID: diag.CodegenMinMaxChannel, Subject: "range normalization over channels", Route: Authored, From: firstFamily, To: lastFamily, Fails: true,
		Text: "Min/max norm layer does not support batch/channel axis", Remedy: "transpose the channels to width",
		Status: hal.Measured, Seen: []hal.Family{hal.A13, hal.A17}, Source: "guide B, on M1; " + fromForge + "; text: " + fromStrings,
		found: func(l *Layer, _ *hal.Target) (string, bool) {
			axes := l.Params.(*MinMaxNorm).Axes
			return axesString(axes), axes.Has(C) || axes.Has(N)
		},
	},
	{
		Subject: "range normalization along width or height on M1", Route: Authored, From: hal.A13, To: hal.A13,
		Text: "runs", Status: hal.Measured, Source: "guide B",
		Disputed: []hal.Family{hal.A13}, Against: "the M1 rejects range normalization: guide 26 (arch-gated negatives)",
	},
}

var lrnCodegen = []CodegenVerdict{
	{
		ID: diag.CodegenLRN, Subject: "local response normalization of 16 channels or more", Route: Authored, From: firstFamily, To: lastFamily, Fails: true,
		Text: "LRN of 16 or more channels fails code generation", Remedy: "normalize by squares, a pooling over channels and a power",
		Status: hal.Measured, Seen: []hal.Family{hal.A13, hal.A17}, Source: "guide B, on M1; " + fromForge + ": the converted operation has no such limit; text: ours",
		found: func(l *Layer, _ *hal.Target) (string, bool) {
			x := l.bottom(0)
			if x == nil {
				return "", false
			}
			return fmt.Sprintf("%d channels", x.Type.Dims[C]), x.Type.Dims[C] >= 16
		},
	},
}
