package compiler

import (
	"fmt"
	"strings"
	"testing"
)

// Convolutions and functions of the array at shapes that no record has.

// A convForm is a convolution in the words of MIL.
type convForm struct {
	kernel    string // extents of the weights
	pad       string // before and after, axis by axis
	strides   string
	dilations string // all 1 if there are none
	groups    int    // 0 stands for 1
	bias      int    // so many
	operator  string // conv if there is none
}

func (c convForm) String() string {
	axes := 1 + strings.Count(c.strides, ",")
	if c.dilations == "" {
		c.dilations = "[1" + strings.Repeat(", 1", axes-1) + "]"
	}
	if c.operator == "" {
		c.operator = "conv"
	}
	text := fmt.Sprintf(`%s(x = x, weight = blob %s, strides = tensor<int32, [%d]>(%s), pad_type = string("custom"), pad = tensor<int32, [%d]>(%s), dilations = tensor<int32, [%d]>(%s), groups = int32(%d)`,
		c.operator, c.kernel, axes, c.strides, 2*axes, c.pad, axes, c.dilations, max(c.groups, 1))
	if c.bias > 0 {
		text += fmt.Sprintf(", bias = blob [%d]", c.bias)
	}
	return text + ")"
}

// convError is what sums of products may be off by: another order.
const convError = 0.008

