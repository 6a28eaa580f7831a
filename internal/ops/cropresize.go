package ops

import (
	"errors"
	"fmt"
	"math"

	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

var cropOps = []Def{
	{
		Name:     "crop",
		Doc:      "x without the given numbers of rows and columns at its edges",
		Versions: since(IOS15, In("x", Float).As("T"), Const("crop_height", I32), Const("crop_width", I32)),
		Infer:    inferCrop,
		Eval:     evalCrop,
		Lower:    lowerCrop,
	},
	{
		Name:  "crop_resize",
		Doc:   "boxes cut out of images and resized by linear interpolation",
		Lower: lowerCropResize,
		Versions: []Version{
			{Since: IOS15, Infer: inferCropROI, Eval: evalCropROI, Params: cropResizeParams(
				In("x", Float).As("T"), In("roi", Float).As("T"))},
			{Since: IOS16, Infer: inferCropROI, Eval: evalCropROI, Params: append(cropResizeParams(
				In("x", Float).As("T"), In("roi", Float).As("T")), OptConst("pad_value", Float, 0.0).As("T"))},
			{Since: IOS17, Infer: inferCropBoxes, Eval: evalCropBoxes, Params: append(cropResizeParams(
				In("x", Float).As("T"), In("boxes", Float|U16).As("BOX_T"), Opt("box_indices", I32|U16, nil).As("BOX_INDEX_T")),
				OptConst("pad_value", Float, 0.0).As("T"))},
		},
	},
}

// cropResizeParams adds the parameters that all versions of crop_resize have.
func cropResizeParams(first ...Param) []Param {
	return append(first,
		OptConst("target_height", I32, 1),
		OptConst("target_width", I32, 1),
		OptConst("normalized_coordinates", B, false),
		OptConst("spatial_scale", F32, 1.0),
		OptConst("box_coordinate_mode", Str, "CORNERS_HEIGHT_FIRST"),
		OptConst("sampling_mode", Str, "DEFAULT"))
}

func inferCrop(c *Call) ([]mil.Type, error) {
	if err := needImage(c); err != nil {
		return nil, err
	}
	shape := joinShapes(c.Shape("x"))
	for i, name := range []string{"crop_height", "crop_width"} {
		axis := len(shape) - 2 + i
		n, err := croppedLength(c, name, shape[axis])
		if err != nil {
			return nil, err
		}
		shape[axis] = n
	}
	return one(c.DType("x"), shape)
}

func croppedLength(c *Call, name string, n tensor.Dim) (tensor.Dim, error) {
	amounts := c.Int64s(name)
	switch {
	case len(amounts) != 2:
		return 0, fmt.Errorf("%s has %d elements, expected 2", name, len(amounts))
	case amounts[0] < 0 || amounts[1] < 0:
		return 0, fmt.Errorf("%s is %v, expected no negative amount", name, amounts)
	case amounts[0] == 0 && amounts[1] == 0:
		return n, nil
	case !n.Known():
		return tensor.Unknown, nil
	case amounts[0]+amounts[1] > int64(n):
		return 0, fmt.Errorf("%s is %v, but x has only %v there", name, amounts, n)
	}
	return n - tensor.Dim(amounts[0]+amounts[1]), nil
}

func evalCrop(c *Call) error {
	x, shape := c.Tensor("x"), c.OutShape(0)
	for i, name := range []string{"crop_height", "crop_width"} {
		axis := len(shape) - 2 + i
		var err error
		if x, err = x.Slice(axis, c.Ints(name)[0], shape[axis], 1); err != nil {
			return err
		}
	}
	c.Return(0, x)
	return nil
}

// inferCropROI is the rule until iOS17: boxes of shape [N, 1, 4, 1, 1] are cut out of every image, those of
// [N, 1, 5, 1, 1] out of the one whose number comes before the coordinates.
func inferCropROI(c *Call) ([]mil.Type, error) {
	target, err := inferCropTarget(c)
	if err != nil {
		return nil, err
	}
	x, roi := c.Shape("x"), c.Shape("roi")
	form := tensor.Shape{tensor.Unknown, 1, tensor.Unknown, 1, 1}
	if !roi.Compatible(form) || roi[2].Known() && roi[2] != 4 && roi[2] != 5 {
		return nil, fmt.Errorf("roi has shape %v, expected [boxes, 1, 4, 1, 1] or [boxes, 1, 5, 1, 1]", roi)
	}
	images := tensor.Unknown
	switch roi[2] {
	case 4:
		images = x[0]
	case 5:
		images = 1
	}
	return one(c.DType("x"), joinShapes(tensor.Shape{roi[0], images, x[1]}, target))
}

// inferCropBoxes is the rule from iOS17 on: each box has an image of its own.
func inferCropBoxes(c *Call) ([]mil.Type, error) {
	target, err := inferCropTarget(c)
	if err != nil {
		return nil, err
	}
	x, boxes := c.Shape("x"), c.Shape("boxes")
	if !boxes.Compatible(tensor.Shape{tensor.Unknown, 4}) {
		return nil, fmt.Errorf("boxes has shape %v, expected [boxes, 4]", boxes)
	}
	if c.Bool("normalized_coordinates") && !c.DType("boxes").IsFloat() {
		return nil, fmt.Errorf("boxes is %v, expected floats as the coordinates are normalized", c.Type("boxes"))
	}
	switch {
	case c.Has("box_indices"):
		if err := mustMatch("box_indices", c.Shape("box_indices"), boxes[:1], "one for each box"); err != nil {
			return nil, err
		}
		if c.Known("box_indices") && x[0].Known() {
			for i, image := range c.Int64s("box_indices") {
				if err := checkImageIndex(i, float64(image), int(x[0])); err != nil {
					return nil, err
				}
			}
		}
	case boxes[0].Known() && x[0].Known() && boxes[0] > x[0]:
		return nil, fmt.Errorf("there are %v boxes, but only %v images, and no box_indices to choose among them", boxes[0], x[0])
	}
	return one(c.DType("x"), joinShapes(tensor.Shape{boxes[0], x[1]}, target))
}

func checkImageIndex(box int, image float64, images int) error {
	if image >= 0 && image < float64(images) && image == math.Trunc(image) {
		return nil
	}
	return fmt.Errorf("box %d is of image %v, expected 0 to %d", box, image, images-1)
}

// inferCropTarget checks what all versions share and returns the height and width of the result.
func inferCropTarget(c *Call) (tensor.Shape, error) {
	if err := checkImages(c); err != nil {
		return nil, err
	}
	if err := checkSamplingMode(c); err != nil {
		return nil, err
	}
	if mode := c.Str("box_coordinate_mode"); boxModes[mode] == nil {
		return nil, fmt.Errorf("box_coordinate_mode is %q, expected CORNERS_HEIGHT_FIRST, CORNERS_WIDTH_FIRST, CENTER_SIZE_HEIGHT_FIRST or CENTER_SIZE_WIDTH_FIRST", mode)
	}
	if x := c.Shape("x"); x[2] == 0 || x[3] == 0 {
		return nil, errors.New("x has no pixels")
	}
	h, err := targetLength(c, "target_height")
	if err != nil {
		return nil, err
	}
	w, err := targetLength(c, "target_width")
	return tensor.Shape{h, w}, err
}

// span is one axis of a box: the positions of its first and its last point. A box may run backwards.
type span struct{ start, end float64 }

// boxModes make the vertical and the horizontal span of a box from its four coordinates.
var boxModes = map[string]func(v []float64) (vertical, horizontal span){
	"CORNERS_HEIGHT_FIRST": func(v []float64) (span, span) { return span{v[0], v[2]}, span{v[1], v[3]} },
	"CORNERS_WIDTH_FIRST":  func(v []float64) (span, span) { return span{v[1], v[3]}, span{v[0], v[2]} },
	"CENTER_SIZE_HEIGHT_FIRST": func(v []float64) (span, span) {
		return centered(v[0], v[2]), centered(v[1], v[3])
	},
	"CENTER_SIZE_WIDTH_FIRST": func(v []float64) (span, span) {
		return centered(v[1], v[3]), centered(v[0], v[2])
	},
}

func centered(center, size float64) span { return span{center - size/2, center + size/2} }

// taps are the mixes at m points of the span, on an axis of length n. The points are laid out in the span
// as a sampling mode does it on an axis: of length end-start+1. Points outside the image have lo = nowhere.
func (s span) taps(mode string, n, m int) []tap {
	length, sign := s.end-s.start, 1.0
	if length < 0 {
		length, sign = -length, -1
	}
	taps := make([]tap, m)
	for i, along := range samplePoints(mode, length+1, m) {
		// In float32: the last point of a box that ends at the edge must not miss it by a rounding error.
		pos := float64(float32(s.start + sign*along))
		taps[i] = tap{lo: nowhere}
		if pos >= 0 && pos <= float64(n-1) {
			taps[i] = tapAt(pos, n)
		}
	}
	return taps
}

// crop is a box to be cut out of an image.
type crop struct {
	image int
	box   []float64
}

func evalCropROI(c *Call) error {
	roi, images := c.Tensor("roi"), c.Tensor("x").Shape()[0]
	vals, size := roi.Float64s(), roi.Shape()[2]
	if c.OutLen(0) == 0 {
		return evalCropResize(c, nil)
	}
	var crops []crop
	for i := range roi.Shape()[0] {
		box := vals[i*size : (i+1)*size]
		if size == 5 {
			if err := checkImageIndex(i, box[0], images); err != nil {
				return err
			}
			crops = append(crops, crop{int(box[0]), box[1:]})
			continue
		}
		for image := range images {
			crops = append(crops, crop{image, box})
		}
	}
	return evalCropResize(c, crops)
}

func evalCropBoxes(c *Call) error {
	vals := c.Tensor("boxes").Float64s()
	crops := make([]crop, len(vals)/4)
	for i := range crops {
		crops[i] = crop{i, vals[4*i : 4*i+4]}
	}
	if c.Has("box_indices") {
		for i, image := range c.Int64s("box_indices") {
			crops[i].image = int(image)
		}
	}
	return evalCropResize(c, crops)
}

func evalCropResize(c *Call, crops []crop) error {
	out := make([]float32, c.OutLen(0))
	if len(out) == 0 {
		c.ReturnFloats(0, out)
		return nil
	}
	x, s := c.Floats("x"), c.Tensor("x").Shape()
	channels, height, width := s[1], s[2], s[3]
	toHeight, toWidth := c.Int("target_height"), c.Int("target_width")
	mode, spans := c.Str("sampling_mode"), boxModes[c.Str("box_coordinate_mode")]
	scaleH := float64(c.Float("spatial_scale"))
	scaleW := scaleH
	if c.Bool("normalized_coordinates") {
		scaleH, scaleW = scaleH*float64(height-1), scaleW*float64(width-1)
	}
	var padding float32 // until iOS16 there is no pad_value
	if c.Has("pad_value") {
		padding = c.Float("pad_value")
	}
	size := channels * toHeight * toWidth
	c.For(len(crops), 1+1<<14/size, func(lo, hi int) {
		for k := lo; k < hi; k++ {
			v, h := spans(crops[k].box)
			rows := span{v.start * scaleH, v.end * scaleH}.taps(mode, height, toHeight)
			cols := span{h.start * scaleW, h.end * scaleW}.taps(mode, width, toWidth)
			for ch := range channels {
				plane := x[(crops[k].image*channels+ch)*height*width:]
				dst := out[k*size+ch*toHeight*toWidth:]
				for i, r := range rows {
					if c.asked() {
						return
					}
					for j, q := range cols {
						dst[i*toWidth+j] = mixPixel(plane, width, r, q, padding)
					}
				}
			}
		}
	})
	c.ReturnFloats(0, out)
	return nil
}

// mixPixel is the bilinear mix of a plane at a row and a column, or the padding outside.
func mixPixel(plane []float32, width int, row, col tap, padding float32) float32 {
	if row.lo == nowhere || col.lo == nowhere {
		return padding
	}
	across := func(y int) float32 {
		return mixTwo(plane[y*width+col.lo], plane[y*width+col.hi], col.t)
	}
	if row.t == 0 {
		return across(row.lo)
	}
	return mixTwo(across(row.lo), across(row.hi), row.t)
}

func mixTwo(a, b float32, t float64) float32 {
	if t == 0 { // b may be infinite, and 0·∞ is not a number
		return a
	}
	return float32(a*float32(1-t)) + float32(b*float32(t))
}
