package ops

import (
	"math"
	"testing"

	"github.com/espalier-ane/espalier/tensor"
)

var nan, inf = math.NaN(), math.Inf(1)

// Expected values are those that coremltools' value inference, NumPy in fp32, computes.
func TestUnary(t *testing.T) {
	wide := []float64{-2.5, -1.5, -0.5, 0, 0.5, 1.5, 2.5, 10}
	tests := []struct {
		kind     string
		in, want []float64
	}{
		{"abs", wide, []float64{2.5, 1.5, 0.5, 0, 0.5, 1.5, 2.5, 10}},
		{"atan", wide, []float64{-1.19028997, -0.982793748, -0.463647604, 0, 0.463647604, 0.982793748, 1.19028997, 1.47112775}},
		{"ceil", wide, []float64{-2, -1, -0, 0, 1, 2, 3, 10}},
		{"cos", wide, []float64{-0.801143587, 0.070737198, 0.87758255, 1, 0.87758255, 0.070737198, -0.801143587, -0.839071512}},
		{"cosh", wide, []float64{6.13228989, 2.3524096, 1.12762606, 1, 1.12762606, 2.3524096, 6.13228989, 11013.2334}},
		{"erf", wide, []float64{-0.999593019, -0.966105163, -0.520499885, 0, 0.520499885, 0.966105163, 0.999593019, 1}},
		{"exp", wide, []float64{0.0820850059, 0.223130152, 0.606530666, 1, 1.64872122, 4.48168898, 12.1824932, 22026.4668}},
		{"exp2", wide, []float64{0.176776692, 0.353553385, 0.707106769, 1, 1.41421354, 2.82842708, 5.65685415, 1024}},
		{"floor", wide, []float64{-3, -2, -1, 0, 0, 1, 2, 10}},
		{"round", wide, []float64{-2, -2, -0, 0, 0, 2, 2, 10}},
		{"sign", wide, []float64{-1, -1, -1, 0, 1, 1, 1, 1}},
		{"sin", wide, []float64{-0.598472178, -0.997494996, -0.47942555, 0, 0.47942555, 0.997494996, 0.598472178, -0.54402107}},
		{"sinh", wide, []float64{-6.05020428, -2.12927938, -0.521095276, 0, 0.521095276, 2.12927938, 6.05020428, 11013.2334}},
		{"square", wide, []float64{6.25, 2.25, 0.25, 0, 0.25, 2.25, 6.25, 100}},
		{"tan", wide, []float64{0.747022271, -14.1014204, -0.546302497, 0, 0.546302497, 14.1014204, -0.747022271, 0.648360789}},
		{"tanh", wide, []float64{-0.986614287, -0.905148208, -0.462117195, 0, 0.462117195, 0.905148208, 0.986614287, 1}},
		{"acos", []float64{-1, -0.6, 0, 0.3, 1}, []float64{3.14159274, 2.21429753, 1.57079637, 1.26610374, 0}},
		{"asin", []float64{-1, -0.6, 0, 0.3, 1}, []float64{-1.57079637, -0.643501163, 0, 0.304692656, 1.57079637}},
		{"atanh", []float64{-0.9, -0.5, 0, 0.3, 0.99}, []float64{-1.47221935, -0.549306154, 0, 0.309519619, 2.64665294}},
		{"sqrt", []float64{0, 0.25, 2, 1e+10}, []float64{0, 0.5, 1.41421354, 100000}},
		{"inverse", []float64{-2, -0.5, 0, 0.25, 3}, []float64{-0.500025034, -2.00040007, 10000, 3.99840093, 0.333322227}},
		{"log", []float64{0, 0.25, 1, 10}, []float64{-103.278931, -1.38629436, 0, 2.30258512}},
		{"rsqrt", []float64{0, 0.25, 2, 9}, []float64{1000000, 2, 0.707106769, 0.333333343}},
		{"log", []float64{-1, inf}, []float64{nan, inf}},
		{"sqrt", []float64{-1, inf}, []float64{nan, inf}},
		{"sign", []float64{nan, -inf}, []float64{nan, -1}},
	}
	for _, tt := range tests {
		t.Run(tt.kind, func(t *testing.T) {
			got := evalOp(t, IOS15, tt.kind, args{"x": f32(dims(len(tt.in)), tt.in...)})
			wantFloats(t, got[0], 5e-7, tt.want...)
		})
	}
}

