package engine_test

import (
	"context"
	"fmt"
	"maps"
	"math"
	"testing"

	"github.com/espalier-ane/espalier/internal/engine"
	"github.com/espalier-ane/espalier/internal/ops"
	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// hostResult is what the MIL operation says of constant arguments, with the given
// extents.
func hostResult(t *testing.T, opset, kind string, d tensor.DType, shape []int, args mil.Args) *tensor.Tensor {
	t.Helper()
	dims := make(tensor.Shape, len(shape))
	for i, n := range shape {
		dims[i] = tensor.Dim(n)
	}
	b := mil.NewBuilder("main", opset)
	b.Return(b.Op(kind, "y", mil.Tensor(d, dims...), args))
	program, err := b.Program()
	if err == nil {
		err = ops.Verify(program)
	}
	if err != nil {
		t.Fatalf("%s: %v", kind, err)
	}
	ev, err := ops.NewEvaluator(program.Functions[0], ops.FP32)
	if err != nil {
		t.Fatal(err)
	}
	out, err := ev.Run(context.Background(), nil)
	if err != nil {
		t.Fatalf("%s: %v", kind, err)
	}
	return out[0].(*tensor.Tensor)
}

// image gives [N, C, H, W] the axis D.
func image(n, c, h, w int) [td.NumAxes]int { return [td.NumAxes]int{n, 1, c, h, w} }

// sameAsHost holds an operation on x to the MIL operation, up to a distance.
func sameAsHost(t *testing.T, opset, kind string, params td.Params, shape []int, distance float64, args mil.Args, second ...*tensor.Tensor) {
	t.Helper()
	x := args["x"].(*tensor.Tensor)
	want := hostResult(t, opset, kind, x.DType(), shape, args)
	s := x.Shape()
	op := &td.Op{Params: params, Operands: []td.Operand{
		{Type: x.DType(), Dims: image(shape[0], shape[1], shape[2], shape[3])}, {Type: x.DType(), Dims: image(s[0], s[1], s[2], s[3])},
	}}
	for _, z := range second {
		op.Operands = append(op.Operands, td.Operand{Type: z.DType(), Dims: [td.NumAxes]int(z.Shape())})
	}
	got := engine.RunOperation(t, op, append([]*tensor.Tensor{x}, second...)...)[0].Float64s()
	for i, w := range want.Float64s() {
		if !(math.Abs(got[i]-w) <= distance) {
			delete(args, "x")
			t.Fatalf("%s %v: element %d is %v, want %v\n%+v", kind, args, i, got[i], w, params)
		}
	}
}

func withX(x *tensor.Tensor, args mil.Args) mil.Args {
	args = maps.Clone(args)
	args["x"] = x
	return args
}

func TestRearrangeOps(t *testing.T) {
	blocks := td.Factors{X: 2, Y: 2, Z: 1}
	deep, wide := sampleTensor(1, tensor.Float32, 2, 12, 3, 5), sampleTensor(2, tensor.Float32, 2, 3, 6, 10)
	sameAsHost(t, "ios16", "pixel_shuffle", &td.PixelShuffle{Factors: blocks}, []int{2, 3, 6, 10}, 0, mil.Args{"x": deep, "upscale_factor": int32(2)})
	sameAsHost(t, "ios16", "depth_to_space", &td.ChannelToSpace{Factors: blocks}, []int{2, 3, 6, 10}, 0, mil.Args{"x": deep, "block_size": int32(2)})
	sameAsHost(t, "ios16", "pixel_unshuffle", &td.PixelUnshuffle{Factors: blocks}, []int{2, 12, 3, 5}, 0, mil.Args{"x": wide, "downscale_factor": uint32(2)})
	sameAsHost(t, "ios16", "space_to_depth", &td.SpaceToChannel{Factors: blocks}, []int{2, 12, 3, 5}, 0, mil.Args{"x": wide, "block_size": int32(2)})

	blocks = td.Factors{X: 5, Y: 2, Z: 1}
	none := tensor.Of([]int32{0, 0, 0, 0}, 2, 2)
	many := sampleTensor(3, tensor.Float32, 20, 3, 3, 2)
	sameAsHost(t, "ios16", "space_to_batch", &td.SpaceToBatch{Factors: blocks}, []int{20, 3, 3, 2}, 0,
		mil.Args{"x": wide, "block_shape": []int32{2, 5}, "paddings": none})
	sameAsHost(t, "ios16", "batch_to_space", &td.BatchToSpace{Factors: blocks}, []int{2, 3, 6, 10}, 0,
		mil.Args{"x": many, "block_shape": []int32{2, 5}, "crops": none})
}

func TestPaddingOps(t *testing.T) {
	x := sampleTensor(4, tensor.Float32, 2, 3, 4, 5)
	for mode, m := range map[string]td.PaddingMode{"constant": td.PadBackground, "reflect": td.PadReflective, "replicate": td.PadReplication} {
		sameAsHost(t, "ios16", "pad", &td.Padding{Before: [5]int{0, 0, 1, 3, 0}, After: [5]int{0, 0, 2, 1, 4}, Mode: m, Value: 1.5},
			[]int{2, 6, 8, 9}, 0, mil.Args{"x": x, "pad": []int32{0, 0, 1, 2, 3, 1, 0, 4}, "mode": mode, "constant_val": float32(1.5)})
	}
	sameAsHost(t, "ios16", "tile", &td.Tile{Reps: [5]int{2, 1, 1, 3, 2}}, []int{4, 3, 12, 10}, 0, mil.Args{"x": x, "reps": []int32{2, 1, 3, 2}})
	for _, begin := range [][]int32{{0, 1, 2, 3}, {1, -2, -4, -2}} {
		start := tensor.Of(begin, 1, 1, 1, 1, 4)
		sameAsHost(t, "ios16", "slice_by_size",
			&td.DynamicSlice{Number: 4, Axes: [5]td.Axis{td.AxisN, td.AxisC, td.AxisH, td.AxisW}, Padding: td.PadReplication, FromEnd: true},
			[]int{1, 2, 2, 2}, 0, mil.Args{"x": x, "begin": begin, "size": []int32{1, 2, 2, 2}}, start)
	}
}

// milGrids are the grids by the names of MIL's sampling modes.
var milGrids = map[string]td.SamplingGrid{
	"DEFAULT": td.GridDefault, "STRICT_ALIGN_CORNERS": td.GridStrictAlignedCorners, "ALIGN_CORNERS": td.GridAlignedCorners,
	"UNALIGN_CORNERS": td.GridUnalignedCorners, "OFFSET_CORNERS": td.GridOffsetCorners,
}

// mixed is how far values may be that the host mixes in fp32, of elements below 16.
const mixed = 0x1p-18

func TestResizeOps(t *testing.T) {
	x := sampleTensor(5, tensor.Float32, 2, 3, 5, 7)
	for mode, grid := range milGrids {
		for _, size := range [][2]int{{10, 14}, {3, 4}, {1, 1}, {5, 7}, {9, 2}} {
			shape, target := []int{2, 3, size[0], size[1]}, []int32{int32(size[0]), int32(size[1])}
			sameAsHost(t, "ios17", "resize_bilinear", &td.Resize{Grid: grid}, shape, mixed,
				mil.Args{"x": x, "target_size_height": target[0], "target_size_width": target[1], "sampling_mode": mode})
			args := mil.Args{"shape": target, "resized_dims": uint32(2), "sampling_mode": mode, "interpolation_mode": "LINEAR"}
			sameAsHost(t, "ios17", "resize", &td.Resize{Grid: grid}, shape, mixed, withX(x, args))
			whole, err := x.Convert(tensor.Int32)
			if err != nil {
				t.Fatal(err)
			}
			sameAsHost(t, "ios17", "resize", &td.Resize{Grid: grid}, shape, 1, withX(whole, args)) // a tie may be seen otherwise
			args["interpolation_mode"] = "NEAREST_NEIGHBOR"
			sameAsHost(t, "ios17", "resize", &td.Resize{Grid: grid, Method: td.SampleNearest, Rounding: td.RoundPreferCeil}, shape, 0, withX(x, args))
		}
	}
	floor := &td.Resize{Grid: td.GridDefault, Method: td.SampleNearest, Rounding: td.RoundFloor}
	sameAsHost(t, "ios17", "resize_nearest_neighbor", floor, []int{2, 3, 8, 3}, 0, mil.Args{"x": x, "target_size_height": int32(8), "target_size_width": int32(3)})
	sameAsHost(t, "ios17", "upsample_nearest_neighbor", floor, []int{2, 3, 15, 14}, 0,
		mil.Args{"x": x, "scale_factor_height": int32(3), "scale_factor_width": int32(2)})
	for _, tt := range []struct {
		align, half bool
		grid        td.SamplingGrid
	}{{true, false, td.GridStrictAlignedCorners}, {false, true, td.GridUnalignedCorners}, {false, false, td.GridDefault}} {
		sameAsHost(t, "ios17", "upsample_bilinear", &td.Resize{Grid: tt.grid}, []int{2, 3, 12, 17}, mixed, mil.Args{"x": x,
			"scale_factor_height": float32(2.5), "scale_factor_width": float32(2.5), "align_corners": tt.align, "half_pixel_centers": tt.half})
	}
}

var (
	milCoordinates = map[string]td.CoordinateMode{
		"unnormalized": td.CoordNonNormalized, "normalized_minus_one_to_one": td.CoordNormalizedSymmetric, "normalized_zero_to_one": td.CoordNormalizedUnit,
	}
	milPaddings = map[string]td.PaddingMode{
		"constant": td.PadBackground, "border": td.PadReplication, "reflection": td.PadReflective, "symmetric": td.PadSymmetric,
	}
	milMethods = map[string]td.SamplingMethod{"bilinear": td.SampleLinear, "nearest": td.SampleNearest}
)

func TestResampleOps(t *testing.T) {
	x, at := sampleTensor(6, tensor.Float32, 2, 3, 5, 7), sampleTensor(7, tensor.Float32, 2, 4, 6, 2)
	places, err := at.Transpose(0, 3, 1, 2)
	if err == nil {
		places, err = places.Clone().Reshape(2, 1, 2, 4, 6)
	}
	if err != nil {
		t.Fatal(err)
	}
	for coordinates, c := range milCoordinates {
		for padding, p := range milPaddings {
			for method, m := range milMethods {
				for _, align := range []bool{false, true} {
					s := td.Sampling{Method: m, Coordinate: c, Padding: p, Background: 2, AlignCorners: align}
					sameAsHost(t, "ios17", "resample", &td.Resample{Sampling: s}, []int{2, 3, 4, 6}, mixed, mil.Args{"x": x, "coordinates": at,
						"sampling_mode": method, "padding_mode": padding, "padding_value": float32(2), "coordinates_mode": coordinates, "align_corners": align}, places)
				}
			}
		}
	}
	for _, align := range []bool{false, true} {
		for _, n := range []int{1, 2} {
			matrix := sampleTensor(8, tensor.Float32, n, 6)
			rows, err := matrix.Reshape(n, 1, 1, 2, 3)
			if err != nil {
				t.Fatal(err)
			}
			s := td.Sampling{Coordinate: td.CoordNormalizedSymmetric, Padding: td.PadZero, AlignCorners: align}
			sameAsHost(t, "ios17", "affine", &td.AffineTransform{Sampling: s}, []int{2, 3, 4, 9}, mixed, mil.Args{"x": x, "transform_matrix": matrix,
				"output_height": int32(4), "output_width": int32(9), "sampling_mode": "bilinear", "padding_mode": "constant",
				"padding_value": float32(0), "coordinates_mode": "normalized_minus_one_to_one", "align_corners": align}, rows)
		}
	}
}

func TestCropResizeOps(t *testing.T) {
	x := sampleTensor(9, tensor.Float32, 3, 2, 8, 9)
	for _, c := range []struct {
		normalized bool
		boxes      []float32
	}{
		{false, []float32{0, 1, 5, 6, 7, 8, 2.5, 3, -2, 3, 20, 4, 1, 1, 1, 1}},
		{true, []float32{0, 0, 1, 1, 0.25, 0.5, 0.75, 1, -0.5, 0.5, 0.5, 1.5, 1, 0.5, 0, 0}},
	} {
		boxes := tensor.Of(c.boxes, 4, 4)
		indices := []int32{2, 0, 1, 1}
		var five []float32
		for i, n := range indices {
			five = append(append(five, float32(n)), c.boxes[4*i:4*i+4]...)
		}
		for mode, grid := range milGrids {
			for name, box := range map[string]td.BoxMode{
				"CORNERS_HEIGHT_FIRST": td.BoxCornersHeightFirst, "CORNERS_WIDTH_FIRST": td.BoxCornersWidthFirst,
				"CENTER_SIZE_HEIGHT_FIRST": td.BoxCenterHeightFirst, "CENTER_SIZE_WIDTH_FIRST": td.BoxCenterWidthFirst,
			} {
				p := &td.CropResize{Sampling: td.Sampling{Padding: td.PadBackground, Background: 3}, Grid: grid, Boxes: box, Scale: 0.75}
				if c.normalized {
					p.Coordinate = td.CoordNormalizedUnit
				}
				t.Run(fmt.Sprint(mode, name, c.normalized), func(t *testing.T) {
					sameAsHost(t, "ios17", "crop_resize", p, []int{4, 2, 3, 5}, mixed, mil.Args{"x": x, "boxes": boxes, "box_indices": indices,
						"target_height": int32(3), "target_width": int32(5), "normalized_coordinates": c.normalized, "spatial_scale": float32(0.75),
						"box_coordinate_mode": name, "sampling_mode": mode, "pad_value": float32(3)}, tensor.Of(five, 4, 1, 5, 1, 1))
				})
			}
		}
	}
}
