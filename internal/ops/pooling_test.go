package ops

import (
	"math"
	"testing"
)

// Expected values: numpy, by marking each cell of an enlarged input as input, padding or beyond.
func TestPools(t *testing.T) {
	x1, x2, x3 := xs(1, 2, 6), xs(1, 1, 4, 5), xs(1, 1, 2, 3, 3)
	type m = map[string][]float64
	tests := []struct {
		name  string
		a     args
		shape []int
		want  m
	}{
		{"valid", args{"x": x1, "kernel_sizes": []int{3}, "strides": []int{2}, "pad_type": "valid", "pad": []int{5, 6}}, dims(1, 2, 2), m{
			"avg_pool": {-5. / 3, 4. / 3, 0, -2. / 3},
			"max_pool": {2, 5, 4, 3},
			"l2_pool":  {math.Sqrt(33), math.Sqrt(30), math.Sqrt(32), math.Sqrt(26)}}},
		{"custom", args{"x": x2, "kernel_sizes": []int{2, 3}, "strides": []int{2, 2}, "pad_type": "custom", "pad": []int{1, 0, 1, 1}}, dims(1, 1, 2, 3), m{
			"avg_pool": {-0.5, 0.833333, 1, -0.833333, -0.833333, 0.333333},
			"max_pool": {2, 5, 5, 4, 4, 5},
			"l2_pool":  {5.38516, 5.74456, 5.09902, 7.14143, 8.06226, 7.34847}}},
		{"same", args{"x": x2, "kernel_sizes": []int{2, 3}, "strides": []int{3, 3}, "pad_type": "same"}, dims(1, 1, 2, 2), m{
			"avg_pool": {-0.666667, 0.833333, 0.333333, -0.666667},
			"max_pool": {4, 5, 4, 0},
			"l2_pool":  {7.61577, 7.14143, 5.09902, 4}}},
		{"same_lower", args{"x": x2, "kernel_sizes": []int{2, 2}, "strides": []int{1, 2}, "pad_type": "same_lower"}, dims(1, 1, 4, 3), m{
			"avg_pool": {-1.25, 0, 1.5, -2, 1, 1.25, -1, 0.25, 0.5, 0, -0.5, -0.25},
			"max_pool": {-5, 2, 5, -3, 4, 5, -1, 4, 5, 1, 4, 5},
			"l2_pool":  {5, 2.82843, 5.09902, 5.83095, 4.89898, 7.14143, 3.16228, 6.7082, 7.34847, 1.41421, 7.34847, 6.7082}}},
		{"ceil_mode with padding", args{"x": x2, "kernel_sizes": []int{3, 3}, "strides": []int{2, 2}, "pad_type": "custom", "pad": []int{1, 1, 1, 1}, "ceil_mode": true}, dims(1, 1, 3, 3), m{
			"avg_pool": {-0.222222, 0.555556, 0.555556, -0.777778, -0.444444, -0.222222, -0.333333, 0.166667, -0.666667},
			"max_pool": {4, 5, 5, 4, 4, 5, 1, 4, 0},
			"l2_pool":  {7.34847, 8.06226, 7.14143, 7.81025, 9.48683, 8.3666, 3.16228, 5, 4}}},
		{"ceil_mode", args{"x": x1, "kernel_sizes": []int{3}, "strides": []int{2}, "pad_type": "valid", "ceil_mode": true}, dims(1, 2, 3), m{
			"avg_pool": {-5. / 3, 4. / 3, -1, 0, -2. / 3, -3},
			"max_pool": {2, 5, 1, 4, 3, -1},
			"l2_pool":  {5.74456, 5.47723, 3.16228, 5.65685, 5.09902, 5.09902}}},
		{"three axes", args{"x": x3, "kernel_sizes": []int{2, 2, 2}, "strides": []int{1, 1, 2}, "pad_type": "custom", "pad": []int{0, 1, 1, 0, 0, 0}}, dims(1, 1, 2, 3, 1), m{
			"avg_pool": {-0.125, 0.625, 1, 0.25, 0.25, -0.25},
			"max_pool": {3, 5, 5, 3, 3, 2}}},
		{"no channels", args{"x": xs(1, 0, 4), "kernel_sizes": []int{2}, "pad_type": "valid"}, dims(1, 0, 3), m{"avg_pool": {}, "max_pool": {}, "l2_pool": {}}},
	}
	for _, tt := range tests {
		for kind, want := range tt.want {
			t.Run(kind+" "+tt.name, func(t *testing.T) {
				got := evalOp(t, IOS16, kind, tt.a)
				wantShape(t, got[0], tt.shape...)
				wantFloats(t, got[0], 5e-6, want...)
			})
		}
	}
	got := evalOp(t, IOS15, "avg_pool", args{"x": x2, "kernel_sizes": []int{2, 3}, "strides": []int{2, 2}, "pad_type": "custom", "pad": []int{1, 0, 1, 1}, "exclude_padding_from_average": true})
	wantFloats(t, got[0], 5e-6, -1.5, 1.66667, 3, -1.25, -0.833333, 0.5)
	got = evalOp(t, IOS15, "avg_pool", args{"x": x2, "kernel_sizes": []int{3, 3}, "strides": []int{2, 2}, "pad_type": "custom", "pad": []int{1, 1, 1, 1}, "ceil_mode": true, "exclude_padding_from_average": true})
	wantFloats(t, got[0], 5e-6, -0.5, 0.833333, 1.25, -1.16667, -0.444444, -0.333333, -1, 0.333333, -2)
}

