package v256

import (
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/td"
)

// Kinds that take elements from computed places, and those of points and pictures.

var sampleEmitters = map[anec.Kind]emitter{
	anec.KindResize:                emitResize,
	anec.KindResizeAs:              emitResizeAs,
	anec.KindResample:              emitResample,
	anec.KindAffineTransform:       emitAffineTransform,
	anec.KindCropResize:            emitCropResize,
	anec.KindCrossProduct:          emitCrossProduct,
	anec.KindCostVolume:            emitCostVolume,
	anec.KindFurthestPointSampling: emitFurthestPointSampling,
	anec.KindRadiusSearch:          emitRadiusSearch,
}

// emitResize gives the distance of the points where the layer has both: alone, Scale says how many there are.
func emitResize(e *emission) error {
	p := e.Params.(*anec.Resize)
	r := &td.Resize{Method: p.Method, Grid: p.Grid, Rounding: p.Rounding}
	for i, size := range p.Size {
		if size != 0 {
			r.Scale[i] = p.Scale[i]
		}
	}
	return e.begin(r, e.bottom(0))
}

func emitResizeAs(e *emission) error {
	p := e.Params.(*anec.ResizeAs)
	return e.begin(&td.Resize{Method: p.Method, Grid: p.Grid, Rounding: p.Rounding}, e.bottom(0))
}

func samplingOf(s *anec.Sampling) td.Sampling {
	return td.Sampling{
		Method: s.Method, Coordinate: s.Coordinate, Padding: s.Padding, Background: s.Background, AlignCorners: s.AlignCorners,
	}
}

func emitResample(e *emission) error {
	p := e.Params.(*anec.Resample)
	return e.begin(&td.Resample{Sampling: samplingOf(&p.Sampling)}, e.bottom(0), e.bottom(1))
}

func emitAffineTransform(e *emission) error {
	p := e.Params.(*anec.AffineTransform)
	return e.begin(&td.AffineTransform{Sampling: samplingOf(&p.Sampling)}, e.bottom(0), e.bottom(1))
}

func emitCropResize(e *emission) error {
	p := e.Params.(*anec.CropResize)
	return e.begin(&td.CropResize{Sampling: samplingOf(&p.Sampling), Grid: p.Grid, Boxes: p.Boxes, Scale: p.Scale},
		e.bottom(0), e.bottom(1))
}

func emitCrossProduct(e *emission) error {
	return e.begin(&td.CrossProduct{}, e.bottom(0), e.bottom(1))
}

func emitCostVolume(e *emission) error {
	p := e.Params.(*anec.CostVolume)
	return e.begin(&td.CostVolume{Direction: p.Direction, Range: p.Range}, e.bottom(0), e.bottom(1))
}

func emitFurthestPointSampling(e *emission) error {
	p := e.Params.(*anec.FurthestPointSampling)
	return e.begin(&td.FurthestPointSampling{Count: p.Count, Metric: p.Metric}, e.bottom(0))
}

func emitRadiusSearch(e *emission) error {
	p := e.Params.(*anec.RadiusSearch)
	return e.begin(&td.RadiusSearch{Radius: p.Radius}, e.bottom(0), e.bottom(1))
}
