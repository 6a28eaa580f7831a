package v7_test

import (
	"math"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/compiler"
	"github.com/espalier-ane/espalier/tensor"
)

// What the guide's chapter on numerics publishes of the M1, from a program to its result: compiled for H13 as it is, and as
// extensions alone; and absent on virtual.

var (
	plusInf  = float32(math.Inf(1))
	minusInf = float32(math.Inf(-1))
	notANum  = float32(math.NaN())
	minus0   = float32(math.Copysign(0, -1))
)

// slicedFrom is a slice of [1, 2, 2, 6] that begins at one element and goes to the end.
func slicedFrom(begin string) string {
	return "slice_by_index(x = x, begin = tensor<int32, [4]>(" + begin + "), end = tensor<int32, [4]>([1, 2, 2, 6]))"
}

const (
	unitConv = `strides = tensor<int32, [2]>([1, 1]), pad_type = string("valid"), dilations = tensor<int32, [2]>([1, 1]), groups = int32(1))`
	plainMul = `transpose_x = bool(false), transpose_y = bool(false))`
)

func TestPublishedNumerics(t *testing.T) {
	f := func(v ...float32) []float32 { return v }
	all := func(n int, v float32) []float32 {
		list := make([]float32, n)
		for i := range list {
			list[i] = v
		}
		return list
	}
	repeat := func(n int, v string) string { return strings.TrimSuffix(strings.Repeat(v+", ", n), ", ") }
	cancelled := append(f(4096), all(1024, 1)...)
	for _, test := range []struct {
		name    string
		inputs  string
		body    string
		x, z    []float32
		h13     []float32
		virtual []float32 // nil: as on h13
	}{
		// The output port.
		{"linear, K = 1, below", "x [1, 1]", "y [1, 1] = linear(x = x, weight = tensor<fp16, [1, 1]>([[1]]), bias = tensor<fp16, [1]>([0]))", f(32752), nil, f(32752), nil},
		{"linear, K = 1", "x [1, 1]", "y [1, 1] = linear(x = x, weight = tensor<fp16, [1, 1]>([[1]]), bias = tensor<fp16, [1]>([0]))", f(32768), nil, f(plusInf), f(32768)},
		{"linear, K = 2", "x [1, 2]", "y [1, 1] = linear(x = x, weight = tensor<fp16, [1, 2]>([[1, 1]]), bias = tensor<fp16, [1]>([0]))", f(16384, 16384), nil, f(plusInf), f(32768)},
		{"linear, K = 2, below", "x [1, 2]", "y [1, 1] = linear(x = x, weight = tensor<fp16, [1, 2]>([[1, 1]]), bias = tensor<fp16, [1]>([0]))", f(16384, 16368), nil, f(32752), nil},
		{"matmul, K = 1", "x [1, 1]; z [1, 1]", "y [1, 1] = matmul(x = x, y = z, " + plainMul, f(-32768), f(1), f(minusInf), f(-32768)},
		{"convolution of two channels", "x [1, 2, 1, 1]", "y [1, 1, 1, 1] = conv(x = x, weight = tensor<fp16, [1, 2, 1, 1]>([[[[1]], [[1]]]]), " + unitConv, f(16384, 16384), nil, f(plusInf), f(32768)},
		{"convolution of two taps", "x [1, 1, 1, 2]", "y [1, 1, 1, 1] = conv(x = x, weight = tensor<fp16, [1, 1, 1, 2]>([[[[1, 1]]]]), " + unitConv, f(16384, 16384), nil, f(plusInf), f(32768)},
		{"convolution of one channel", "x [1, 1, 1, 2]", "y [1, 1, 1, 2] = conv(x = x, weight = tensor<fp16, [1, 1, 1, 1]>([[[[1]]]]), " + unitConv, f(60000, 32768), nil, f(60000, 32768), nil},
		{"convolution of one channel to two", "x [1, 1, 1, 1]", "y [1, 2, 1, 1] = conv(x = x, weight = tensor<fp16, [2, 1, 1, 1]>([[[[1]]], [[[1]]]]), " + unitConv, f(60000), nil, f(60000, 60000), nil},
		{"an interior partial", "x [1, 4]", "y [1, 1] = linear(x = x, weight = tensor<fp16, [1, 4]>([[1, 1, 1, 1]]), bias = tensor<fp16, [1]>([0]))", f(30000, 3000, -3000, 0), nil, f(plusInf), f(30000)},
		{"reduce-sum", "x [2, 2]", "y [2, 1] = reduce_sum(x = x, axes = tensor<int32, [1]>([1]), keep_dims = bool(true))", f(32768, 32736, 32768, 32768), nil, f(65504, plusInf), nil},
		{"multiply", "x [2]; z [2]", "y [2] = mul(x = x, y = z)", f(30000, 256), f(2, 256), f(60000, plusInf), nil},
		{"square", "x [2]", "y [2] = square(x = x)", f(255.875, 256), nil, f(65472, plusInf), nil},

		// Slices: along W with an offset, and all others.
		{"slice along W", "x [1, 2, 2, 6]", "y [1, 2, 2, 1] = " + slicedFrom("[0, 0, 0, 5]"),
			f(0, 0, 0, 0, 0, 4094, 0, 0, 0, 0, 0, 4096, 0, 0, 0, 0, 0, -4094, 0, 0, 0, 0, 0, -4100), nil, f(4094, plusInf, -4094, minusInf), f(4094, 4096, -4094, -4100)},
		{"slice along W without an offset", "x [1, 2, 2, 6]", "y [1, 2, 2, 2] = slice_by_index(x = x, begin = tensor<int32, [4]>([0, 0, 0, 0]), end = tensor<int32, [4]>([1, 2, 2, 2]))", all(24, 60000), nil, all(8, 60000), nil},
		{"slice along H", "x [1, 2, 2, 6]", "y [1, 2, 1, 6] = " + slicedFrom("[0, 0, 1, 0]"), all(24, 60000), nil, all(12, 60000), nil},
		{"slice along N", "x [2, 2, 1, 6]", "y [1, 2, 1, 6] = slice_by_index(x = x, begin = tensor<int32, [4]>([1, 0, 0, 0]), end = tensor<int32, [4]>([2, 2, 1, 6]))", all(24, 60000), nil, all(12, 60000), nil},
		{"slice along C", "x [1, 2, 2, 6]", "y [1, 1, 2, 6] = " + slicedFrom("[0, 1, 0, 0]"), all(24, -60000), nil, all(12, -60000), nil},

		// NaN is +inf.
		{"x + 0", "x [4]; z [4]", "y [4] = add(x = x, y = z)", f(notANum, plusInf, 0x1p-24, minus0), f(0, 0, 0, 0), f(plusInf, plusInf, 0x1p-24, 0), f(notANum, plusInf, 0x1p-24, 0)},
		{"relu", "x [1]", "y [1] = relu(x = x)", f(notANum), nil, f(plusInf), f(notANum)},
		{"sigmoid", "x [1]", "y [1] = sigmoid(x = x)", f(notANum), nil, f(1), f(notANum)},
		{"sigmoid at the end of its table", "x [3]", "y [3] = sigmoid(x = x)", f(-9.9375, 8.3203125, 0), nil, f(0, 1, 0.5), f(4.834e-05, 1, 0.5)},
		{"tanh", "x [1]", "y [1] = tanh(x = x)", f(notANum), nil, f(1), f(notANum)},
		{"erf", "x [1]", "y [1] = erf(x = x)", f(notANum), nil, f(1), f(notANum)},
		{"exp", "x [2]", "y [2] = exp(x = x)", f(notANum, 11.094), nil, f(plusInf, plusInf), f(notANum, plusInf)},
		{"maximum", "x [2]; z [2]", "y [2] = maximum(x = x, y = z)", f(notANum, 1), f(1, notANum), f(plusInf, plusInf), f(notANum, notANum)},
		{"softmax of NaN", "x [1, 3]", "y [1, 3] = softmax(x = x, axis = int32(-1))", f(1, notANum, 3), nil, f(0, 1, 0), f(notANum, notANum, notANum)},

		// But in the sums of a layer normalization it is a large finite number.
		{"layer normalization of inf", "x [1, 4]", "y [1, 4] = layer_norm(x = x, axes = tensor<int32, [1]>([-1]), epsilon = fp16(0.0001))", f(plusInf, 1, 2, 3), nil, f(0, 0, 0, 0), f(notANum, notANum, notANum, notANum)},
		{"layer normalization of NaN", "x [1, 4]", "y [1, 4] = layer_norm(x = x, axes = tensor<int32, [1]>([-1]), epsilon = fp16(0.0001))", f(notANum, 1, 2, 3), nil, f(plusInf, -0.5776, -0.5776, -0.5776), f(notANum, notANum, notANum, notANum)},

		{"rms normalization of inf and NaN", "x [2, 4]", "s [2, 4] = square(x = x); m [2, 1] = reduce_mean(x = s, axes = tensor<int32, [1]>([-1]), keep_dims = bool(true)); r [2, 1] = rsqrt(x = m, epsilon = fp16(0.0001)); y [2, 4] = mul(x = x, y = r)",
			f(plusInf, 1, 2, 3, notANum, 1, 2, 3), nil, all(8, 0), f(notANum, 0, 0, 0, notANum, notANum, notANum, notANum)},

		// Indeterminate forms are +0.
		{"subtract", "x [2]; z [2]", "y [2] = sub(x = x, y = z)", f(plusInf, 1), f(plusInf, plusInf), f(0, minusInf), f(notANum, minusInf)},
		{"0 · inf", "x [2]; z [2]", "y [2] = mul(x = x, y = z)", f(0, 2), f(plusInf, plusInf), f(0, plusInf), f(notANum, plusInf)},
		{"sqrt", "x [2]", "y [2] = sqrt(x = x)", f(-1, minus0), nil, f(0, 0), f(notANum, 0)},
		{"rsqrt", "x [2]", "y [2] = rsqrt(x = x, epsilon = fp16(0))", f(-1, minus0), nil, f(0, plusInf), f(notANum, plusInf)},
		{"log", "x [2]", "y [2] = log(x = x, epsilon = fp16(0))", f(-1, 0), nil, f(0, -45440), f(notANum, minusInf)},

		// Subnormals, signed zeros, the ends of tables.
		{"x · 1", "x [1]; z [1]", "y [1] = mul(x = x, y = z)", f(0x1p-24), f(1), f(0x1p-24), nil},
		{"x · 4 of a subnormal", "x [1]; z [1]", "y [1] = mul(x = x, y = z)", f(0x1p-24), f(4), f(0x1p-22), nil},
		{"subnormals in a product", "x [1, 2]", "y [1, 1] = linear(x = x, weight = tensor<fp16, [1, 2]>([[1, 1]]), bias = tensor<fp16, [1]>([0]))", f(0x1p-24, 0x1p-24), nil, f(0), f(0x1p-23)},
		{"1 / -0", "x [1]; z [1]", "y [1] = real_div(x = x, y = z)", f(1), f(minus0), f(plusInf), f(minusInf)},
		{"inverse of -0", "x [1]", "y [1] = inverse(x = x, epsilon = fp16(0))", f(minus0), nil, f(plusInf), nil},
		{"softplus", "x [1]", "y [1] = softplus(x = x)", f(plusInf), nil, f(0), f(plusInf)},
		{"softsign", "x [1]", "y [1] = softsign(x = x)", f(plusInf), nil, f(0), f(1)},

		// Softmax subtracts the maximum; rounding; the wide accumulator.
		{"softmax of 1000", "x [1, 4]", "y [1, 4] = softmax(x = x, axis = int32(-1))", f(1000, 1, 2, 3), nil, f(1, 0, 0, 0), nil},
		{"softmax of equals", "x [1, 4]", "y [1, 4] = softmax(x = x, axis = int32(-1))", f(7, 7, 7, 7), nil, f(0.25, 0.25, 0.25, 0.25), nil},
		{"a tie", "x [1]; z [1]", "y [1] = add(x = x, y = z)", f(2048), f(1), f(2048), nil},
		{"16000 ones", "x [1, 16000]; z [16000, 1]", "y [1, 1] = matmul(x = x, y = z, " + plainMul, all(16000, 1), all(16000, 1), f(16000), nil},
		{"4096 and 1024 ones, without the tile", "x [1, 1025]", "y [1, 1] = linear(x = x, weight = tensor<fp16, [1, 1025]>([[" + repeat(1025, "1") + "]]), bias = tensor<fp16, [1]>([0]))", cancelled, nil, f(5120), nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			program := (&testCase{inputs: strings.Split(test.inputs, "; "), body: strings.Split(test.body, "; ")}).program(t)
			inputs := map[string][]float32{"x": test.x}
			if test.z != nil {
				inputs["z"] = test.z
			}
			virtual := test.virtual
			if virtual == nil {
				virtual = test.h13
			}
			virtualTarget, err := hal.Lookup("virtual")
			if err != nil {
				t.Fatal(err)
			}
			for _, way := range []struct {
				name   string
				target *hal.Target
				want   []float32
			}{
				{"h13", h13(t), test.h13}, {"h13 as extensions", extensions(t), test.h13}, {"virtual", virtualTarget, virtual},
			} {
				s := compile(t, &compiler.Job{Target: way.target, Program: program})
				got := runContainer(t, s.File, way.target.Numerics, inputs)
				if len(got) != len(way.want) {
					t.Fatalf("%s: %d elements, want %d", way.name, len(got), len(way.want))
				}
				for i, v := range way.want {
					if v = tensor.RoundF16(v); got[i] != v && (got[i] == got[i] || v == v) {
						t.Errorf("%s: element %d is %v, want %v", way.name, i, got[i], v)
					}
					// What the guide says is zero on the chip is positive zero.
					if way.target.Name == "h13" && v == 0 && math.Signbit(float64(got[i])) {
						t.Errorf("%s: element %d is -0, want +0", way.name, i)
					}
				}
			}
		})
	}
}
