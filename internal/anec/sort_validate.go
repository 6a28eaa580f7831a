package anec

import (
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
