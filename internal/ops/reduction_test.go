package ops

import (
	"math"
	"testing"
)

// Expected values are those that coremltools' value inference, NumPy, computes; for reduce_log_sum of |x|,
// and of |x| + 1 for integers.
func TestReductions(t *testing.T) {
	x := []float64{1, -2, 3.5, 4, -5, 6, 0.5, 8, 2, 2, -1, 3}
	xi := []int64{1, -2, 3, 4, -5, 6, 0, 8, 2, 2, -1, 3}
	tests := []struct {
		kind   string
		axes   []int // nil: absent
		floats []float64
		ints   []int64
	}{
		{"reduce_l1_norm", nil, []float64{38}, []int64{37}},
		{"reduce_l1_norm", []int{0}, []float64{8, 10, 5, 15}, []int64{8, 10, 4, 15}},
		{"reduce_l1_norm", []int{-1}, []float64{3, 7.5, 11, 8.5, 4, 4}, []int64{3, 7, 11, 8, 4, 4}},
		{"reduce_l1_norm", []int{0, 2}, []float64{18, 20}, []int64{18, 19}},
		{"reduce_l2_norm", nil, []float64{13.2853298}, []int64{13}},
		{"reduce_l2_norm", []int{0}, []float64{5.47722578, 6.63324976, 3.67423463, 9.43398094}, []int64{5, 6, 3, 9}},
		{"reduce_l2_norm", []int{-1}, []float64{2.23606801, 5.31507301, 7.81024981, 8.01560974, 2.82842708, 3.1622777}, []int64{2, 5, 7, 8, 2, 3}},
		{"reduce_l2_norm", []int{0, 2}, []float64{8.60232544, 10.1242285}, []int64{8, 9}},
		{"reduce_log_sum", nil, []float64{3.63758612}, []int64{3}},
		{"reduce_log_sum", []int{0}, []float64{2.07944155, 2.30258512, 1.60943794, 2.70805025}, []int64{2, 2, 1, 2}},
		{"reduce_log_sum", []int{-1}, []float64{1.09861231, 2.01490307, 2.39789534, 2.14006615, 1.38629436, 1.38629436}, []int64{1, 2, 2, 2, 1, 1}},
		{"reduce_log_sum", []int{0, 2}, []float64{2.8903718, 2.99573231}, []int64{3, 3}},
		{"reduce_log_sum_exp", nil, []float64{8.16389561}, []int64{8}},
		{"reduce_log_sum_exp", []int{0}, []float64{2.31392813, 6.01847935, 3.55911398, 8.02474499}, []int64{2, 6, 3, 8}},
		{"reduce_log_sum_exp", []int{-1}, []float64{1.04858732, 4.47407722, 6.00001669, 8.00055313, 2.69314718, 3.01814985}, []int64{1, 4, 6, 8, 2, 3}},
		{"reduce_log_sum_exp", []int{0, 2}, []float64{6.04279232, 8.03617668}, []int64{6, 8}},
		{"reduce_max", nil, []float64{8}, []int64{8}},
		{"reduce_max", []int{0}, []float64{2, 6, 3.5, 8}, []int64{2, 6, 3, 8}},
		{"reduce_max", []int{-1}, []float64{1, 4, 6, 8, 2, 3}, []int64{1, 4, 6, 8, 2, 3}},
		{"reduce_max", []int{0, 2}, []float64{6, 8}, []int64{6, 8}},
		{"reduce_mean", nil, []float64{1.83333337}, []int64{1}},
		{"reduce_mean", []int{0}, []float64{-0.666666687, 2, 1, 5}, []int64{0, 2, 0, 5}},
		{"reduce_mean", []int{-1}, []float64{-0.5, 3.75, 0.5, 4.25, 2, 1}, []int64{0, 3, 0, 4, 2, 1}},
		{"reduce_mean", []int{0, 2}, []float64{0.666666687, 3}, []int64{0, 2}},
		{"reduce_min", nil, []float64{-5}, []int64{-5}},
		{"reduce_min", []int{0}, []float64{-5, -2, -1, 3}, []int64{-5, -2, -1, 3}},
		{"reduce_min", []int{-1}, []float64{-2, 3.5, -5, 0.5, 2, -1}, []int64{-2, 3, -5, 0, 2, -1}},
		{"reduce_min", []int{0, 2}, []float64{-5, -1}, []int64{-5, -1}},
		{"reduce_prod", nil, []float64{-40320}, []int64{0}},
		{"reduce_prod", []int{0}, []float64{-10, -24, -1.75, 96}, []int64{-10, -24, 0, 96}},
		{"reduce_prod", []int{-1}, []float64{-2, 14, -30, 4, 4, -3}, []int64{-2, 12, -30, 0, 4, -3}},
		{"reduce_prod", []int{0, 2}, []float64{240, -168}, []int64{240, 0}},
		{"reduce_sum", nil, []float64{22}, []int64{21}},
		{"reduce_sum", []int{0}, []float64{-2, 6, 3, 15}, []int64{-2, 6, 2, 15}},
		{"reduce_sum", []int{-1}, []float64{-1, 7.5, 1, 8.5, 4, 2}, []int64{-1, 7, 1, 8, 4, 2}},
		{"reduce_sum", []int{0, 2}, []float64{4, 18}, []int64{4, 17}},
		{"reduce_sum_square", nil, []float64{176.5}, []int64{173}},
		{"reduce_sum_square", []int{0}, []float64{30, 44, 13.5, 89}, []int64{30, 44, 10, 89}},
		{"reduce_sum_square", []int{-1}, []float64{5, 28.25, 61, 64.25, 8, 10}, []int64{5, 25, 61, 64, 8, 10}},
		{"reduce_sum_square", []int{0, 2}, []float64{74, 102.5}, []int64{74, 99}},
	}
	for _, tt := range tests {
		t.Run(tt.kind, func(t *testing.T) {
			in, ini := make([]float64, len(x)), make([]int64, len(x))
			copy(in, x)
			copy(ini, xi)
			if tt.kind == "reduce_log_sum" {
				for i := range in {
					in[i], ini[i] = math.Abs(in[i]), intAbs(ini[i])+1
				}
			}
			a := args{"x": f32(dims(3, 2, 2), in...)}
			shape, kept := []int{}, []int{1, 1, 1}
			if tt.axes != nil {
				a["axes"] = tt.axes
				switch tt.axes[0] {
				case 0:
					shape, kept = []int{2, 2}, []int{1, 2, 2}
				case -1:
					shape, kept = []int{3, 2}, []int{3, 2, 1}
				}
				if len(tt.axes) == 2 {
					shape, kept = []int{2}, []int{1, 2, 1}
				}
			}
			got := evalOp(t, IOS15, tt.kind, a)
			wantFloats(t, got[0], 3e-7, tt.floats...)
			wantShape(t, got[0], shape...)
			a["keep_dims"] = true
			wantShape(t, evalOp(t, IOS15, tt.kind, a)[0], kept...)
			a["x"] = i32(dims(3, 2, 2), ini...)
			wantInts(t, evalOp(t, IOS15, tt.kind, a)[0], tt.ints...)
		})
	}
}

