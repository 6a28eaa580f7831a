package anec

import (
	"fmt"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// The samplers need the texture engine, which the first of them names in its
// string. CropResize passes its validator without one and fails later: Codegen.

func validateAffineTransform(l *Layer, t *hal.Target) *diag.Finding {
	if r := needs(t, hal.CapTexture, diag.Finding{
		ID: diag.AffineTexture, Text: "affine transform is not supported on this architecture",
		Remedy: "resize or crop where the transform is one; else leave it to the host", Source: fromGates,
	}); r != nil {
		return r
	}
	return validateHalf(diag.AffineMatrix, "affine transform matrix format must be FP16", "; gate: guide B"+textOurs, l.Bottoms[1])
}

func validateResample(l *Layer, t *hal.Target) *diag.Finding {
	at := l.Bottoms[1].Type.Dims
	if at[C] != 1 && at[C] != 2 {
		return &diag.Finding{
			ID: diag.ResampleChannels, Text: "Channel size in coordinates should be 1 or 2",
			Limit: "1, 2", Found: fmt.Sprint(at[C]), Remedy: "give one coordinate for W, or one for W and one for H", Source: fromGates,
		}
	}
	if at[D] != 1 {
		return &diag.Finding{
			ID: diag.ResampleDepth, Text: "Depth size in coordinates should be 1",
			Limit: "1", Found: fmt.Sprint(at[D]), Remedy: "one layer for each depth", Source: fromGates + "; text: ours, after that of the channels",
		}
	}
	return needs(t, hal.CapTexture, diag.Finding{
		ID: diag.ResampleTexture, Text: "resample is not supported on this architecture",
		Remedy: "resize where the grid is regular; else leave it to the host", Source: fromGates + ": texture engine from the A14; text: ours, after that of the affine transform",
	})
}

func validateCropResize(l *Layer, _ *hal.Target) *diag.Finding {
	x, boxes := l.Bottoms[0].Type.Dims, l.Bottoms[1]
	if r := validateHalf(diag.CropResizeIndex, "Crop Resize index format must be FP16", "; gate: guide B; text: "+fromStrings, boxes); r != nil {
		return r
	}
	if b := boxes.Type.Dims; b[C] == 4 && x[N] != 1 && x[N] != b[N] {
		return &diag.Finding{
			ID: diag.CropResizeBatch, Text: "Illegal crop_resize batch sizes for index tensor and input tensor",
			Limit: fmt.Sprintf("1, %d", b[N]), Found: fmt.Sprint(x[N]), Remedy: "name the batch element in each box", Source: fromStrings,
		}
	}
	return nil
}

// validateHalf holds an operand to fp16.
func validateHalf(id diag.ID, text, source string, v *Value) *diag.Finding {
	if d := v.Type.DType; onChip(d) != tensor.Float16 {
		return &diag.Finding{ID: id, Text: text, Limit: "fp16", Found: d.String(), Remedy: "cast to fp16 before", Source: "guide 4, type limits" + source}
	}
	return nil
}

var cropResizeCodegen = []CodegenVerdict{
	{
		ID: diag.CodegenCropResize, Subject: "crop-resize without a texture engine", From: firstFamily, To: lastFamily, Fails: true,
		Text: "Codegen Error: Invalid Texture CropCfg", Remedy: "crop and resize in two layers where the boxes are known; else leave it to the host",
		Status: hal.Measured, Seen: []hal.Family{hal.A13}, Source: "guide B: passes the validator on M1 and fails lowering",
		found: func(_ *Layer, t *hal.Target) (string, bool) { return "no texture engine", !t.Has(hal.CapTexture) },
	},
	{
		ID: diag.CodegenCropResizeAuthored, Subject: "crop-resize as a unit", Route: Authored, From: hal.A17, To: hal.A17, Fails: true,
		Text: "Codegen Error: Invalid Texture CropCfg", Remedy: "take the conversion route",
		Status: hal.Measured, Source: fromForge + ": a constraint on the plane equations; text: guide B",
		Disputed: []hal.Family{hal.A17}, Against: "authored samplers are accepted from A14 on: guide 26 (arch-gated negatives)",
	},
}

var resampleCodegen = []CodegenVerdict{
	{
		ID: diag.CodegenResampleAuthored, Subject: "resample between elements, as a unit", Route: Authored, From: hal.A17, To: hal.A17, Fails: true,
		Text: "Resample between elements fails code generation", Remedy: "resample at the nearest elements, or take the conversion route",
		Status: hal.Measured, Source: fromForge + ": the unit runs at the nearest elements; text: ours",
		Disputed: []hal.Family{hal.A17}, Against: "authored samplers are accepted from A14 on: guide 26 (arch-gated negatives)",
		found: func(l *Layer, _ *hal.Target) (string, bool) {
			method := l.Params.(*Resample).Method
			return method.String(), method != td.SampleNearest
		},
	},
}
