package v7_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// Weights that are stored compressed are packed decoded: the tasks are those of plain weights.

// numbersOf writes n numbers from lo to hi as a tensor; of floats, 64ths.
func numbersOf(typ, shape string, n, lo, hi int) string {
	r := rand.New(rand.NewPCG(uint64(n), uint64(hi)))
	list := make([]string, n)
	for i := range list {
		v := lo + r.IntN(hi-lo+1)
		list[i] = fmt.Sprint(v)
		if strings.HasPrefix(typ, "fp") {
			list[i] = fmt.Sprint(float64(v) / 64)
		}
	}
	return fmt.Sprintf("tensor<%s, %s>([%s])", typ, shape, strings.Join(list, ", "))
}

// maskOf writes n bits of which so many are set.
func maskOf(shape string, n, ones int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprint((i+1)*ones/n - i*ones/n)
	}
	return fmt.Sprintf("tensor<uint1, %s>([%s])", shape, strings.Join(list, ", "))
}

var decodedWeights = []struct{ name, call string }{
	{"a palette", "constexpr_lut_to_dense(indices = " + numbersOf("uint4", "[12, 6, 1, 1]", 72, 0, 15) +
		", lut = " + numbersOf("fp16", "[1, 1, 1, 1, 16, 1]", 16, -40, 40) + ")"},
	{"a palette for each group of outputs", "constexpr_lut_to_dense(indices = " + numbersOf("uint2", "[12, 6, 1, 1]", 72, 0, 3) +
		", lut = " + numbersOf("fp16", "[3, 1, 1, 1, 4, 1]", 12, -40, 40) + ")"},
	{"a palette of vectors", "constexpr_lut_to_dense(indices = " + numbersOf("uint3", "[6, 6, 1, 1]", 36, 0, 7) +
		", lut = " + numbersOf("fp16", "[1, 1, 1, 1, 8, 2]", 16, -40, 40) + ", vector_axis = int32(0))"},
	{"a scale for each output", "constexpr_blockwise_shift_scale(data = " + numbersOf("int8", "[12, 6, 1, 1]", 72, -128, 127) +
		", scale = " + numbersOf("fp16", "[12, 1, 1, 1]", 12, 1, 3) + ", offset = " + numbersOf("int8", "[12, 1, 1, 1]", 12, -9, 9) + ")"},
	{"scales in blocks", "constexpr_blockwise_shift_scale(data = " + numbersOf("int4", "[12, 6, 1, 1]", 72, -8, 7) +
		", scale = " + numbersOf("fp16", "[12, 2, 1, 1]", 24, 1, 9) + ")"},
	{"a mask", "constexpr_sparse_to_dense(nonzero_data = " + numbersOf("fp16", "[20]", 20, -40, 40) +
		", mask = " + maskOf("[12, 6, 1, 1]", 72, 20) + ")"},
}

func TestDecodedWeights(t *testing.T) {
	for _, c := range decodedWeights {
		t.Run(c.name, func(t *testing.T) {
			one := testCase{inputs: []string{"x [1, 6, 5, 7]"}, tasks: 1, abs: 0.008, rel: 2 * fp16Unit, body: []string{
				"w [12, 6, 1, 1] = " + c.call,
				`y [1, 12, 5, 7] = conv(x = x, weight = w, strides = tensor<int32, [2]>([1, 1]), pad_type = string("custom"), pad = tensor<int32, [4]>([0, 0, 0, 0]), dilations = tensor<int32, [2]>([1, 1]), groups = int32(1))`,
			}}
			one.runNative(t)
		})
	}
}

// A product takes them as well, a batch of matrices or not.
func TestDecodedMatrices(t *testing.T) {
	for _, batch := range []struct {
		shape string
		n     int
	}{{"", 1}, {"3, ", 3}} {
		one := testCase{inputs: []string{"x [" + batch.shape + "5, 96]"}, abs: 0.1, rel: 4 * fp16Unit, body: []string{
			"w [" + batch.shape + "40, 96] = constexpr_blockwise_shift_scale(data = " + numbersOf("int8", "["+batch.shape+"40, 96]", 3840*batch.n, -128, 127) +
				", scale = " + numbersOf("fp16", "["+batch.shape+"40, 1]", 40*batch.n, 1, 3) + ")",
			"y [" + batch.shape + "5, 40] = matmul(x = x, y = w, transpose_x = bool(false), transpose_y = bool(true))",
		}}
		one.runNative(t)
	}
}

// runNative compiles a case to native tasks and runs it.
func (c *testCase) runNative(t *testing.T) {
	t.Helper()
	program := c.program(t)
	s, err := nativeSegment(t, program)
	if err != nil {
		t.Fatal(err)
	}
	c.compare(t, program.Functions[0], s)
}