// Tasks are counted where there are no views around the convolution.
var v7ConvCases = []v7Case{
	// Biases of strided ones, and groups of all sorts.
	{inputs: "x [1, 20, 10, 12]", tasks: 1, abs: convError,
		body: "y [1, 40, 5, 6] = " + convForm{kernel: "[40, 20, 3, 3]", pad: "[1, 1, 1, 1]", strides: "[2, 2]", bias: 40}.String()},
	{inputs: "x [1, 20, 9, 11]", tasks: 1, abs: convError,
		body: "y [1, 72, 5, 6] = " + convForm{kernel: "[72, 20, 1, 1]", pad: "[0, 0, 0, 0]", strides: "[2, 2]", bias: 72}.String()},
	{inputs: "x [1, 24, 9, 11]", tasks: 1, abs: convError,
		body: "y [1, 24, 5, 6] = " + convForm{kernel: "[24, 1, 3, 3]", pad: "[1, 1, 1, 1]", strides: "[2, 2]", groups: 24, bias: 24}.String()},
	{inputs: "x [1, 70, 8, 8]", tasks: 1, abs: convError,
		body: "y [1, 70, 3, 3] = " + convForm{kernel: "[70, 1, 4, 4]", pad: "[0, 0, 0, 0]", strides: "[2, 2]", groups: 70}.String()},
	{inputs: "x [1, 24, 9, 11]", tasks: 1, abs: convError,
		body: "y [1, 99, 4, 5] = " + convForm{kernel: "[99, 8, 3, 3]", pad: "[0, 0, 0, 0]", strides: "[2, 2]", groups: 3, bias: 99}.String()},
	{inputs: "x [1, 6, 9, 11]", tasks: 1, abs: convError,
		body: "y [1, 12, 9, 11] = " + convForm{kernel: "[12, 1, 3, 3]", pad: "[1, 1, 1, 1]", strides: "[1, 1]", groups: 6, bias: 12}.String()},

	// Batches: a task for each image.
	{inputs: "x [3, 20, 9, 11]", tasks: 3, abs: convError,
		body: "y [3, 36, 9, 11] = " + convForm{kernel: "[36, 20, 3, 3]", pad: "[1, 1, 1, 1]", strides: "[1, 1]", bias: 36}.String()},
	{inputs: "x [2, 20, 9, 11]", tasks: 2, abs: convError,
		body: "a [2, 36, 5, 6] = " + convForm{kernel: "[36, 20, 3, 3]", pad: "[1, 1, 1, 1]", strides: "[2, 2]", bias: 36}.String() + "; y [2, 36, 5, 6] = relu(x = a)"},
	{inputs: "x [2, 24, 9, 11]", tasks: 2, abs: convError,
		body: "y [2, 24, 9, 11] = " + convForm{kernel: "[24, 8, 3, 3]", pad: "[1, 1, 1, 1]", strides: "[1, 1]", groups: 3}.String()},

	// One axis, windows of all sorts, dilations that stay in the kernel.
	{inputs: "x [2, 6, 1, 33]", tasks: 2, abs: convError,
		body: "y [2, 10, 1, 33] = " + convForm{kernel: "[10, 6, 1, 3]", pad: "[0, 0, 1, 1]", strides: "[1, 1]", bias: 10}.String()},
	{inputs: "x [2, 10, 1, 33]", tasks: 2, abs: convError,
		body: "y [2, 8, 1, 17] = " + convForm{kernel: "[8, 10, 1, 3]", pad: "[0, 0, 1, 1]", strides: "[1, 2]", bias: 8}.String()},
	{inputs: "x [1, 6, 33, 1]", tasks: 1, abs: convError,
		body: "y [1, 40, 17, 1] = " + convForm{kernel: "[40, 6, 5, 1]", pad: "[2, 2, 0, 0]", strides: "[2, 1]"}.String()},
	{inputs: "x [1, 6, 1, 33]", tasks: 1, abs: convError,
		body: "y [1, 6, 1, 33] = " + convForm{kernel: "[6, 2, 1, 2]", pad: "[0, 0, 2, 3]", strides: "[1, 1]", dilations: "[1, 5]", groups: 3, bias: 6}.String()},
	{inputs: "x [1, 8, 13, 14]", tasks: 1, abs: convError,
		body: "y [1, 4, 13, 14] = " + convForm{kernel: "[4, 8, 3, 2]", pad: "[1, 1, 2, 3]", strides: "[1, 1]", dilations: "[1, 5]", bias: 4}.String()},
	{inputs: "x [1, 8, 13, 14]", tasks: 1, abs: convError,
		body: "y [1, 4, 6, 6] = " + convForm{kernel: "[4, 8, 3, 3]", pad: "[1, 1, 0, 1]", strides: "[2, 2]", dilations: "[2, 2]"}.String()},
	{inputs: "x [1, 8, 13, 14]", tasks: 1, abs: convError,
		body: "y [1, 33, 7, 12] = " + convForm{kernel: "[33, 8, 7, 3]", pad: "[0, 0, 0, 0]", strides: "[1, 1]"}.String()},

	{inputs: "x [1, 8, 23, 14]", tasks: 1, abs: 2 * convError,
		body: "y [1, 33, 11, 14] = " + convForm{kernel: "[33, 8, 13, 1]", pad: "[0, 0, 0, 0]", strides: "[1, 1]"}.String()},
	{inputs: "x [1, 8, 13, 14]", tasks: 1, abs: convError,
		body: "y [1, 6, 13, 7] = " + convForm{kernel: "[6, 8, 3, 3]", pad: "[1, 1, 1, 1]", strides: "[1, 2]", bias: 6}.String()},
	{inputs: "x [2, 8, 5, 14]", tasks: 2, abs: convError,
		body: "y [2, 72, 5, 7] = " + convForm{kernel: "[72, 4, 1, 4]", pad: "[0, 0, 1, 1]", strides: "[1, 2]", groups: 2}.String()},
	{inputs: "x [2, 8, 5, 33]", tasks: 5, abs: 2 * convError,
		body: "y [2, 12, 5, 33] = " + convForm{kernel: "[12, 4, 3, 9]", pad: "[1, 1, 4, 4]", strides: "[1, 1]", groups: 2, bias: 12}.String()},
	{inputs: "x [1, 8, 5, 33]", tasks: 3, abs: 2 * convError,
		body: "y [1, 8, 5, 33] = " + convForm{kernel: "[8, 1, 1, 13]", pad: "[0, 0, 6, 6]", strides: "[1, 1]", groups: 8}.String()},

	// One bias for all outputs.
	{inputs: "x [1, 20, 9, 11]", tasks: 1, abs: convError,
		body: "y [1, 3, 5, 6] = " + strings.Replace(convForm{kernel: "[3, 20, 3, 3]", pad: "[1, 1, 1, 1]", strides: "[2, 2]", bias: 3}.String(), "blob [3]", "tensor<fp16, [3]>([0.75, 0.75, 0.75])", 1)},
	{inputs: "x [1, 20, 9, 11]", tasks: 1, abs: convError,
		body: "a [1, 3, 9, 11] = " + strings.Replace(convForm{kernel: "[3, 20, 3, 3]", pad: "[1, 1, 1, 1]", strides: "[1, 1]", bias: 3}.String(), "blob [3]", "tensor<fp16, [3]>([0, 0, 0])", 1) + "; y [1, 3, 9, 11] = mul(x = a, y = fp16(0.3))"},

	// Transposed: a task for each phase of the rows, and a copy where columns do not come out even.
	{inputs: "x [1, 8, 7, 6]", tasks: 2, abs: convError, body: "y [1, 4, 14, 12] = " + transposedOf("[8, 4, 4, 4]", "[1, 1, 1, 1]", "[2, 2]", 1, 4)},
	{inputs: "x [1, 8, 7, 6]", tasks: 3, abs: convError, body: "y [1, 4, 15, 13] = " + transposedOf("[8, 4, 3, 3]", "[0, 0, 0, 0]", "[2, 2]", 1, 4)},
	{inputs: "x [1, 8, 7, 6]", tasks: 2, abs: convError, body: "y [1, 4, 14, 12] = " + transposedOf("[8, 4, 2, 2]", "[0, 0, 0, 0]", "[2, 2]", 1, 0)},
	{inputs: "x [1, 8, 7, 6]", tasks: 3, abs: convError, body: "y [1, 8, 15, 13] = " + transposedOf("[8, 2, 3, 3]", "[0, 0, 0, 0]", "[2, 2]", 4, 0)},
	{inputs: "x [3, 8, 7, 6]", tasks: 6, abs: convError, body: "y [3, 8, 14, 12] = " + transposedOf("[8, 1, 4, 4]", "[1, 1, 1, 1]", "[2, 2]", 8, 8)},
	{inputs: "x [1, 8, 7, 6]", tasks: 1, abs: convError, body: "y [1, 40, 7, 6] = " + transposedOf("[8, 40, 3, 3]", "[1, 1, 1, 1]", "[1, 1]", 1, 40)},
	{inputs: "x [1, 8, 4, 5]", tasks: 2, abs: convError, body: "y [1, 8, 8, 10] = " + transposedOf("[8, 1, 2, 2]", "[0, 0, 0, 0]", "[2, 2]", 8, 0)},
	{inputs: "x [1, 8, 4, 5]", tasks: 3, abs: convError, body: "y [1, 4, 7, 9] = " + transposedOf("[8, 4, 1, 1]", "[0, 0, 0, 0]", "[2, 2]", 1, 4)},

	// Functions in the stream of the weights.
	{inputs: "x [1, 20, 9, 11]", tasks: 1, abs: convError,
		body: "a [1, 36, 5, 6] = " + convForm{kernel: "[36, 20, 3, 3]", pad: "[1, 1, 1, 1]", strides: "[2, 2]", bias: 36}.String() + "; y [1, 36, 5, 6] = clip(x = a, alpha = fp16(0), beta = fp16(1.5))"},
	{inputs: "x [1, 20, 9, 11]", tasks: 1, abs: 0.02,
		body: "a [1, 36, 9, 11] = " + convForm{kernel: "[36, 20, 1, 1]", pad: "[0, 0, 0, 0]", strides: "[1, 1]", bias: 36}.String() + "; y [1, 36, 9, 11] = silu(x = a)"},
	{inputs: "x [1, 20, 9, 11]", tasks: 1, abs: convError,
		body: "a [1, 36, 9, 11] = " + convForm{kernel: "[36, 20, 1, 1]", pad: "[0, 0, 0, 0]", strides: "[1, 1]", bias: 36}.String() + "; y [1, 36, 9, 11] = sigmoid_hard(x = a, alpha = fp16(0.1666), beta = fp16(0.5))"},
	{inputs: "x [1, 20, 9, 11]", tasks: 1, abs: convError,
		body: "a [1, 20, 9, 11] = " + convForm{kernel: "[20, 1, 3, 3]", pad: "[1, 1, 1, 1]", strides: "[1, 1]", groups: 20, bias: 20}.String() + "; y [1, 20, 9, 11] = relu6(x = a)"},
	{inputs: "x [2, 20, 9, 11]", tasks: 2, abs: convError,
		body: "a [2, 36, 9, 11] = " + convForm{kernel: "[36, 20, 1, 1]", pad: "[0, 0, 0, 0]", strides: "[1, 1]", bias: 36}.String() + "; y [2, 36, 9, 11] = leaky_relu(x = a, alpha = fp16(0.1))"},

	// What does not fit into the stream follows in other tasks.
	{inputs: "x [2, 20, 9, 11]", abs: 2 * convError,
		body: "a [2, 36, 9, 11] = " + plainConv + "; y [2, 36, 9, 11] = elu(x = a, alpha = fp16(0.5))"},
	{inputs: "x [1, 20, 9, 11]", abs: 2 * convError,
		body: "a [1, 36, 9, 11] = " + plainConv + "; c [1, 36, 9, 11] = mul(x = a, y = blob [1, 36, 1, 1]); y [1, 36, 9, 11] = add(x = c, y = blob [1, 36, 1, 1])"},
	{inputs: "x [1, 20, 9, 11]", abs: 2 * convError,
		body: "a [1, 36, 9, 11] = " + plainConv + "; c [1, 36, 9, 11] = mul(x = a, y = fp16(0.3)); y [1, 36, 9, 11] = relu(x = c)"},
	{inputs: "x [1, 20, 9, 11]", abs: 2 * convError,
		body: "a [1, 36, 9, 11] = " + plainConv + "; c [1, 36, 9, 11] = sigmoid(x = a); d [1, 36, 9, 11] = mul(x = c, y = fp16(3)); y [1, 36, 9, 11] = tanh(x = d)"},
}

