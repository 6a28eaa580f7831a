package compiler

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/engine"
	"github.com/espalier-ane/espalier/internal/ops"
	"github.com/espalier-ane/espalier/internal/segment"
	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// Every family of tasks at shapes that no record has, against the operations themselves.

// A v7Case is a program in a line or two: operations over inputs x and z, the last of them y.
type v7Case struct {
	inputs string // "x [1, 5, 3, 7]; z [1, 5, 3, 7]"; of fp16, but "c bool [1, 5, 3, 7]"
	body   string
	tasks  int // 0: any number
	abs    float64
	rel    float64
	least  float64 // inputs are at least this
}

const fp16Unit = 0x1p-10

var v7Cases = []v7Case{
	{inputs: "x [1, 5, 3, 7]; z [1, 5, 3, 7]", body: "y [1, 5, 3, 7] = add(x = x, y = z)", tasks: 1},
	{inputs: "x [3, 5, 3, 7]; z [3, 5, 3, 7]", body: "y [3, 5, 3, 7] = sub(x = x, y = z)", tasks: 1},
	{inputs: "x [1, 48, 20, 33]; z [1, 48, 20, 33]", body: "y [1, 48, 20, 33] = mul(x = x, y = z)", tasks: 1},
	{inputs: "x [1, 40, 130, 100]; z [1, 40, 130, 100]", body: "y [1, 40, 130, 100] = maximum(x = x, y = z)", tasks: 1},
	{inputs: "x [17, 19]; z [17, 19]", body: "y [17, 19] = minimum(x = x, y = z)", tasks: 1},
	{inputs: "x [1, 9, 4, 4]; z [1, 9, 4, 4]", body: "a [1, 9, 4, 4] = add(x = x, y = z); y [1, 9, 4, 4] = relu(x = a)", tasks: 1},
	{inputs: "x [1, 9, 4, 4]", body: "a [1, 9, 4, 4] = relu(x = x); y [1, 9, 4, 4] = add(x = x, y = a)", tasks: 1},
	{inputs: "x [1, 9, 4, 4]; z [1, 9, 4, 4]", body: "a [1, 9, 4, 4] = relu(x = z); y [1, 9, 4, 4] = sub(x = a, y = x)"},
	{inputs: "x [1, 9, 4, 5]", body: "y [1, 9, 4, 5] = add(x = x, y = fp16(1.5))", tasks: 1},
	{inputs: "x [1, 9, 4, 5]", body: "y [1, 9, 4, 5] = sub(x = fp16(1.5), y = x)", tasks: 1},
	{inputs: "x [1, 9, 4, 5]", body: "y [1, 9, 4, 5] = mul(x = x, y = fp16(-0.75))", tasks: 1},
	{inputs: "x [1, 9, 4, 5]", body: "y [1, 9, 4, 5] = maximum(x = x, y = fp16(0.25))", tasks: 1},
	{inputs: "x [1, 9, 4, 5]", body: "y [1, 9, 4, 5] = minimum(x = x, y = fp16(0.25))", tasks: 1},
	{inputs: "x [1, 9, 4, 5]", body: "y [1, 9, 4, 5] = abs(x = x)", tasks: 1},
	{inputs: "x [1, 48, 5, 6]", body: "y [1, 48, 5, 6] = add(x = x, y = blob [1, 48, 1, 1])", tasks: 2},
	{inputs: "x [1, 50, 5, 6]", body: "y [1, 50, 5, 6] = mul(x = x, y = blob [1, 50, 1, 1])", tasks: 2},
	{inputs: "x [1, 24, 5, 6]; z [1, 24, 1, 1]", body: "y [1, 24, 5, 6] = add(x = x, y = z)", tasks: 2},
	{inputs: "x [1, 24, 5, 6]; z [1, 1, 5, 6]", body: "y [1, 24, 5, 6] = mul(x = x, y = z)", tasks: 2},
	{inputs: "x [1, 24, 5, 6]; z [1, 1, 1, 6]", body: "y [1, 24, 5, 6] = sub(x = z, y = x)", tasks: 2},

	{inputs: "x [1, 9, 4, 5]", body: "y [1, 9, 4, 5] = relu(x = x)", tasks: 1},
	{inputs: "x [1, 33, 1, 2]", body: "a [1, 33, 1, 2] = tile(x = x, reps = tensor<int32, [4]>([1, 1, 1, 1])); y [1, 33, 1, 2] = relu(x = a)", tasks: 1},
	{inputs: "c bool [2, 5, 7]", body: `y [2, 5, 7] = cast(x = c, dtype = string("fp16"))`, tasks: 1},
	{inputs: "x [1, 9, 4, 300]", body: "y [1, 9, 4, 300] = sigmoid(x = x)", tasks: 1, abs: 0.0035},
	{inputs: "x [2, 40, 3, 5]", body: "y [2, 40, 3, 5] = tanh(x = x)", tasks: 1, abs: 0.0018},
	{inputs: "x [3, 31, 17]", body: `y [3, 31, 17] = gelu(x = x, mode = string("EXACT"))`, tasks: 1, abs: 0.0062, rel: fp16Unit},
	{inputs: "x [1, 7, 5, 3]", body: "y [1, 7, 5, 3] = exp(x = x)", tasks: 1, rel: 2 * fp16Unit},
	{inputs: "x [1, 7, 5, 3]", body: "y [1, 7, 5, 3] = rsqrt(x = x, epsilon = fp32(0.001))", tasks: 1, rel: 3 * fp16Unit, least: 0.1},
	{inputs: "x [1, 7, 5, 3]", body: "y [1, 7, 5, 3] = sqrt(x = x)", tasks: 1, rel: 3 * fp16Unit, least: 0.1},
	{inputs: "x [1, 7, 5, 3]", body: "y [1, 7, 5, 3] = leaky_relu(x = x, alpha = fp32(0.25))", tasks: 1},
	{inputs: "x [1, 70, 1, 1]", body: "y [1, 70, 1, 1] = floor(x = x)", tasks: 4},
	{inputs: "x [1, 24, 5, 6]; z [1, 24, 5, 6]", body: "y [1, 24, 5, 6] = pow(x = x, y = z)", tasks: 3, rel: 12 * fp16Unit, least: 0.1},
	{inputs: "x [1, 24, 5, 6]; z [1, 24, 5, 6]", body: "y [1, 24, 5, 6] = real_div(x = x, y = z)", tasks: 2, rel: 3 * fp16Unit, least: 0.1},
	{inputs: "x [1, 24, 5, 6]", body: `a [1, 24, 5, 6] = gelu(x = x, mode = string("EXACT")); y [1, 24, 5, 6] = add(x = x, y = a)`, tasks: 2, abs: 0.0068, rel: fp16Unit},
	{inputs: "x [1, 100, 1, 1]", body: `a [1, 100, 1, 1] = gelu(x = x, mode = string("EXACT")); y [1, 100, 1, 1] = add(x = x, y = a)`, tasks: 2, abs: 0.0068, rel: fp16Unit},

	{inputs: "x [1, 24, 5, 6]", body: "y [1, 24, 1, 1] = reduce_sum(x = x, axes = tensor<int32, [2]>([2, 3]), keep_dims = bool(true))", tasks: 1, abs: 0.02},
	{inputs: "x [1, 24, 5, 6]", body: "y [1, 24] = reduce_mean(x = x, axes = tensor<int32, [2]>([2, 3]), keep_dims = bool(false))", tasks: 1, abs: 0.002},
	{inputs: "x [1, 24, 5, 6]", body: "y [1, 24, 5, 1] = reduce_mean(x = x, axes = tensor<int32, [1]>([3]), keep_dims = bool(true))", tasks: 1, abs: 0.002},
	{inputs: "x [1, 24, 5, 6]", body: "y [1, 24, 5, 1] = reduce_max(x = x, axes = tensor<int32, [1]>([3]), keep_dims = bool(true))", tasks: 1},
	{inputs: "x [1, 24, 5, 6]", body: "y [1, 1, 5, 6] = reduce_max(x = x, axes = tensor<int32, [1]>([1]), keep_dims = bool(true))", tasks: 1},
	{inputs: "x [1, 24, 5, 6]", body: "y [1, 1, 5, 6] = reduce_sum(x = x, axes = tensor<int32, [1]>([1]), keep_dims = bool(true))", tasks: 2, abs: 0.02},
	{inputs: "x [1, 64, 7, 40]", body: "y [1, 1, 7, 40] = reduce_mean(x = x, axes = tensor<int32, [1]>([1]), keep_dims = bool(true))", tasks: 2, abs: 0.02},
	{inputs: "x [1, 24, 5, 6]", body: "y [1, 24, 1, 6] = reduce_sum(x = x, axes = tensor<int32, [1]>([2]), keep_dims = bool(true))", tasks: 3, abs: 0.02},
	{inputs: "x [1, 24, 5, 6]", body: "y [1, 1, 1, 1] = reduce_mean(x = x, axes = tensor<int32, [3]>([1, 2, 3]), keep_dims = bool(true))", tasks: 1, abs: 0.002},
	{inputs: "x [1, 37, 1, 1]", body: "y [1, 1, 1, 1] = reduce_sum(x = x, axes = tensor<int32, [1]>([1]), keep_dims = bool(true))", tasks: 1, abs: 0.02},

	{inputs: "x [1, 24, 1, 40]", body: "y [1, 24, 1, 40] = softmax(x = x, axis = int32(3))", tasks: 5, abs: 0.001, rel: 4 * fp16Unit},
	{inputs: "x [1, 12, 50]", body: "y [1, 12, 50] = softmax(x = x, axis = int32(-1))", tasks: 5, abs: 0.001, rel: 4 * fp16Unit},
	{inputs: "x [1, 6, 5, 30]", body: "y [1, 6, 5, 30] = softmax(x = x, axis = int32(-1))", tasks: 6, abs: 0.001, rel: 4 * fp16Unit},
	{inputs: "x [1, 33, 1, 1]", body: "y [1, 33, 1, 1] = softmax(x = x, axis = int32(-1))", tasks: 5, abs: 0.001},
	{inputs: "x [1, 30, 100]", body: "y [1, 30, 100] = layer_norm(x = x, axes = tensor<int32, [1]>([-1]), epsilon = fp32(0.0001))", tasks: 3, abs: 0.01, rel: 4 * fp16Unit},
	{inputs: "x [1, 12, 5, 6]", body: "y [1, 12, 5, 6] = layer_norm(x = x, axes = tensor<int32, [3]>([1, 2, 3]), epsilon = fp32(0.0001))", tasks: 3, abs: 0.01, rel: 4 * fp16Unit},

	{inputs: "x [1, 6, 10, 12]", body: "y [1, 10, 6, 12] = transpose(x = x, perm = tensor<int32, [4]>([0, 2, 1, 3]))", tasks: 1},
	{inputs: "x [1, 6, 10, 12]", body: "y [1, 12, 10, 6] = transpose(x = x, perm = tensor<int32, [4]>([0, 3, 2, 1]))", tasks: 1},
	{inputs: "x [1, 6, 10, 12]", body: "y [1, 6, 12, 10] = transpose(x = x, perm = tensor<int32, [4]>([0, 1, 3, 2]))", tasks: 1},
	{inputs: "x [1, 6, 10, 12]", body: "y [1, 10, 12, 6] = transpose(x = x, perm = tensor<int32, [4]>([0, 2, 3, 1]))", tasks: 1},
	{inputs: "x [5, 9, 31]", body: "y [5, 31, 9] = transpose(x = x, perm = tensor<int32, [3]>([0, 2, 1]))", tasks: 1},
	{inputs: "x [1, 4, 5, 90]", body: "y [1, 4, 5, 50] = slice_by_index(x = x, begin = tensor<int32, [4]>([0, 0, 0, 0]), end = tensor<int32, [4]>([1, 4, 5, 50]))", tasks: 1},
	{inputs: "x [1, 8, 9, 10]", body: "y [1, 3, 9, 10] = slice_by_index(x = x, begin = tensor<int32, [4]>([0, 2, 0, 0]), end = tensor<int32, [4]>([1, 5, 9, 10]))", tasks: 1},

	{inputs: "x [1, 20, 9, 11]", body: "y [1, 36, 9, 11] = " + convOf("[36, 20, 1, 1]", 0, 1, 1), tasks: 1, abs: 0.002, rel: 2 * fp16Unit},
	{inputs: "x [1, 20, 9, 11]", body: "y [1, 36, 9, 11] = " + convOf("[36, 20, 3, 3]", 1, 1, 1), tasks: 1, abs: 0.004, rel: 2 * fp16Unit},
	{inputs: "x [1, 20, 9, 11]", body: "y [1, 20, 5, 7] = " + convOf("[20, 20, 5, 5]", 0, 1, 1), tasks: 1, abs: 0.008, rel: 2 * fp16Unit},
	{inputs: "x [1, 20, 10, 12]", body: "y [1, 40, 5, 6] = " + convOf("[40, 20, 3, 3]", 1, 2, 1), tasks: 1, abs: 0.004, rel: 2 * fp16Unit},
	{inputs: "x [1, 48, 6, 6]", body: "y [1, 96, 6, 6] = " + convOf("[96, 16, 3, 3]", 1, 1, 3), tasks: 1, abs: 0.004, rel: 2 * fp16Unit},
	{inputs: "x [1, 40, 6, 6]", body: "y [1, 40, 6, 6] = " + convOf("[40, 1, 3, 3]", 1, 1, 40), tasks: 1, abs: 0.002, rel: 2 * fp16Unit},
	{inputs: "x [1, 20, 9, 11]", body: "a [1, 36, 9, 11] = " + convOf("[36, 20, 1, 1]", 0, 1, 1) + "; y [1, 36, 9, 11] = relu(x = a)", tasks: 1, abs: 0.002, rel: 2 * fp16Unit},
	{inputs: "x [1, 20, 9, 11]", body: "a [1, 36, 9, 11] = " + convOf("[36, 20, 1, 1]", 0, 1, 1) + "; y [1, 36, 9, 11] = sigmoid(x = a)", tasks: 1, abs: 0.005, rel: 2 * fp16Unit},

	{inputs: "x [5, 96]", body: "y [5, 40] = matmul(x = x, y = blob [40, 96], transpose_x = bool(false), transpose_y = bool(true))", tasks: 2, abs: 0.004, rel: 2 * fp16Unit},
	{inputs: "x [20, 48]", body: "a [20, 80] = matmul(x = x, y = blob [80, 48], transpose_x = bool(false), transpose_y = bool(true)); y [20, 80] = add(x = a, y = blob [80])", tasks: 2, abs: 0.004, rel: 2 * fp16Unit},
	{inputs: "x [20, 48]", body: "a [20, 80] = matmul(x = x, y = blob [80, 48], transpose_x = bool(false), transpose_y = bool(true)); b [20, 80] = add(x = a, y = blob [80]); y [20, 80] = relu(x = b)", tasks: 2, abs: 0.004, rel: 2 * fp16Unit},
	{inputs: "x [20, 48]", body: "a [20, 32] = matmul(x = x, y = blob [32, 48], transpose_x = bool(false), transpose_y = bool(true)); y [20, 32] = relu(x = a)", tasks: 2, abs: 0.004, rel: 2 * fp16Unit},
	{inputs: "x [20, 48]", body: "a [20, 32] = matmul(x = x, y = blob [32, 48], transpose_x = bool(false), transpose_y = bool(true)); y [20, 32] = mul(x = a, y = fp16(0.25))", tasks: 2, abs: 0.004, rel: 2 * fp16Unit},
	{inputs: "x [20, 48]", body: `a [20, 32] = matmul(x = x, y = blob [32, 48], transpose_x = bool(false), transpose_y = bool(true)); y [20, 32] = gelu(x = a, mode = string("EXACT"))`, tasks: 2, abs: 0.01, rel: 2 * fp16Unit},
	{inputs: "x [64, 48]", body: "y [64, 160] = matmul(x = x, y = blob [160, 48], transpose_x = bool(false), transpose_y = bool(true))", tasks: 3, abs: 0.004, rel: 2 * fp16Unit},
	{inputs: "x [256, 48]", body: "y [256, 160] = matmul(x = x, y = blob [160, 48], transpose_x = bool(false), transpose_y = bool(true))", tasks: 2, abs: 0.004, rel: 2 * fp16Unit},
	{inputs: "x [64, 48]", body: `a [64, 96] = matmul(x = x, y = blob [96, 48], transpose_x = bool(false), transpose_y = bool(true)); g [64, 96] = gelu(x = a, mode = string("EXACT")); y [64, 48] = matmul(x = g, y = blob [48, 96], transpose_x = bool(false), transpose_y = bool(true))`, tasks: 3, abs: 0.03, rel: 4 * fp16Unit},
	{inputs: "x [20, 48]", body: `a [20, 96] = matmul(x = x, y = blob [96, 48], transpose_x = bool(false), transpose_y = bool(true)); y [20, 96] = linear(x = a, weight = blob [96, 96], bias = blob [96])`, abs: 0.03, rel: 4 * fp16Unit},
	{inputs: "x [24, 48]", body: "a [24, 48] = matmul(x = x, y = blob [48, 48], transpose_x = bool(false), transpose_y = bool(true)); y [24, 48] = add(x = x, y = a)", tasks: 4, abs: 0.008, rel: 4 * fp16Unit},
	{inputs: "x [24, 48]", body: "a [24, 48] = matmul(x = x, y = blob [48, 48], transpose_x = bool(false), transpose_y = bool(true)); y [24, 48] = sub(x = x, y = a)", tasks: 4, abs: 0.008, rel: 4 * fp16Unit},
	{inputs: "x [7, 64]; z [64, 20]", body: "y [7, 20] = matmul(x = x, y = z, transpose_x = bool(false), transpose_y = bool(false))", tasks: 3, abs: 0.03, rel: 2 * fp16Unit},
	{inputs: "x [32, 64]; z [64, 20]", body: "y [32, 20] = matmul(x = x, y = z, transpose_x = bool(false), transpose_y = bool(false))", tasks: 2, abs: 0.03, rel: 2 * fp16Unit},
	{inputs: "x [128, 96]; z [20, 96]", body: "y [128, 20] = matmul(x = x, y = z, transpose_x = bool(false), transpose_y = bool(true))", tasks: 3, abs: 0.03, rel: 2 * fp16Unit},
}

