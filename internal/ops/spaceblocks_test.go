package ops

import (
	"testing"

	"github.com/espalier-ane/espalier/tensor"
)

// TestSpaceBlocks has values computed by loops over the definition out[n, c, h·b+i, w·b+j] = x[n, …, h, w], where … is
// (i·b+j)·C+c for depth_to_space and c·b²+i·b+j for pixel_shuffle; those of the batch are from coremltools' tests.
func TestSpaceBlocks(t *testing.T) {
	runMoves(t, []moveCase{
		{IOS15, "depth_to_space", args{"x": f32(dims(1, 4, 1, 1), 9, 5, 1, 3), "block_size": 2}, results{result(dims(1, 1, 2, 2), 9, 5, 1, 3)}},
		{IOS15, "space_to_depth", args{"x": f32(dims(1, 1, 2, 2), 9, 5, 1, 3), "block_size": 2}, results{result(dims(1, 4, 1, 1), 9, 5, 1, 3)}},
		{IOS15, "depth_to_space", args{"x": seqFrom(tensor.Float32, 0, 1, 8, 1, 2), "block_size": 2},
			results{result(dims(1, 2, 2, 4), 0, 4, 1, 5, 8, 12, 9, 13, 2, 6, 3, 7, 10, 14, 11, 15)}},
		{IOS15, "space_to_depth", args{"x": f32(dims(1, 2, 2, 4), 0, 4, 1, 5, 8, 12, 9, 13, 2, 6, 3, 7, 10, 14, 11, 15), "block_size": 2},
			results{result(dims(1, 8, 1, 2), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)}},
		{IOS15, "pixel_shuffle", args{"x": seqFrom(tensor.Float32, 0, 1, 8, 1, 2), "upscale_factor": 2},
			results{result(dims(1, 2, 2, 4), 0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11, 12, 14, 13, 15)}},
		{IOS16, "pixel_unshuffle", args{"x": f32(dims(1, 2, 2, 4), 0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11, 12, 14, 13, 15), "downscale_factor": 2},
			results{result(dims(1, 8, 1, 2), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)}},
		{IOS15, "space_to_batch", args{"x": seqFrom(tensor.Float32, 1, 2, 1, 2, 4), "block_shape": []int{2, 2}, "paddings": i32(dims(2, 2), 0, 0, 2, 0)},
			results{result(dims(8, 1, 1, 3), 0, 1, 3, 0, 9, 11, 0, 2, 4, 0, 10, 12, 0, 5, 7, 0, 13, 15, 0, 6, 8, 0, 14, 16)}},
		{IOS15, "batch_to_space", args{"x": f32(dims(8, 1, 1, 3), 0, 1, 3, 0, 9, 11, 0, 2, 4, 0, 10, 12, 0, 5, 7, 0, 13, 15, 0, 6, 8, 0, 14, 16), "block_shape": []int{2, 2}, "crops": i32(dims(2, 2), 0, 0, 2, 0)},
			results{result(dims(2, 1, 2, 4), 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)}},
	})
}

func TestSpaceBlockErrors(t *testing.T) {
	x := seq(tensor.Float32, 1, 4, 2, 3)
	wantErr(t, IOS15, "depth_to_space", args{"x": x, "block_size": 3}, "axis 1", "length 4", "3 by 3")
	wantErr(t, IOS15, "depth_to_space", args{"x": x, "block_size": 0}, "block_size is 0")
	wantErr(t, IOS15, "depth_to_space", args{"x": seq(tensor.Float32, 4, 2, 3), "block_size": 2}, "rank 3, expected 4")
	wantErr(t, IOS15, "space_to_depth", args{"x": x, "block_size": 2}, "axis 3", "length 3")
	wantErr(t, IOS15, "pixel_shuffle", args{"x": x, "upscale_factor": 1 << 30}, "beyond any memory")
	wantErr(t, IOS16, "pixel_unshuffle", args{"x": f32(dims(1, 4, 0, 0)), "downscale_factor": 1 << 30}, "beyond any memory")
	crops := i32(dims(2, 2), 0, 0, 2, 2)
	wantErr(t, IOS15, "batch_to_space", args{"x": x, "block_shape": []int{2, 2}, "crops": crops}, "axis 0", "length 1")
	wantErr(t, IOS15, "batch_to_space", args{"x": x, "block_shape": []int{1, 1}, "crops": crops}, "take 4 from axis 3", "length 3")
	wantErr(t, IOS15, "batch_to_space", args{"x": x, "block_shape": []int{1}, "crops": crops}, "block_shape is [1]")
	wantErr(t, IOS15, "batch_to_space", args{"x": x, "block_shape": []int{1, 1}, "crops": []int{0, 0, 0, 0}}, "crops has shape [4], expected [2, 2]")
	wantErr(t, IOS15, "space_to_batch", args{"x": x, "block_shape": []int{1, 2}, "paddings": crops}, "axis 3", "length 7")
	wantErr(t, IOS15, "space_to_batch", args{"x": x, "block_shape": []int{1, 0}, "paddings": crops}, "block_shape is [1 0]")
	wantErr(t, IOS15, "space_to_batch", args{"x": x, "block_shape": []int{1, 1}, "paddings": i32(dims(2, 2), 0, 0, -1, 2)}, "negative")
}
