package td

import (
	"math"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/tensor"
)

// samplingSamples has an operation of every class that takes elements from other
// places, or from between them.
func samplingSamples() []*Op {
	const f16, f32 = tensor.Float16, tensor.Float32
	blocks := Factors{X: 3, Y: 2, Z: 1}
	sampling := Sampling{Coordinate: CoordNormalizedUnit, Padding: PadBackground, Background: -2, AlignCorners: true}
	unary := func(p Params, y, x Operand) *Op { return &Op{Params: p, Operands: []Operand{y, x}} }
	return []*Op{
		unary(&Padding{Before: [5]int{0, 0, 1, 2, 3}, After: [5]int{1, 0, 0, 2, 1}, Mode: PadBackground, Value: 1.5},
			dense(f16, 3, 1, 9, 11, 13), dense(f16, 2, 1, 8, 7, 9)),
		unary(&Tile{Reps: [5]int{1, 2, 1, 3, 1}}, dense(f16, 1, 2, 4, 9, 5), dense(f16, 1, 1, 4, 3, 5)),
		{
			Params:   &DynamicSlice{Number: 2, Axes: [5]Axis{AxisW, AxisC}, Padding: PadReplication, Background: 3, FromEnd: true},
			Operands: []Operand{dense(f16, 2, 1, 3, 7, 4), dense(f16, 2, 1, 8, 7, 9), dense(tensor.Int32, 1, 1, 1, 1, 2)},
		},
		unary(&PixelShuffle{blocks}, dense(f16, 2, 1, 2, 6, 6), dense(f16, 2, 1, 12, 3, 2)),
		unary(&PixelUnshuffle{blocks}, dense(f16, 2, 1, 12, 3, 2), dense(f16, 2, 1, 2, 6, 6)),
		unary(&ChannelToSpace{blocks}, dense(f16, 2, 1, 2, 6, 6), dense(f16, 2, 1, 12, 3, 2)),
		unary(&SpaceToChannel{blocks}, dense(f16, 2, 1, 12, 3, 2), dense(f16, 2, 1, 2, 6, 6)),
		unary(&BatchToSpace{blocks}, dense(f16, 2, 1, 5, 6, 6), dense(f16, 12, 1, 5, 3, 2)),
		unary(&SpaceToBatch{blocks}, dense(f16, 12, 1, 5, 3, 2), dense(f16, 2, 1, 5, 6, 6)),
		unary(&Resize{Method: SampleNearest, Grid: GridDefault, Rounding: RoundFloor, Scale: [2]float32{0, 2.5}},
			dense(f16, 2, 1, 5, 6, 6), dense(f16, 2, 1, 5, 3, 2)),
		{
			Params:   &Resample{sampling},
			Operands: []Operand{dense(f16, 2, 1, 5, 6, 4), dense(f16, 2, 1, 5, 3, 2), dense(f32, 1, 1, 2, 6, 4)},
		},
		{
			Params:   &AffineTransform{sampling},
			Operands: []Operand{dense(f16, 2, 1, 5, 6, 4), dense(f16, 2, 1, 5, 3, 2), dense(f32, 2, 1, 1, 2, 3)},
		},
		{
			Params:   &CropResize{Sampling: sampling, Grid: GridStrictAlignedCorners, Boxes: BoxCenterWidthFirst, Scale: 0.5},
			Operands: []Operand{dense(f16, 7, 1, 5, 6, 4), dense(f16, 2, 1, 5, 3, 2), dense(f32, 7, 1, 5, 1, 1)},
		},
	}
}