// Expected values are those of NumPy.
func TestUnaryParameters(t *testing.T) {
	tests := []struct {
		kind string
		o    Opset
		a    args
		want []float64
	}{
		{"inverse", IOS15, args{"x": f32(dims(3), -2, 0, 3), "epsilon": 0.5}, []float64{-0.666666687, 2, 0.285714298}},
		{"inverse", IOS15, args{"x": f16(dims(2), 0, 1)}, []float64{9998.3408, 0.99989999}}, // fp16(1e-4) is 1.0001659e-4
		{"inverse", IOS17, args{"x": f16(dims(1), 0), "epsilon": fixed(scalarF32(1e-4))}, []float64{10000}},
		{"log", IOS15, args{"x": f32(dims(2), 0, 1), "epsilon": 1.0}, []float64{0, 0.693147182}},
		{"log", IOS15, args{"x": f16(dims(2), 0, 1)}, []float64{-inf, 0}}, // fp16(1e-45) is 0
		{"rsqrt", IOS15, args{"x": f32(dims(2), 0, 2), "epsilon": 0.25}, []float64{2, 0.666666687}},
		{"rsqrt", IOS17, args{"x": f16(dims(2), 0, 4)}, []float64{inf, 0.5}}, // fp16(1e-12) is 0
		{"clip", IOS15, args{"x": f32(dims(5), -3, -1, 0, 2, 5), "alpha": -1.5, "beta": 2.5}, []float64{-1.5, -1, 0, 2, 2.5}},
		{"clip", IOS15, args{"x": f32(dims(2), -3, 5), "alpha": 2.0, "beta": 1.0}, []float64{1, 1}},
		{"clip", IOS17, args{"x": f16(dims(1, 2), -3, 5), "alpha": 0.0, "beta": 1.0}, []float64{0, 1}},
		{"threshold", IOS15, args{"x": f32(dims(4), -3, -1, 0, 2), "alpha": -1.5}, []float64{-1.5, -1, 0, 2}},
	}
	for _, tt := range tests {
		t.Run(tt.kind, func(t *testing.T) {
			got := evalOp(t, tt.o, tt.kind, tt.a, under(FP32))
			wantFloats(t, got[0], 2e-7, tt.want...)
		})
	}
}

func TestUnaryIntegers(t *testing.T) {
	tests := []struct {
		kind     string
		a        args
		in, want []int64
	}{
		{"abs", args{}, []int64{-5, 0, 7, math.MinInt32}, []int64{5, 0, 7, math.MinInt32}},
		{"sign", args{}, []int64{-5, 0, 7}, []int64{-1, 0, 1}},
		{"square", args{}, []int64{-5, 0, 1 << 16}, []int64{25, 0, 0}},
		{"exp2", args{}, []int64{-3, 0, 4, 31, 100}, []int64{0, 1, 16, math.MinInt32, 0}},
		{"threshold", args{"alpha": 2}, []int64{-5, 2, 9}, []int64{2, 2, 9}},
	}
	for _, tt := range tests {
		t.Run(tt.kind, func(t *testing.T) {
			tt.a["x"] = i32(dims(len(tt.in)), tt.in...)
			wantInts(t, evalOp(t, IOS15, tt.kind, tt.a)[0], tt.want...)
		})
	}
}

func TestLogicalNot(t *testing.T) {
	got := evalOp(t, IOS15, "logical_not", args{"x": bools(dims(2, 1), true, false)})
	wantShape(t, got[0], 2, 1)
	wantBools(t, got[0], false, true)
}

