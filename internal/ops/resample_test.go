package ops

import (
	"math"
	"testing"

	"github.com/espalier-ane/espalier/tensor"
)

// resampleArgs are arguments of resample, in the order in which the tables here have them.
func resampleArgs(x, coordinates *tensor.Tensor, sampling, padding string, value float64, coordinatesMode string, align bool) args {
	return args{
		"x": x, "coordinates": coordinates, "sampling_mode": sampling, "padding_mode": padding,
		"padding_value": value, "coordinates_mode": coordinatesMode, "align_corners": align,
	}
}

// TestResample is coremltools' unit test of resample.
func TestResample(t *testing.T) {
	x := f32(dims(1, 1, 2, 2), 11, 22, 33, 44)
	for _, tc := range []struct {
		sampling, padding string
		value             float64
		coordinates       string
		align             bool
		floats, ints      []float64
	}{
		{"bilinear", "constant", 6.17, "normalized_minus_one_to_one", true, []float64{8.585, 6.17, 27.5, 6.17}, []float64{27.5, 44, 27.5, 44}},
		{"nearest", "border", -1, "unnormalized", false, []float64{11, 11, 11, 44}, []float64{11, 44, 11, 44}},
		{"bilinear", "reflection", -1, "normalized_zero_to_one", true, []float64{22, 36.3, 11, 34.1}, []float64{11, 44, 11, 44}},
		{"nearest", "symmetric", -1, "normalized_zero_to_one", false, []float64{22, 33, 11, 33}, []float64{11, 44, 11, 44}},
	} {
		t.Run(tc.padding, func(t *testing.T) {
			at := []float64{-1, -2, -3.7, -1, 0, 0, 3.5, 1.2}
			got := evalOp(t, IOS15, "resample", resampleArgs(x, f32(dims(1, 2, 2, 2), at...), tc.sampling, tc.padding, tc.value, tc.coordinates, tc.align))
			wantShape(t, got[0], 1, 1, 2, 2)
			wantFloats(t, got[0], 1e-6, tc.floats...)
			got = evalOp(t, IOS16, "resample", resampleArgs(x, f16(dims(1, 2, 2, 2), at...), tc.sampling, tc.padding, tc.value, tc.coordinates, tc.align))
			wantFloats(t, got[0], 3e-3, tc.floats...)
			got = evalOp(t, IOS15, "resample", resampleArgs(x, i32(dims(1, 2, 2, 2), 0, 0, 1, 1, 0, 0, 1, 1), tc.sampling, tc.padding, tc.value, tc.coordinates, tc.align))
			wantFloats(t, got[0], 1e-6, tc.ints...)
			got = evalOp(t, IOS17, "resample", resampleArgs(x, u8(dims(1, 2, 2, 2), 0, 0, 1, 1, 0, 0, 1, 1), tc.sampling, tc.padding, tc.value, tc.coordinates, tc.align))
			wantFloats(t, got[0], 1e-6, tc.ints...)
		})
	}
}

// TestPaddingModes reads |1, 2, 3| from three places before to three after it, as coremltools' documentation does.
func TestPaddingModes(t *testing.T) {
	x := f32(dims(1, 1, 1, 3), 1, 2, 3)
	var at []float64
	for i := -3; i <= 5; i++ {
		at = append(at, float64(i), 0)
	}
	for padding, want := range map[string][]float64{
		"constant":   {0, 0, 0, 1, 2, 3, 0, 0, 0},
		"border":     {1, 1, 1, 1, 2, 3, 3, 3, 3},
		"reflection": {2, 3, 2, 1, 2, 3, 2, 1, 2},
		"symmetric":  {3, 2, 1, 1, 2, 3, 3, 2, 1},
	} {
		for _, sampling := range []string{"nearest", "bilinear"} {
			got := evalOp(t, IOS15, "resample", resampleArgs(x, f32(dims(1, 1, 9, 2), at...), sampling, padding, 0, "unnormalized", true))
			wantFloats(t, got[0], 0, want...)
		}
	}
	// One element, far away, and not a number at all: by hand.
	one := f32(dims(1, 1, 1, 1), 7)
	far := f32(dims(1, 1, 4, 2), 1e30, 0, math.Inf(-1), 0, math.NaN(), 0, 0, 0)
	for padding, want := range map[string][]float64{"constant": {5, 5, 5, 7}, "border": {7, 7, 7, 7}, "reflection": {7, 7, 7, 7}, "symmetric": {7, 7, 7, 7}} {
		got := evalOp(t, IOS15, "resample", resampleArgs(one, far, "bilinear", padding, 5, "unnormalized", false))
		wantFloats(t, got[0], 0, want...)
	}
}

