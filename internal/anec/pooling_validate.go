package anec

import (
	"fmt"
	"slices"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/td"
)

func validatePool(l *Layer, t *hal.Target) *diag.Finding {
	p := l.Params.(*Pooling)
	if r := wantInputs(l, 1, diag.Finding{
		ID:     diag.PoolInputs,
		Text:   "Pool layer must have only one single input.",
		Source: "guide 17",
	}); r != nil {
		return r
	}
	if r := wantArithmetic(l); r != nil {
		return r
	}
	if legacy(t) && !slices.Contains(oldPools, p.Type) {
		return &diag.Finding{
			ID:     diag.PoolMode,
			Text:   fmt.Sprintf("Pooling mode \"%v\" is not available on this ANE architecture.", p.Type),
			Limit:  fmt.Sprint(oldPools),
			Found:  p.Type.String(),
			Remedy: "use Avg or Max, and a transpose before it for what goes over the channels",
			Source: "text: guide B; which modes: inferred, reductions come with family A13 (guide 24)",
		}
	}
	return validatePoolWindow(p, l.Bottoms[0].Type.Dims, t)
}

// oldPools are the modes of the families before A13, which have no reductions.
var oldPools = []td.PoolKind{td.PoolAvg, td.PoolMax, td.PoolMin, td.PoolL1, td.PoolL2}

// maxPoolWindow is the widest window of an average from family A14 on; before, the
// widest kernel is less.
const maxPoolWindow = 31

func validatePoolWindow(p *Pooling, x Dims, t *hal.Target) *diag.Finding {
	for i, a := range windowAxes {
		k, before, after := p.Kernel[i], p.PadBefore[i], p.PadAfter[i]
		switch {
		case p.Dilation[i] > 1:
			return &diag.Finding{
				ID:     diag.PoolDilation,
				Text:   "Dilated Pooling not supported on ANE",
				Limit:  "1",
				Found:  fmt.Sprint(p.Dilation[i]),
				Remedy: "take strided slices and pool each of them",
				Source: fromStrings,
			}
		case k > x[a]+before+after:
			return &diag.Finding{
				ID:     diag.PoolWindow,
				Text:   fmt.Sprintf("pool kernel %s = %d, it should be in [1, %d], the input with its padding", kernelNames[i], k, x[a]+before+after),
				Limit:  fmt.Sprintf("[1, %d]", x[a]+before+after),
				Found:  fmt.Sprint(k),
				Remedy: "make the window as large as the input",
				Source: "gate: guide B and 17; text: ours",
			}
		case max(before, after) > 0 && max(before, after) >= k:
			r := &diag.Finding{
				ID:     diag.PoolPadding,
				Text:   fmt.Sprintf("pool padding along %s = %d, it should be in [0, %d]", kernelNames[i], max(before, after), k-1),
				Limit:  fmt.Sprintf("[0, %d]", k-1),
				Found:  fmt.Sprint(max(before, after)),
				Remedy: "write the padding as a Padding layer before the pooling",
				Source: "gate: guide B; text: ours",
			}
			if p.Type == td.PoolAvg && p.ExcludePad {
				r.Text = "Cannot support avg pool with exclude padding size equal to or larger than kernel size"
				r.Source = "gate: guide B; text: " + fromStrings
			}
			return r
		}
		if limit := min(kernelRange(t, i, hal.DefaultFormat, false).Max, maxPoolWindow); p.Type == td.PoolAvg && k > limit && k != x[a] {
			return &diag.Finding{
				ID:     diag.PoolKernelRange,
				Text:   fmt.Sprintf("Invalid Pool kernel %s (%d), must be [1-%d] or %d", kernelNames[i], k, limit, x[a]),
				Limit:  fmt.Sprintf("[1, %d] or %d", limit, x[a]),
				Found:  fmt.Sprint(k),
				Remedy: "pool twice with windows whose product is this one, or with the whole input",
				Source: "limit: guide A, avg_pool; text: " + fromCoreML,
			}
		}
	}
	return validatePoolPadding(p)
}

