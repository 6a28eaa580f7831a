package hal

import "slices"

// A Floor is the family from which on operations are native: the trait
// MinimumFamily of the compiler's own operations. It gates the conversion route;
// the direct-authoring route is gated by capability bytes instead (guide 4 and
// 24).
type Floor struct {
	Family     Family
	Operations []string // of the compiler's dialect, in lower case
	Status     Status
	Source     string
}

// floors is the table. Of the 88 operations with the trait (52, 31, 2 and 3 by
// floor), these are the ones that the sources name.
var floors = []Floor{
	{A11Legacy, []string{
		"convolution", "deconvolution", "matmul", "linear",
		"average_pool", "max_pool", "l2_pool",
		"add", "sub", "multiply", "divide", "floor_div", "power", "max", "min", "abs", "square", "floor", "ceil", "round",
		"equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "not", "select",
		"relu", "leaky_relu", "clamped_relu", "relu_n", "sigmoid", "tanh", "gelu", "swish", "elu", "prelu",
		"clamp", "threshold", "softplus", "softsign", "sign", "exp", "log2", "invert", "atan",
		"gain_offset_control", "reshape", "flatten", "transpose", "concat", "split", "slice", "broadcast",
		"quantize", "dequantize", "cast",
	}, Decoded, "guide 24 and 35, floors: convolution, matmul, pooling, all elementwise, reshape, transpose, concat, activations, quantize and dequantize. Below A13 reshape must be a flatten and a divisor constant"},
	{A13, []string{
		"softmax", "layer_norm", "instance_norm", "batch_norm", "l2_norm", "min_max_norm", "lrn",
		"reduce_sum", "reduce_mean", "reduce_max", "reduce_min", "arg_min_max",
		"resize", "sdpa",
		"erf", "exp2", "rsqrt", "sqrt",
		"tile", "space_to_channel", "channel_to_space",
	}, Measured, "guide 24 and 35, floors; on the M1 and the M5"},
	{A14, []string{"crop_resize", "resample"}, Measured, "guide 24 and 35, floors; rejected on the M1, native on the M5"},
	{A15, []string{"sin", "cos", "global_arg_min_max"}, Measured, "guide 24 and 35, floors; rejected on the M1, native on the M5"},
}

// Floors returns the table.
func Floors() []Floor { return floors }

// MinimumFamily is the family from which on an operation of the compiler's
// dialect is native. It reports false of an operation that has no row.
func MinimumFamily(operation string) (Family, bool) {
	for _, f := range floors {
		if slices.Contains(f.Operations, operation) {
			return f.Family, true
		}
	}
	return 0, false
}