func TestUnaryShapes(t *testing.T) {
	for _, shape := range [][]int{{}, {0}, {1}, {2, 0, 3}, {1, 2, 3, 1, 2}, {1, 1, 2, 1, 1, 2}} {
		got := evalOp(t, IOS15, "exp", args{"x": f32(shape, 0)})
		wantShape(t, got[0], shape...)
	}
}

func TestUnaryErrors(t *testing.T) {
	wantErr(t, IOS15, "sqrt", args{"x": i32(dims(1), 1)}, "x is tensor<int32, [1]>", "fp16 or fp32")
	wantErr(t, IOS15, "abs", args{"x": bools(dims(1), true)}, "expected fp16, fp32 or int32")
	wantErr(t, IOS15, "abs", args{"y": f32(dims(1), 1)}, `unknown parameter "y"`)
	wantErr(t, IOS15, "clip", args{"x": f32(dims(1), 1), "alpha": 1.0}, "beta is missing")
	wantErr(t, IOS15, "clip", args{"x": f16(dims(1), 1), "alpha": fixed(scalarF32(1)), "beta": 2.0}, "element type of x")
	wantErr(t, IOS15, "clip", args{"x": f32(dims(1), 1), "alpha": []float64{1, 2}, "beta": 2.0}, "alpha is tensor<fp32, [2]>, expected a scalar")
	wantErr(t, IOS17, "clip", args{"x": f32(dims(1), 1), "alpha": 2.0, "beta": 2.0}, "alpha is 2, expected less than beta, 2")
	wantErr(t, IOS15, "log", args{"x": f32(dims(1), 1), "epsilon": []float64{}}, "expected a scalar")
}

// An fp16 result is the half that is nearest to the result in fp64, for every half.
func TestHalvesRoundOnce(t *testing.T) {
	halves := make([]float64, 1<<16)
	for i := range halves {
		halves[i] = float64(tensor.F16(uint16(i)))
	}
	functions := map[string]func(float64) float64{
		"exp": math.Exp, "tanh": math.Tanh, "erf": math.Erf, "sin": math.Sin, "sqrt": math.Sqrt, "atan": math.Atan,
		"sigmoid": func(x float64) float64 { return 1 / (1 + math.Exp(-x)) },
		"gelu": func(x float64) float64 {
			if math.IsInf(x, -1) {
				return 0
			}
			return x / 2 * math.Erfc(-x/math.Sqrt2)
		},
	}
	for kind, f := range functions {
		got := tensorOf(t, evalOp(t, IOS15, kind, args{"x": f16(dims(1<<16), halves...)})[0]).Float32s()
		wrong := 0
		for i, x := range halves {
			if g, w := got[i], nearestHalf(f(x)); g != w && !(g != g && w != w) {
				if wrong == 0 {
					t.Errorf("%s(%v) = %v, expected %v", kind, x, g, w)
				}
				wrong++
			}
		}
		if wrong > 1 {
			t.Errorf("%s: %d results differ", kind, wrong)
		}
	}
}

// nearestHalf rounds to fp16 by comparing the candidates around v, ties to the even one.
func nearestHalf(v float64) float32 {
	if math.Abs(v) >= 65520 {
		return float32(math.Copysign(inf, v))
	}
	if v != v {
		return float32(v)
	}
	near := tensor.ToF16(float32(v)) // right or off by one
	best, dist := near, inf
	for _, h := range []uint16{near - 1, near, near + 1} {
		if near&0x7fff == 0 && h == near-1 || h&0x7fff >= 0x7c00 { // not a neighbour
			continue
		}
		d := math.Abs(float64(tensor.F16(h)) - v)
		if d < dist || d == dist && h&1 == 0 {
			best, dist = h, d
		}
	}
	return tensor.F16(best)
}
