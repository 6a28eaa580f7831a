package anec

import (
	"fmt"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/diag"
	"github.com/espalier-ane/espalier/td"
)

func validateCrossProduct(l *Layer, _ *hal.Target) *diag.Finding {
	for _, v := range l.Bottoms {
		if r := validateHalf(diag.CrossProductFormat, "CrossProduct operands must be FP16", "; gate: guide 26"+textOurs, v); r != nil {
			return r
		}
		if i := interleaveOf(v); i != 1 {
			return &diag.Finding{
				ID: diag.CrossProductInterleave, Text: fmt.Sprintf("CrossProduct interleave factor = %d, it should be 1", i),
				Limit: "1", Found: fmt.Sprint(i), Remedy: "store the operands without interleave", Source: "guide 26" + textOurs,
			}
		}
		if d := v.Type.Dims; d[D] != 1 || d[C] != 3 || d[H] != 1 || d[W] != 1 {
			return &diag.Finding{
				ID: diag.CrossProductExtents, Text: fmt.Sprintf("CrossProduct operand %v, it should be D1 C3 H1 W1", d),
				Limit: "D1 C3 H1 W1", Found: d.String(), Remedy: "put the vectors along N; or multiply and subtract permuted channels", Source: "guide B, catalog" + textOurs,
			}
		}
	}
	return nil
}

// The largest clouds that a chip's layer takes (guide B, catalog; ANEForge).
const (
	maxCentroids = 1024
	maxPoints    = 8192
)

func validateFurthestPointSampling(l *Layer, _ *hal.Target) *diag.Finding {
	p := l.Params.(*FurthestPointSampling)
	const source = "guide B, catalog" + textOurs
	if p.Metric != td.DistanceL2 {
		return &diag.Finding{
			ID: diag.FPSMetric, Text: fmt.Sprintf("FurthestPointSampling distance metric %v is not supported on this architecture", p.Metric),
			Limit: "L2", Found: p.Metric.String(), Remedy: "use L2", Source: source,
		}
	}
	if p.Count > maxCentroids {
		return &diag.Finding{
			ID: diag.FPSCentroids, Text: fmt.Sprintf("FurthestPointSampling CentroidCount = %d, it should be in [1, %d]", p.Count, maxCentroids),
			Limit: fmt.Sprintf("[1, %d]", maxCentroids), Found: fmt.Sprint(p.Count), Remedy: "sample in several layers", Source: source,
		}
	}
	if n := l.Bottoms[0].Type.Dims[W]; n > maxPoints {
		return &diag.Finding{
			ID: diag.FPSPoints, Text: fmt.Sprintf("FurthestPointSampling of %d points, it should be in [1, %d]", n, maxPoints),
			Limit: fmt.Sprintf("[1, %d]", maxPoints), Found: fmt.Sprint(n), Remedy: "split the cloud", Source: source,
		}
	}
	return nil
}

func validateRadiusSearch(l *Layer, _ *hal.Target) *diag.Finding {
	for _, v := range l.Bottoms {
		if d := v.Type.Dims; d[D] != 1 || d[C] != 3 || d[H] != 1 {
			return &diag.Finding{
				ID: diag.RadiusSearchExtents, Text: fmt.Sprintf("RadiusSearch operand %v, it should be D1 C3 H1", d),
				Limit: "D1 C3 H1", Found: d.String(), Remedy: "put the points along W, their coordinates along C", Source: "guide B, catalog" + textOurs,
			}
		}
	}
	return nil
}

func validateCostVolume(l *Layer, _ *hal.Target) *diag.Finding {
	p, aux, ref := l.Params.(*CostVolume), l.Bottoms[0].Type.Dims, l.Bottoms[1].Type.Dims
	if want := aux[W] + p.Range; ref[W] < want {
		return &diag.Finding{
			ID: diag.CostVolumeWidth, Text: fmt.Sprintf("CostVolume reference width = %d, it should be at least %d", ref[W], want),
			Limit: fmt.Sprintf("%d or more", want), Found: fmt.Sprint(ref[W]), Remedy: "pad the reference by the disparity range", Source: "guide B, catalog" + textOurs,
		}
	}
	return nil
}

var crossProductCodegen = []CodegenVerdict{
	{
		Subject: "cross product", Route: Authored, From: hal.A13, To: lastFamily,
		Text: "runs; the converter has no such operation", Status: hal.Measured, Seen: []hal.Family{hal.A13, hal.A17}, Source: "guide A and B",
	},
}

var costVolumeCodegen = []CodegenVerdict{
	{
		Subject: "cost volume", Route: Authored, From: hal.A13, To: lastFamily,
		Text: "runs; the converter has no such operation", Status: hal.Measured, Seen: []hal.Family{hal.A13, hal.A17}, Source: "guide A and B",
	},
}

var matrixDecompositionCodegen = []CodegenVerdict{
	{
		ID: diag.CodegenDecomposition, Subject: "matrix decomposition", From: firstFamily, To: lastFamily, Fails: true,
		Text: "MatrixDecomposition was never seen to compile", Remedy: "leave it to the host",
		Status: hal.Measured, Seen: []hal.Family{hal.A17}, Source: "guide A: no observed code generation; " + fromForge + "; text: ours",
	},
}
