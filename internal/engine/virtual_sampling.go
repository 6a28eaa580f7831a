package engine

import (
	"github.com/espalier-ane/espalier/internal/strided"
	"github.com/espalier-ane/espalier/td"
)

// stridedPlacing fills in the fields of the classes that take elements from
// other places, or from between them.
func stridedPlacing(o *strided.Params, params td.Params) {
	switch p := params.(type) {
	case *td.Padding:
		o.Before, o.Kind, o.Background = p.Before, uint8(p.Mode), p.Value
	case *td.DynamicSlice:
		o.Kind, o.Background, o.FromEnd = uint8(p.Padding), p.Background, p.FromEnd
		for _, a := range p.Axes[:p.Number] {
			o.Sliced = append(o.Sliced, int(a))
		}
	case *td.PixelShuffle:
		o.Factors = [3]int{p.X, p.Y, p.Z}
	case *td.PixelUnshuffle:
		o.Factors = [3]int{p.X, p.Y, p.Z}
	case *td.SpaceToBatch:
		o.Factors = [3]int{p.X, p.Y, p.Z}
	case *td.BatchToSpace:
		o.Factors = [3]int{p.X, p.Y, p.Z}
	case *td.SpaceToChannel:
		o.Factors = [3]int{p.X, p.Y, p.Z}
	case *td.ChannelToSpace:
		o.Factors = [3]int{p.X, p.Y, p.Z}
	case *td.Resize:
		o.Sampling = strided.Sampling{Method: uint8(p.Method), Grid: uint8(p.Grid), Rounding: uint8(p.Rounding), Distance: p.Scale}
	case *td.Resample:
		o.Sampling = stridedSampling(&p.Sampling)
	case *td.AffineTransform:
		o.Sampling = stridedSampling(&p.Sampling)
	case *td.CropResize:
		o.Sampling = stridedSampling(&p.Sampling)
		o.Sampling.Grid, o.Sampling.Boxes, o.Sampling.Scale = uint8(p.Grid), uint8(p.Boxes), p.Scale
	}
}

func stridedSampling(s *td.Sampling) strided.Sampling {
	return strided.Sampling{
		Method: uint8(s.Method), Coordinate: uint8(s.Coordinate), Padding: uint8(s.Padding), Background: s.Background,
		AlignCorners: s.AlignCorners,
	}
}