func convOf(weights string, pad, stride, groups int) string {
	return fmt.Sprintf(`conv(x = x, weight = blob %s, strides = tensor<int32, [2]>([%d, %d]), pad_type = string("custom"), pad = tensor<int32, [4]>([%d, %d, %d, %d]), dilations = tensor<int32, [2]>([1, 1]), groups = int32(%d))`,
		weights, stride, stride, pad, pad, pad, pad, groups)
}

// text writes the program in full.
func (c *v7Case) text() string {
	var b strings.Builder
	b.WriteString("program(1.3)\n[buildInfo = dict<string, string>({})]\n{\n  func main<ios18>(")
	for i, in := range strings.Split(c.inputs, "; ") {
		name, shape, _ := strings.Cut(in, " ")
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s %s", caseType(shape), name)
	}
	b.WriteString(") {\n")
	constants := 0
	for _, line := range strings.Split(c.body, "; ") {
		head, call, _ := strings.Cut(line, " = ")
		name, shape, _ := strings.Cut(head, " ")
		for strings.Contains(call, "blob ") { // constants become operations of their own
			before, after, _ := strings.Cut(call, "blob ")
			blob, rest, _ := strings.Cut(after, "]")
			constants++
			fmt.Fprintf(&b, "    tensor<fp16, %s]> c%d = const()[name = string(\"c%d\"), val = tensor<fp16, %s]>(BLOBFILE(path = string(\"@model_path/weights.bin\"), offset = uint64(%d)))];\n",
				blob, constants, constants, blob, 64*constants)
			call = fmt.Sprintf("%sc%d%s", before, constants, rest)
		}
		fmt.Fprintf(&b, "    %s %s = %s[name = string(\"%s\")];\n", caseType(shape), name, call, name)
	}
	b.WriteString("  } -> (y);\n}\n")
	return b.String()
}

