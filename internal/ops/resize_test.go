package ops

import (
	"math"
	"testing"

	"github.com/espalier-ane/espalier/tensor"
)

// TestSamplingModes resizes [0, 1], which gives the grid points themselves: those that coremltools'
// documentation of resize_bilinear lists.
func TestSamplingModes(t *testing.T) {
	for _, tc := range []struct {
		mode string
		want []float64
	}{
		{"UNALIGN_CORNERS", []float64{0, 0.1, 0.5, 0.9, 1}},
		{"STRICT_ALIGN_CORNERS", []float64{0, 0.25, 0.5, 0.75, 1}},
		{"ALIGN_CORNERS", []float64{0, 0.25, 0.5, 0.75, 1}},
		{"DEFAULT", []float64{0, 0.4, 0.8, 1, 1}},
		{"OFFSET_CORNERS", []float64{0.1, 0.3, 0.5, 0.7, 0.9}},
		{"UNALIGN_CORNERS", []float64{0, 0, 1. / 3, 2. / 3, 1, 1}},
		{"STRICT_ALIGN_CORNERS", []float64{0, 0.2, 0.4, 0.6, 0.8, 1}},
		{"DEFAULT", []float64{0, 1. / 3, 2. / 3, 1, 1, 1}},
		{"OFFSET_CORNERS", []float64{1. / 12, 3. / 12, 5. / 12, 7. / 12, 9. / 12, 11. / 12}},
		{"STRICT_ALIGN_CORNERS", []float64{0}}, // the formulas there, for one point
		{"ALIGN_CORNERS", []float64{0.5}},
		{"DEFAULT", []float64{0}},
		{"OFFSET_CORNERS", []float64{0.5}},
		{"UNALIGN_CORNERS", []float64{0.5}},
		{"OFFSET_CORNERS", []float64{0.25, 0.75}}, // the lengths are equal, the points are not
	} {
		x := f32(dims(1, 1, 2), 0, 1)
		got := evalOp(t, IOS15, "resize_bilinear", args{"x": x, "target_size_width": len(tc.want), "sampling_mode": tc.mode})
		wantShape(t, got[0], 1, 1, len(tc.want))
		wantFloats(t, got[0], 1e-6, tc.want...)
		got = evalOp(t, IOS17, "resize", args{
			"x": x, "shape": i32(dims(2), 1, int64(len(tc.want))), "resized_dims": 2, "interpolation_mode": "LINEAR", "sampling_mode": tc.mode,
		})
		wantFloats(t, got[0], 1e-6, tc.want...)
	}
}

func TestResizeBilinear(t *testing.T) {
	// By hand: rows are 1/2 apart in the source, columns 2.
	got := evalOp(t, IOS15, "resize_bilinear", args{
		"x": f32(dims(1, 2, 4), 1, 2, 3, 4, 5, 6, 7, 8), "target_size_height": 4, "target_size_width": 2,
	})
	wantFloats(t, got[0], 1e-6, 1, 3, 3, 5, 5, 7, 5, 7)
	// Channels and images are left alone, also by a mode that moves points between equal lengths.
	got = evalOp(t, IOS15, "resize_bilinear", args{
		"x": f32(dims(2, 2, 1, 2), 0, 4, 10, 14, 20, 24, 30, 34), "target_size_height": 1, "target_size_width": 2, "sampling_mode": "OFFSET_CORNERS",
	})
	wantFloats(t, got[0], 1e-6, 1, 3, 11, 13, 21, 23, 31, 33)
	got = evalOp(t, IOS15, "resize_bilinear", args{"x": f32(dims(1, 1, 2), math.Inf(1), 1), "target_size_width": 3, "sampling_mode": "ALIGN_CORNERS"})
	wantFloats(t, got[0], 0, math.Inf(1), math.Inf(1), 1)
	got = evalOp(t, IOS15, "resize_bilinear", args{"x": f32(dims(0, 2, 2)), "target_size_width": 3})
	wantShape(t, got[0], 0, 1, 3)

	x := seq(tensor.Float32, 1, 2, 2)
	wantErr(t, IOS15, "resize_bilinear", args{"x": x, "sampling_mode": "align"}, `sampling_mode is "align", expected DEFAULT`)
	wantErr(t, IOS15, "resize_bilinear", args{"x": x, "target_size_height": 0}, "target_size_height is 0, expected a length above 0")
	wantErr(t, IOS15, "resize_bilinear", args{"x": seq(tensor.Float32, 2, 2)}, "x has rank 2, expected at least 3")
	wantErr(t, IOS15, "resize_bilinear", args{"x": f32(dims(1, 0, 2))}, "axis 1 of x is empty and cannot be resized to 1")
}

