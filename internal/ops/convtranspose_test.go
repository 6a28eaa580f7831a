package ops

import "testing"

// Expected values: numpy, each input spread over the outputs that it reaches, then cropped.
func TestConvTranspose(t *testing.T) {
	x, w := xs(1, 2, 3), ws(2, 2, 3)
	tests := []struct {
		name  string
		a     args
		shape []int
		want  []float64
	}{
		{"valid", args{"x": x, "weight": w, "strides": []int{2}, "bias": []float64{10, 20}}, dims(1, 2, 7),
			[]float64{20, -15, 13, 11, 21, 15, 4, 30, -5, 26, 24, 29, 20, 9}},
		{"custom", args{"x": x, "weight": w, "strides": []int{2}, "pad_type": "custom", "pad": []int{1, 1}}, dims(1, 2, 5),
			[]float64{-25, 3, 1, 11, 5, -25, 6, 4, 9, 0}},
		{"same, one to crop", args{"x": x, "weight": w, "strides": []int{2}, "pad_type": "same"}, dims(1, 2, 6),
			[]float64{10, -25, 3, 1, 11, 5, 10, -25, 6, 4, 9, 0}},
		{"same, two to crop", args{"x": x, "weight": w, "pad_type": "same"}, dims(1, 2, 3), []float64{-32, 20, 7, -29, 18, 5}},
		{"same, stride beyond the kernel", args{"x": x, "weight": w, "strides": []int{4}, "pad_type": "same"}, dims(1, 2, 12),
			[]float64{10, -25, 10, 0, -7, 1, 2, 0, 9, 5, -6, 0, 10, -25, 10, 0, -4, 4, 5, 0, 4, 0, -11, 0}},
		{"same, output_shape", args{"x": x, "weight": w, "strides": []int{2}, "pad_type": "same", "output_shape": []int{1, 2, 5}}, dims(1, 2, 5),
			[]float64{-25, 3, 1, 11, 5, -25, 6, 4, 9, 0}},
		{"output_shape beyond the inputs", args{"x": x, "weight": w, "strides": []int{2}, "output_shape": []int{1, 2, 8}}, dims(1, 2, 8),
			[]float64{10, -25, 3, 1, 11, 5, -6, 0, 10, -25, 6, 4, 9, 0, -11, 0}},
		{"dilation", args{"x": x, "weight": w, "strides": []int{3}, "dilations": []int{2}}, dims(1, 2, 11),
			[]float64{10, 0, -25, -7, 10, 1, 9, 2, 5, 0, -6, 10, 0, -25, -4, 10, 4, 4, 5, 0, 0, -11}},
		{"groups", args{"x": xs(1, 4, 2, 3), "weight": ws(4, 1, 2, 3), "strides": []int{2, 1}, "groups": 2, "pad_type": "custom", "pad": []int{1, 1, 0, 1}}, dims(1, 2, 2, 4),
			[]float64{10, -27, 17, 4, -18, -1, 25, 7, 4, 8, -11, 10, -2, -20, 6, 12}},
		{"three axes", args{"x": xs(1, 1, 2, 2, 2), "weight": ws(1, 1, 2, 2, 2), "strides": []int{1, 2, 3}}, dims(1, 1, 3, 4, 5),
			[]float64{15, -10, 0, -6, 4, 0, 10, 0, 0, -4, 6, -4, 0, -15, 10, 0, 4, 0, 0, -10, -18, -3, 0, 15, -4, 5, 13, 0, -2, 0, -18, 6, 0, 15, 5,
				2, -2, 0, -5, -15, 3, 1, 0, -9, -3, -1, -3, 0, 3, 9, 12, 4, 0, 0, 0, -4, -12, 0, 0, 0}},
		{"no batch", args{"x": xs(0, 2, 3), "weight": w}, dims(0, 2, 5), nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := evalOp(t, IOS15, "conv_transpose", tt.a)
			wantShape(t, got[0], tt.shape...)
			wantFloats(t, got[0], 0, tt.want...)
		})
	}
	// Weights from the input, of another type; by hand: 2·[3, 4].
	got := evalOp(t, IOS17, "conv_transpose", args{"x": f16(dims(1, 1, 1), 2), "weight": f32(dims(1, 1, 2), 3, 4)})
	wantFloats(t, got[0], 0, 6, 8)
}

func TestConvTransposeErrors(t *testing.T) {
	x, w := xs(1, 2, 3), ws(2, 2, 3)
	with := func(name string, v any) args { return args{"x": x, "weight": w, name: v} }
	for _, tt := range []struct {
		a    args
		want string
	}{
		{args{"x": x, "weight": ws(3, 2, 3)}, "weight is for 3 input channels, but x has 2"},
		{args{"x": x, "weight": ws(2, 2, 0)}, "the kernel length is 0"},
		{with("groups", 3), "3 groups do not divide"},
		{args{"x": xs(1, 0, 3), "weight": f32(dims(0, 1<<40, 1)), "groups": 1 << 30}, "is beyond any memory"},
		{with("pad_type", "same_lower"), "expected one of valid, same, custom"},
		{with("bias", []float64{1}), "bias has shape [1], expected [2]"},
		{with("output_shape", []int{5}), "output_shape [5] has 1 elements, expected 3"},
		{with("output_shape", []int{1, 3, 5}), "expected batch 1 and 2 channels"},
		{with("output_shape", []int{1, 2, -1}), "expected no negative length"},
		{args{"x": x, "weight": w, "pad_type": "custom", "pad": []int{3, 3}}, "pads of 3 and 3 leave nothing of 5 outputs"},
	} {
		wantErr(t, IOS15, "conv_transpose", tt.a, tt.want)
	}
}