// caseType is the type of a value of a case.
func caseType(shape string) string {
	if bools, ok := strings.CutPrefix(shape, "bool "); ok {
		return fmt.Sprintf("tensor<bool, %s>", bools)
	}
	return fmt.Sprintf("tensor<fp16, %s>", shape)
}

// randomWeights makes up the arrays of weight files.
type randomWeights struct{}

func (randomWeights) Bytes(path string) ([]byte, error) {
	return nil, fmt.Errorf("%s: there is no file", path)
}

func (randomWeights) Load(path string, offset uint64, typ *mil.TensorType) (*tensor.Tensor, error) {
	shape, _ := typ.Shape.Ints()
	n, _ := tensor.Count(shape)
	r := rand.New(rand.NewPCG(offset, uint64(n)))
	values := make([]float32, n)
	for i := range values {
		values[i] = tensor.RoundF16(float32(r.NormFloat64()) / 8)
	}
	return tensor.FromFloat32s(typ.DType, values, shape...), nil
}

func TestV7TasksCompute(t *testing.T) { runV7Cases(t, v7Cases) }

// runV7Cases compiles programs to H13's own tasks, runs them and compares with the operations themselves.
func runV7Cases(t *testing.T, cases []v7Case) {
	target, err := hal.Lookup("h13")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.body, func(t *testing.T) {
			program, err := mil.ParseText("case", []byte(c.text()), randomWeights{})
			if err != nil {
				t.Fatalf("%v\n%s", err, c.text())
			}
			fn := program.Functions[0]
			s, err := ownSegment(t, fn, target)
			if err != nil {
				t.Fatal(err)
			}
			runOwnSegment(t, &c, fn, s)
		})
	}
}