// Expected values are those of coremltools' value inference.
func TestArgReductions(t *testing.T) {
	x := f32(dims(3, 2, 2), 1, -2, 3.5, 4, -5, 6, 0.5, 8, 2, 2, -1, 3)
	for _, tt := range []struct {
		kind string
		axis int
		want []int64
	}{
		{"reduce_argmax", 0, []int64{2, 1, 0, 1}},
		{"reduce_argmax", 1, []int64{1, 1, 1, 1, 0, 1}},
		{"reduce_argmax", -1, []int64{0, 1, 1, 1, 0, 1}},
		{"reduce_argmin", 0, []int64{1, 0, 2, 2}},
		{"reduce_argmin", 1, []int64{0, 0, 0, 0, 1, 0}},
		{"reduce_argmin", -1, []int64{1, 0, 0, 0, 0, 0}},
	} {
		wantInts(t, evalOp(t, IOS15, tt.kind, args{"x": x, "axis": tt.axis})[0], tt.want...)
		got := evalOp(t, IOS17, tt.kind, args{"x": x, "axis": tt.axis, "keep_dims": true, "output_dtype": "uint16"})
		wantInts(t, got[0], tt.want...)
	}
	typ := inferOp(t, IOS17, "reduce_argmax", args{"x": x, "keep_dims": true, "output_dtype": "uint16"})
	if want := "tensor<uint16, [3, 2, 1]>"; typ[0] != want {
		t.Errorf("type is %s, expected %s", typ[0], want)
	}
	typ = inferOp(t, IOS17, "reduce_argmin", args{"x": i32(dims(4), 3, 1, 1, 2)})
	if want := "int32"; typ[0] != want {
		t.Errorf("type is %s, expected %s", typ[0], want)
	}
	// NumPy: the first NaN wins.
	wantInts(t, evalOp(t, IOS15, "reduce_argmax", args{"x": f32(dims(4), 3, nan, 9, nan)})[0], 1)
}