var plainConv = convForm{kernel: "[36, 20, 1, 1]", pad: "[0, 0, 0, 0]", strides: "[1, 1]", bias: 36}.String()

func transposedOf(weights, pad, strides string, groups, bias int) string {
	return convForm{kernel: weights, pad: pad, strides: strides, groups: groups, bias: bias, operator: "conv_transpose"}.String()
}

func TestV7Convolutions(t *testing.T) { runV7Cases(t, v7ConvCases) }

var v7FunctionCases = []v7Case{
	{inputs: "x [2, 9, 4, 5]", body: "y [2, 9, 4, 5] = silu(x = x)", tasks: 1, abs: 0.018},
	{inputs: "x [1, 9, 4, 5]", body: "y [1, 9, 4, 5] = clip(x = x, alpha = fp16(-0.5), beta = fp16(0.25))", tasks: 1},
	{inputs: "x [1, 9, 4, 5]", body: "y [1, 9, 4, 5] = relu6(x = x)", tasks: 1},
	{inputs: "x [1, 9, 4, 5]", body: "y [1, 9, 4, 5] = clamped_relu(x = x, alpha = fp16(0.25), beta = fp16(0.75))", tasks: 1},
	{inputs: "x [1, 9, 4, 5]", body: "y [1, 9, 4, 5] = thresholded_relu(x = x, alpha = fp16(-0.5))", tasks: 1},
	{inputs: "x [1, 9, 4, 5]", body: "y [1, 9, 4, 5] = sigmoid_hard(x = x, alpha = fp16(0.3), beta = fp16(0.4))", tasks: 1, abs: fp16Unit},
	{inputs: "x [1, 9, 4, 5]", body: "y [1, 9, 4, 5] = sign(x = x)", tasks: 1},
	{inputs: "x [1, 9, 4, 5]", body: "y [1, 9, 4, 5] = inverse(x = x, epsilon = fp16(0.25))", tasks: 1, rel: 3 * fp16Unit, least: 0.1},
}

func TestV7Functions(t *testing.T) { runV7Cases(t, v7FunctionCases) }

func TestV7FunctionsAreStrict(t *testing.T) { compileV7CasesStrictly(t, v7FunctionCases) }
