package anec

import (
	"fmt"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/diag"
)

// validateInputView: that the window lies inside is the shape rule's. That a view
// must follow a reshape (guide 26) is not held: ANEForge runs one on an input.
func validateInputView(l *Layer, _ *hal.Target) *diag.Finding {
	p, x := l.Params.(*InputView), l.Bottoms[0]
	if p.Size < 1 {
		return &diag.Finding{
			ID: diag.InputViewSize, Text: "InvalidInputViewSize", Limit: "1 or more", Found: fmt.Sprint(p.Size),
			Remedy: "leave the empty tensor out", Source: fromGates + ": the gate's name; guide 4: no extent 0",
		}
	}
	if p.Step == 0 {
		return &diag.Finding{
			ID: diag.InputViewStep, Text: "InvalidInputViewStep", Limit: "not 0", Found: "0",
			Remedy: "give the distance of the elements", Source: fromGates + ": the gate's name",
		}
	}
	if extent := x.Type.Dims[p.Axis]; p.Step < 0 && p.Size != extent {
		return &diag.Finding{
			ID: diag.InputViewPartialReverse, Text: "Error: View unit cannot be a partial view with negative strides",
			Limit: fmt.Sprintf("all %d", extent), Found: fmt.Sprint(p.Size), Remedy: "reverse the whole axis and take the part of it", Source: fromStrings,
		}
	}
	if i := interleaveOf(x); p.Axis == C && p.Offset%i != 0 {
		return &diag.Finding{
			ID: diag.InputViewInterleave, Text: fmt.Sprintf("Error: illegal View whose channel offset %d is not divisible by the interleave factor %d", p.Offset, i),
			Limit: fmt.Sprintf("multiples of %d", i), Found: fmt.Sprint(p.Offset), Remedy: "begin at a multiple, or store x without interleave", Source: fromStrings,
		}
	}
	return nil
}

// validateDynamicSlice: the compiler's validator takes slices on every target;
// what becomes of them is Codegen's.
func validateDynamicSlice(l *Layer, _ *hal.Target) *diag.Finding {
	p := l.Params.(*DynamicSlice)
	for i, n := range p.Sizes {
		if n < 1 {
			return &diag.Finding{
				ID: diag.DynamicSliceSize, Text: fmt.Sprintf("Invalid dynamic slice size %s = %d", axisNames[p.Axes[i]], n),
				Limit: "1 or more", Found: fmt.Sprint(n), Remedy: "leave the empty slice out", Source: "guide 4: no extent 0" + textOurs,
			}
		}
	}
	return nil
}

var dynamicSliceCodegen = []CodegenVerdict{
	{
		ID: diag.CodegenDynamicSlice, Subject: "a slice that begins where a tensor says", From: firstFamily, To: hal.A13, Fails: true,
		Text: "DynamicSlice passes validation and is rejected at code generation on this architecture", Remedy: "slice at a constant, or multiply with a one-hot matrix",
		Status: hal.Measured, Seen: []hal.Family{hal.A13}, Source: "guide 4, 17, 22, 24, 26, 35, A and B, on M1; text: ours",
	},
}
