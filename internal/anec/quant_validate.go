package anec

import (
	"fmt"
	"slices"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/tensor"
)

// Quant and DeQuant have no exported validator; these are the gates of the layers
// that they become.

var (
	quantInputs  = []tensor.DType{tensor.Float16, tensor.Float32}
	quantOutputs = []tensor.DType{tensor.Int8, tensor.UInt8, tensor.Float8E4M3FN, tensor.Float8E5M2}
	deQuantTypes = []tensor.DType{tensor.Int8, tensor.UInt8, tensor.Int4, tensor.Float8E4M3FN}
)

func validateQuant(l *Layer, t *hal.Target) *diag.Finding {
	p, x := l.Params.(*Quant), l.bottom(0)
	switch {
	case x == nil || !slices.Contains(quantInputs, x.Type.DType):
		return &diag.Finding{
			ID: diag.QuantInput, Text: "Quant layer must have fp16 or fp32 input format.",
			Limit: "fp16 or fp32", Found: typeName(x), Remedy: "cast to fp16 before", Source: fromStrings,
		}
	case !slices.Contains(quantOutputs, p.To):
		return &diag.Finding{
			ID: diag.QuantOutput, Text: "Quant layer must have int8, uint8, e4m3 or e5m2 output format.",
			Limit: "int8, uint8, e4m3, e5m2", Found: p.To.String(), Remedy: "quantize to int8 or uint8", Source: fromStrings,
		}
	}
	return validateScale(l, x.Type.Dims)
}

func validateDeQuant(l *Layer, t *hal.Target) *diag.Finding {
	x := l.bottom(0)
	if x != nil && x.Const != nil {
		return nil // weights: they stream or fold and are no layer
	}
	switch {
	case x == nil || !slices.Contains(deQuantTypes, x.Type.DType):
		return &diag.Finding{
			ID: diag.DeQuantInput, Text: "Dequant layer must have int8, uint8, int4 or e4m3 input format.",
			Limit: "int8, uint8, int4, e4m3", Found: typeName(x), Remedy: "keep the tensor in int8 or uint8", Source: fromStrings,
		}
	case len(l.Tops) > 0 && !slices.Contains(quantInputs, l.Tops[0].Type.DType):
		return &diag.Finding{
			ID: diag.DeQuantOutput, Text: "Dequant layer must have fp16 output format.",
			Limit: "fp16", Found: typeName(l.Tops[0]), Remedy: "leave the result in fp16", Source: fromStrings,
		}
	case l.bottom(3) != nil || l.bottom(4) != nil:
		return &diag.Finding{
			ID: diag.DeQuantCompressed, Text: "Dequant layer takes scale and zero point only: tables and masks are for constants",
			Limit: "scale and zero", Found: fmt.Sprintf("%d operands", len(l.Bottoms)), Remedy: "gather from the table, or multiply with the mask", Source: "gate: guide 25; text: ours",
		}
	case x.Type.DType == tensor.Int4 && l.bottom(1) != nil && l.Bottoms[1].Type.Dims != (Dims{1, 1, 1, 1, 1}):
		return &diag.Finding{
			ID: diag.DeQuantInt4, Text: "Int4 Per-Cout Dequant is not supported",
			Limit: "one scale", Found: l.Bottoms[1].Type.Dims.String(), Remedy: "use one scale for all channels, or int8", Source: fromStrings,
		}
	}
	return validateScale(l, x.Type.Dims)
}

// validateScale holds scale and zero point to one number, or one for each channel.
func validateScale(l *Layer, x Dims) *diag.Finding {
	for i := 1; i <= 2; i++ {
		b := l.bottom(i)
		if b == nil || b.Type.Dims == (Dims{1, 1, 1, 1, 1}) || b.Type.Dims == (Dims{1, 1, x[C], 1, 1}) {
			continue
		}
		return &diag.Finding{
			ID: diag.QuantScale, Text: "ANE doesn't support blockwise scale",
			Limit: "one number, or one for each channel", Found: b.Type.Dims.String(),
			Remedy: "transpose the scaled axis to the channels, or use one scale for all", Source: fromStrings,
		}
	}
	return nil
}

func typeName(v *Value) string {
	if v == nil {
		return "none"
	}
	return v.Type.DType.String()
}