// TestResampleCoordinates places -1, 0 and 1, or 0, 0.5 and 1, on an axis of length 4 whose elements are their
// positions; by hand from the meaning of align_corners.
func TestResampleCoordinates(t *testing.T) {
	x := f32(dims(1, 1, 1, 4), 0, 1, 2, 3)
	for _, tc := range []struct {
		mode  string
		align bool
		at    [3]float64
		want  []float64
	}{
		{"normalized_minus_one_to_one", true, [3]float64{-1, 0, 1}, []float64{0, 1.5, 3}},
		{"normalized_minus_one_to_one", false, [3]float64{-0.75, 0, 0.5}, []float64{0, 1.5, 2.5}},
		{"normalized_zero_to_one", true, [3]float64{0, 0.5, 1}, []float64{0, 1.5, 3}},
		{"normalized_zero_to_one", false, [3]float64{0.125, 0.5, 0.75}, []float64{0, 1.5, 2.5}},
		{"unnormalized", false, [3]float64{0, 1.5, 3}, []float64{0, 1.5, 3}},
		{"UNNORMALIZED", true, [3]float64{0, 1.5, 3}, []float64{0, 1.5, 3}},
	} {
		at := f32(dims(1, 1, 3, 2), tc.at[0], 0, tc.at[1], 0, tc.at[2], 0)
		got := evalOp(t, IOS15, "resample", resampleArgs(x, at, "bilinear", "border", 0, tc.mode, tc.align))
		wantFloats(t, got[0], 1e-6, tc.want...)
	}
	// Two images with two channels each, coordinates of their own; x comes before y.
	x = seq(tensor.Float32, 2, 2, 2, 3)
	at := f32(dims(2, 1, 1, 2), 2, 0, 0, 1)
	got := evalOp(t, IOS15, "resample", resampleArgs(x, at, "nearest", "border", 0, "unnormalized", false))
	wantFloats(t, got[0], 0, 2, 8, 15, 21)
	got = evalOp(t, IOS15, "resample", resampleArgs(f32(dims(1, 2, 0, 3)), f32(dims(1, 1, 1, 2)), "nearest", "constant", 9, "unnormalized", false))
	wantFloats(t, got[0], 0, 9, 9)
}

func TestResampleErrors(t *testing.T) {
	x, at := f32(dims(1, 1, 2, 2)), f32(dims(1, 2, 2, 2))
	wantErr(t, IOS15, "resample", resampleArgs(f32(dims(2, 2)), at, "nearest", "border", 0, "unnormalized", false), "x has shape [2, 2], expected rank 4")
	wantErr(t, IOS15, "resample", resampleArgs(x, f32(dims(1, 2, 2, 3)), "nearest", "border", 0, "unnormalized", false), "coordinates has shape [1, 2, 2, 3]")
	wantErr(t, IOS15, "resample", resampleArgs(x, f32(dims(2, 2, 2, 2)), "nearest", "border", 0, "unnormalized", false), "x has a batch of 1, coordinates one of 2")
	wantErr(t, IOS15, "resample", resampleArgs(x, at, "cubic", "border", 0, "unnormalized", false), `sampling_mode is "cubic"`)
	wantErr(t, IOS15, "resample", resampleArgs(x, at, "nearest", "wrap", 0, "unnormalized", false), `padding_mode is "wrap"`)
	wantErr(t, IOS15, "resample", resampleArgs(x, at, "nearest", "border", 0, "pixels", false), `coordinates_mode is "pixels"`)
	wantErr(t, IOS15, "resample", resampleArgs(f32(dims(1, 1, 0, 2)), at, "nearest", "border", 0, "unnormalized", false), "an empty image has no border")
	wantErr(t, IOS15, "resample", resampleArgs(x, f16(dims(1, 2, 2, 2)), "nearest", "border", 0, "unnormalized", false), "parameter coordinates is")
}