func TestResizeNearestNeighbor(t *testing.T) {
	x := f32(dims(1, 1, 3), 1, 2, 3)
	for _, want := range [][]float64{ // element floor(3i/n), by hand
		{1}, {1, 2}, {1, 2, 3}, {1, 1, 2, 3}, {1, 1, 2, 2, 3}, {1, 1, 2, 2, 3, 3},
	} {
		got := evalOp(t, IOS15, "resize_nearest_neighbor", args{"x": x, "target_size_height": 1, "target_size_width": len(want)})
		wantFloats(t, got[0], 0, want...)
	}
	got := evalOp(t, IOS15, "resize_nearest_neighbor", args{"x": f32(dims(1, 2, 2), 1, 2, 3, 4), "target_size_height": 3, "target_size_width": 4})
	wantFloats(t, got[0], 0, 1, 1, 2, 2, 1, 1, 2, 2, 3, 3, 4, 4)
	wantErr(t, IOS15, "resize_nearest_neighbor", args{"x": x, "target_size_height": 1, "target_size_width": -1}, "target_size_width is -1")
}

func TestUpsampleNearestNeighbor(t *testing.T) {
	// coremltools' unit test with fractional scales.
	x := f32(dims(1, 1, 1, 3), 1.5, -2.5, 3.5)
	got := evalOp(t, IOS15, "upsample_nearest_neighbor", args{"x": x, "scale_factor_height": 1.0, "scale_factor_width": 1.0})
	wantFloats(t, got[0], 0, 1.5, -2.5, 3.5)
	got = evalOp(t, IOS15, "upsample_nearest_neighbor", args{"x": x, "scale_factor_height": 3.17, "scale_factor_width": 0.67})
	wantShape(t, got[0], 1, 1, 3, 2)
	wantFloats(t, got[0], 0, 1.5, -2.5, 1.5, -2.5, 1.5, -2.5)
	got = evalOp(t, IOS15, "upsample_nearest_neighbor", args{"x": x, "scale_factor_height": 2.0, "scale_factor_width": 1.12})
	wantFloats(t, got[0], 0, 1.5, -2.5, 3.5, 1.5, -2.5, 3.5)

	got = evalOp(t, IOS15, "upsample_nearest_neighbor", args{"x": x, "scale_factor_width": 2})
	wantFloats(t, got[0], 0, 1.5, 1.5, -2.5, -2.5, 3.5, 3.5)
	got = evalOp(t, IOS15, "upsample_nearest_neighbor", args{"x": x, "scale_factor_height": 0.5, "scale_factor_width": 1.0})
	wantShape(t, got[0], 1, 1, 0, 3)
	wantErr(t, IOS15, "upsample_nearest_neighbor", args{"x": x, "scale_factor_height": 0}, "scale_factor_height is 0, expected a factor above 0")
	wantErr(t, IOS15, "upsample_nearest_neighbor", args{"x": x, "scale_factor_height": math.NaN(), "scale_factor_width": 1.0}, "expected a factor above 0")
	wantErr(t, IOS15, "upsample_nearest_neighbor", args{"x": x, "scale_factor_height": 3e38, "scale_factor_width": 1.0}, "beyond any memory")
	wantErr(t, IOS15, "upsample_nearest_neighbor", args{"x": x, "scale_factor_height": 1 << 30, "scale_factor_width": 1 << 30}, "does not fit in memory")
}

// TestUpsampleLength takes a factor whose product with the length rounds up in fp32: the program decides.
func TestUpsampleLength(t *testing.T) {
	a := args{"x": seq(tensor.Float32, 1, 1, 10), "scale_factor_height": 1.0, "scale_factor_width": 0.7}
	six, seven := typeOfValue(seq(tensor.Float32, 1, 1, 6)), typeOfValue(seq(tensor.Float32, 1, 1, 7))
	for _, tc := range []struct {
		declared []evalOption
		want     int
	}{
		{nil, 7}, // 0.7·10 in fp32
		{[]evalOption{declaring(seven)}, 7},
		{[]evalOption{declaring(forgetLengths(seven))}, 7},
		{[]evalOption{declaring(six)}, 6}, // and in fp64
	} {
		got := evalOp(t, IOS15, "upsample_nearest_neighbor", a, tc.declared...)
		wantShape(t, got[0], 1, 1, tc.want)
	}
}