// runOwnSegment runs a segment and compares with the operations themselves.
func runOwnSegment(t *testing.T, c *v7Case, fn *mil.Function, s *segment.Segment) {
	t.Helper()
	if c.tasks != 0 && len(s.Tasks) != c.tasks {
		t.Errorf("%d tasks, want %d", len(s.Tasks), c.tasks)
	}
	loaded, err := engine.Load(s.File, s.Target.Numerics)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	ctx := loaded.NewContext()
	inputs := map[string]ops.Value{}
	for _, in := range fn.Inputs {
		shape, _ := in.Type.(*mil.TensorType).Shape.Ints()
		n, _ := tensor.Count(shape)
		values := make([]float32, n)
		dtype := tensor.Float32
		for i := range values {
			values[i] = tensor.RoundF16(float32(r.NormFloat64()))
			if c.least > 0 {
				values[i] = max(values[i], -values[i], float32(c.least))
			}
			if in.Type.(*mil.TensorType).DType == tensor.Bool {
				dtype, values[i] = tensor.Bool, float32(r.IntN(2))
			}
		}
		inputs[in.Name] = tensor.FromFloat32s(dtype, values, shape...)
		if err := ctx.Set(in.Name+"__engine", values); err != nil {
			t.Fatal(err)
		}
	}
	if err := loaded.Run(context.Background(), ctx); err != nil {
		t.Fatal(err)
	}
	ev, err := ops.NewEvaluator(fn, ops.FP32)
	if err != nil {
		t.Fatal(err)
	}
	results, err := ev.Run(context.Background(), inputs)
	if err != nil {
		t.Fatal(err)
	}
	want := results[0].(*tensor.Tensor).Float32s()
	got := make([]float32, len(want))
	if err := ctx.Get(s.Outputs[0], got); err != nil {
		t.Fatal(err)
	}
	for i := range want {
		d := math.Abs(float64(got[i]) - float64(want[i]))
		if got[i] != want[i] && !(d <= c.abs+max(c.rel, fp16Unit)*math.Abs(float64(want[i]))+0x1p-24) {
			t.Fatalf("element %d is %v, want %v", i, got[i], want[i])
		}
	}
}

