package ops

import (
	"testing"

	"github.com/espalier-ane/espalier/tensor"
)

func TestCrop(t *testing.T) {
	x := seqFrom(tensor.Float32, 1, 1, 3, 4) // by hand
	got := evalOp(t, IOS15, "crop", args{"x": x, "crop_height": []int{1, 0}, "crop_width": []int{0, 2}})
	wantShape(t, got[0], 1, 2, 2)
	wantFloats(t, got[0], 0, 5, 6, 9, 10)
	got = evalOp(t, IOS15, "crop", args{"x": x, "crop_height": []int{0, 0}, "crop_width": []int{3, 1}})
	wantShape(t, got[0], 1, 3, 0)
	got = evalOp(t, IOS15, "crop", args{"x": f16(dims(1, 1, 1, 3), 1, 2, 3), "crop_height": []int{0, 0}, "crop_width": []int{1, 1}})
	wantFloats(t, got[0], 0, 2)

	wantErr(t, IOS15, "crop", args{"x": x, "crop_height": []int{2, 2}, "crop_width": []int{0, 0}}, "crop_height is [2 2], but x has only 3 there")
	wantErr(t, IOS15, "crop", args{"x": x, "crop_height": []int{1}, "crop_width": []int{0, 0}}, "crop_height has 1 elements, expected 2")
	wantErr(t, IOS15, "crop", args{"x": x, "crop_height": []int{0, 0}, "crop_width": []int{-1, 0}}, "crop_width is [-1 0], expected no negative amount")
	wantErr(t, IOS15, "crop", args{"x": seq(tensor.Float32, 3, 4), "crop_height": []int{0, 0}, "crop_width": []int{0, 0}}, "x has rank 2")
}

// TestCropResizeROI is coremltools' unit test of iOS14, with a box for all images or for one.
func TestCropResizeROI(t *testing.T) {
	x := seqFrom(tensor.Float32, 1, 1, 1, 4, 4)
	roi := f32(dims(1, 1, 4, 1, 1), 1, 1, 2, 2)
	for _, tc := range []struct {
		roi        *tensor.Tensor
		size       int
		normalized bool
		want       []float64
	}{
		{roi, 2, false, []float64{6, 7, 10, 11}},
		{roi, 4, false, []float64{6, 6.333333, 6.66666, 7, 7.333333, 7.666666, 8, 8.333333, 8.666666, 9, 9.3333333, 9.666666, 10, 10.333333, 10.666666, 11}},
		{roi, 1, false, []float64{8.5}},
		{f32(dims(1, 1, 5, 1, 1), 0, 0, 0, 1./3, 1./3), 2, true, []float64{1, 2, 5, 6}},
		{f32(dims(1, 1, 4, 1, 1), 2, 2, 1, 1), 2, false, []float64{11, 10, 7, 6}},
	} {
		got := evalOp(t, IOS15, "crop_resize", args{
			"x": x, "roi": tc.roi, "target_height": tc.size, "target_width": tc.size,
			"normalized_coordinates": tc.normalized, "box_coordinate_mode": "CORNERS_HEIGHT_FIRST", "sampling_mode": "ALIGN_CORNERS",
		})
		wantShape(t, got[0], 1, 1, 1, tc.size, tc.size)
		wantFloats(t, got[0], 1e-5, tc.want...)
	}
	// That of iOS16: three boxes that leave the image here and there.
	for _, pad := range []float64{0, 1, 10} {
		got := evalOp(t, IOS16, "crop_resize", args{
			"x": x, "roi": f32(dims(3, 1, 5, 1, 1), 0, 0.1, 0.3, 1.3, 1, 0, 0.5, 1.8, 1, 0.3, 0, 0, 0.4, 0.6, 0.7),
			"target_height": 2, "target_width": 2, "normalized_coordinates": true, "sampling_mode": "ALIGN_CORNERS", "pad_value": pad,
		})
		wantShape(t, got[0], 3, 1, 1, 2, 2)
		wantFloats(t, got[0], 1e-3, 3.1, 5.2, pad, pad, pad, 7.899, pad, 13.9, 2.2, 3.1, 9.4, 10.3)
	}
	// By hand: two images with two channels; all of them for each box, or the one that the box names.
	x = seq(tensor.Float32, 2, 2, 2, 2)
	got := evalOp(t, IOS15, "crop_resize", args{"x": x, "roi": f32(dims(2, 1, 4, 1, 1), 0, 0, 0, 0, 1, 1, 1, 1)})
	wantShape(t, got[0], 2, 2, 2, 1, 1)
	wantFloats(t, got[0], 0, 0, 4, 8, 12, 3, 7, 11, 15)
	got = evalOp(t, IOS15, "crop_resize", args{"x": x, "roi": f32(dims(2, 1, 5, 1, 1), 1, 0, 0, 0, 0, 0, 1, 1, 1, 1)})
	wantShape(t, got[0], 2, 1, 2, 1, 1)
	wantFloats(t, got[0], 0, 8, 12, 3, 7)
}