// By hand: padding is never the maximum, NaN always is, and a kernel that no loop could walk is none of its cost.
func TestPoolEdges(t *testing.T) {
	got := evalOp(t, IOS15, "max_pool", args{"x": f32(dims(1, 1, 3), -3, -2, math.NaN()), "kernel_sizes": []int{2}, "pad_type": "custom", "pad": []int{2, 0}})
	wantFloats(t, got[0], 0, math.Inf(-1), -3, -2, math.NaN())
	huge := []int{math.MaxInt32, math.MaxInt32, math.MaxInt32}
	got = evalOp(t, IOS15, "avg_pool", args{"x": f32(dims(1, 1, 1, 1, 2), 1, 3), "kernel_sizes": huge, "strides": huge, "pad_type": "same", "exclude_padding_from_average": true})
	wantFloats(t, got[0], 0, 2)
	// A window without input: coremltools' rule makes one where the stride is longer than the kernel.
	got = evalOp(t, IOS15, "avg_pool", args{"x": f32(dims(1, 1, 2), 1, 3), "kernel_sizes": []int{1}, "strides": []int{3}, "pad_type": "valid", "ceil_mode": true})
	wantFloats(t, got[0], 0, 1, 0)
}

func TestPoolErrors(t *testing.T) {
	x := xs(1, 1, 4, 5)
	for _, tt := range []struct {
		kind string
		a    args
		want string
	}{
		{"max_pool", args{"x": xs(4, 5), "kernel_sizes": []int{2}, "pad_type": "valid"}, "expected batch, channels and one to 3 spatial axes"},
		{"l2_pool", args{"x": xs(1, 1, 2, 2, 2), "kernel_sizes": []int{2, 2, 2}, "pad_type": "valid"}, "one to 2 spatial axes"},
		{"max_pool", args{"x": x, "kernel_sizes": []int{2}, "pad_type": "valid"}, "kernel_sizes [2] has 1 elements"},
		{"max_pool", args{"x": x, "kernel_sizes": []int{0, 1}, "pad_type": "valid"}, "expected positive numbers"},
		{"max_pool", args{"x": x, "kernel_sizes": []int{5, 1}, "pad_type": "valid"}, "a window of 5 does not fit"},
		{"max_pool", args{"x": x, "kernel_sizes": []int{2, 2}, "pad_type": "same", "ceil_mode": true}, "ceil_mode with pad_type same"},
		{"max_pool", args{"x": x, "kernel_sizes": []int{2, 2}, "pad_type": "custom", "pad": []int{0, 1, 0, 0}, "ceil_mode": true}, "the same before and after"},
		{"avg_pool", args{"x": xs(1, 1, 2, 2, 2), "kernel_sizes": []int{2, 2, 2}, "pad_type": "valid", "ceil_mode": true}, "ceil_mode with 3 spatial axes"},
		{"avg_pool", args{"x": x, "kernel_sizes": []int{2, 2}, "pad_type": "same_lower"}, "not in opset iOS15"},
	} {
		wantErr(t, IOS15, tt.kind, tt.a, tt.want)
	}
}