// By hand.
func TestReductionEdges(t *testing.T) {
	f := func(kind string, a args, want ...float64) {
		t.Helper()
		wantFloats(t, evalOp(t, IOS15, kind, a)[0], 1e-7, want...)
	}
	none := f32(dims(2, 0))
	f("reduce_sum", args{"x": none, "axes": []int{1}}, 0, 0)
	f("reduce_prod", args{"x": none, "axes": []int{1}}, 1, 1)
	f("reduce_mean", args{"x": none, "axes": []int{1}}, nan, nan)
	f("reduce_log_sum_exp", args{"x": none, "axes": []int{1}}, -inf, -inf)
	f("reduce_max", args{"x": none, "axes": []int{0}})
	f("reduce_sum", args{"x": scalarF32(4)}, 4)
	f("reduce_l1_norm", args{"x": f32(dims(2), -1, 2), "axes": []int{}}, 1, 2)
	f("reduce_max", args{"x": f32(dims(3), 1, nan, 2)}, nan)
	f("reduce_min", args{"x": f32(dims(3), 1, -inf, 2)}, -inf)
	f("reduce_log_sum_exp", args{"x": f32(dims(2), -inf, -inf)}, -inf)
	f("reduce_log_sum_exp", args{"x": f32(dims(2), inf, 1)}, inf)
	f("reduce_log_sum_exp", args{"x": f32(dims(2), 1000, 1000)}, 1000.69314718)
	// fp16: the sum is rounded once, when it is stored.
	f("reduce_sum", args{"x": f16(dims(4097), 1)}, 4096)
	f("reduce_mean", args{"x": f16(dims(4097), 60000)}, 60000)
	wantInts(t, evalOp(t, IOS15, "reduce_sum", args{"x": i32(dims(2), math.MaxInt32, 1)})[0], math.MinInt32)
	wantInts(t, evalOp(t, IOS15, "reduce_mean", args{"x": i32(dims(0))})[0], 0)
}

func TestReductionErrors(t *testing.T) {
	x := f32(dims(2, 3))
	wantErr(t, IOS15, "reduce_sum", args{"x": x, "axes": []int{2}}, "axes is 2, expected -2 to 1")
	wantErr(t, IOS15, "reduce_sum", args{"x": x, "axes": []int{0, -2}}, "twice")
	wantErr(t, IOS15, "reduce_sum", args{"x": x, "keep_dims": []bool{}}, "expected a scalar")
	wantErr(t, IOS15, "reduce_max", args{"x": f32(dims(2, 0)), "axes": []int{1}}, "axis 1, which has length 0")
	wantErr(t, IOS15, "reduce_argmax", args{"x": f32(dims(2, 0))}, "axis 1, which has length 0")
	wantErr(t, IOS15, "reduce_argmax", args{"x": scalarF32(1)}, "scalar")
	wantErr(t, IOS15, "reduce_argmax", args{"x": x, "axis": -3}, "axis is -3")
	wantErr(t, IOS15, "reduce_argmax", args{"x": x, "output_dtype": "int32"}, "unknown parameter")
	wantErr(t, IOS17, "reduce_argmax", args{"x": x, "output_dtype": "int8"}, `output_dtype is "int8", expected int32 or uint16`)
	wantErr(t, IOS17, "reduce_argmax", args{"x": f16(dims(1<<16 + 1)), "output_dtype": "uint16"}, "do not fit in uint16")
	wantErr(t, IOS15, "reduce_sum", args{"x": bools(dims(2))}, "expected fp16, fp32 or int32")
}
