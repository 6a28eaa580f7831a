package v7_test

import (
	"math"
	"slices"
	"testing"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/compiler"
	"github.com/espalier-ane/espalier/tensor"
)

// A slice with an offset along W loses what its gain takes beyond fp16, unless the profile of numerics says otherwise: then
// its tasks are not native, which have the gain in them.
func TestCropsHaveTheirGain(t *testing.T) {
	target := h13(t)
	c := testCase{
		inputs: []string{"x [1, 1, 1, 8]"},
		body:   []string{"y [1, 1, 1, 7] = slice_by_index(x = x, begin = tensor<int32, [4]>([0, 0, 0, 1]), end = tensor<int32, [4]>([1, 1, 1, 8]))"},
	}
	inf := float32(math.Inf(1))
	x := []float32{0, 4094, 4096, 4100, -4100, -4094, 0x1p-24, 0.333}
	for _, tc := range []struct {
		numerics string
		native   bool
		want     []float32
	}{
		{"h13", true, []float32{4094, inf, inf, -inf, -4094, 0x1p-24, tensor.RoundF16(0.333)}},
		{"h13,width-slice-gain=0", false, []float32{4094, 4096, 4100, -4100, -4094, 0x1p-24, tensor.RoundF16(0.333)}},
	} {
		s := compile(t, &compiler.Job{Target: target, Program: c.program(t), Numerics: tc.numerics})
		for i, task := range s.Tasks {
			if (task.Op == nil) != tc.native {
				t.Errorf("%s: task %d is native: %v", tc.numerics, i, !tc.native)
			}
		}
		numerics, err := hal.ParseNumerics(tc.numerics)
		if err != nil {
			t.Fatal(err)
		}
		if got := runContainer(t, s.File, numerics, map[string][]float32{"x": x}); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v becomes %v, want %v", tc.numerics, x, got, tc.want)
		}
	}
}

// Functions whose table would not be the function come out right by other means.
func TestFunctionsWithoutTable(t *testing.T) {
	target := h13(t)
	for _, c := range []struct {
		body    string
		x, want []float32
	}{
		// -x/2 left of 0 meets the limit as x does on the right.
		{"clamped_relu(x = x, alpha = fp16(-0.5), beta = fp16(1))", []float32{-8, -1, 0, 0.5, 8}, []float32{1, 0.5, 0, 0.5, 1}},
	} {
		one := testCase{inputs: []string{"x [5]"}, body: []string{"y [5] = " + c.body}}
		s := compile(t, &compiler.Job{Target: target, Program: one.program(t)})
		for i, y := range runContainer(t, s.File, target.Numerics, map[string][]float32{"x": c.x}) {
			if y != c.want[i] {
				t.Errorf("%s of %v is %v, expected %v", c.body, c.x[i], y, c.want[i])
			}
		}
	}
}