// TestCropResizeBoxes is coremltools' unit test of iOS17.
func TestCropResizeBoxes(t *testing.T) {
	x := seqFrom(tensor.Float32, 1, 1, 1, 4, 4)
	got := evalOp(t, IOS17, "crop_resize", args{
		"x": x, "boxes": f32(dims(1, 4), 1, 1, 2, 2), "target_width": 2, "target_height": 2, "sampling_mode": "ALIGN_CORNERS", "pad_value": 10.0,
	})
	wantShape(t, got[0], 1, 1, 2, 2)
	wantFloats(t, got[0], 0, 6, 7, 10, 11)
	got = evalOp(t, IOS17, "crop_resize", args{
		"x": x, "boxes": f32(dims(3, 4), 0.1, 0.3, 1.3, 1, 0.5, 1.8, 1, 0.3, 0, 0.4, 0.6, 0.7), "box_indices": i32(dims(3), 0, 0, 0),
		"target_width": 2, "target_height": 2, "normalized_coordinates": true, "sampling_mode": "ALIGN_CORNERS", "pad_value": 10.0,
	})
	wantShape(t, got[0], 3, 1, 2, 2)
	wantFloats(t, got[0], 1e-3, 3.1, 5.2, 10, 10, 10, 7.899, 10, 13.9, 2.2, 3.1, 9.4, 10.3)
}

// TestCropResizeLayouts cuts the box from row 0 to 2 and from column 1 to 3, whatever way it is written; by hand.
func TestCropResizeLayouts(t *testing.T) {
	x := seq(tensor.Float32, 1, 1, 3, 4)
	for mode, box := range map[string][]float64{
		"CORNERS_HEIGHT_FIRST":     {0, 1, 2, 3},
		"CORNERS_WIDTH_FIRST":      {1, 0, 3, 2},
		"CENTER_SIZE_HEIGHT_FIRST": {1, 2, 2, 2},
		"CENTER_SIZE_WIDTH_FIRST":  {2, 1, 2, 2},
	} {
		a := args{"x": x, "boxes": f32(dims(1, 4), box...), "target_height": 3, "target_width": 2, "box_coordinate_mode": mode, "sampling_mode": "STRICT_ALIGN_CORNERS"}
		got := evalOp(t, IOS17, "crop_resize", a)
		wantFloats(t, got[0], 1e-6, 1, 3, 5, 7, 9, 11)
		for i := range box { // at half the scale, coordinates are twice as large
			box[i] *= 2
		}
		a["boxes"], a["spatial_scale"] = f32(dims(1, 4), box...), 0.5
		got = evalOp(t, IOS17, "crop_resize", a)
		wantFloats(t, got[0], 1e-6, 1, 3, 5, 7, 9, 11)
	}
	got := evalOp(t, IOS17, "crop_resize", args{ // coordinates that are integers
		"x": x, "boxes": u16(dims(1, 4), 0, 1, 2, 3), "target_height": 3, "target_width": 2, "sampling_mode": "ALIGN_CORNERS",
	})
	wantFloats(t, got[0], 1e-6, 1, 3, 5, 7, 9, 11)
}

