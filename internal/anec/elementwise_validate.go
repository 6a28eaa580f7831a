package anec

import (
	"fmt"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// elementWiseInstead are the functions that no chip has, and what to write.
var elementWiseInstead = map[td.EWKind]string{
	td.EWMod: "x - floor(x/z)*z, with Div, a floor, Mult and Sub",
	td.EWAnd: "Mult or Min of the conditions as 0 and 1",
	td.EWOr:  "Max of the conditions as 0 and 1",
	td.EWXor: "NotEqual of the conditions",
}

func validateElementWise(l *Layer, t *hal.Target) *diag.Finding {
	p := l.Params.(*ElementWise)
	want, have := 2, 0
	if p.Type.Unary() {
		want = 1
	}
	for _, b := range l.Bottoms {
		if b != nil {
			have++
		}
	}
	if have != want || l.bottom(0) == nil {
		r := &diag.Finding{
			ID: diag.ElementWiseInputs, Text: fmt.Sprintf("ElementWise %v must have %d input(s)", p.Type, want),
			Limit: fmt.Sprint(want), Found: fmt.Sprint(have), Remedy: "chain layers of two operands", Source: "gate: guide 22; text: ours",
		}
		if want == 2 {
			r.Text, r.Source = "NEElementWise must have only 2 bottoms", fromStrings
		}
		return r
	}
	if instead, none := elementWiseInstead[p.Type]; none {
		return &diag.Finding{
			ID: diag.ElementWiseType, Text: fmt.Sprintf("ElementWise %v is not supported", p.Type),
			Limit: "ZinIrEWType 1 to 21", Found: p.Type.String(), Remedy: "write " + instead, Source: "gate: guide A and C.1; text: ours",
		}
	}
	if r := wantArithmetic(l); r != nil {
		return r
	}
	if z := l.bottom(1); z != nil && p.Type == td.EWDiv && z.Const != nil && z.Const.Stored != nil {
		if f, ok := z.Const.Scalar(); ok && f == 0 {
			return &diag.Finding{
				ID: diag.ElementWiseZero, Text: "Cannot divided by zero",
				Limit: "not 0", Found: "0", Remedy: "divide by something else, or add an epsilon", Source: fromCoreML,
			}
		}
	}
	return validateOldBroadcast(l, t)
}

// validateOldBroadcast: the first two families broadcast fp16 alone.
func validateOldBroadcast(l *Layer, t *hal.Target) *diag.Finding {
	x, z := l.bottom(0), l.bottom(1)
	if t.Family > hal.A12 || z == nil || x.Type.Dims == z.Type.Dims {
		return nil
	}
	for _, v := range []*Value{x, z} {
		if d := v.Type.DType; d != tensor.Float16 {
			return &diag.Finding{
				ID: diag.ElementWiseOldBroadcast, Text: "Only fp16 is supported for A11/A12 Broadcasts.",
				Limit: "fp16", Found: fmt.Sprintf("%v in %s", d, v.Name), Remedy: "cast both operands to fp16, or give them the same extents", Source: fromStrings,
			}
		}
	}
	return nil
}

func validateScaledElementWise(l *Layer, t *hal.Target) *diag.Finding {
	p := l.Params.(*ScaledElementWise)
	if n := len(l.Bottoms); n < 1 || n > 2 || l.Bottoms[0] == nil {
		return &diag.Finding{
			ID: diag.ScaledElementWiseInputs, Text: "Scaled Elementwise must have 1 or 2 input",
			Limit: "1 or 2", Found: fmt.Sprint(n), Remedy: "chain layers of two operands", Source: fromStrings,
		}
	}
	if p.Type < td.ScaledAdd || p.Type > td.ScaledMin {
		return &diag.Finding{
			ID: diag.ScaledElementWiseType, Text: fmt.Sprintf("Scaled Elementwise type %d, it should be in [1, 5]", uint8(p.Type)),
			Limit: "[1, 5]", Found: fmt.Sprint(uint8(p.Type)), Remedy: "use Add, Mult, SumSquare, Max or Min", Source: "gate: guide C.1; text: ours",
		}
	}
	if r := wantArithmetic(l); r != nil {
		return r
	}
	return validateOldBroadcast(l, t)
}

// validateGOC: gain and offset are of each channel, or of all.
func validateGOC(l *Layer, t *hal.Target) *diag.Finding {
	if r := wantInputs(l, 1, diag.Finding{ID: diag.GOCInputs, Text: "GOC layer must have only one single input.", Source: "gate: guide 26.2; text: ours",
		Remedy: "make gain and offset constants, or write a DynamicGOC"}); r != nil {
		return r
	}
	if r := wantArithmetic(l); r != nil {
		return r
	}
	return validateAffine(l, diag.GOCExtent)
}

func validateAffine(l *Layer, id diag.ID) *diag.Finding {
	channels := l.Bottoms[0].Type.Dims[C]
	for _, b := range l.Bottoms[1:] {
		if b == nil {
			continue
		}
		if d := b.Type.Dims; d != (Dims{1, 1, 1, 1, 1}) && d != (Dims{1, 1, channels, 1, 1}) {
			return &diag.Finding{
				ID: id, Text: fmt.Sprintf("gain and offset have one element or one for each channel, height one; %s has %v", b.Name, d),
				Limit: Dims{1, 1, channels, 1, 1}.String(), Found: d.String(),
				Remedy: "write an ElementWise Mult and Add, which take operands of any extents", Source: "gate: guide 26.2; text: ours",
			}
		}
	}
	return nil
}

func validateDynamicGOC(l *Layer, t *hal.Target) *diag.Finding {
	if r := needs(t, hal.CapDynamicGOC, diag.Finding{
		ID: diag.DynamicGOCCapability, Text: "DynamicGOC is not supported", Source: "gate: guide 22.5; text: " + fromStrings,
		Remedy: "write an ElementWise Mult and Add",
	}); r != nil {
		return r
	}
	p := l.Params.(*DynamicGOC)
	if x, bias := l.bottom(0), l.bottom(2); x == nil || len(l.Bottoms) > 3 || p.BiasOnly && (l.bottom(1) != nil || bias == nil) || !p.BiasOnly && l.bottom(1) == nil {
		return &diag.Finding{
			ID: diag.DynamicGOCInputs, Text: "DynamicGOC must have x, gain and offset, or x and offset with BiasOnly",
			Limit: "2 or 3", Found: fmt.Sprint(l.inputs()), Remedy: "give the gain too, or say BiasOnly", Source: "gate: netplist unit; text: ours",
		}
	}
	for _, b := range l.Bottoms {
		if b != nil && b.Type.DType != tensor.Float16 && b.Type.DType != tensor.Float32 {
			return &diag.Finding{
				ID: diag.DynamicGOCFormat, Text: fmt.Sprintf("DynamicGOC only supports FP16, %s is %v", b.Name, b.Type.DType),
				Limit: "fp16", Found: b.Type.DType.String(), Remedy: "cast the operands to fp16", Source: "gate: " + fromStrings + "; text: ours",
			}
		}
	}
	return validateAffine(l, diag.DynamicGOCExtent)
}

func validateBatchNorm(l *Layer, t *hal.Target) *diag.Finding {
	for i := 1; i <= 2; i++ {
		if b := l.bottom(i); b == nil || b.Const == nil {
			return &diag.Finding{
				ID: diag.BatchNormKernel, Text: "BatchNorm must have kernel",
				Limit: "constant mean and variance", Found: "none", Remedy: "make them constants, or write Sub, rsqrt and Mult", Source: fromDecompiled,
			}
		}
	}
	if r := wantInputs(l, 1, diag.Finding{ID: diag.BatchNormInputs, Text: "BatchNorm layer must have only one single input.", Source: fromDecompiled}); r != nil {
		return r
	}
	return wantFloat(l, diag.Finding{ID: diag.BatchNormFloat, Text: "BatchNorm output tensor must be in Float format", Source: fromDecompiled})
}

var scaledElementWiseCodegen = []CodegenVerdict{
	{
		Subject: "a scaled product", Route: Authored, From: hal.A13, To: lastFamily,
		Text: "compiles and ignores the scale; a scaled difference is rejected", Status: hal.Measured, Seen: []hal.Family{hal.A17}, Source: fromForge,
	},
}
