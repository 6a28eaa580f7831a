package anec

import (
	"fmt"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// The compiler's validators take sorts and top-k on every target; what becomes of
// them is Codegen's. That the direction is known and K within the axis is the
// shape rule's. A limit on the vectors is known by its text alone ("Sort/TopK
// layer's vector_dimension size exceeds the record limit"), so it is not held.

func validateSort(l *Layer, _ *hal.Target) *diag.Finding {
	return validateSorted(l, l.Params.(*Sort).Results, diag.SortFormat, "Sort unit output format must be FP16 or Uint16")
}

func validateTopK(l *Layer, _ *hal.Target) *diag.Finding {
	return validateSorted(l, l.Params.(*TopK).Results, diag.TopKFormat, "TopK unit output format must be FP16 or Uint16")
}

// validateSorted holds values and indices to the formats that sorting makes.
func validateSorted(l *Layer, results td.Results, id diag.ID, text string) *diag.Finding {
	for i, top := range l.Tops {
		have := top.Type.DType
		stored := have
		if i > 0 || results == td.ResultIndices || have == tensor.Float32 {
			stored = onChip(have) // int32 counts here; an int32 value is none that fits
		}
		if stored != tensor.Float16 && stored != tensor.UInt16 {
			return &diag.Finding{ID: id, Text: text, Limit: "fp16, uint16", Found: have.String(), Remedy: "cast to fp16 before", Source: fromGates + "; text: " + fromStrings}
		}
	}
	return nil
}

var sortCodegen = []CodegenVerdict{
	{
		ID: diag.CodegenSort, Subject: "sort", From: firstFamily, To: hal.A13, Fails: true,
		Text: "Sort passes validation and is rejected at code generation on this architecture", Remedy: "sort on the host",
		Status: hal.Measured, Seen: []hal.Family{hal.A13}, Source: "guide 4, 17, 22, 24, 26, 35, A and B, on M1; text: ours",
	},
}

var topKCodegen = []CodegenVerdict{
	{
		ID: diag.CodegenTopK, Subject: "top-k", From: firstFamily, To: hal.A13, Fails: true,
		Text: "TopK passes validation and is rejected at code generation on this architecture", Remedy: "sort on the host, or take the maximum k times",
		Status: hal.Measured, Seen: []hal.Family{hal.A13}, Source: "guide 4, 22, 24, 35, A and B (gates), on M1; text: ours",
		Disputed: []hal.Family{hal.A13}, Against: "it runs on the M1 for other k than 3 and 4: guide B (catalog), 17 and 26",
	},
	{
		ID: diag.CodegenTopKBand, Subject: "top-k with k 3 or 4", Route: Authored, From: hal.A14, To: hal.A17, Fails: true,
		Text: "Validation for RCAS failed", Remedy: "ask for 5 and take the first of them",
		Status: hal.Measured, Seen: []hal.Family{hal.A16, hal.A17}, Source: "guide B; " + fromForge + "; text, for k 4 on h16g: " + fromStudy,
		found: func(l *Layer, _ *hal.Target) (string, bool) {
			k := l.Params.(*TopK).K
			return fmt.Sprintf("k = %d", k), k == 3 || k == 4
		},
	},
	{
		Subject: "top-k with k 4", Route: Authored, From: hal.A18, To: hal.A18,
		Text: "compiles", Status: hal.Measured, Source: fromStudy + ": h18g, k 4 along width",
	},
}
