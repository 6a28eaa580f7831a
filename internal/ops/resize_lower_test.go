package ops

import (
	"testing"
)

func TestLowerResize(t *testing.T) {
	resize := func(x []int, shape []int, resized int, mode string) args {
		return args{"x": xs(x...), "shape": fixed(i32(dims(len(shape)), toInt64s(shape)...)), "resized_dims": resized, "sampling_mode": mode}
	}
	for _, tt := range []struct {
		name string
		a    args
		want string
	}{
		{"a plane", resize(dims(1, 2, 3, 4), dims(6, 8), 2, "DEFAULT"), "Resize"},
		{"one axis", resize(dims(3, 4), dims(8), 1, "ALIGN_CORNERS"), "Resize"},
		{"as it is", resize(dims(1, 2, 3, 4), dims(3, 4), 2, "ALIGN_CORNERS"), ""},
		{"the grid that moves points, both axes", resize(dims(1, 2, 3, 4), dims(3, 8), 2, "OFFSET_CORNERS"), "Resize"},
		{"the grid that moves points, one axis", resize(dims(1, 2, 3, 4), dims(8), 1, "OFFSET_CORNERS"), "Transpose Resize Transpose"},
		{"three axes", resize(dims(1, 2, 3, 4), dims(4, 6, 8), 3, "DEFAULT"), "Resize Transpose Resize Transpose"},
		{"three of five axes", resize(dims(2, 2, 2, 3, 4), dims(4, 6, 8), 3, "DEFAULT"), "Resize Reshape Transpose Resize Transpose Reshape"},
	} {
		t.Run(tt.name, func(t *testing.T) { wantKinds(t, lowerOp(t, IOS17, "resize", tt.a), tt.want) })
	}
	wantRefusal(t, IOS17, "resize", resize(dims(2, 2, 2, 3, 4), dims(3, 4, 6, 8), 4, "DEFAULT"), "D of [2,2,2,6,8]", "no other is free")
}

func toInt64s(vals []int) (out []int64) {
	for _, v := range vals {
		out = append(out, int64(v))
	}
	return out
}

func TestLowerSampling(t *testing.T) {
	crop := args{"target_height": 2, "target_width": 2}
	with := func(a args) args {
		for k, v := range crop {
			a[k] = v
		}
		return a
	}
	modes := args{"sampling_mode": "bilinear", "padding_mode": "constant", "padding_value": 0.0,
		"coordinates_mode": "normalized_minus_one_to_one", "align_corners": true}
	sampled := func(a args) args {
		for k, v := range modes {
			a[k] = v
		}
		return a
	}
	for _, tt := range []struct {
		name, kind string
		opset      Opset
		a          args
		want       string
	}{
		{"coordinates", "resample", IOS15, sampled(args{"x": xs(2, 3, 4, 5), "coordinates": xs(2, 6, 7, 2)}), "Transpose Resample"},
		{"matrices", "affine", IOS15, sampled(args{"x": xs(2, 3, 4, 5), "transform_matrix": xs(2, 6), "output_height": 2, "output_width": 3}), "Reshape AffineTransform"},
		{"edges", "crop", IOS15, args{"x": xs(1, 2, 4, 5), "crop_height": []int{1, 0}, "crop_width": []int{0, 2}}, "InputView InputView"},
		{"boxes with the number of an image", "crop_resize", IOS15, with(args{"x": xs(2, 3, 4, 5), "roi": xs(3, 1, 5, 1, 1)}), "CropResize"},
		{"boxes of the only image", "crop_resize", IOS15, with(args{"x": xs(1, 3, 4, 5), "roi": xs(3, 1, 4, 1, 1)}), "CropResize"},
		{"boxes of every image", "crop_resize", IOS15, with(args{"x": xs(2, 3, 4, 5), "roi": xs(2, 1, 4, 1, 1)}),
			"InputView CropResize InputView CropResize Concat"},
		{"a box of each image", "crop_resize", IOS17, with(args{"x": xs(2, 3, 4, 5), "boxes": xs(2, 4)}), "Reshape CropResize"},
		{"a box of the first image", "crop_resize", IOS17, with(args{"x": xs(2, 3, 4, 5), "boxes": xs(1, 4)}), "Reshape InputView CropResize"},
		{"numbers of images apart", "crop_resize", IOS17, with(args{"x": xs(2, 3, 4, 5), "boxes": xs(3, 4), "box_indices": i32(dims(3), 0, 1, 1)}),
			"Reshape Reshape TypeCast Concat CropResize"},
	} {
		t.Run(tt.name, func(t *testing.T) { wantKinds(t, lowerOp(t, tt.opset, tt.kind, tt.a), tt.want) })
	}
}