// TestCropResizeSampling cuts the columns 1 to 2 of a row of positions: the points are those that the
// documentation lists for an axis of length 2, moved by one.
func TestCropResizeSampling(t *testing.T) {
	x := seq(tensor.Float32, 1, 1, 1, 4)
	for mode, want := range map[string][]float64{
		"UNALIGN_CORNERS":      {1, 1.1, 1.5, 1.9, 2},
		"STRICT_ALIGN_CORNERS": {1, 1.25, 1.5, 1.75, 2},
		"ALIGN_CORNERS":        {1, 1.25, 1.5, 1.75, 2},
		"DEFAULT":              {1, 1.4, 1.8, 2, 2},
		"OFFSET_CORNERS":       {1.1, 1.3, 1.5, 1.7, 1.9},
	} {
		got := evalOp(t, IOS17, "crop_resize", args{"x": x, "boxes": f32(dims(1, 4), 0, 1, 0, 2), "target_width": 5, "sampling_mode": mode})
		wantFloats(t, got[0], 1e-6, want...)
	}
}

func TestCropResizeErrors(t *testing.T) {
	x, boxes := seq(tensor.Float32, 1, 1, 4, 4), f32(dims(1, 4))
	wantErr(t, IOS17, "crop_resize", args{"x": x, "boxes": f32(dims(3, 4))}, "there are 3 boxes, but only 1 images")
	wantErr(t, IOS17, "crop_resize", args{"x": x, "boxes": boxes, "box_indices": i32(dims(1), 10)}, "box 0 is of image 10, expected 0 to 0")
	wantErr(t, IOS17, "crop_resize", args{"x": x, "boxes": boxes, "box_indices": i32(dims(1), -1)}, "box 0 is of image -1")
	wantErr(t, IOS17, "crop_resize", args{"x": x, "boxes": boxes, "box_indices": i32(dims(1, 1))}, "box_indices has shape [1, 1], expected [1]")
	wantErr(t, IOS17, "crop_resize", args{"x": f32(dims(1, 1, 4, 4, 1)), "boxes": boxes}, "expected rank 4")
	wantErr(t, IOS17, "crop_resize", args{"x": x, "boxes": f32(dims(1, 5))}, "boxes has shape [1, 5], expected [boxes, 4]")
	wantErr(t, IOS17, "crop_resize", args{"x": x, "boxes": u16(dims(1, 4)), "normalized_coordinates": true}, "expected floats")
	wantErr(t, IOS17, "crop_resize", args{"x": x, "boxes": boxes, "box_coordinate_mode": "CORNERS"}, `box_coordinate_mode is "CORNERS"`)
	wantErr(t, IOS17, "crop_resize", args{"x": x, "boxes": boxes, "sampling_mode": "ALIGN"}, `sampling_mode is "ALIGN"`)
	wantErr(t, IOS17, "crop_resize", args{"x": x, "boxes": boxes, "target_height": 0}, "target_height is 0")
	wantErr(t, IOS17, "crop_resize", args{"x": f32(dims(1, 1, 0, 4)), "boxes": boxes}, "x has no pixels")
	wantErr(t, IOS15, "crop_resize", args{"x": x, "roi": f32(dims(1, 4))}, "roi has shape [1, 4], expected [boxes, 1, 4, 1, 1]")
	wantErr(t, IOS15, "crop_resize", args{"x": x, "roi": f32(dims(1, 1, 6, 1, 1))}, "roi has shape [1, 1, 6, 1, 1]")
	wantErr(t, IOS15, "crop_resize", args{"x": x, "roi": f32(dims(1, 1, 5, 1, 1), 1)}, "box 0 is of image 1")
	wantErr(t, IOS15, "crop_resize", args{"x": x, "roi": f32(dims(1, 1, 4, 1, 1)), "pad_value": 0.0}, `unknown parameter "pad_value"`)
}