func affineArgs(x, matrix *tensor.Tensor, height, width int) args {
	return args{
		"x": x, "transform_matrix": matrix, "output_height": height, "output_width": width, "sampling_mode": "bilinear",
		"padding_mode": "constant", "padding_value": 0.0, "coordinates_mode": "normalized_minus_one_to_one", "align_corners": true,
	}
}

func TestAffine(t *testing.T) {
	// coremltools' unit test of affine.
	x, m := f32(dims(1, 1, 2, 2), 11, 22, 33, 44), f32(dims(1, 6), -1, -2, -3.7, -1, 3.5, 1.2)
	got := evalOp(t, IOS15, "affine", affineArgs(x, m, 3, 3))
	wantFloats(t, got[0], 1e-5, 10.752501, 2.5025, 0, 1.9799997, 0, 0, 0, 0, 0)
	got = evalOp(t, IOS15, "affine", affineArgs(x, m, 2, 5))
	wantFloats(t, got[0], 1e-5, 10.752501, 5.94, 2.5025, 0.44000006, 0, 0, 0, 0, 0, 0)

	// By hand: nothing moves; two images, the second mirrored; one pixel is the middle; edges of pixels.
	identity := []float64{1, 0, 0, 0, 1, 0}
	got = evalOp(t, IOS15, "affine", affineArgs(x, f32(dims(1, 6), identity...), 2, 2))
	wantFloats(t, got[0], 0, 11, 22, 33, 44)
	two := f32(dims(2, 1, 1, 3), 1, 2, 3, 4, 5, 6)
	got = evalOp(t, IOS15, "affine", affineArgs(two, f32(dims(2, 6), append(identity, -1, 0, 0, 0, 1, 0)...), 1, 3))
	wantFloats(t, got[0], 0, 1, 2, 3, 6, 5, 4)
	got = evalOp(t, IOS15, "affine", affineArgs(two, f32(dims(1, 6), identity...), 1, 1))
	wantFloats(t, got[0], 0, 2, 5)
	edges := affineArgs(two, f32(dims(1, 6), identity...), 1, 3)
	edges["align_corners"] = false
	got = evalOp(t, IOS15, "affine", edges)
	wantFloats(t, got[0], 1e-6, 1, 2, 3, 4, 5, 6)

	wantErr(t, IOS15, "affine", affineArgs(x, f32(dims(1, 5)), 1, 1), "transform_matrix has shape [1, 5], expected [1, 6]")
	wantErr(t, IOS15, "affine", affineArgs(x, f32(dims(2, 6)), 1, 1), "transform_matrix has 2 matrices, expected 1 or 1")
	wantErr(t, IOS15, "affine", affineArgs(f32(dims(1, 2, 2)), m, 1, 1), "expected rank 4")
	wantErr(t, IOS15, "affine", affineArgs(x, m, 0, 1), "output_height is 0")
	for param, bad := range map[string]any{"sampling_mode": "nearest", "padding_mode": "border", "coordinates_mode": "unnormalized", "padding_value": 1.0} {
		a := affineArgs(x, m, 1, 1)
		a[param] = bad
		wantErr(t, IOS15, "affine", a, param+" is ", "the only one that affine has")
	}
}
