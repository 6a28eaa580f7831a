package anec

import (
	"fmt"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/diag"
)

// validateCrossCorrelation: the layer becomes a convolution with a live kernel,
// so a convolution's kernel limits hold for the template. That it has depth 1 and
// lies flat along W is the shape rule's.
func validateCrossCorrelation(l *Layer, t *hal.Target) *diag.Finding {
	p := l.Params.(*CrossCorrelation)
	if p.Groups < 1 {
		return &diag.Finding{
			ID: diag.CrossCorrelationGroups, Text: "Cross Correlation: Num Groups must be positive",
			Limit: "1 or more", Found: fmt.Sprint(p.Groups), Remedy: "give 1", Source: fromStrings,
		}
	}
	limits := &t.Limits
	for i, most := range []int{limits.KernelHeight[hal.Large], limits.KernelWidth[hal.Large][hal.FP16Format].Max} {
		if n := p.Template[i]; n < 1 || n > most {
			name := axisNames[planeAxes[i]]
			return &diag.Finding{
				ID: diag.CrossCorrelationTemplate, Text: fmt.Sprintf("Invalid conv kernel %s = %d, It should be in [%d,%d]", name, n, 1, most),
				Limit: fmt.Sprintf("[1, %d]", most), Found: fmt.Sprint(n), Remedy: "split the template along the axis and add the results",
				Source: fromForge + ": lowers to a convolution; text: guide 22, of the convolution",
			}
		}
	}
	return nil
}

var kernelRasterizerCodegen = []CodegenVerdict{
	{
		ID: diag.CodegenRasterizer, Subject: "unfolded windows of more than one element", Route: Authored, From: firstFamily, To: lastFamily, Fails: true,
		Text: "KernelRasterizer compiles as the identity alone", Remedy: "a convolution with a kernel of ones and zeros",
		Status: hal.Measured, Seen: []hal.Family{hal.A17}, Source: fromForge + "; text: ours",
		found: func(l *Layer, _ *hal.Target) (string, bool) {
			k := l.Params.(*KernelRasterizer).Kernel
			return fmt.Sprintf("%d by %d", k[0], k[1]), k != [2]int{1, 1}
		},
	},
}
