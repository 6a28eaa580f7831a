package compiler

import (
	"strings"
	"testing"
)

// Products of matrices at shapes that no record has.

var v7ProductCases = []v7Case{
	// With constants: rows by themselves, in a tile, more than fit; in parts by outputs.
	{inputs: "x [1, 8]", body: byConstant("[1, 20]", "[20, 8]", true), tasks: 2, abs: 0.004, rel: 2 * fp16Unit},
	{inputs: "x [7, 9]", body: byConstant("[7, 20]", "[9, 20]", false), tasks: 2, abs: 0.004, rel: 2 * fp16Unit},
	{inputs: "x [64, 48]", body: byConstant("[64, 96]", "[96, 48]", true), tasks: 2, abs: 0.004, rel: 2 * fp16Unit},
	{inputs: "x [64, 48]", body: byConstant("[64, 100]", "[100, 48]", true), tasks: 3, abs: 0.004, rel: 2 * fp16Unit},
	{inputs: "x [24, 48]", body: byConstant("[24, 100]", "[100, 48]", true), tasks: 3, abs: 0.004, rel: 2 * fp16Unit},
	{inputs: "x [200, 40]", body: byConstant("[200, 90]", "[90, 40]", true), tasks: 2, abs: 0.004, rel: 2 * fp16Unit},
	{inputs: "x [600, 2000]", body: byConstant("[600, 16]", "[16, 2000]", true), tasks: 2, abs: 0.02, rel: 4 * fp16Unit},
	{inputs: "x [1024, 700]", body: byConstant("[1024, 33]", "[33, 700]", true), tasks: 2, abs: 0.02, rel: 4 * fp16Unit},
	{inputs: "x [300, 1100]", body: byConstant("[300, 1024]", "[1024, 1100]", true), tasks: 4, abs: 0.02, rel: 4 * fp16Unit},
	{inputs: "x [8, 48]", body: byConstant("[48, 30]", "[30, 8]", true, "transpose_x"), abs: 0.004, rel: 2 * fp16Unit},
	{inputs: "x [3, 5, 40]", body: byConstant("[3, 5, 24]", "[24, 40]", true), tasks: 2, abs: 0.004, rel: 2 * fp16Unit},
	{inputs: "x [2, 3, 5, 40]", body: byConstant("[2, 3, 5, 24]", "[24, 40]", true), tasks: 2, abs: 0.004, rel: 2 * fp16Unit},
	{inputs: "x [3, 5, 40]", body: byConstant("[3, 5, 24]", "[3, 40, 24]", false), tasks: 6, abs: 0.004, rel: 2 * fp16Unit},
	{inputs: "x [2, 3, 5, 40]", body: byConstant("[2, 3, 5, 24]", "[3, 24, 40]", true), tasks: 13, abs: 0.004, rel: 2 * fp16Unit},
	{inputs: "x [3, 40, 5]", body: byConstant("[3, 5, 24]", "[3, 24, 40]", true, "transpose_x"), tasks: 8, abs: 0.004, rel: 2 * fp16Unit},
	{inputs: "z [40, 24]", body: "y [5, 24] = matmul(x = blob [5, 40], y = z, transpose_x = bool(false), transpose_y = bool(false))", tasks: 1, abs: 0.004, rel: 2 * fp16Unit},
	{inputs: "z [3, 24, 40]", body: "y [3, 5, 24] = matmul(x = blob [3, 40, 5], y = z, transpose_x = bool(true), transpose_y = bool(true))", tasks: 4, abs: 0.004, rel: 2 * fp16Unit},
	{inputs: "z [3, 24, 40]", body: "y [3, 5, 24] = matmul(x = blob [5, 40], y = z, transpose_x = bool(false), transpose_y = bool(true))", tasks: 4, abs: 0.004, rel: 2 * fp16Unit},
	{inputs: "x [20, 48]", body: "a [20, 32] = matmul(x = x, y = blob [32, 48], transpose_x = bool(false), transpose_y = bool(true)); m [20, 32] = mul(x = a, y = fp16(0.3)); y [20, 32] = add(x = m, y = blob [32])", tasks: 3, abs: 0.004, rel: 3 * fp16Unit},
	// Several after each other.
	{inputs: "x [20, 48]", body: "a [20, 96] = " + byRowsOf("x", "[96, 48]") + "; y [20, 40] = " + byRowsOf("a", "[40, 96]"), tasks: 3, abs: 0.03, rel: 4 * fp16Unit},
	{inputs: "x [128, 48]", body: "a [128, 96] = " + byRowsOf("x", "[96, 48]") + "; r [128, 96] = relu(x = a); b [128, 40] = " + byRowsOf("r", "[40, 96]") + "; y [128, 70] = " + byRowsOf("b", "[70, 40]"), tasks: 4, abs: 0.03, rel: 8 * fp16Unit},
	{inputs: "x [2, 64, 48]", body: "a [2, 64, 192] = " + byRowsOf("x", "[192, 48]") + "; r [2, 64, 192] = relu(x = a); y [2, 64, 48] = " + byRowsOf("r", "[48, 192]"), tasks: 3, abs: 0.03, rel: 4 * fp16Unit},

	// Two live matrices: rows in parts of powers of 2, or stored side by side.
	{inputs: "x [1, 8]; z [8, 20]", body: matMulOf("1, 20", false, false), tasks: 1, abs: 0.03, rel: 2 * fp16Unit},
	{inputs: "x [7, 9]; z [9, 20]", body: matMulOf("7, 20", false, false), tasks: 3, abs: 0.03, rel: 2 * fp16Unit},
	{inputs: "x [16, 33]; z [33, 150]", body: matMulOf("16, 150", false, false), tasks: 1, abs: 0.03, rel: 2 * fp16Unit},
	{inputs: "x [20, 8]; z [8, 20]", body: matMulOf("20, 20", false, false), tasks: 2, abs: 0.03, rel: 2 * fp16Unit},
	{inputs: "x [48, 40]; z [40, 17]", body: matMulOf("48, 17", false, false), tasks: 3, abs: 0.03, rel: 2 * fp16Unit},
	{inputs: "x [64, 9]; z [9, 20]", body: matMulOf("64, 20", false, false), tasks: 2, abs: 0.03, rel: 2 * fp16Unit},
	{inputs: "x [256, 24]; z [24, 20]", body: matMulOf("256, 20", false, false), tasks: 3, abs: 0.03, rel: 2 * fp16Unit},
	{inputs: "x [384, 24]; z [20, 24]", body: matMulOf("384, 20", false, true), tasks: 5, abs: 0.03, rel: 2 * fp16Unit},
	{inputs: "x [5, 40]; z [30, 40]", body: matMulOf("5, 30", false, true), tasks: 3, abs: 0.03, rel: 2 * fp16Unit},
	{inputs: "x [40, 5]; z [40, 30]", body: matMulOf("5, 30", true, false), tasks: 3, abs: 0.03, rel: 2 * fp16Unit},
	{inputs: "x [9, 64]; z [9, 30]", body: matMulOf("64, 30", true, false), tasks: 2, abs: 0.03, rel: 2 * fp16Unit},
	{inputs: "x [40, 256]; z [30, 40]", body: matMulOf("256, 30", true, true), tasks: 4, abs: 0.03, rel: 2 * fp16Unit},
	{inputs: "x [4, 1100]; z [1100, 600]", body: matMulOf("4, 600", false, false), tasks: 1, abs: 0.3, rel: 2 * fp16Unit},
	{inputs: "x [6, 1100]; z [1100, 600]", body: matMulOf("6, 600", false, false), tasks: 2, abs: 0.3, rel: 2 * fp16Unit},
	{inputs: "x [6, 1100]; z [600, 1100]", body: matMulOf("6, 600", false, true), tasks: 3, abs: 0.3, rel: 2 * fp16Unit},

	// Batches of them, which may be shared.
	{inputs: "x [3, 7, 9]; z [3, 9, 20]", body: matMulOf("3, 7, 20", false, false), tasks: 9, abs: 0.03, rel: 2 * fp16Unit},
	{inputs: "x [2, 3, 4, 9]; z [2, 3, 9, 20]", body: matMulOf("2, 3, 4, 20", false, false), tasks: 6, abs: 0.03, rel: 2 * fp16Unit},
	{inputs: "x [2, 3, 4, 9]; z [2, 3, 20, 9]", body: matMulOf("2, 3, 4, 20", false, true), tasks: 8, abs: 0.03, rel: 2 * fp16Unit},
	{inputs: "x [2, 3, 9, 4]; z [2, 3, 9, 20]", body: matMulOf("2, 3, 4, 20", true, false), tasks: 8, abs: 0.03, rel: 2 * fp16Unit},
	{inputs: "x [2, 3, 9, 32]; z [2, 3, 20, 9]", body: matMulOf("2, 3, 32, 20", true, true), tasks: 14, abs: 0.03, rel: 2 * fp16Unit},
	{inputs: "x [2, 3, 5, 9]; z [9, 20]", body: matMulOf("2, 3, 5, 20", false, false), tasks: 12, abs: 0.03, rel: 2 * fp16Unit},
	{inputs: "x [5, 9]; z [2, 3, 9, 20]", body: matMulOf("2, 3, 5, 20", false, false), tasks: 12, abs: 0.03, rel: 2 * fp16Unit},
	{inputs: "x [9, 5]; z [2, 3, 20, 9]", body: matMulOf("2, 3, 5, 20", true, true), abs: 0.03, rel: 2 * fp16Unit},
	{inputs: "x [1, 3, 64, 9]; z [1, 1, 20, 9]", body: matMulOf("1, 3, 64, 20", false, true), tasks: 7, abs: 0.03, rel: 2 * fp16Unit},

	// Epilogues: what the array does itself takes no task.
	{inputs: "x [5, 9]; z [9, 20]", body: matMulOf("5, 20", false, false, "mul(x = a, y = fp16(0.25))"), tasks: 2, abs: 0.03, rel: 2 * fp16Unit},
	{inputs: "x [5, 9]; z [9, 20]", body: matMulOf("5, 20", false, false, "relu(x = a)"), tasks: 2, abs: 0.03, rel: 2 * fp16Unit},
	{inputs: "x [2, 5, 9]; z [2, 9, 20]", body: matMulOf("2, 5, 20", false, false, "add(x = a, y = fp16(0.25))"), abs: 0.03, rel: 2 * fp16Unit},
	{inputs: "x [2, 5, 9]; z [2, 9, 20]", body: matMulOf("2, 5, 20", false, false, "sigmoid(x = a)"), abs: 0.03, rel: 2 * fp16Unit},
	{inputs: "x [1, 3, 5, 9]; z [1, 3, 9, 20]", body: "a [1, 3, 5, 20] = matmul(x = x, y = z, transpose_x = bool(false), transpose_y = bool(false)); y [1, 5, 3, 20] = transpose(x = a, perm = tensor<int32, [4]>([0, 2, 1, 3]))", tasks: 6, abs: 0.03, rel: 2 * fp16Unit},

	// Convolutions with live weights.
	{inputs: "x [1, 4, 10, 10]; z [6, 4, 3, 3]", body: "y [1, 6, 10, 10] = " + liveConvOf(1, 1), abs: 0.1, rel: 4 * fp16Unit},
	{inputs: "x [1, 4, 10, 10]; z [6, 4, 3, 3]", body: "y [1, 6, 5, 5] = " + liveConvOf(1, 2), abs: 0.1, rel: 4 * fp16Unit},
	{inputs: "x [1, 5, 6, 40]; z [20, 5, 1, 1]", body: "y [1, 20, 6, 40] = " + liveConvOf(0, 1), abs: 0.1, rel: 4 * fp16Unit},
	{inputs: "x [1, 3, 12, 9]; z [20, 3, 5, 5]", body: "a [1, 20, 8, 5] = " + liveConvOf(0, 1) + "; y [1, 20, 8, 5] = relu(x = a)", abs: 0.1, rel: 4 * fp16Unit},

	// Attention: products, softmax, and a mask between. One head stays on chip.
	{inputs: "q [64, 40]; k [72, 40]; v [72, 24]", body: attentionOf("[64, 72]", "[64, 24]"), tasks: 9, abs: 0.01, rel: 4 * fp16Unit},
	{inputs: "q [20, 40]; k [9, 40]; v [9, 24]", body: attentionOf("[20, 9]", "[20, 24]"), tasks: 10, abs: 0.01, rel: 4 * fp16Unit},
	{inputs: "q [1, 256, 40]; k [1, 100, 40]; v [1, 100, 24]", body: attentionOf("[1, 256, 100]", "[1, 256, 24]"), tasks: 11, abs: 0.01, rel: 4 * fp16Unit},
	{inputs: "q [1, 16, 40]; k [1, 700, 40]; v [1, 700, 24]", body: attentionOf("[1, 16, 700]", "[1, 16, 24]"), tasks: 8, abs: 0.01, rel: 4 * fp16Unit},
	{inputs: "q [3, 64, 40]; k [3, 72, 40]; v [3, 72, 24]", body: attentionOf("[3, 64, 72]", "[3, 64, 24]"), tasks: 15, abs: 0.01, rel: 4 * fp16Unit},
	{inputs: "q [1, 5, 20, 8]; k [1, 5, 9, 8]; v [1, 5, 9, 24]", body: attentionOf("[1, 5, 20, 9]", "[1, 5, 20, 24]"), tasks: 26, abs: 0.01, rel: 4 * fp16Unit},
	{inputs: "q [3, 64, 40]; k [3, 72, 40]; v [3, 72, 24]; m [1, 64, 72]", body: attentionOf("[3, 64, 72]", "[3, 64, 24]", "m"), tasks: 18, abs: 0.01, rel: 4 * fp16Unit},
	{inputs: "q [3, 20, 40]; k [3, 72, 40]; v [3, 72, 24]; m [3, 20, 72]", body: attentionOf("[3, 20, 72]", "[3, 20, 24]", "m"), abs: 0.01, rel: 4 * fp16Unit},
	{inputs: "q [20, 40]; k [72, 40]; v [72, 24]", body: attentionOf("[20, 72]", "[20, 24]", "blob [20, 72]"), tasks: 11, abs: 0.01, rel: 4 * fp16Unit},
	{inputs: "q [2048, 8]; k [1024, 8]; v [1024, 24]", body: attentionOf("[2048, 1024]", "[2048, 24]"), abs: 0.01, rel: 4 * fp16Unit},
	{inputs: "q [1, 2, 6, 16]; k [1, 2, 9, 16]; v [1, 2, 9, 16]", body: "y [1, 2, 6, 16] = scaled_dot_product_attention(query = q, key = k, value = v)", abs: 0.01, rel: 4 * fp16Unit},
	{inputs: "q [1, 4, 16, 8]; k [1, 4, 16, 8]; v [1, 4, 16, 8]", body: "y [1, 4, 16, 8] = scaled_dot_product_attention(query = q, key = k, value = v)", abs: 0.01, rel: 4 * fp16Unit},
	{inputs: "q [1, 3, 128, 40]; k [1, 3, 70, 40]; v [1, 3, 70, 40]; m [128, 70]", body: "y [1, 3, 128, 40] = scaled_dot_product_attention(query = q, key = k, value = v, attn_mask = m)", abs: 0.01, rel: 4 * fp16Unit},
}

