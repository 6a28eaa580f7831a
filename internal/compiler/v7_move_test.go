package compiler

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/encode/selection"
	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

func ints(list ...int) string {
	text := strings.ReplaceAll(strings.Trim(fmt.Sprint(list), "[]"), " ", ", ")
	return fmt.Sprintf("tensor<int32, [%d]>([%s])", len(list), text)
}

func turnedBy(perm ...int) string { return "transpose(x = x, perm = " + ints(perm...) + ")" }

func reshaped(shape ...int) string { return "reshape(x = x, shape = " + ints(shape...) + ")" }

func sliced(begin, end []int) string {
	return fmt.Sprintf("slice_by_index(x = x, begin = %s, end = %s)", ints(begin...), ints(end...))
}

func padded(mode string, amounts ...int) string {
	return fmt.Sprintf(`pad(x = x, pad = %s, mode = string("%s"), constant_val = fp16(1.5))`, ints(amounts...), mode)
}

// moveCases are of layers that compute nothing. What they make is exactly what they read.
var moveCases = []v7Case{
	// Transposes.
	{inputs: "x [6, 10, 12]", body: "y [10, 6, 12] = " + turnedBy(1, 0, 2), tasks: 1},
	{inputs: "x [6, 10, 12]", body: "y [12, 6, 10] = " + turnedBy(2, 0, 1), tasks: 1},
	{inputs: "x [6, 10, 12]", body: "y [12, 10, 6] = " + turnedBy(2, 1, 0), tasks: 1},
	{inputs: "x [3, 6, 10, 33]", body: "y [3, 33, 6, 10] = " + turnedBy(0, 3, 1, 2), tasks: 1},
	{inputs: "x [3, 6, 10, 33]", body: "y [3, 10, 33, 6] = " + turnedBy(0, 2, 3, 1), tasks: 1},
	{inputs: "x [70, 1000]", body: "y [1000, 70] = " + turnedBy(1, 0), tasks: 1},

	// Reshapes that leave the columns alone or cut them at 64 bytes are views.
	{inputs: "x [5, 7, 9]", body: "y [35, 9] = " + reshaped(35, 9), tasks: 1},
	{inputs: "x [12, 96]", body: "y [12, 3, 32] = " + reshaped(12, 3, 32), tasks: 1},
	{inputs: "x [12, 3, 64]", body: "y [12, 192] = " + reshaped(12, 192), tasks: 1},
	{inputs: "x [12, 96]", body: "a [12, 3, 32] = " + reshaped(12, 3, 32) + "; y [3, 12, 32] = transpose(x = a, perm = " + ints(1, 0, 2) + ")", tasks: 1},
	// Others go through memory in which elements lie apart.
	{inputs: "x [5, 12]", body: "y [4, 15] = " + reshaped(4, 15), tasks: 2},
	{inputs: "x [1, 40, 3, 5]", body: "y [1, 40, 15] = " + reshaped(1, 40, 15), tasks: 2},
	{inputs: "x [1, 40, 15]", body: "y [1, 40, 3, 5] = " + reshaped(1, 40, 3, 5), tasks: 2},
	{inputs: "x [1, 6, 3, 5]", body: "y [90] = " + reshaped(90), tasks: 2},
	{inputs: "x [90]", body: "y [2, 3, 15] = " + reshaped(2, 3, 15), tasks: 2},
	{inputs: "x [1, 40, 1, 1]", body: "y [1, 40] = " + reshaped(1, 40), tasks: 1},
	{inputs: "x [2, 3, 4, 6]", body: "y [8, 18] = " + reshaped(8, 18), tasks: 2},
	{inputs: "x [1, 60, 24]", body: "y [1, 60, 4, 6] = " + reshaped(1, 60, 4, 6), tasks: 2},

	// Slices.
	{inputs: "x [4, 8, 9, 10]", body: "y [2, 3, 4, 10] = " + sliced([]int{1, 2, 3, 0}, []int{3, 5, 7, 10}), tasks: 1},
	{inputs: "x [1, 8, 9, 10]", body: "y [1, 4, 3, 10] = slice_by_index(x = x, begin = " + ints(0, 0, 1, 0) + ", end = " + ints(1, 8, 9, 10) + ", stride = " + ints(1, 2, 3, 1) + ")", tasks: 1},
	{inputs: "x [1, 8, 9, 10]", body: "y [1, 8, 9, 5] = slice_by_index(x = x, begin = " + ints(0, 0, 0, 0) + ", end = " + ints(1, 8, 9, 10) + ", stride = " + ints(1, 1, 1, 2) + ")", tasks: 1},

	// Slices that begin inside of a row.
	{inputs: "x [1, 4, 5, 90]", body: "y [1, 4, 5, 50] = " + sliced([]int{0, 0, 0, 7}, []int{1, 4, 5, 57}), tasks: 2},
	{inputs: "x [2, 40, 5, 90]", body: "y [2, 40, 5, 26] = " + sliced([]int{0, 0, 0, 64}, []int{2, 40, 5, 90}), tasks: 2},
	{inputs: "x [90]", body: "y [1] = " + sliced([]int{89}, []int{90}), tasks: 2},
	{inputs: "x [3, 5, 40]", body: "y [3, 2, 13] = slice_by_index(x = x, begin = " + ints(0, 1, 1) + ", end = " + ints(3, 5, 40) + ", stride = " + ints(1, 3, 3) + ")", tasks: 2},

	// Concatenations: along W the second part may begin anywhere.
	{inputs: "x [1, 5, 4, 7]; z [1, 9, 4, 7]", body: "y [1, 14, 4, 7] = concat(values = (x, z), axis = int32(1), interleave = bool(false))", tasks: 2},
	{inputs: "x [2, 5, 4, 7]; z [2, 5, 3, 7]", body: "y [2, 5, 7, 7] = concat(values = (x, z), axis = int32(2), interleave = bool(false))", tasks: 2},
	{inputs: "x [2, 5, 4, 7]; z [1, 5, 4, 7]", body: "y [3, 5, 4, 7] = concat(values = (x, z), axis = int32(0), interleave = bool(false))", tasks: 2},
	{inputs: "x [1, 5, 4, 64]; z [1, 5, 4, 7]", body: "y [1, 5, 4, 71] = concat(values = (x, z), axis = int32(3), interleave = bool(false))", tasks: 2},
	{inputs: "x [1, 50, 4, 9]; z [1, 50, 4, 7]", body: "y [1, 50, 4, 16] = concat(values = (x, z), axis = int32(3), interleave = bool(false))", tasks: 3},
	{inputs: "x [9]; z [7]", body: "y [16] = concat(values = (x, z), axis = int32(0), interleave = bool(false))", tasks: 3},
	{inputs: "x [1, 5, 4, 7]; z [1, 9, 4, 7]", body: "a [1, 5, 4, 7] = relu(x = x); b [1, 9, 4, 7] = add(x = z, y = fp16(1)); y [1, 14, 4, 7] = concat(values = (a, b), axis = int32(1), interleave = bool(false))", tasks: 2},
	{inputs: "x [1, 5, 4, 7]; z [1, 9, 4, 7]", body: "a [1, 5, 4, 7] = relu(x = x); b [1, 14, 4, 7] = concat(values = (a, z), axis = int32(1), interleave = bool(false)); y [1, 14, 4, 7] = add(x = b, y = fp16(1))", tasks: 3},

	// Padding.
	{inputs: "x [1, 5, 4, 7]", body: "y [1, 5, 7, 7] = " + padded("constant", 0, 0, 0, 0, 1, 2, 0, 0), tasks: 3},
	{inputs: "x [1, 5, 4, 7]", body: "y [1, 5, 4, 10] = " + padded("constant", 0, 0, 0, 0, 0, 0, 1, 2), tasks: 4},
	{inputs: "x [1, 5, 4, 7]", body: "y [1, 5, 6, 9] = " + padded("constant", 0, 0, 0, 0, 1, 1, 1, 1), tasks: 6},
	{inputs: "x [1, 5, 4, 7]", body: "y [1, 5, 4, 8] = " + padded("constant", 0, 0, 0, 0, 0, 0, 0, 1), tasks: 3},
	{inputs: "x [1, 5, 4, 7]", body: "y [1, 5, 7, 10] = " + padded("reflect", 1, 2, 2, 1)},
	{inputs: "x [1, 5, 4, 7]", body: "y [1, 5, 7, 10] = " + padded("replicate", 1, 2, 2, 1)},

	// Tiles and broadcasts.
	{inputs: "x [1, 5, 1, 7]", body: "y [1, 5, 9, 7] = tile(x = x, reps = " + ints(1, 1, 9, 1) + ")", tasks: 1},
	{inputs: "x [1, 5, 3, 7]", body: "y [1, 10, 3, 7] = tile(x = x, reps = " + ints(1, 2, 1, 1) + ")", tasks: 1},
	{inputs: "x [2, 5, 3, 7]", body: "y [4, 5, 9, 7] = tile(x = x, reps = " + ints(2, 1, 3, 1) + ")"},
	{inputs: "x [1, 5, 3, 7]", body: "y [1, 5, 3, 21] = tile(x = x, reps = " + ints(1, 1, 1, 3) + ")"},
	{inputs: "x [1, 5, 3, 1]", body: "y [1, 5, 3, 21] = tile(x = x, reps = " + ints(1, 1, 1, 21) + ")", tasks: 1},

	// Slices by known numbers.
	{inputs: "x [1, 5, 9, 7]", body: "y [1, 5, 4, 7] = gather(x = x, indices = " + ints(8, 0, 1, 3) + ", axis = int32(2))"},
	{inputs: "x [1, 5, 3, 9]", body: "y [1, 5, 3, 6] = gather(x = x, indices = " + ints(1, 3, 5, 5, 0, 8) + ", axis = int32(3))"},
	{inputs: "x [1, 5, 3, 9]", body: "y [1, 5, 3, 9] = reverse(x = x, axes = " + ints(2) + ")"},

	// Blocks of space: lanes between columns.
	{inputs: "x [1, 8, 4, 6]", body: "y [1, 2, 8, 12] = pixel_shuffle(x = x, upscale_factor = int32(2))", tasks: 1},
	{inputs: "x [2, 27, 4, 5]", body: "y [2, 3, 12, 15] = pixel_shuffle(x = x, upscale_factor = int32(3))"},
	{inputs: "x [1, 2, 8, 12]", body: "y [1, 8, 4, 6] = pixel_unshuffle(x = x, downscale_factor = uint32(2))", tasks: 1},
	{inputs: "x [1, 8, 4, 6]", body: "y [1, 2, 8, 12] = depth_to_space(x = x, block_size = int32(2))", tasks: 1},
	{inputs: "x [1, 3, 8, 12]", body: "y [1, 48, 2, 3] = space_to_depth(x = x, block_size = int32(4))", tasks: 1},

	// Long axes are taken in parts.
	{inputs: "x [1, 9000, 1, 70]", body: "y [1, 70, 1, 9000] = " + turnedBy(0, 3, 2, 1)},
}

