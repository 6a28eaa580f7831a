package anec

import (
	"fmt"
	"slices"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// A convolution's kernel along one axis, by its size on the M1 with fp16 along W:
//
//	1 … 7   small
//	8 … 13  large: the other mode of the engine
//	14 …    too large for the engine. The compiler makes it of kernels of 8 by 8
//	        if both sides are multiples of 8 and nothing else is special about the
//	        convolution; else it rejects (on the M1 14 and 15 do, and 16 with a
//	        height of 3: guide 4)
//
// A stride above 2 is taken apart before: every factor of it moves positions to
// channels and divides the kernel. So 16 by 16 with stride 16, which cuts a
// picture into patches, is 1 by 1 for the engine.

var kernelNames = [3]string{"depth", "height", "width"}

// validateConv takes weights that are live too: the compiler makes a dynamic kernel
// of them (github.com/sbryngelson/ANEForge runs such a convolution on a chip).
func validateConv(l *Layer, t *hal.Target) *diag.Finding {
	p := l.Params.(*Conv)
	x, w := l.bottom(0), l.bottom(1)
	if x == nil || w == nil {
		return &diag.Finding{
			ID:     diag.ConvKernel,
			Text:   "Conv must have Kernel",
			Limit:  "x and w",
			Found:  fmt.Sprintf("%d bottoms", len(l.Bottoms)),
			Remedy: "give the convolution its weights",
			Source: fromStrings,
		}
	}
	if r := wantArithmetic(l); r != nil {
		return r
	}
	if r := validateKernelFormat(w, t); r != nil {
		return r
	}
	if r := validateGroups(l, p, x); r != nil {
		return r
	}
	if r := validateConvPadding(p, t); r != nil {
		return r
	}
	if p.Transposed {
		return validateDeconv(p, x, t)
	}
	if r := validateDilation(p, x, t); r != nil {
		return r
	}
	return validateKernelSize(p, x, t)
}

// validateKernelFormat asks for the one format of weights that most chips lack.
func validateKernelFormat(w *Value, t *hal.Target) *diag.Finding {
	d := w.Type.DType
	if w.Const != nil && w.Const.Stored != nil {
		d = w.Const.Stored.DType()
	}
	if d != tensor.Float8E4M3FN && d != tensor.Float8E5M2 {
		return nil
	}
	r := diag.Finding{
		ID:     diag.KernelFP8,
		Text:   "E4M3 is not supported on this architecture",
		Remedy: "store the weights as fp16, or as a palette of 4 bits, which streams",
		Source: "gate: guide 24; text: " + fromStrings,
	}
	if d == tensor.Float8E5M2 {
		r.Text, r.Limit, r.Found = "E4M3 or E5M2 format not supported", "no fp8 but e4m3", d.String()
		return &r
	}
	return needs(t, hal.CapFP8Kernel, r)
}

func validateGroups(l *Layer, p *Conv, x *Value) *diag.Finding {
	in, out := x.Type.Dims[C], 0
	if len(l.Tops) > 0 {
		out = l.Tops[0].Type.Dims[C]
	}
	if p.Groups > 0 && in%p.Groups == 0 && out%p.Groups == 0 {
		return nil
	}
	return &diag.Finding{
		ID:     diag.ConvGroups,
		Text:   "input/output channels should be divisible by num group",
		Limit:  fmt.Sprintf("multiples of %d groups", p.Groups),
		Found:  fmt.Sprintf("%d input and %d output channels", in, out),
		Remedy: "pad the channels with zeros to a multiple of the number of groups, or use another number of groups",
		Source: "guide 17 and 22",
	}
}

// validateConvPadding asks for the modes alone: how far the padding reaches is free,
// even past the input (guide 4, measured on M1).
func validateConvPadding(p *Conv, t *hal.Target) *diag.Finding {
	padded := p.PadBefore != [3]int{} || p.PadAfter != [3]int{}
	if mirrors := p.PaddingMode == td.PadSymmetric || p.PaddingMode == td.PadReflective; padded && mirrors {
		return needs(t, hal.CapTexture, diag.Finding{
			ID:     diag.ConvPaddingMode,
			Text:   "Architecture does not support padding mode.",
			Remedy: "pad with zeros, or join mirrored slices of the input with a Concat before the convolution",
			Source: "gate: guide 22.5; text: guide 17",
		})
	}
	return nil
}

// kernelFormatOf returns the format by which the limits go: that of the tensor
// (guide 35: by tensor format), which decides what the engine computes in.
func kernelFormatOf(x *Value) hal.KernelFormat {
	if d := x.Type.DType; d == tensor.Int8 || d == tensor.UInt8 {
		return hal.DefaultFormat
	}
	return hal.FP16Format
}

// kernelRange returns the sizes that the engine takes along axis i of a window in
// either mode, or in the mode for small kernels alone.
func kernelRange(t *hal.Target, i int, f hal.KernelFormat, smallOnly bool) hal.Range {
	class := hal.Large
	if smallOnly {
		class = hal.Small
	}
	switch windowAxes[i] {
	case W:
		return hal.Range{Min: 1, Max: t.Limits.KernelWidth[class][f].Max}
	case H:
		return hal.Range{Min: 1, Max: t.Limits.KernelHeight[class]}
	default:
		return hal.Range{Min: 1, Max: t.Limits.KernelDepth[class]}
	}
}

// kernelLimit is the name of that limit in hal.
func kernelLimit(i int, f hal.KernelFormat, smallOnly bool) string {
	class := "large"
	if smallOnly {
		class = "small"
	}
	name := fmt.Sprintf("kernel_%s_%s_max", kernelNames[i], class)
	if windowAxes[i] == W && f == hal.FP16Format {
		name += "_fp16"
	}
	return name
}

func kernelReject(t *hal.Target, i int, f hal.KernelFormat, smallOnly bool, found int, remedy string) *diag.Finding {
	r := kernelRange(t, i, f, smallOnly)
	return &diag.Finding{
		ID:     diag.ConvKernelRange,
		Text:   fmt.Sprintf("Invalid conv kernel %s = %d, It should be in [%d,%d]", kernelNames[i], found, r.Min, r.Max),
		Limit:  limitText(r),
		Found:  fmt.Sprint(found),
		Remedy: remedy,
		Source: "limits: guide A and 17, measured on M1; text: guide 17 and 22 (appendix B has a blank before the last number)",

		Confidence: t.LimitStatus(kernelLimit(i, f, smallOnly)).Confidence(),
	}
}

func validateKernelSize(p *Conv, x *Value, t *hal.Target) *diag.Finding {
	var kernel [3]int
	format, tooLarge := kernelFormatOf(x), -1
	for i := range windowAxes {
		kernel[i] = p.Kernel[i]
		if s := p.Stride[i]; s > 2 && factorsInto(s, t.Limits.StrideFactors) {
			kernel[i] = (kernel[i] + s - 1) / s
		}
		if tooLarge < 0 && !kernelRange(t, i, format, false).Contains(kernel[i]) {
			tooLarge = i
		}
	}
	if tooLarge < 0 {
		return nil
	}
	limit := kernelRange(t, tooLarge, format, false)
	reject := func(remedy string) *diag.Finding {
		return kernelReject(t, tooLarge, format, false, kernel[tooLarge], remedy)
	}
	switch {
	case tooLarge == 0 && limit.Max == 1:
		return reject("fold the depth into the channels and add up two-dimensional convolutions: this target has no depth")
	case tooLarge == 0:
		return reject(fmt.Sprintf("split the kernel along its depth into parts of at most %d and add their results", limit.Max))
	case kernel[tooLarge]%8 != 0:
		return reject(fmt.Sprintf("split the kernel along its %s into parts of at most %d and add their results, or pad it with zeros to a multiple of 8 in width and height", kernelNames[tooLarge], limit.Max))
	}
	return validateLargeKernel(p, kernel)
}

// validateLargeKernel asks whether a kernel that the engine does not have can be
// made of such of 8 by 8.
func validateLargeKernel(p *Conv, kernel [3]int) *diag.Finding {
	r := &diag.Finding{
		ID:     diag.ConvLargeKernel,
		Limit:  "a plain convolution with zero padding and stride 1 or 2",
		Remedy: "split the kernel into smaller ones and add their results",
		Source: "guide B and " + fromDecompiled,
	}
	switch {
	case slices.ContainsFunc(p.Dilation[:], func(n int) bool { return n > 1 }):
		r.Text, r.Found = "Error: dilated conv with large kernel size is not supported", fmt.Sprintf("dilation %v", p.Dilation)
	case p.Groups != 1:
		r.Text, r.Found = "Error: grouped conv with large kernel size is not supported", fmt.Sprintf("%d groups", p.Groups)
	case p.PaddingMode != td.PadZero && (p.PadBefore != [3]int{} || p.PadAfter != [3]int{}):
		r.Text, r.Found = "Error: only support zero padding for conv with large kernel", fmt.Sprintf("padding %v", p.PaddingMode)
	case p.Stride[2] > 2 && kernel[2] == p.Kernel[2]:
		r.Text, r.Found = fmt.Sprintf("Error: x strides should be 1 or 2 for conv with large kernel but is %d", p.Stride[2]), fmt.Sprintf("stride %d", p.Stride[2])
	case p.Stride[1] > 2 && kernel[1] == p.Kernel[1]:
		r.Text, r.Found = fmt.Sprintf("Error: y strides should be 1 or 2 for conv with large kernel but is %d", p.Stride[1]), fmt.Sprintf("stride %d", p.Stride[1])
	case kernel[1]%8 != 0 || kernel[2]%8 != 0:
		r.Text = fmt.Sprintf("Error: kernel width and height should be multiple of 8 for large kernel but are %d and %d", kernel[2], kernel[1])
		r.Limit, r.Found = "multiples of 8", fmt.Sprintf("%d and %d", kernel[2], kernel[1])
		r.Remedy = "pad the kernel with zeros to a multiple of 8 in width and height"
	case kernel[0] != 1:
		r.Text = fmt.Sprintf("Error: kernel with depth = %d > 1 is not supported for large kernel", kernel[0])
		r.Limit, r.Found = "1", fmt.Sprint(kernel[0])
	default:
		return nil
	}
	return r
}

// validateDilation: what of a dilation is not made of stride factors stays in the
// kernel and makes it wider.
func validateDilation(p *Conv, x *Value, t *hal.Target) *diag.Finding {
	r := &diag.Finding{
		ID:     diag.ConvDilation,
		Text:   "InvalidDilationFactor",
		Source: fromDecompiled,
	}
	if p.Dilation[0] > 1 {
		r.Limit, r.Found = "1 along D", fmt.Sprint(p.Dilation[0])
		r.Remedy = "convolve slices of the depth that lie so far apart"
		return r
	}
	limit := kernelRange(t, 2, kernelFormatOf(x), false).Max
	rest := p.Dilation[2]
	for _, f := range t.Limits.StrideFactors {
		for f > 1 && rest%f == 0 {
			rest /= f
		}
	}
	if wide := (p.Kernel[2]-1)*rest + 1; rest != 1 && wide > limit {
		r.Limit = fmt.Sprintf("a kernel of %d along W, dilation and all", limit)
		r.Found = fmt.Sprintf("%d: dilation %d leaves %d", wide, p.Dilation[2], rest)
		r.Remedy = "use a dilation that is a product of 2, 3, 4 and 8"
		return r
	}
	return nil
}

func validateDeconv(p *Conv, x *Value, t *hal.Target) *diag.Finding {
	r := &diag.Finding{ID: diag.Deconv, Source: fromStrings}
	widest := max(p.Stride[1], p.Stride[2])
	switch {
	case slices.ContainsFunc(p.Dilation[:], func(n int) bool { return n > 1 }):
		r.Text, r.Limit, r.Found = "Error: dilated deconvolution is not supported!", "dilation 1", fmt.Sprintf("dilation %v", p.Dilation)
		r.Remedy = "write zeros between the elements of the kernel"
		return r
	case p.Stride[0] > 1:
		r.Text, r.Limit, r.Found = "Error: deconv with stride > 1 is not supported along depth axis", "1", fmt.Sprint(p.Stride[0])
		r.Remedy = "spread the depth out with zeros before the layer and use stride 1"
		return r
	case widest > 2 && p.Kernel[0] > 1:
		r.Text, r.Limit, r.Found = "Error: deconv with stride > 2 does not support kernel depth > 1", "1", fmt.Sprint(p.Kernel[0])
		r.Remedy = "use strides of 1 and 2, in several layers"
		return r
	case widest > 4:
		r.Text, r.Limit, r.Found = "Criterias for large kernel strides are not met", "strides 1 to 4", fmt.Sprint(widest)
		r.Remedy = "use several transposed convolutions with strides of 2, or a resize and a convolution"
		r.Source = "gate: guide C.2 has {1, 2}; 3 and 4 are taken apart: " + fromDecompiled + "; text: " + fromStrings
		return r
	}
	for i := range windowAxes {
		limit := kernelRange(t, i, kernelFormatOf(x), p.Stride[i] > 1)
		if limit.Contains(p.Kernel[i]) {
			continue
		}
		if p.Stride[i] == 1 && i > 0 {
			r.Text, r.Limit, r.Found = "Error: deconv with large kernel size is not supported", limitText(limit), fmt.Sprint(p.Kernel[i])
			r.Remedy = "write it as a convolution with the kernel turned around, and split that"
			r.Source = fromDecompiled
			return r
		}
		k := kernelReject(t, i, kernelFormatOf(x), p.Stride[i] > 1, p.Kernel[i], "spread the input out with zeros and convolve with stride 1, or make the kernel smaller: strided axes take small kernels only")
		k.Source += "; that a strided axis of a transposed convolution takes small kernels only: guide A"
		return k
	}
	return nil
}

func limitText(r hal.Range) string { return fmt.Sprintf("[%d, %d]", r.Min, r.Max) }

var convCodegen = []CodegenVerdict{
	{
		ID: diag.CodegenConv3D, Subject: "three-dimensional convolution", From: firstFamily, To: lastFamily, Fails: true,
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
		ID: diag.CodegenLiveKernel, Subject: "convolution with a live kernel and a batch above 1", From: firstFamily, To: lastFamily, Fails: true,
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
}
