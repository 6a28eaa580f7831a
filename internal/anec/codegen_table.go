package anec

import (
	"fmt"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

const (
	firstFamily, lastFamily = hal.A11Legacy, hal.A18

	// noBackend is what the compiler says of an operation that nothing takes.
	noBackend = "Some ops are not supported on any of the specified backends"
)

// codegenVerdicts is the table. A later row does not soften an earlier one: the
// first that fails speaks.
var codegenVerdicts = []CodegenVerdict{
	{
		ID: diag.CodegenTopK, Kind: KindTopK, Subject: "top-k", From: firstFamily, To: hal.A13, Fails: true,
		Text: "TopK passes validation and is rejected at code generation on this architecture", Remedy: "sort on the host, or take the maximum k times",
		Status: hal.Measured, Seen: []hal.Family{hal.A13}, Source: "guide 4, 22, 24, 35, A and B (gates), on M1; text: ours",
		Disputed: []hal.Family{hal.A13}, Against: "it runs on the M1 for other k than 3 and 4: guide B (catalog), 17 and 26",
	},
	{
		ID: diag.CodegenTopKBand, Kind: KindTopK, Subject: "top-k with k 3 or 4", Route: Authored, From: hal.A14, To: hal.A17, Fails: true,
		Text: "Validation for RCAS failed", Remedy: "ask for 5 and take the first of them",
		Status: hal.Measured, Seen: []hal.Family{hal.A16, hal.A17}, Source: "guide B; " + fromForge + "; text, for k 4 on h16g: " + fromStudy,
		found: func(l *Layer, _ *hal.Target) (string, bool) {
			k := l.Params.(*TopK).K
			return fmt.Sprintf("k = %d", k), k == 3 || k == 4
		},
	},
	{
		Kind: KindTopK, Subject: "top-k with k 4", Route: Authored, From: hal.A18, To: hal.A18,
		Text: "compiles", Status: hal.Measured, Source: fromStudy + ": h18g, k 4 along width",
	},
	{
		ID: diag.CodegenSort, Kind: KindSort, Subject: "sort", From: firstFamily, To: hal.A13, Fails: true,
		Text: "Sort passes validation and is rejected at code generation on this architecture", Remedy: "sort on the host",
		Status: hal.Measured, Seen: []hal.Family{hal.A13}, Source: "guide 4, 17, 22, 24, 26, 35, A and B, on M1; text: ours",
	},
	{
		ID: diag.CodegenDynamicSlice, Kind: KindDynamicSlice, Subject: "a slice that begins where a tensor says", From: firstFamily, To: hal.A13, Fails: true,
		Text: "DynamicSlice passes validation and is rejected at code generation on this architecture", Remedy: "slice at a constant, or multiply with a one-hot matrix",
		Status: hal.Measured, Seen: []hal.Family{hal.A13}, Source: "guide 4, 17, 22, 24, 26, 35, A and B, on M1; text: ours",
	},
	{
		ID: diag.CodegenConv3D, Kind: KindConv, Subject: "three-dimensional convolution", From: firstFamily, To: lastFamily, Fails: true,
		Text: noBackend, Remedy: "one two-dimensional convolution for each depth of the kernel, and add the results",
		Status: hal.Measured, Seen: []hal.Family{hal.A13}, Source: "guide 4, 22 and 24: on every device mask, on M1",
		Disputed: []hal.Family{hal.A16}, Against: "an M4 takes it, as its segmenter reports: " + fromStudy,
		found: func(l *Layer, _ *hal.Target) (string, bool) {
			x, p := l.bottom(0), l.Params.(*Conv)
			if x == nil {
				return "", false
			}
			return fmt.Sprintf("kernel depth %d, depth %d", p.Kernel[0], x.Type.Dims[D]), p.Kernel[0] > 1 || x.Type.Dims[D] > 1
		},
	},
	{
		ID: diag.CodegenLiveKernel, Kind: KindConv, Subject: "convolution with a live kernel and a batch above 1", From: firstFamily, To: lastFamily, Fails: true,
		Text: "lost helper application", Remedy: "a constant kernel, or one convolution for each batch element",
		Status: hal.Measured, Seen: []hal.Family{hal.A13, hal.A17}, Source: "guide 19: the compiler's service dies, on M1; " + fromForge + "; text: ours, after the guide",
		found: func(l *Layer, _ *hal.Target) (string, bool) {
			x, w := l.bottom(0), l.bottom(1)
			if x == nil || w == nil || w.Const != nil {
				return "", false
			}
			return fmt.Sprintf("batch %d", x.Type.Dims[N]), x.Type.Dims[N] > 1
		},
	},
	{
		ID: diag.CodegenUnflatten, Kind: KindUnflatten, Subject: "unflatten", Route: Authored, From: firstFamily, To: lastFamily, Fails: true,
		Text: "Unflatten passes validation and fails lowering for every variant", Remedy: "reshape",
		Status: hal.Measured, Seen: []hal.Family{hal.A13, hal.A17}, Source: "guide 22, on M1; " + fromForge + "; text: ours",
	},
	{
		ID: diag.CodegenLRN, Kind: KindLRN, Subject: "local response normalization of 16 channels or more", Route: Authored, From: firstFamily, To: lastFamily, Fails: true,
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
	{
		Kind: KindGlobalArgMinMax, Subject: "argmin and argmax over a whole axis", Route: Authored, From: hal.A13, To: lastFamily,
		Text: "runs: the byte 0x4f2 is set from A13 on; the converter's floor is A15", Status: hal.Measured, Seen: []hal.Family{hal.A13}, Source: "guide 4, 24, 26, A and B (gates); guide B (catalog) rejects it on M1",
	},
	{
		ID: diag.CodegenCropResize, Kind: KindCropResize, Subject: "crop-resize without a texture engine", From: firstFamily, To: lastFamily, Fails: true,
		Text: "Codegen Error: Invalid Texture CropCfg", Remedy: "crop and resize in two layers where the boxes are known; else leave it to the host",
		Status: hal.Measured, Seen: []hal.Family{hal.A13}, Source: "guide B: passes the validator on M1 and fails lowering",
		found: func(_ *Layer, t *hal.Target) (string, bool) { return "no texture engine", !t.Has(hal.CapTexture) },
	},
	{
		ID: diag.CodegenCropResizeAuthored, Kind: KindCropResize, Subject: "crop-resize as a unit", Route: Authored, From: hal.A17, To: hal.A17, Fails: true,
		Text: "Codegen Error: Invalid Texture CropCfg", Remedy: "take the conversion route",
		Status: hal.Measured, Source: fromForge + ": a constraint on the plane equations; text: guide B",
	},
	{
		ID: diag.CodegenGatherND, Kind: KindGather, Subject: "gather along several axes, one longer than 2048", Route: Converted, From: firstFamily, To: lastFamily, Fails: true,
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
		Kind: KindGather, Subject: "gather on M1", From: hal.A13, To: hal.A13,
		Text: "runs inside the envelope that its validator holds it to; outside, the compiler aborts", Status: hal.Measured, Source: "guide 4, 35, A and B",
	},
	{
		ID: diag.StandIn, Kind: KindGather, Subject: "gather along several axes on M1", Route: Converted, From: hal.A13, To: hal.A13, StandIn: true,
		Text: "runs by software: copies, for a batch and a depth of one", Status: hal.Measured, Source: "guide A, gather_nd; guide 4 and 35, the envelope",
		found: func(l *Layer, _ *hal.Target) (string, bool) {
			axes := len(l.Params.(*Gather).Axes)
			return fmt.Sprintf("%d axes", axes), axes > 1
		},
	},
	{
		ID: diag.StandIn, Kind: KindResize, Subject: "resize on M1", From: hal.A13, To: hal.A13, StandIn: true,
		Text: "runs by software: transposes and convolutions, with other rounding", Status: hal.Measured, Source: "guide 24, 35 and A",
	},
	{
		ID: diag.StandIn, Kind: KindPadding, Subject: "padding with mirrored elements on M1", Route: Converted, From: hal.A13, To: hal.A13, StandIn: true, Lifts: diag.PadMode,
		Text: "runs by software: the texture engine is not there", Status: hal.Measured, Source: "guide A, pad; the authored layer is rejected: guide B",
		found: func(l *Layer, _ *hal.Target) (string, bool) {
			m := l.Params.(*Padding).Mode
			return fmt.Sprint(m), m == td.PadSymmetric || m == td.PadReflective
		},
	},
	{
		ID: diag.CodegenNMS, Kind: KindNMS, Subject: "non-maximum suppression", From: firstFamily, To: lastFamily, Fails: true,
		Text: noBackend, Remedy: "leave it to the host",
		Status: hal.Measured, Seen: []hal.Family{hal.A13, hal.A14, hal.A17}, Source: "guide A and B: a CPU or GPU takes it, never the engine",
		Disputed: []hal.Family{hal.A17}, Against: "it compiles and runs on the M5, though nobody looked at which part ran where: " + fromForge,
	},
	{
		ID: diag.CodegenMinMaxChannel, Kind: KindMinMaxNorm, Subject: "range normalization over channels", Route: Authored, From: firstFamily, To: lastFamily, Fails: true,
		Text: "Min/max norm layer does not support batch/channel axis", Remedy: "transpose the channels to width",
		Status: hal.Measured, Seen: []hal.Family{hal.A13, hal.A17}, Source: "guide B, on M1; " + fromForge + "; text: " + fromStrings,
		found: func(l *Layer, _ *hal.Target) (string, bool) {
			axes := l.Params.(*MinMaxNorm).Axes
			return axesString(axes), axes.Has(C) || axes.Has(N)
		},
	},
	{
		ID: diag.CodegenRingBuffer, Kind: KindRingBufferWriter, Subject: "a ring buffer in a network of one procedure", Route: Authored, From: firstFamily, To: lastFamily, Fails: true,
		Text: "RingBufferWriter needs a network of several procedures", Remedy: "keep the cache in a buffer that the host binds, and write windows of fixed places",
		Status: hal.Measured, Seen: []hal.Family{hal.A17}, Source: fromForge + "; guide 19 and 26; text: ours",
	},
	{
		ID: diag.CodegenRasterizer, Kind: KindKernelRasterizer, Subject: "unfolded windows of more than one element", Route: Authored, From: firstFamily, To: lastFamily, Fails: true,
		Text: "KernelRasterizer compiles as the identity alone", Remedy: "a convolution with a kernel of ones and zeros",
		Status: hal.Measured, Seen: []hal.Family{hal.A17}, Source: fromForge + "; text: ours",
		found: func(l *Layer, _ *hal.Target) (string, bool) {
			k := l.Params.(*KernelRasterizer).Kernel
			return fmt.Sprintf("%d by %d", k[0], k[1]), k != [2]int{1, 1}
		},
	},
	{
		ID: diag.CodegenCustomTable, Kind: KindNeuronCustom, Subject: "an activation by a table of its own", From: firstFamily, To: lastFamily, Fails: true,
		Text: "no network description has both sets of keys that the parser wants", Remedy: "a sum of rectifiers: linear, relu, linear",
		Status: hal.Measured, Seen: []hal.Family{hal.A13, hal.A17}, Source: "guide 26; text: ours",
	},
	{
		ID: diag.CodegenDecomposition, Kind: KindMatrixDecomposition, Subject: "matrix decomposition", From: firstFamily, To: lastFamily, Fails: true,
		Text: "MatrixDecomposition was never seen to compile", Remedy: "leave it to the host",
		Status: hal.Measured, Seen: []hal.Family{hal.A17}, Source: "guide A: no observed code generation; " + fromForge + "; text: ours",
	},
	{
		ID: diag.CodegenPlaneReader, Kind: KindPlaneReader, Subject: "image input by four-character code", From: firstFamily, To: lastFamily, Fails: true,
		Text: "true 4CC input faults at lowering; use the uint8 in-graph image input instead", Remedy: "take the image as uint8 and convert in the graph",
		Status: hal.Measured, Seen: []hal.Family{hal.A13}, Source: "guide 19",
	},
	{
		ID: diag.CodegenPlaneWriter, Kind: KindPlaneWriter, Subject: "image output by planes", From: firstFamily, To: lastFamily, Fails: true,
		Text: "image output is internal to the compiler", Remedy: "give the tensor and convert outside",
		Status: hal.Predicted, Source: "guide A: tensor_to_pixel_buffer is compiler-internal; text: ours",
	},
	{
		ID: diag.CodegenInt32, Kind: KindTypeCast, Subject: "a cast to or from 32-bit integers", From: firstFamily, To: lastFamily, Fails: true,
		Text: "32 bit format not supported", Remedy: "stay in fp16, which is exact up to 2048, or cast on the host",
		Status: hal.Measured, Seen: []hal.Family{hal.A13, hal.A16, hal.A18}, Source: "guide 4 and A: to int32, on M1; " + fromStudy + ": both ways; text: " + fromStrings,
		found: func(l *Layer, _ *hal.Target) (string, bool) {
			x, to := l.bottom(0), l.Params.(*TypeCast).To
			if x == nil {
				return "", false
			}
			return fmt.Sprintf("%v to %v", x.Type.DType, to), wideInteger(x.Type.DType) || wideInteger(to)
		},
	},
	{
		Kind: KindScaledElementWise, Subject: "a scaled product", Route: Authored, From: hal.A13, To: lastFamily,
		Text: "compiles and ignores the scale; a scaled difference is rejected", Status: hal.Measured, Seen: []hal.Family{hal.A17}, Source: fromForge,
	},
	{
		Kind: KindCrossProduct, Subject: "cross product", Route: Authored, From: hal.A13, To: lastFamily,
		Text: "runs; the converter has no such operation", Status: hal.Measured, Seen: []hal.Family{hal.A13, hal.A17}, Source: "guide A and B",
	},
	{
		Kind: KindCostVolume, Subject: "cost volume", Route: Authored, From: hal.A13, To: lastFamily,
		Text: "runs; the converter has no such operation", Status: hal.Measured, Seen: []hal.Family{hal.A13, hal.A17}, Source: "guide A and B",
	},
}

// maxGathered is the longest axis that a converted gather of several axes takes.
const maxGathered = 2048

func wideInteger(d tensor.DType) bool {
	switch d {
	case tensor.Int32, tensor.UInt32, tensor.Int64, tensor.UInt64:
		return true
	}
	return false
}
