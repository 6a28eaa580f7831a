package compiler

import (
	"fmt"
	"testing"
)

// Pooling: windows, strides and padding of every kind.

func poolOf(kind string, kernel, stride [2]int, pad [4]int, more string) string {
	return fmt.Sprintf(`%s(x = x, kernel_sizes = tensor<int32, [2]>([%d, %d]), strides = tensor<int32, [2]>([%d, %d]), pad_type = string("custom"), pad = tensor<int32, [4]>([%d, %d, %d, %d]), ceil_mode = bool(false)%s)`,
		kind, kernel[0], kernel[1], stride[0], stride[1], pad[0], pad[1], pad[2], pad[3], more)
}

const (
	withPadding    = ", exclude_padding_from_average = bool(false)"
	withoutPadding = ", exclude_padding_from_average = bool(true)"
)

var v7PoolCases = []v7Case{
	{inputs: "x [1, 20, 12, 14]", body: "y [1, 20, 6, 7] = " + poolOf("max_pool", [2]int{2, 2}, [2]int{2, 2}, [4]int{}, ""), tasks: 3},
	{inputs: "x [1, 20, 13, 14]", body: "y [1, 20, 7, 7] = " + poolOf("max_pool", [2]int{3, 3}, [2]int{2, 2}, [4]int{1, 1, 1, 1}, ""), tasks: 6},
	{inputs: "x [3, 7, 13, 14]", body: "y [3, 7, 7, 5] = " + poolOf("max_pool", [2]int{3, 2}, [2]int{2, 3}, [4]int{1, 1, 0, 1}, ""), tasks: 5},
	{inputs: "x [1, 20, 12, 14]", body: "y [1, 20, 6, 12] = " + poolOf("max_pool", [2]int{1, 3}, [2]int{2, 1}, [4]int{}, ""), tasks: 3},
	{inputs: "x [1, 20, 12, 14]", body: "y [1, 20, 10, 5] = " + poolOf("max_pool", [2]int{3, 1}, [2]int{1, 3}, [4]int{}, ""), tasks: 3},
	{inputs: "x [1, 20, 12, 14]", body: "y [1, 20, 4, 7] = " + poolOf("max_pool", [2]int{1, 1}, [2]int{3, 2}, [4]int{}, ""), tasks: 2},
	{inputs: "x [1, 64, 120, 120]", body: "y [1, 64, 60, 60] = " + poolOf("max_pool", [2]int{3, 3}, [2]int{2, 2}, [4]int{1, 0, 1, 0}, ""), tasks: 12}, // in two pieces
	{inputs: "x [1, 20, 12, 14]", body: "a [1, 20, 6, 7] = " + poolOf("max_pool", [2]int{2, 2}, [2]int{2, 2}, [4]int{}, "") + "; y [1, 20, 6, 7] = sigmoid(x = a)", tasks: 4, abs: 0.004},
	{inputs: "x [1, 20, 12, 14]", body: "y [1, 20, 11, 13] = " + poolOf("avg_pool", [2]int{2, 2}, [2]int{1, 1}, [4]int{}, withPadding), tasks: 1, abs: 0.001},
	{inputs: "x [2, 20, 12, 14]", body: "y [2, 20, 12, 14] = " + poolOf("avg_pool", [2]int{3, 3}, [2]int{1, 1}, [4]int{1, 1, 1, 1}, withPadding), tasks: 1, abs: 0.002},
	{inputs: "x [1, 20, 12, 14]", body: "y [1, 20, 3, 4] = " + poolOf("avg_pool", [2]int{4, 3}, [2]int{4, 3}, [4]int{}, withPadding), tasks: 6, abs: 0.004},
	{inputs: "x [2, 20, 13, 14]", body: "y [2, 20, 7, 7] = " + poolOf("avg_pool", [2]int{3, 3}, [2]int{2, 2}, [4]int{1, 1, 1, 1}, withoutPadding), tasks: 8, abs: 0.004},
}

func TestV7Pooling(t *testing.T) {
	runV7Cases(t, v7PoolCases)
	compileV7CasesStrictly(t, v7PoolCases)
}