func TestSamplingErrors(t *testing.T) {
	for _, c := range []struct {
		class   Class
		spoil   func(*Op)
		message string
	}{
		{ClassPadding, func(o *Op) { o.Params.(*Padding).Before[4] = 4 }, "y has 13 along W"},
		{ClassPadding, func(o *Op) { o.Params.(*Padding).Before[4] = -1 }, "BeforeW"},
		{ClassPadding, func(o *Op) { o.Params.(*Padding).Mode = 4 }, "padding mode 4 is not known"},
		{ClassPadding, func(o *Op) {
			o.Params = &Padding{Before: [5]int{0, 0, 0, 0, 9}, Mode: PadReflective}
			o.Operands[0].Dims, o.Operands[1].Dims = [5]int{1, 1, 1, 1, 18}, [5]int{1, 1, 1, 1, 9}
		}, "Reflective takes at most 8 of 9"},
		{ClassPadding, func(o *Op) {
			o.Params = &Padding{After: [5]int{0, 0, 0, 0, 10}, Mode: PadSymmetric}
			o.Operands[0].Dims, o.Operands[1].Dims = [5]int{1, 1, 1, 1, 19}, [5]int{1, 1, 1, 1, 9}
		}, "Symmetric takes at most 9 of 9"},
		{ClassPadding, func(o *Op) {
			o.Params = &Padding{After: [5]int{0, 0, 0, 0, 2}, Mode: PadReplication}
			o.Operands[0].Dims, o.Operands[1].Dims = [5]int{1, 1, 1, 1, 2}, [5]int{1, 1, 1, 1, 0}
		}, "nothing along W"},
		{ClassTile, func(o *Op) { o.Params.(*Tile).Reps[0] = 0 }, "0 repetitions along N"},
		{ClassTile, func(o *Op) { o.Operands[0].Dims[AxisH]++ }, "3 repetitions of 3 make 9"},
		{ClassDynamicSlice, func(o *Op) { o.Params.(*DynamicSlice).Number = 0 }, "0 axes"},
		{ClassDynamicSlice, func(o *Op) { o.Params.(*DynamicSlice).Axes[1] = AxisW }, "W stands twice"},
		{ClassDynamicSlice, func(o *Op) { o.Params.(*DynamicSlice).Axes[2] = AxisH }, "after the 2 axes"},
		{ClassDynamicSlice, func(o *Op) { o.Params.(*DynamicSlice).Axes[0] = 7 }, "no axis"},
		{ClassDynamicSlice, func(o *Op) { o.Params.(*DynamicSlice).Padding = 0 }, "not known"},
		{ClassDynamicSlice, func(o *Op) { o.Params.(*DynamicSlice).Coordinate = CoordNormalizedUnit }, "NormalizedUnit"},
		{ClassDynamicSlice, func(o *Op) { o.Operands[2].Type = tensor.Float16 }, "want integers"},
		{ClassDynamicSlice, func(o *Op) { o.Operands[2].Dims[AxisW] = 3 }, "start has extents"},
		{ClassDynamicSlice, func(o *Op) { o.Operands[0].Dims[AxisW] = 10 }, "y has 10 along W"},
		{ClassPixelShuffle, func(o *Op) { o.Params.(*PixelShuffle).X = 0 }, "a block of 0 along W"},
		{ClassPixelShuffle, func(o *Op) { o.Operands[0].Dims[AxisW] = 7 }, "does not divide"},
		{ClassPixelUnshuffle, func(o *Op) { o.Operands[0].Dims[AxisC] = 11 }, "make [2 1 12 3 2]"},
		{ClassBatchToSpace, func(o *Op) { o.Operands[1].Dims[AxisN] = 11 }, "make [12 1 5 3 2]"},
		{ClassSpaceToBatch, func(o *Op) {
			f := maxDim
			o.Params = &SpaceToBatch{Factors{f, f, f}}
			o.Operands[1].Dims = [5]int{2, 0, 5, 0, 0}
		}, "too much"},
		{ClassResize, func(o *Op) { o.Params.(*Resize).Grid = 7 }, "sampling grid 7 is not known"},
		{ClassResize, func(o *Op) { o.Params.(*Resize).Rounding = 6 }, "rounding 6 is not known"},
		{ClassResize, func(o *Op) { o.Params.(*Resize).Method = 2 }, "sampling method 2 is not known"},
		{ClassResize, func(o *Op) { o.Params.(*Resize).Grid = GridOffsetCorners }, "by the extents"},
		{ClassResize, func(o *Op) { o.Params.(*Resize).Scale[0] = -1 }, "scale -1 along H"},
		{ClassResize, func(o *Op) { o.Params.(*Resize).Scale[0] = float32(math.NaN()) }, "scale NaN along H"},
		{ClassResize, func(o *Op) { o.Operands[1].Dims[AxisH] = 0 }, "nothing along H"},
		{ClassResize, func(o *Op) { o.Operands[1].Dims[AxisC]++ }, "along C"},
		{ClassResample, func(o *Op) { o.Operands[2].Dims[AxisC] = 3 }, "coordinates has extents"},
		{ClassResample, func(o *Op) { o.Operands[2].Dims[AxisC] = 1 }, "for W alone"},
		{ClassResample, func(o *Op) { o.Operands[2].Dims[AxisN] = 3 }, "want 1 or 2"},
		{ClassResample, func(o *Op) { o.Params.(*Resample).Coordinate = 3 }, "not known"},
		{ClassAffineTransform, func(o *Op) { o.Operands[2].Dims[AxisW] = 2 }, "matrix has extents"},
		{ClassAffineTransform, func(o *Op) { o.Operands[2].Dims[AxisN] = 3 }, "want 1 or 2"},
		{ClassCropResize, func(o *Op) { o.Operands[2].Dims[AxisC] = 3 }, "want 4 or 5"},
		{ClassCropResize, func(o *Op) { o.Operands[2].Dims[AxisC] = 4 }, "without an index"},
		{ClassCropResize, func(o *Op) { o.Operands[0].Dims[AxisN] = 6 }, "boxes has 7"},
		{ClassCropResize, func(o *Op) { o.Operands[1].Dims[AxisN] = 0 }, "nothing along N"},
		{ClassCropResize, func(o *Op) { o.Params.(*CropResize).Boxes = 0 }, "box mode 0 is not known"},
	} {
		var op *Op
		for _, s := range samplingSamples() {
			if s.Class() == c.class {
				op = s
			}
		}
		c.spoil(op)
		if _, err := op.Task(V256); err == nil || !strings.Contains(err.Error(), c.message) {
			t.Errorf("%v: %v; want %q", c.class, err, c.message)
		}
	}
}