func TestUpsampleBilinear(t *testing.T) {
	// coremltools' unit tests: of iOS14, and of iOS16 with half_pixel_centers.
	x := f32(dims(1, 1, 2), 0, 1)
	got := evalOp(t, IOS15, "upsample_bilinear", args{"x": x, "scale_factor_height": 1, "scale_factor_width": 3, "align_corners": true})
	wantFloats(t, got[0], 1e-6, 0, 0.2, 0.4, 0.6, 0.8, 1)
	got = evalOp(t, IOS15, "upsample_bilinear", args{"x": x, "scale_factor_height": 1.0, "scale_factor_width": 2.6, "align_corners": false})
	wantFloats(t, got[0], 1e-6, 0, 0.1, 0.5, 0.9, 1)

	x = f32(dims(1, 1, 1, 2), 1, 2)
	aligned, half, neither := []float64{1, 1.2, 1.4, 1.6, 1.8, 2}, []float64{1, 1, 4. / 3, 5. / 3, 2, 2}, []float64{1, 4. / 3, 5. / 3, 2, 2, 2}
	for _, tc := range []struct {
		align bool
		half  any
		want  []float64
	}{
		{true, nil, aligned}, {true, false, aligned}, {false, nil, half}, {false, true, half}, {false, false, neither},
	} {
		a := args{"x": x, "scale_factor_height": 2, "scale_factor_width": 3, "align_corners": tc.align}
		if tc.half != nil {
			a["half_pixel_centers"] = tc.half
		}
		got := evalOp(t, IOS16, "upsample_bilinear", a)
		wantShape(t, got[0], 1, 1, 2, 6)
		wantFloats(t, got[0], 1e-6, append(tc.want, tc.want...)...)
	}
	wantErr(t, IOS16, "upsample_bilinear", args{"x": x, "align_corners": true, "half_pixel_centers": true}, "both true")
	wantErr(t, IOS15, "upsample_bilinear", args{"x": x, "half_pixel_centers": true}, `unknown parameter "half_pixel_centers"`)
}

func TestResize(t *testing.T) {
	// coremltools' unit tests of iOS17 resize.
	x := f32(dims(1, 1, 1, 2, 1), -6.174, 9.371)
	nearest := args{"x": x, "shape": fixed(i32(dims(4), 1, 1, 3, 2)), "resized_dims": 2, "interpolation_mode": "NEAREST_NEIGHBOR", "sampling_mode": "DEFAULT"}
	got := evalOp(t, IOS17, "resize", nearest)
	wantShape(t, got[0], 1, 1, 1, 3, 2)
	wantFloats(t, got[0], 1e-6, -6.174, -6.174, 9.371, 9.371, 9.371, 9.371)
	got = evalOp(t, IOS17, "resize", args{"x": f32(dims(1, 1, 1, 2), 0, 1), "shape": i32(dims(3), 3, 1, 5), "resized_dims": 2})
	wantShape(t, got[0], 1, 1, 1, 5)
	wantFloats(t, got[0], 1e-6, 0, 0.4, 0.8, 1, 1)
	got = evalOp(t, IOS17, "resize", args{"x": x, "shape": i32(dims(4), 1, 0, 0, 0), "resized_dims": 3})
	wantShape(t, got[0], 1, 1, 1, 2, 1)
	wantFloats(t, got[0], 1e-6, -6.174, 9.371)

	// By hand: three axes, of integers; positions 0.5 round up; no axis at all.
	got = evalOp(t, IOS17, "resize", args{"x": i32(dims(2, 2), 0, 10, 20, 30), "shape": u16(dims(2), 3, 3), "resized_dims": 2, "sampling_mode": "ALIGN_CORNERS"})
	wantInts(t, got[0], 0, 5, 10, 10, 15, 20, 20, 25, 30)
	got = evalOp(t, IOS17, "resize", args{"x": i32(dims(1, 2), math.MaxInt32-1, math.MaxInt32), "shape": i16(dims(1), 3), "resized_dims": 1, "sampling_mode": "ALIGN_CORNERS"})
	wantInts(t, got[0], math.MaxInt32-1, math.MaxInt32-1, math.MaxInt32)
	got = evalOp(t, IOS17, "resize", args{"x": f32(dims(3), 1, 2, 3), "shape": i32(dims(1), 6), "resized_dims": 1, "interpolation_mode": "NEAREST_NEIGHBOR"})
	wantFloats(t, got[0], 0, 1, 2, 2, 3, 3, 3)
	got = evalOp(t, IOS17, "resize", args{"x": f32(dims(3), 1, 2, 3), "shape": i32(dims(1), 6), "resized_dims": 0})
	wantFloats(t, got[0], 0, 1, 2, 3)

	wantErr(t, IOS17, "resize", args{"x": x, "shape": i32(dims(1), 2), "resized_dims": 2}, "resized_dims is 2, expected at most 1")
	wantErr(t, IOS17, "resize", args{"x": f32(dims(2)), "shape": i32(dims(2), 2, 2), "resized_dims": 2}, "shape has 2 elements, expected at most 1")
	wantErr(t, IOS17, "resize", args{"x": x, "shape": i32(dims(2), -1, 2), "resized_dims": 2}, "expected no negative length")
	wantErr(t, IOS17, "resize", args{"x": x, "shape": i32(dims(1, 2), 1, 2), "resized_dims": 2}, "shape has shape [1, 2]")
	wantErr(t, IOS17, "resize", args{"x": x, "shape": i32(dims(2), 1, 2), "resized_dims": 2, "interpolation_mode": "CUBIC"}, "interpolation_mode")
	wantErr(t, IOS16, "resize", args{"x": x, "shape": i32(dims(2), 1, 2), "resized_dims": 2}, "not in opset iOS16")
}
