package ops

import (
	"math"
	"testing"
)

// Expected values are those that coremltools' value inference, NumPy in fp32, computes; of silu and of the
// far ends of gelu, softplus and sigmoid, where fp32 cancels, NumPy's in fp64.
func TestActivations(t *testing.T) {
	in := []float64{-30, -2.5, -0.5, 0, 0.5, 2.5, 7}
	tests := []struct {
		kind string
		a    args
		want []float64
	}{
		{"relu", args{}, []float64{0, 0, 0, 0, 0.5, 2.5, 7}},
		{"relu6", args{}, []float64{0, 0, 0, 0, 0.5, 2.5, 6}},
		{"sigmoid", args{}, []float64{9.35762297e-14, 0.0758581832, 0.377540678, 0.5, 0.622459352, 0.924141824, 0.999089003}},
		{"silu", args{}, []float64{-2.80728689e-12, -0.18964545, -0.188770334, 0, 0.311229666, 2.31035455, 6.99362264}},
		{"softplus", args{}, []float64{9.35762297e-14, 0.0788897499, 0.474076986, 0.693147182, 0.974076986, 2.57888985, 7.00091124}},
		{"softsign", args{}, []float64{-0.967741907, -0.714285731, -0.333333343, 0, 0.333333343, 0.714285731, 0.875}},
		{"clamped_relu", args{"alpha": 0.25, "beta": 2.0}, []float64{-7.5, -0.625, -0.125, 0, 0.5, 2, 2}},
		{"clamped_relu", args{"alpha": 0.25, "beta": -1.0}, []float64{-7.5, -1, -1, -1, -1, -1, -1}}, // by hand
		{"elu", args{"alpha": 1.5}, []float64{-1.5, -1.37687254, -0.590204, 0, 0.5, 2.5, 7}},
		{"leaky_relu", args{"alpha": 0.125}, []float64{-3.75, -0.3125, -0.0625, 0, 0.5, 2.5, 7}},
		{"linear_activation", args{"alpha": 2.0, "beta": -1.0}, []float64{-61, -6, -2, -1, 0, 4, 13}},
		{"scaled_tanh", args{"alpha": 1.7, "beta": 0.6}, []float64{-1.70000005, -1.53875196, -0.495231479, 0, 0.495231479, 1.53875196, 1.69923568}},
		{"sigmoid_hard", args{"alpha": 0.2, "beta": 0.5}, []float64{0, 0, 0.400000006, 0.5, 0.600000024, 1, 1}},
		{"thresholded_relu", args{"alpha": 0.5}, []float64{0, 0, 0, 0, 0.5, 2.5, 7}},
		{"gelu", args{}, []float64{-1.47205119e-196, -0.0155241629, -0.154268771, 0, 0.345731229, 2.48447585, 7}},
		{"gelu", args{"mode": "TANH_APPROXIMATION"}, []float64{0, -0.015084222, -0.154285982, 0, 0.345714033, 2.48491573, 7}},
		{"gelu", args{"mode": "SIGMOID_APPROXIMATION"}, []float64{-2.01e-21, -0.0349861607, -0.149611562, 0, 0.350388438, 2.46501398, 6.99995302}},
	}
	for _, tt := range tests {
		for _, o := range []Opset{IOS15, IOS17} {
			t.Run(tt.kind+"/"+o.String(), func(t *testing.T) {
				tt.a["x"] = f32(dims(1, 7), in...)
				wantFloats(t, evalOp(t, o, tt.kind, tt.a)[0], 3e-7, tt.want...)
				tt.a["x"] = f16(dims(7), in...)
				wantFloats(t, evalOp(t, o, tt.kind, tt.a)[0], 1e-3, tt.want...)
			})
		}
	}
}