// validatePoolPadding holds the mode to what cannot change the result.
func validatePoolPadding(p *Pooling) *diag.Finding {
	if p.PadBefore == [3]int{} && p.PadAfter == [3]int{} {
		return nil
	}
	r := &diag.Finding{
		ID:     diag.PoolPaddingMode,
		Found:  p.PaddingMode.String(),
		Source: "gate: guide 17; text: " + fromStrings,
	}
	switch {
	case p.Type == td.PoolMax && p.PaddingMode != td.PadNegative:
		r.Text, r.Limit, r.Remedy = "MaxPool padding mode must be Negative", "Negative", "pad with Negative, which a maximum ignores"
	case p.Type == td.PoolMin: // no source has the number of the mode Positive
		r.Text, r.Limit, r.Remedy = "MinPool padding mode must be Positive", "Positive", "negate the input, take the Max and negate that"
	case p.Type == td.PoolL2 && p.PaddingMode != td.PadReplication && p.PaddingMode != td.PadZero:
		r.Text, r.Limit, r.Remedy = "L2Pool padding mode must be Replication or Zero", "Replication or Zero", "pad with Zero"
	default:
		return nil
	}
	return r
}

// maxArgExtent is how many elements an argument of the minimum or maximum can be
// among: the index comes back as an fp16.
const maxArgExtent = 2048

// wantArgExtent holds axes that are searched to what an index can tell.
func wantArgExtent(x Dims, axes ...td.Axis) *diag.Finding {
	for _, a := range axes {
		if x[a] <= maxArgExtent {
			continue
		}
		return &diag.Finding{
			ID:     diag.ArgExtent,
			Text:   fmt.Sprintf("arg-min and arg-max over %s = %d, it should be in [1, %d]", axisNames[a], x[a], maxArgExtent),
			Limit:  fmt.Sprintf("[1, %d]", maxArgExtent),
			Found:  fmt.Sprint(x[a]),
			Remedy: fmt.Sprintf("split the axis into parts of at most %d, take the argument in each and then among their extremes", maxArgExtent),
			Source: "guide B and 17, measured on M1; text: ours",
		}
	}
	return nil
}

var argStrides = []int{1, 2, 4}

func validateArgMinMax(l *Layer, t *hal.Target) *diag.Finding {
	p := l.Params.(*ArgMinMax)
	if r := wantInputs(l, 1, diag.Finding{ID: diag.ArgMinMaxInputs, Text: "ArgMinMax layer must have one input", Source: "guide B"}); r != nil {
		return r
	}
	axes := []td.Axis{H, W}
	if p.Mode == td.ChannelArgMin || p.Mode == td.ChannelArgMax {
		axes = []td.Axis{C}
	}
	if r := wantArgExtent(l.Bottoms[0].Type.Dims, axes...); r != nil {
		return r
	}
	r := &diag.Finding{ID: diag.ArgMinMaxPadding, Source: "gate: guide B and 17; text: " + fromStrings}
	front, top, left := p.PadBefore[0], p.PadBefore[1], p.PadBefore[2]
	back, bottom, right := p.PadAfter[0], p.PadAfter[1], p.PadAfter[2]
	r.Found = fmt.Sprintf("%v before, %v after", p.PadBefore, p.PadAfter)
	r.Remedy = "pad the input evenly with a Padding layer and search without padding"
	switch {
	case left > 0 && left >= p.Kernel[2]:
		r.Text = fmt.Sprintf("ArgMinMax left padding value should be smaller than kernel width %d, but %d is given", p.Kernel[2], left)
		r.Limit, r.Source = fmt.Sprintf("[0, %d]", p.Kernel[2]-1), "guide 17"
	case top > 0 && top >= p.Kernel[1]:
		r.Text = fmt.Sprintf("ArgMinMax top padding value should be smaller than kernel height %d, but %d is given", p.Kernel[1], top)
		r.Limit, r.Source = fmt.Sprintf("[0, %d]", p.Kernel[1]-1), "gate: guide 17; text: ours, after that for the left"
	case left != right:
		r.Text, r.Limit = fmt.Sprintf("ArgMinMax must have equal left and right padding, but left:%d and right:%d are given", left, right), "equal"
	case top != bottom:
		r.Text, r.Limit = fmt.Sprintf("ArgMinMax must have equal top and bottom padding, but top:%d and bot:%d are given", top, bottom), "equal"
	case front != 0 || back != 0:
		r.Text, r.Limit = fmt.Sprintf("ArgMinMax must have zero front and back padding, but front:%d and back:%d are given", front, back), "0"
	case !slices.Contains(argStrides, p.Stride[2]):
		r.Text, r.Limit, r.Found = fmt.Sprintf("Invalid ArgMinMax pool stride x:%d, must be within [1, 2, 4]", p.Stride[2]), "1, 2 or 4", fmt.Sprint(p.Stride[2])
		r.ID, r.Remedy = diag.ArgMinMaxStride, "search with stride 1 and slice the result with this step"
	case !slices.Contains(argStrides, p.Stride[1]):
		r.Text, r.Limit, r.Found = fmt.Sprintf("Invalid ArgMinMax pool stride y:%d, must be within [1, 2, 4]", p.Stride[1]), "1, 2 or 4", fmt.Sprint(p.Stride[1])
		r.ID, r.Remedy = diag.ArgMinMaxStride, "search with stride 1 and slice the result with this step"
	default:
		return nil
	}
	return r
}

