package ops

import (
	"strings"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// The names that layers have for the modes of resample, affine and crop_resize.
var (
	samplePads = map[string]td.PaddingMode{
		"constant": td.PadBackground, "border": td.PadReplication, "reflection": td.PadReflective, "symmetric": td.PadSymmetric,
	}
	sampleCoordinates = map[string]td.CoordinateMode{
		"unnormalized":                td.CoordNonNormalized,
		"normalized_minus_one_to_one": td.CoordNormalizedSymmetric,
		"normalized_zero_to_one":      td.CoordNormalizedUnit,
	}
	boxCoordinates = map[string]td.BoxMode{
		"CORNERS_HEIGHT_FIRST":     td.BoxCornersHeightFirst,
		"CORNERS_WIDTH_FIRST":      td.BoxCornersWidthFirst,
		"CENTER_SIZE_HEIGHT_FIRST": td.BoxCenterHeightFirst,
		"CENTER_SIZE_WIDTH_FIRST":  td.BoxCenterWidthFirst,
	}
)

// sampling is how resample and affine sample; the type rule has checked the names.
func (l *Lowering) sampling() anec.Sampling {
	s := anec.Sampling{
		Coordinate:   sampleCoordinates[strings.ToLower(l.Str("coordinates_mode"))],
		Padding:      samplePads[strings.ToLower(l.Str("padding_mode"))],
		Background:   l.Float("padding_value"),
		AlignCorners: l.Bool("align_corners"),
	}
	if strings.EqualFold(l.Str("sampling_mode"), "nearest") {
		s.Method = td.SampleNearest
	}
	return s
}

// lowerAffine: a row of the model's matrices is two rows of three numbers.
func lowerAffine(l *Lowering) error {
	size := l.OutShape(0)
	matrix := l.Reshape(l.In("transform_matrix"), anec.Dims{int(l.Shape("transform_matrix")[0]), 1, 1, 2, 3})
	l.Give(0, l.Layer(l.Name(), &anec.AffineTransform{Sampling: l.sampling(), Size: [2]int{size[2], size[3]}}, l.In("x"), matrix))
	return nil
}

// lowerResample: the model has the two coordinates of a point side by side, the layer has them in two channels.
//
//	[n, h, w, 2]  lies on n,1,h,w,2  Transpose  n,1,2,h,w
func lowerResample(l *Lowering) error {
	at := l.Transpose(l.In("coordinates"), anec.Perm{anec.N, anec.D, anec.W, anec.C, anec.H})
	l.Give(0, l.Layer(l.Name(), &anec.Resample{Sampling: l.sampling()}, l.In("x"), at))
	return nil
}

func lowerCrop(l *Lowering) error {
	x, to := l.In("x"), l.OutDims(0)
	x = l.part(x, anec.H, l.Ints("crop_height")[0], to[anec.H])
	l.Give(0, l.part(x, anec.W, l.Ints("crop_width")[0], to[anec.W]))
	return nil
}

// maxCropImages bounds the layers of a crop_resize that cuts every box out of every image.
const maxCropImages = 64

// lowerCropResize: the layer pairs boxes of four numbers with images, and takes those of five from the image whose
// number comes first. The model has three forms:
//
//	roi [boxes, 1, 5, 1, 1]    as it lies
//	roi [boxes, 1, 4, 1, 1]    every box from every image: a layer for each image, side by side along D
//	boxes [boxes, 4]           box i from image i, or from image box_indices[i]: then Concat puts it before the box
func lowerCropResize(l *Lowering) error {
	size := l.OutShape(0)
	crop := anec.CropResize{
		Sampling: anec.Sampling{Method: td.SampleLinear, Coordinate: td.CoordNonNormalized, Padding: td.PadBackground},
		Size:     [2]int(size[len(size)-2:]),
		Grid:     samplingGrids[l.Str("sampling_mode")],
		Boxes:    boxCoordinates[l.Str("box_coordinate_mode")],
		Scale:    l.Float("spatial_scale"),
	}
	if l.Bool("normalized_coordinates") {
		crop.Coordinate = td.CoordNormalizedUnit
	}
	if l.Has("pad_value") {
		crop.Background = l.Float("pad_value")
	}
	x, images := l.In("x"), int(l.Shape("x")[0])
	switch {
	case l.version.Param("roi") == nil:
		boxes := size[0]
		box := l.Reshape(l.In("boxes"), anec.Dims{boxes, 1, 4, 1, 1})
		if l.Has("box_indices") {
			image := l.Reshape(l.In("box_indices"), anec.Dims{boxes, 1, 1, 1, 1})
			box = l.Layer(l.Name()+"_boxes", &anec.Concat{Axis: anec.C}, l.Cast(image, tensor.Float32), l.Cast(box, tensor.Float32))
		} else {
			x = l.part(x, anec.N, 0, boxes)
		}
		l.Give(0, l.Layer(l.Name(), &crop, x, box))
	case l.Shape("roi")[2] == 5 || images == 1:
		l.Give(0, l.Layer(l.Name(), &crop, x, l.In("roi")))
	case images > maxCropImages:
		return l.Refuse("boxes without the number of an image are cut out of all %d: at most %d become layers", images, maxCropImages)
	default:
		cut := make([]*anec.Value, images)
		for i := range cut {
			one := crop
			cut[i] = l.Layer(l.Name(), &one, l.part(x, anec.N, i, 1), l.In("roi"))
		}
		l.Give(0, l.Layer(l.Name(), &anec.Concat{Axis: anec.D}, cut...))
	}
	return nil
}