// attentionOf is the attention of q, k and v, by its operations, with a mask or without.
func attentionOf(scores, result string, mask ...string) string {
	masked := "p " + scores + " = softmax(x = b, axis = int32(-1)); "
	if len(mask) > 0 {
		masked = "c " + scores + " = add(x = b, y = " + mask[0] + "); p " + scores + " = softmax(x = c, axis = int32(-1)); "
	}
	return "a " + scores + " = matmul(x = q, y = k, transpose_x = bool(false), transpose_y = bool(true)); b " + scores + " = mul(x = a, y = fp16(0.125)); " +
		masked + "y " + result + " = matmul(x = p, y = v, transpose_x = bool(false), transpose_y = bool(false))"
}

// liveConvOf is a convolution of x with z.
func liveConvOf(pad, stride int) string {
	return strings.Replace(convOf("weights", pad, stride, 1), "blob weights", "z", 1)
}

// byConstant is the product of x and a constant.
func byConstant(shape, constant string, ty bool, options ...string) string {
	flag := map[bool]string{false: "bool(false)", true: "bool(true)"}
	return "y " + shape + " = matmul(x = x, y = blob " + constant + ", transpose_x = " + flag[len(options) > 0] + ", transpose_y = " + flag[ty] + ")"
}

// byRowsOf is the product of a value and the rows of a constant.
func byRowsOf(x, constant string) string {
	return "matmul(x = " + x + ", y = blob " + constant + ", transpose_x = bool(false), transpose_y = bool(true))"
}

// matMulOf is the product of x and z, and an operation after it.
func matMulOf(shape string, tx, ty bool, after ...string) string {
	flag := map[bool]string{false: "bool(false)", true: "bool(true)"}
	product := " [" + shape + "] = matmul(x = x, y = z, transpose_x = " + flag[tx] + ", transpose_y = " + flag[ty] + ")"
	if len(after) == 0 {
		return "y" + product
	}
	return "a" + product + "; y [" + shape + "] = " + after[0]
}

func TestV7ProductsCompute(t *testing.T)   { runV7Cases(t, v7ProductCases) }
func TestV7ProductsAreStrict(t *testing.T) { compileV7CasesStrictly(t, v7ProductCases) }