// A program whose encoding is certain compiles strictly, to nothing but tasks of the chip's own, and to the same bytes
// whatever the order of what has none.
func TestV7ProgramsAreStrict(t *testing.T) { compileV7CasesStrictly(t, v7Cases) }

func compileV7CasesStrictly(t *testing.T, cases []v7Case) {
	target, err := hal.Lookup("h13")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		if strings.Contains(c.body, "blob") {
			continue // the weight file is made up
		}
		program, err := mil.ParseText("case", []byte(c.text()), randomWeights{})
		if err != nil {
			t.Fatal(err)
		}
		var first []byte
		for _, seed := range []uint64{0, 3} {
			r, err := Compile(t.Context(), &Job{Target: target, Program: program, Strict: true, Seed: seed, Functions: []Entry{{Function: program.Functions[0]}}})
			if err != nil {
				t.Fatalf("%s: %v", c.body, err)
			}
			s := r.Functions[0].Segments[0]
			if s == nil {
				t.Fatalf("%s: the host runs the first part", c.body)
			}
			tasks, err := s.File.Tasks()
			if err != nil {
				t.Fatal(err)
			}
			for i, task := range tasks {
				if task.Version != td.V7 || task.Extension() {
					t.Errorf("%s: task %d is no task of the chip", c.body, i)
				}
			}
			if c.tasks != 0 && r.Functions[0].Tasks() != c.tasks {
				t.Errorf("%s: %d tasks, want %d", c.body, r.Functions[0].Tasks(), c.tasks)
			}
			if got := s.File.Text().Data; seed == 0 {
				first = got
			} else if !bytes.Equal(got, first) {
				t.Errorf("%s: seed %d gives other tasks", c.body, seed)
			}
		}
	}
}
