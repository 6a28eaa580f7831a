package compiler

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

var decodedWeightsCases = []struct{ name, call string }{
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

func TestV7DecodedWeights(t *testing.T) {
	conv := convForm{kernel: "[12, 6, 1, 1]", pad: "[0, 0, 0, 0]", strides: "[1, 1]"}.String()
	conv = strings.Replace(conv, "blob [12, 6, 1, 1]", "w", 1)
	for _, c := range decodedWeightsCases {
		cases := []v7Case{{inputs: "x [1, 6, 5, 7]", tasks: 1, abs: convError, rel: 2 * fp16Unit,
			body: "w [12, 6, 1, 1] = " + c.call + "; y [1, 12, 5, 7] = " + conv}}
		t.Run(c.name, func(t *testing.T) {
			runV7Cases(t, cases)
			compileV7CasesStrictly(t, cases)
		})
	}
}

// A product takes them as well, a batch of matrices or not.
func TestV7DecodedMatrices(t *testing.T) {
	data, scale := numbersOf("int8", "[40, 96]", 3840, -128, 127), numbersOf("fp16", "[40, 1]", 40, 1, 3)
	batch, scales := numbersOf("int8", "[3, 40, 96]", 11520, -128, 127), numbersOf("fp16", "[3, 40, 1]", 120, 1, 3)
	runV7Cases(t, []v7Case{
		{inputs: "x [5, 96]", abs: 0.1, rel: 4 * fp16Unit,
			body: "w [40, 96] = constexpr_blockwise_shift_scale(data = " + data + ", scale = " + scale + ")" +
				"; y [5, 40] = matmul(x = x, y = w, transpose_x = bool(false), transpose_y = bool(true))"},
		{inputs: "x [3, 5, 96]", abs: 0.1, rel: 4 * fp16Unit,
			body: "w [3, 40, 96] = constexpr_blockwise_shift_scale(data = " + batch + ", scale = " + scales + ")" +
				"; y [3, 5, 40] = matmul(x = x, y = w, transpose_x = bool(false), transpose_y = bool(true))"},
	})
}