func TestActivationsByChannel(t *testing.T) {
	x := []float64{-2, -1, 0, 1, 2, 3, -4, 5, -6, 7, 8, -9}
	got := evalOp(t, IOS15, "prelu", args{"x": f32(dims(2, 3, 2, 1), x...), "alpha": []float64{0.5, 0.25, 2}})
	wantFloats(t, got[0], 0, -1, -0.5, 0, 1, 2, 3, -2, 5, -1.5, 7, 8, -18)
	// coremltools' value inference.
	want := []float64{0.0634640232, 0.156630829, 0.693147182, 0.126928046, 1.94815397, 2.27374196, 0.00907498039, 2.50335765, 12.0000057, 8.34464743e-07, 4.25385571, 0.200413167}
	a := args{"x": f32(dims(2, 3, 2), x...), "alpha": []float64{0.5, 1, 2}, "beta": []float64{1, -2, 0.25}}
	wantFloats(t, evalOp(t, IOS15, "softplus_parametric", a)[0], 5e-7, want...)
	a["x"] = f16(dims(2, 3, 2), x...)
	wantFloats(t, evalOp(t, IOS17, "softplus_parametric", a)[0], 1e-3, want...)
}

// Expected values are those of coremltools' value inference.
func TestSoftmax(t *testing.T) {
	x := f32(dims(2, 3), 1, 2, 3, 1000, 1000.5, -1000)
	last := []float64{0.0900305733, 0.244728461, 0.665240943, 0.377540678, 0.622459352, 0}
	wantFloats(t, evalOp(t, IOS15, "softmax", args{"x": x})[0], 1e-7, last...)
	wantFloats(t, evalOp(t, IOS15, "softmax", args{"x": x, "axis": 1})[0], 1e-7, last...)
	wantFloats(t, evalOp(t, IOS15, "softmax", args{"x": x, "axis": -2})[0], 1e-7, 0, 0, 1, 1, 1, 0)
	wantShape(t, evalOp(t, IOS15, "softmax", args{"x": f32(dims(2, 0))})[0], 2, 0)
	wantShape(t, evalOp(t, IOS15, "softmax", args{"x": f32(dims(2, 3, 0)), "axis": 1})[0], 2, 3, 0)
}

func TestActivationErrors(t *testing.T) {
	x := f32(dims(1, 2, 3))
	wantErr(t, IOS15, "softmax", args{"x": x, "axis": 3}, "axis is 3, expected -3 to 2")
	wantErr(t, IOS15, "softmax", args{"x": scalarF32(1)}, "rank 0")
	wantErr(t, IOS15, "gelu", args{"x": x, "mode": "exact"}, `mode is "exact", expected EXACT`)
	wantErr(t, IOS15, "prelu", args{"x": x, "alpha": []float64{1, 2, 3}}, "alpha is tensor<fp32, [3]>, expected tensor<fp32, [2]>", "channel")
	wantErr(t, IOS15, "prelu", args{"x": f32(dims(2)), "alpha": []float64{1, 2}}, "channels on axis 1")
	wantErr(t, IOS15, "softplus_parametric", args{"x": x, "alpha": []float64{1, 2}, "beta": 1.0}, "beta is fp32")
	wantErr(t, IOS15, "elu", args{"x": x}, "alpha is missing")
	wantErr(t, IOS15, "elu", args{"x": f16(dims(1)), "alpha": fixed(scalarF32(1))}, "alpha is fp32, but must have the element type of x, fp16")
}

// Towards infinity, functions have their limits.
func TestActivationsAtTheEnds(t *testing.T) {
	inf := math.Inf(1)
	x := f32(dims(2), -inf, inf)
	for _, kind := range []string{"silu", "gelu"} {
		wantFloats(t, evalOp(t, IOS15, kind, args{"x": x})[0], 0, 0, inf)
	}
	for _, mode := range []string{"TANH_APPROXIMATION", "SIGMOID_APPROXIMATION"} {
		wantFloats(t, evalOp(t, IOS15, "gelu", args{"x": x, "mode": mode})[0], 0, 0, inf)
	}
	wantFloats(t, evalOp(t, IOS15, "softsign", args{"x": x})[0], 0, -1, 1)
}