// A slice with an offset along W loses what its gain takes beyond fp16, unless the profile of numerics says otherwise: then
// its tasks are not the chip's own, which have the gain in them.
func TestV7CropsHaveTheirGain(t *testing.T) {
	target, err := hal.Lookup("h13")
	if err != nil {
		t.Fatal(err)
	}
	if target.Numerics.WidthSliceGain != selection.CropGain {
		t.Fatalf("the gain of slices along W is %v, tasks have %v", target.Numerics.WidthSliceGain, selection.CropGain)
	}
	c := v7Case{inputs: "x [1, 1, 1, 8]", body: "y [1, 1, 1, 7] = " + sliced([]int{0, 0, 0, 1}, []int{1, 1, 1, 8})}
	program, err := mil.ParseText("case", []byte(c.text()), randomWeights{})
	if err != nil {
		t.Fatal(err)
	}
	inf := float32(math.Inf(1))
	x := []float32{0, 4094, 4096, 4100, -4100, -4094, 0x1p-24, 0.333}
	for _, tc := range []struct {
		numerics string
		own      bool
		want     []float32
	}{
		{"h13", true, []float32{4094, inf, inf, -inf, -4094, 0x1p-24, tensor.RoundF16(0.333)}},
		{"h13,width-slice-gain=0", false, []float32{4094, 4096, 4100, -4100, -4094, 0x1p-24, tensor.RoundF16(0.333)}},
	} {
		r, err := Compile(t.Context(), &Job{Target: target, Program: program, Numerics: tc.numerics, Functions: []Entry{{Function: program.Functions[0]}}})
		if err != nil {
			t.Fatal(err)
		}
		s := r.Functions[0].Segments[0]
		for i, task := range s.Tasks {
			if (task.Op == nil) != tc.own {
				t.Errorf("%s: task %d is the chip's own: %v", tc.numerics, i, !tc.own)
			}
		}
		numerics, err := hal.ParseNumerics(tc.numerics)
		if err != nil {
			t.Fatal(err)
		}
		if got := runSegment(t, s.File, numerics, map[string][]float32{"x": x}); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v becomes %v, want %v", tc.numerics, x, got, tc.want)
		}
	}
}

func TestV7MovesMove(t *testing.T) { runV7Cases(t, moveCases) }

func TestV7MovesAreStrict(t *testing.T) { compileV7CasesStrictly(t, moveCases) }
