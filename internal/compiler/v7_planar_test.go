package compiler

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"

	"github.com/espalier-ane/espalier/internal/encode/selection"
	"github.com/espalier-ane/espalier/internal/units"
	"github.com/espalier-ane/espalier/td"
)

// Elementwise layers in all forms, at shapes that no record has.
var planarCases = []v7Case{
	// Broadcast along any axes, of either operand, and of both.
	{inputs: "x [3, 24, 5, 6]; z [1, 24, 1, 1]", body: "y [3, 24, 5, 6] = add(x = x, y = z)", tasks: 2},
	{inputs: "x [3, 24, 5, 6]; z [3, 1, 5, 6]", body: "y [3, 24, 5, 6] = mul(x = x, y = z)", tasks: 2},
	{inputs: "x [3, 24, 5, 6]; z [3, 24, 5, 1]", body: "y [3, 24, 5, 6] = sub(x = z, y = x)", tasks: 2},
	{inputs: "x [2, 7, 5, 9]; z [2, 1, 1, 1]", body: "y [2, 7, 5, 9] = sub(x = x, y = z)", tasks: 2},
	{inputs: "x [1, 7, 1, 9]; z [1, 1, 13, 1]", body: "y [1, 7, 13, 9] = mul(x = x, y = z)", tasks: 3},
	{inputs: "x [4, 7, 1, 9]; z [1, 1, 13, 1]", body: "y [4, 7, 13, 9] = sub(x = x, y = z)", tasks: 3},
	{inputs: "x [1, 1, 13, 1]; z [2, 7, 1, 9]", body: "y [2, 7, 13, 9] = maximum(x = x, y = z)", tasks: 3},
	{inputs: "x [1, 20, 5, 6]; z [1, 1, 1, 1]", body: "y [1, 20, 5, 6] = minimum(x = x, y = z)", tasks: 2},
	{inputs: "x [1, 20, 5, 6]", body: "y [1, 20, 5, 6] = mul(x = x, y = x)", tasks: 1},

	{inputs: "x [1, 2, 900, 700]; z [1, 1, 900, 700]", body: "y [1, 2, 900, 700] = sub(x = x, y = z)", tasks: 4},

	// Constants: a number, one for each channel, and tensors.
	{inputs: "x [3, 50, 5, 6]", body: "y [3, 50, 5, 6] = mul(x = x, y = blob [1, 50, 1, 1])", tasks: 2},
	{inputs: "x [3, 50, 5, 6]", body: "y [3, 50, 5, 6] = sub(x = blob [1, 50, 1, 1], y = x)", tasks: 2},
	{inputs: "x [1, 70, 1, 1]", body: "y [1, 70, 1, 1] = maximum(x = x, y = blob [1, 70, 1, 1])", tasks: 2},
	{inputs: "x [2, 70, 1, 1]", body: "y [2, 70, 1, 1] = minimum(x = x, y = blob [1, 70, 1, 1])", tasks: 2},
	{inputs: "x [1, 20, 3, 4]", body: "y [1, 20, 3, 4] = maximum(x = blob [1, 20, 1, 1], y = x)", tasks: 2},
	{inputs: "x [1, 6, 12, 16]", body: "y [1, 6, 12, 16] = add(x = x, y = blob [1, 1, 12, 16])", tasks: 2},
	{inputs: "x [2, 6, 12, 16]", body: "y [2, 6, 12, 16] = mul(x = x, y = blob [16])", tasks: 2},
	{inputs: "x [2, 6, 5, 7]", body: "y [2, 6, 5, 7] = add(x = blob [2, 6, 5, 7], y = x)", tasks: 1},
	{inputs: "x [1, 6, 5, 1]", body: "y [1, 6, 5, 9] = mul(x = x, y = blob [1, 1, 5, 9])", tasks: 3},
	{inputs: "x [1, 9, 4, 5]", body: "y [1, 9, 4, 5] = real_div(x = x, y = fp16(1.7))", tasks: 2, rel: 2 * fp16Unit},
	{inputs: "x [1, 9, 4, 5]", body: "y [1, 9, 4, 5] = real_div(x = fp16(1.7), y = x)", tasks: 2, rel: 3 * fp16Unit, least: 0.1},
	{inputs: "x [2, 9, 4, 5]", body: "y [2, 9, 4, 5] = real_div(x = x, y = blob [1, 9, 1, 1])", tasks: 2, rel: 2 * fp16Unit},
	{inputs: "x [1, 9, 4, 5]", body: "y [1, 9, 4, 5] = real_div(x = x, y = blob [5])", tasks: 2, rel: 2 * fp16Unit},
	{inputs: "x [1, 9, 4, 5]", body: "y [1, 9, 4, 5] = real_div(x = blob [1, 9, 1, 1], y = x)", tasks: 3, rel: 3 * fp16Unit, least: 0.1},

	// Quotients and powers.
	{inputs: "x [3, 24, 5, 6]; z [3, 24, 5, 6]", body: "y [3, 24, 5, 6] = real_div(x = x, y = z)", tasks: 2, rel: 3 * fp16Unit, least: 0.1},
	{inputs: "x [2, 24, 5, 6]; z [2, 1, 5, 6]", body: "y [2, 24, 5, 6] = real_div(x = x, y = z)", tasks: 2, rel: 3 * fp16Unit, least: 0.1},
	{inputs: "x [2, 1, 5, 6]; z [2, 24, 5, 6]", body: "y [2, 24, 5, 6] = real_div(x = x, y = z)", tasks: 3, rel: 3 * fp16Unit, least: 0.1},
	{inputs: "x [1, 400, 64, 30]; z [1, 400, 64, 30]", body: "y [1, 400, 64, 30] = real_div(x = x, y = z)", tasks: 2, rel: 3 * fp16Unit, least: 0.1},
	{inputs: "x [2, 9, 4, 5]", body: "y [2, 9, 4, 5] = pow(x = x, y = fp16(2))", tasks: 1},
	{inputs: "x [2, 9, 4, 5]", body: "y [2, 9, 4, 5] = pow(x = x, y = fp16(3))", tasks: 2, rel: 2 * fp16Unit},
	{inputs: "x [2, 9, 4, 5]", body: "y [2, 9, 4, 5] = pow(x = x, y = fp16(4))", tasks: 2, rel: 3 * fp16Unit},
	{inputs: "x [2, 9, 4, 5]", body: "y [2, 9, 4, 5] = pow(x = x, y = fp16(0.5))", tasks: 1, rel: 3 * fp16Unit, least: 0.1},
	{inputs: "x [2, 9, 4, 5]", body: "y [2, 9, 4, 5] = pow(x = x, y = fp16(-0.5))", tasks: 1, rel: 5 * fp16Unit, least: 0.1},
	{inputs: "x [2, 9, 4, 5]", body: "y [2, 9, 4, 5] = pow(x = x, y = fp16(-1))", tasks: 1, rel: 3 * fp16Unit, least: 0.1},
	{inputs: "x [2, 9, 4, 5]", body: "y [2, 9, 4, 5] = pow(x = x, y = fp16(0.75))", tasks: 2, rel: 6 * fp16Unit, least: 0.1},
	{inputs: "x [2, 9, 4, 5]", body: "y [2, 9, 4, 5] = pow(x = fp16(2.5), y = x)", tasks: 1, rel: 6 * fp16Unit},
	{inputs: "x [2, 9, 4, 5]; z [1, 9, 1, 1]", body: "y [2, 9, 4, 5] = pow(x = x, y = z)", rel: 12 * fp16Unit, least: 0.1},

	// Functions of one operand.
	{inputs: "x [2, 9, 4, 5]", body: "y [2, 9, 4, 5] = square(x = x)", tasks: 1},
	{inputs: "x [2, 9, 4, 5]", body: "y [2, 9, 4, 5] = abs(x = x)", tasks: 1},
	{inputs: "x [2, 9, 4, 5]", body: "y [2, 9, 4, 5] = floor(x = x)", tasks: 4},
	{inputs: "x [2, 9, 4, 5]", body: "y [2, 9, 4, 5] = ceil(x = x)", tasks: 4},
	{inputs: "x [2, 9, 4, 5]", body: "y [2, 9, 4, 5] = sign(x = x)", tasks: 1},
	{inputs: "x [2, 9, 4, 5]", body: "y [2, 9, 4, 5] = prelu(x = x, alpha = blob [9])", tasks: 3},
	{inputs: "x [2, 9, 4, 5]", body: `y [2, 9, 4, 5] = batch_norm(x = x, mean = blob [9], variance = tensor<fp16, [9]>([1, 2, 3, 4, 5, 6, 7, 8, 9]), gamma = blob [9], beta = blob [9], epsilon = fp16(0.001))`, tasks: 2, abs: 0.0005, rel: 4 * fp16Unit},

	{inputs: "x [2, 9, 4, 5]", body: "y [2, 9, 4, 5] = elu(x = x, alpha = fp32(0.7))", tasks: 4, abs: 0.001, rel: fp16Unit},
	{inputs: "x [2, 9, 4, 5]", body: "y [2, 9, 4, 5] = softplus(x = x)", tasks: 7, abs: 0.002, rel: fp16Unit},
	{inputs: "x [2, 9, 4, 5]", body: "y [2, 9, 4, 5] = erf(x = x)", tasks: 1, abs: 0.0025},
	{inputs: "x [2, 9, 4, 5]", body: "y [2, 9, 4, 5] = softsign(x = x)", abs: 0.001, rel: 2 * fp16Unit},
	{inputs: "x [2, 9, 4, 5]", body: "y [2, 9, 4, 5] = scaled_tanh(x = x, alpha = fp32(1.5), beta = fp32(0.5))", tasks: 2, abs: 0.004},
	{inputs: "x [2, 9, 4, 5]", body: "y [2, 9, 4, 5] = log(x = x, epsilon = fp32(0.01))", tasks: 3, abs: 0.002, rel: 2 * fp16Unit, least: 0.1},
	{inputs: "x [2, 9, 4, 5]", body: "y [2, 9, 4, 5] = inverse(x = x, epsilon = fp32(0.01))", tasks: 1, rel: 3 * fp16Unit, least: 0.1},
	{inputs: "x [2, 9, 4, 5]", body: `y [2, 9, 4, 5] = gelu(x = x, mode = string("SIGMOID_APPROXIMATION"))`, abs: 0.007, rel: 2 * fp16Unit},

	// What a layer does with its result.
	{inputs: "x [1, 9, 4, 5]; z [1, 9, 4, 5]", body: "a [1, 9, 4, 5] = sub(x = x, y = z); b [1, 9, 4, 5] = mul(x = a, y = fp16(0.5)); c [1, 9, 4, 5] = add(x = b, y = fp16(0.25)); y [1, 9, 4, 5] = relu(x = c)"},
	{inputs: "x [1, 9, 4, 5]", body: "a [1, 9, 4, 5] = mul(x = x, y = fp16(0.5)); y [1, 9, 4, 5] = sigmoid(x = a)", abs: 0.004},
	{inputs: "x [2, 9, 4, 5]", body: "a [2, 9, 4, 5] = mul(x = x, y = fp16(0.5)); c [2, 9, 4, 5] = add(x = a, y = fp16(0.75)); y [2, 9, 4, 5] = tanh(x = c)", abs: 0.004},

	{inputs: "x [1, 9, 4, 5]; z [1, 9, 4, 5]", body: "a [1, 9, 4, 5] = sub(x = x, y = z); y [1, 4, 9, 5] = transpose(x = a, perm = tensor<int32, [4]>([0, 2, 1, 3]))"},
	{inputs: "x [1, 40, 50]; z [1, 40, 50]", body: "a [1, 40, 50] = add(x = x, y = z); y [1, 50, 40] = transpose(x = a, perm = tensor<int32, [3]>([0, 2, 1]))"},
	{inputs: "x [2, 9, 4, 5]", body: "a [2, 9, 4, 5] = tanh(x = x); y [2, 5, 4, 9] = transpose(x = a, perm = tensor<int32, [4]>([0, 3, 2, 1]))", abs: 0.002},

	// Comparisons and selection.
	{inputs: "x [1, 9, 4, 5]; z [1, 9, 4, 5]", body: `a bool [1, 9, 4, 5] = less(x = x, y = z); y [1, 9, 4, 5] = cast(x = a, dtype = string("fp16"))`, tasks: 4},
	{inputs: "x [1, 9, 4, 5]; z [1, 9, 4, 5]", body: `a bool [1, 9, 4, 5] = greater_equal(x = x, y = z); y [1, 9, 4, 5] = cast(x = a, dtype = string("fp16"))`, tasks: 3},
	{inputs: "x [2, 9, 4, 5]; z [2, 9, 4, 1]", body: `a bool [2, 9, 4, 5] = greater(x = x, y = z); y [2, 9, 4, 5] = cast(x = a, dtype = string("fp16"))`},
	{inputs: "x [3, 19, 7]", body: `a bool [3, 19, 7] = less_equal(x = x, y = fp16(0.5)); y [3, 19, 7] = cast(x = a, dtype = string("fp16"))`, tasks: 2},
	{inputs: "x [3, 19, 7]", body: `a bool [3, 19, 7] = greater(x = x, y = fp16(-0.25)); y [3, 19, 7] = cast(x = a, dtype = string("fp16"))`, tasks: 2},
	{inputs: "x [3, 19, 7]", body: `a bool [3, 19, 7] = equal(x = x, y = x); y [3, 19, 7] = cast(x = a, dtype = string("fp16"))`, tasks: 3},
	{inputs: "x [3, 19, 7]", body: `a bool [3, 19, 7] = not_equal(x = x, y = fp16(0)); y [3, 19, 7] = cast(x = a, dtype = string("fp16"))`, tasks: 2},
	{inputs: "c bool [2, 5, 7]", body: `a bool [2, 5, 7] = logical_not(x = c); y [2, 5, 7] = cast(x = a, dtype = string("fp16"))`, tasks: 2},
	{inputs: "c bool [2, 5, 4, 7]; x [2, 5, 4, 7]; z [2, 5, 4, 7]", body: "y [2, 5, 4, 7] = select(cond = c, a = x, b = z)", tasks: 5},
	{inputs: "c bool [1, 1, 4, 7]; x [2, 5, 4, 7]", body: "y [2, 5, 4, 7] = select(cond = c, a = fp16(-inf), b = x)", tasks: 2},
	{inputs: "c bool [1, 1, 4, 7]; x [2, 5, 4, 7]", body: "y [2, 5, 4, 7] = select(cond = c, a = fp16(2.5), b = x)", tasks: 5},
	{inputs: "c bool [1, 5, 1, 7]; x [1, 5, 4, 7]; z [1, 1, 4, 7]", body: "y [1, 5, 4, 7] = select(cond = c, a = x, b = z)"},
	{inputs: "c bool [2, 5, 4, 7]; x [2, 5, 4, 7]", body: "y [2, 5, 4, 7] = select(cond = c, a = x, b = blob [1, 1, 4, 7])"},
}

func TestV7ElementWise(t *testing.T) {
	runV7Cases(t, planarCases)
	compileV7CasesStrictly(t, planarCases)
}

// Tables that decide by the sign are those of the records.
func TestSignTables(t *testing.T) {
	for _, c := range []struct {
		record string
		table  *td.Table
		hash   string // of the first bytes of its SHA-256
	}{
		{"less_bool_rr_1x64x1x1", selection.SignTable(units.One, 0, 0), "7e690e6a168e558e"},
		{"select_rrb_1x64x1x1", selection.SignTable(units.One, 0, units.One), "84dad0d8f054aa8e"},
		{"logical_not_1x1x64x64", selection.SignTable(0, units.One, 0), "ee52b53b5f3fa423"},
	} {
		if sum := sha256.Sum256(c.table.Encode()); hex.EncodeToString(sum[:8]) != c.hash {
			t.Errorf("%s: the table's hash begins with %x, want %s", c.record, sum[:8], c.hash)
		}
	}
}
