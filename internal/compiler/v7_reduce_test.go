package compiler

import (
	"fmt"
	"strings"
	"testing"
)

// Reductions, softmax and normalizations over every set of axes, at shapes that no record has.

func reduceOf(kind string, axes ...int) string {
	return fmt.Sprintf("%s(x = x, axes = tensor<int32, [%d]>(%s), keep_dims = bool(true))", kind, len(axes), strings.Join(strings.Fields(fmt.Sprint(axes)), ", "))
}

func layerNormOf(affine string, axes ...int) string {
	epsilon := "fp32"
	if affine != "" { // of the type of gamma
		epsilon = "fp16"
	}
	return fmt.Sprintf("layer_norm(x = x, axes = tensor<int32, [%d]>(%s), epsilon = %s(0.0001)%s)", len(axes), strings.Join(strings.Fields(fmt.Sprint(axes)), ", "), epsilon, affine)
}

const unit = fp16Unit

var v7ReduceCases = []v7Case{
	// A batch is groups, or channels where it lies like them.
	{inputs: "x [3, 24, 5, 6]", body: "y [3, 24, 1, 1] = " + reduceOf("reduce_mean", 2, 3), tasks: 1, abs: 0.002},
	{inputs: "x [3, 24, 5, 6]", body: "y [3, 24, 1, 1] = " + reduceOf("reduce_max", 2, 3), tasks: 1},
	{inputs: "x [3, 24, 5, 6]", body: "y [3, 24, 5, 1] = " + reduceOf("reduce_sum", 3), tasks: 1, abs: 0.02},
	{inputs: "x [3, 24, 5, 6]", body: "y [3, 1, 1, 1] = " + reduceOf("reduce_mean", 1, 2, 3), tasks: 1, abs: 0.002},
	{inputs: "x [3, 24, 5, 6]", body: "y [1, 1, 1, 1] = " + reduceOf("reduce_mean", 0, 1, 2, 3), tasks: 1, abs: 0.002},
	{inputs: "x [3, 24, 5, 6]", body: "y [3, 1, 5, 6] = " + reduceOf("reduce_max", 1), tasks: 1},
	{inputs: "x [3, 24, 5, 6]", body: "y [1, 24, 5, 6] = " + reduceOf("reduce_max", 0), tasks: 1},
	{inputs: "x [3, 24, 5, 6]", body: "y [3, 1, 5, 6] = " + reduceOf("reduce_sum", 1), tasks: 6, abs: 0.02},
	{inputs: "x [3, 24, 5, 6]", body: "y [3, 24, 1, 6] = " + reduceOf("reduce_sum", 2), tasks: 9, abs: 0.02},
	{inputs: "x [3, 24, 5, 6]", body: "y [1, 24, 5, 6] = " + reduceOf("reduce_sum", 0), abs: 0.01},
	{inputs: "x [3, 24, 5, 6]", body: "y [1, 24, 1, 6] = " + reduceOf("reduce_mean", 0, 2), abs: 0.01},

	// Sets of axes.
	{inputs: "x [1, 24, 5, 6]", body: "y [1, 1, 5, 1] = " + reduceOf("reduce_sum", 1, 3), tasks: 1, abs: 0.05},
	{inputs: "x [1, 24, 5, 6]", body: "y [1, 1, 5, 1] = " + reduceOf("reduce_max", 1, 3), tasks: 1},
	{inputs: "x [1, 24, 5, 6]", body: "y [1, 1, 1, 6] = " + reduceOf("reduce_mean", 1, 2), tasks: 2, abs: 0.005},
	{inputs: "x [1, 24, 5, 6]", body: "y [1, 1, 1, 6] = " + reduceOf("reduce_max", 1, 2), tasks: 2},
	{inputs: "x [2, 24, 5, 6]", body: "y [2, 1, 1, 6] = " + reduceOf("reduce_min", 1, 2), tasks: 2},
	{inputs: "x [1, 24, 1, 6]", body: "y [1, 24, 1, 1] = " + reduceOf("reduce_min", 3), tasks: 1},
	{inputs: "x [1, 24, 5, 6]", body: "y [1, 1, 5, 6] = " + reduceOf("reduce_min", 1), tasks: 2},
	{inputs: "x [1, 24, 5, 6]", body: "y [1, 24, 1, 6] = " + reduceOf("reduce_max", 2), tasks: 3},
	{inputs: "x [1, 24, 1, 6]", body: "y [1, 1, 1, 1] = " + reduceOf("reduce_max", 1, 3), tasks: 1},
	{inputs: "x [1, 24, 1, 6]", body: "y [1, 24, 1, 6] = " + reduceOf("reduce_max", 2)},
	{inputs: "x [40, 30]", body: "y [40, 1] = " + reduceOf("reduce_mean", 1), tasks: 1, abs: 0.002},
	{inputs: "x [40, 30]", body: "y [1, 30] = " + reduceOf("reduce_mean", 0), abs: 0.002},
	{inputs: "x [1, 7, 300, 1]", body: "y [1, 7, 1, 1] = " + reduceOf("reduce_sum", 2), tasks: 1, abs: 0.05},

	// More than fits on chip: in pieces.
	{inputs: "x [1, 180, 80, 100]", body: "y [1, 1, 80, 100] = " + reduceOf("reduce_mean", 1), tasks: 4, abs: 0.002},
	{inputs: "x [1, 180, 80, 100]", body: "y [1, 180, 1, 100] = " + reduceOf("reduce_mean", 2), tasks: 4, abs: 0.002},

	{inputs: "x [1, 2, 9000, 6]", body: "y [1, 2, 9000, 1] = " + reduceOf("reduce_mean", 3), tasks: 1, abs: 0.002},
	{inputs: "x [1, 2, 9000, 6]", body: "y [1, 1, 9000, 6] = " + reduceOf("reduce_mean", 1), tasks: 4, abs: 0.002},
	{inputs: "x [1, 2, 9000, 6]", body: "y [1, 2, 9000, 6] = softmax(x = x, axis = int32(3))", tasks: 12, abs: 0.001, rel: 4 * unit},
	{inputs: "x [1, 2, 9000, 6]", body: "y [1, 2, 9000, 6] = " + layerNormOf("", 3), tasks: 10, abs: 0.02, rel: 4 * unit},

	// Squares, roots, and what follows.
	{inputs: "x [1, 24, 5, 6]", body: "y [1, 24, 5, 1] = " + reduceOf("reduce_sum_square", 3), tasks: 1, abs: 0.01, rel: 2 * unit},
	{inputs: "x [1, 24, 5, 6]", body: "y [1, 1, 5, 6] = " + reduceOf("reduce_sum_square", 1), tasks: 2, abs: 0.02, rel: 2 * unit},
	{inputs: "x [1, 24, 5, 6]", body: "y [1, 24, 5, 1] = " + reduceOf("reduce_l2_norm", 3), tasks: 2, rel: 4 * unit},
	{inputs: "x [2, 24, 5, 6]", body: "y [2, 24, 5, 1] = " + reduceOf("reduce_l1_norm", 3), tasks: 2, abs: 0.01, rel: 2 * unit},
	{inputs: "x [1, 24, 5, 6]", body: "y [1, 1, 5, 6] = " + reduceOf("reduce_l1_norm", 1), tasks: 3, abs: 0.02, rel: 2 * unit},
	{inputs: "x [1, 24, 5, 6]", body: "y [1, 24, 5, 1] = " + reduceOf("reduce_log_sum", 3), tasks: 3, least: 0.1, abs: 0.01, rel: 4 * unit},
	{inputs: "x [2, 24, 5, 6]", body: "y [2, 1, 5, 6] = " + reduceOf("reduce_l2_norm", 1), tasks: 5, rel: 4 * unit},
	{inputs: "x [2, 24, 5, 6]", body: "y [2, 1, 5, 6] = " + reduceOf("reduce_l2_norm", 1), tasks: 5, rel: 4 * unit, least: 100},
	{inputs: "x [1, 24, 5, 6]", body: "a [1, 24, 1, 1] = " + reduceOf("reduce_mean", 2, 3) + "; y [1, 24, 1, 1] = add(x = a, y = fp16(0.5))", tasks: 1, abs: 0.002},
	{inputs: "x [1, 24, 5, 6]", body: "a [1, 24, 1, 1] = " + reduceOf("reduce_mean", 2, 3) + "; y [1, 24, 1, 1] = sigmoid(x = a)", tasks: 2, abs: 0.004},
	{inputs: "x [1, 24, 5, 6]", body: "a [1, 24, 1, 1] = " + reduceOf("reduce_sum_square", 2, 3) + "; y [1, 24, 1, 1] = rsqrt(x = a, epsilon = fp32(0.001))", rel: 4 * unit},

	{inputs: "x [1, 24, 5, 6]", body: "a [1, 24, 5, 1] = " + reduceOf("reduce_sum", 3) + "; y [1, 24, 5, 1] = elu(x = a, alpha = fp16(0.5))", abs: 0.02, rel: 4 * unit},
	{inputs: "x [2, 24, 5, 6]", body: "a [2, 24, 5, 6] = softmax(x = x, axis = int32(1)); y [2, 24, 5, 6] = mul(x = a, y = fp16(3))", abs: 0.001, rel: 4 * unit},
	{inputs: "x [1, 24, 50]", body: "a [1, 24, 50] = " + layerNormOf("", 2) + "; y [1, 24, 50] = sigmoid(x = a)", abs: 0.01, rel: 4 * unit},

	// Softmax.
	{inputs: "x [1, 20, 7, 9]", body: "y [1, 20, 7, 9] = softmax(x = x, axis = int32(1))", tasks: 5, abs: 0.001, rel: 4 * unit},
	{inputs: "x [1, 20, 7, 9]", body: "y [1, 20, 7, 9] = softmax(x = x, axis = int32(2))", tasks: 5, abs: 0.001, rel: 4 * unit},
	{inputs: "x [1, 20, 7, 9]", body: "y [1, 20, 7, 9] = softmax(x = x, axis = int32(3))", tasks: 6, abs: 0.001, rel: 4 * unit},
	{inputs: "x [1, 20, 1, 9]", body: "y [1, 20, 1, 9] = softmax(x = x, axis = int32(1))", tasks: 5, abs: 0.001, rel: 4 * unit},
	{inputs: "x [1, 20, 1, 1]", body: "y [1, 20, 1, 1] = softmax(x = x, axis = int32(1))", tasks: 5, abs: 0.001, rel: 4 * unit},
	{inputs: "x [3, 4, 5, 6]", body: "y [3, 4, 5, 6] = softmax(x = x, axis = int32(3))", tasks: 5, abs: 0.001, rel: 4 * unit},
	{inputs: "x [3, 4, 5, 6]", body: "y [3, 4, 5, 6] = softmax(x = x, axis = int32(2))", tasks: 15, abs: 0.001, rel: 4 * unit},
	{inputs: "x [3, 4, 5, 6]", body: "y [3, 4, 5, 6] = softmax(x = x, axis = int32(1))", tasks: 15, abs: 0.001, rel: 4 * unit},
	{inputs: "x [3, 4, 5, 6]", body: "y [3, 4, 5, 6] = softmax(x = x, axis = int32(0))", tasks: 20, abs: 0.001, rel: 4 * unit},
	{inputs: "x [7, 50]", body: "y [7, 50] = softmax(x = x, axis = int32(0))", tasks: 5, abs: 0.001, rel: 4 * unit},
	{inputs: "x [1, 8, 300, 500]", body: "y [1, 8, 300, 500] = softmax(x = x, axis = int32(3))", abs: 0.001, rel: 6 * unit},
	{inputs: "x [1, 1100, 900]", body: "y [1, 1100, 900] = softmax(x = x, axis = int32(-1))", tasks: 10, abs: 0.001, rel: 6 * unit},
	{inputs: "x [1, 300, 70, 60]", body: "y [1, 300, 70, 60] = softmax(x = x, axis = int32(1))", abs: 0.001, rel: 6 * unit},

	// Normalization.
	{inputs: "x [1, 20, 7, 9]", body: "y [1, 20, 7, 9] = " + layerNormOf("", 1), tasks: 6, abs: 0.01, rel: 4 * unit},
	{inputs: "x [1, 20, 7, 9]", body: "y [1, 20, 7, 9] = " + layerNormOf("", 2), tasks: 6, abs: 0.01, rel: 4 * unit},
	{inputs: "x [1, 20, 7, 9]", body: "y [1, 20, 7, 9] = " + layerNormOf("", 3), tasks: 5, abs: 0.01, rel: 4 * unit},
	{inputs: "x [1, 20, 7, 9]", body: "y [1, 20, 7, 9] = " + layerNormOf("", 2, 3), tasks: 3, abs: 0.01, rel: 4 * unit},
	{inputs: "x [1, 20, 7, 9]", body: "y [1, 20, 7, 9] = " + layerNormOf("", 1, 2, 3), tasks: 3, abs: 0.01, rel: 4 * unit},
	{inputs: "x [1, 70, 1, 1]", body: "y [1, 70, 1, 1] = " + layerNormOf("", 1), tasks: 3, abs: 0.01, rel: 4 * unit},
	{inputs: "x [3, 20, 7, 9]", body: "y [3, 20, 7, 9] = " + layerNormOf("", 2, 3), tasks: 3, abs: 0.01, rel: 4 * unit},
	{inputs: "x [3, 20, 7, 9]", body: "y [3, 20, 7, 9] = " + layerNormOf("", 1, 2, 3), tasks: 9, abs: 0.01, rel: 4 * unit},
	{inputs: "x [3, 20, 7, 9]", body: "y [3, 20, 7, 9] = " + layerNormOf("", 3), tasks: 3, abs: 0.01, rel: 4 * unit},
	{inputs: "x [3, 20, 7, 9]", body: "y [3, 20, 7, 9] = " + layerNormOf("", 1), tasks: 18, abs: 0.01, rel: 4 * unit},
	{inputs: "x [1, 2000, 700]", body: "y [1, 2000, 700] = " + layerNormOf("", 2), tasks: 6, abs: 0.01, rel: 4 * unit},
	{inputs: "x [1, 12, 50]", body: "y [1, 12, 50] = " + layerNormOf(", gamma = blob [50], beta = blob [50]", 2), tasks: 6, abs: 0.01, rel: 4 * unit},
	{inputs: "x [2, 12, 50]", body: "y [2, 12, 50] = " + layerNormOf(", gamma = blob [50], beta = blob [50]", 2), tasks: 8, abs: 0.01, rel: 4 * unit},
	{inputs: "x [1, 2000, 700]", body: "y [1, 2000, 700] = " + layerNormOf(", gamma = blob [700], beta = blob [700]", 2), abs: 0.01, rel: 4 * unit},
	{inputs: "x [1, 20, 7, 9]", body: "y [1, 20, 7, 9] = " + layerNormOf(", gamma = blob [9], beta = blob [9]", 3), tasks: 8, abs: 0.01, rel: 4 * unit},
	{inputs: "x [1, 20, 7, 9]", body: "y [1, 20, 7, 9] = " + layerNormOf(", gamma = blob [20], beta = blob [20]", 1), tasks: 9, abs: 0.01, rel: 4 * unit},
	{inputs: "x [2, 20, 7, 9]", body: "y [2, 20, 7, 9] = " + layerNormOf(", gamma = blob [7, 9], beta = blob [7, 9]", 2, 3), tasks: 10, abs: 0.01, rel: 4 * unit},
	{inputs: "x [2, 20, 7, 9]", body: "y [2, 20, 7, 9] = " + layerNormOf(", gamma = blob [20, 7, 9], beta = blob [20, 7, 9]", 1, 2, 3), tasks: 10, abs: 0.01, rel: 4 * unit},
	{inputs: "x [2, 20, 7, 9]", body: "y [2, 20, 7, 9] = instance_norm(x = x, epsilon = fp32(0.0001))", tasks: 3, abs: 0.01, rel: 4 * unit},
	{inputs: "x [2, 20, 7, 9]", body: "y [2, 20, 7, 9] = instance_norm(x = x, gamma = blob [20], beta = blob [20], epsilon = fp16(0.0001))", tasks: 11, abs: 0.01, rel: 4 * unit},
	{inputs: "x [2, 20, 7, 9]", body: "y [2, 20, 7, 9] = l2_norm(x = x, epsilon = fp32(0.001))", abs: 0.001, rel: 4 * unit},
}

func TestV7ReductionsCompute(t *testing.T) { runV7Cases(t, v7ReduceCases) }

func TestV7ReductionsAreStrict(t *testing.T) { compileV7CasesStrictly(t, v7ReduceCases) }
