package anec

import (
	"fmt"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/tensor"
)

// maxBoxes is how many boxes the segmenter sends to an engine.
const maxBoxes = 2048

// validateNMS: Apple's unit has the four numbers of a box along C and the batch
// along N; ours has them along W and C. Passing means little: no target runs the
// layer on its engine (Codegen).
func validateNMS(l *Layer, _ *hal.Target) *diag.Finding {
	boxes, scores := l.Bottoms[0].Type, l.Bottoms[1].Type
	if n := boxes.Dims[W]; n != 4 {
		return &diag.Finding{
			ID: diag.NMSBox, Text: fmt.Sprintf("NMS Boxes channels must be %d", 4), Limit: "4", Found: fmt.Sprint(n),
			Remedy: "give the four numbers of a box", Source: fromGates + "; text: " + fromStrings,
		}
	}
	if boxes.Dims[C] != scores.Dims[C] {
		return &diag.Finding{
			ID: diag.NMSBatch, Text: "NMS Boxes batch must equal Scores batch", Limit: fmt.Sprint(boxes.Dims[C]), Found: fmt.Sprint(scores.Dims[C]),
			Remedy: "give scores for each batch element", Source: fromStrings,
		}
	}
	if n := boxes.Dims[H]; n > maxBoxes {
		return &diag.Finding{
			ID: diag.NMSBoxes, Text: fmt.Sprintf("NonMaximumSuppression kernel cannot currently run on ANE with more than %d input boxes", maxBoxes),
			Limit: fmt.Sprint(maxBoxes), Found: fmt.Sprint(n), Remedy: "take the boxes with the best scores first", Source: "text, of the segmenter: " + fromStudy,
		}
	}
	if d := onChip(boxes.DType); d != tensor.Float16 && d != tensor.UInt16 {
		return &diag.Finding{
			ID: diag.NMSFormat, Text: "NMS output format must be either Float 16 or UInt 16", Limit: "fp16, uint16", Found: boxes.DType.String(),
			Remedy: "cast to fp16 before", Source: fromStrings,
		}
	}
	return nil
}

var nmsCodegen = []CodegenVerdict{
	{
		ID: diag.CodegenNMS, Subject: "non-maximum suppression", From: firstFamily, To: lastFamily, Fails: true,
		Text: noBackend, Remedy: "leave it to the host",
		Status: hal.Measured, Seen: []hal.Family{hal.A13, hal.A14, hal.A17}, Source: "guide A and B: a CPU or GPU takes it, never the engine",
		Disputed: []hal.Family{hal.A17}, Against: "it compiles and runs on the M5, though nobody looked at which part ran where: " + fromForge,
	},
}