func validateGlobalArgMinMax(l *Layer, t *hal.Target) *diag.Finding {
	p := l.Params.(*GlobalArgMinMax)
	if r := needs(t, hal.CapGlobalArgMinMax, diag.Finding{
		ID:     diag.GlobalArgMinMaxCapability,
		Text:   "GlobalArgMinMax is not supported on this architecture",
		Remedy: "write an ArgMinMax over the channels, after a transpose that brings the axis there",
		Source: "gate: guide B and 24; text: ours, the compiler's is an encoded assert",
	}); r != nil {
		return r
	}
	if r := wantInputs(l, 1, diag.Finding{ID: diag.GlobalArgMinMaxInputs, Text: "GlobalArgMinMax layer must have one input", Source: "gate: guide B; text: ours"}); r != nil {
		return r
	}
	switch {
	case p.Type != td.Min && p.Type != td.Max:
		return &diag.Finding{
			ID: diag.GlobalArgMinMaxMode, Text: fmt.Sprintf("GlobalArgMinMax mode %d, it should be 1 or 2", uint8(p.Type)),
			Limit: "1 or 2", Found: fmt.Sprint(uint8(p.Type)), Remedy: "use Min or Max", Source: "gate: guide B; text: ours",
		}
	case p.Axis >= NumAxes:
		return &diag.Finding{
			ID: diag.GlobalArgMinMaxAxis, Text: fmt.Sprintf("GlobalArgMinMax dimension %d is invalid", uint8(p.Axis)),
			Limit: "0 to 4", Found: fmt.Sprint(uint8(p.Axis)), Remedy: "use one of N, D, C, H, W", Source: "gate: guide B; text: ours",
		}
	}
	return wantArgExtent(l.Bottoms[0].Type.Dims, p.Axis)
}

var globalArgMinMaxCodegen = []CodegenVerdict{
	{
		Subject: "argmin and argmax over a whole axis", Route: Authored, From: hal.A13, To: lastFamily,
		Text: "runs: the byte 0x4f2 is set from A13 on; the converter's floor is A15", Status: hal.Measured, Seen: []hal.Family{hal.A13, hal.A17},
		Source:   "guide 4, 24, 26 (two compile routes), A and B (gates); " + fromForge,
		Disputed: []hal.Family{hal.A13, hal.A14}, Against: "gated to A15 by direct authoring too: guide 26 (arch-gated negatives), 35 and B (catalog)",
	},
}
