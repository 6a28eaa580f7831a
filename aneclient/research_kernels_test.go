package aneclient_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/espalier-ane/espalier/aneclient"
)

// Own MIL texts, each held to a calculation in float64.

// wide is values for a calculation.
func wide(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}

func narrow(x []float64) []float32 {
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = float32(v)
	}
	return y
}

// rowsOf calls f with each row.
func rowsOf(x []float64, n int, f func(row []float64)) {
	for i := 0; i < len(x); i += n {
		f(x[i : i+n])
	}
}

func softmax(row []float64) {
	sum := 0.0
	for i, v := range row {
		row[i] = math.Exp(v)
		sum += row[i]
	}
	for i := range row {
		row[i] /= sum
	}
}

func normalize(row []float64) {
	mean, variance := 0.0, 0.0
	for _, v := range row {
		mean += v / float64(len(row))
	}
	for _, v := range row {
		variance += (v - mean) * (v - mean) / float64(len(row))
	}
	for i, v := range row {
		row[i] = (v - mean) / math.Sqrt(variance+1e-5)
	}
}

func gelu(x float64) float64 {
	return 0.5 * x * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x)))
}

// product is a·b, of n×k and k×m; b is m×k if it is transposed, a k×n.
func product(a, b []float64, n, k, m int, transA, transB bool) []float64 {
	y := make([]float64, n*m)
	for i := range n {
		for j := range m {
			sum := 0.0
			for l := range k {
				x, w := i*k+l, l*m+j
				if transA {
					x = l*n + i
				}
				if transB {
					w = j*k + l
				}
				sum += a[x] * b[w]
			}
			y[i*m+j] = sum
		}
	}
	return y
}

// attention is softmax(x·xᵀ/√d)·x.
func attention(x []float64, n, d int) []float64 {
	scores := product(x, x, n, d, n, false, true)
	for i := range scores {
		scores[i] /= math.Sqrt(float64(d))
	}
	rowsOf(scores, n, softmax)
	return product(scores, x, n, n, d, false, false)
}

// casts is a program whose input and output are fp32, and fp16 between: x16 becomes y16.
func casts(shape, body string) []byte {
	return function("tensor<fp32, "+shape+"> x", lines(
		constant("string", "to16", `"fp16"`), constant("string", "to32", `"fp32"`),
		"tensor<fp16, ", shape, "> x16 = cast(dtype = to16, x = x)[name = string(\"x16\")];\n", body,
		"\ntensor<fp32, ", shape, "> cast_out = cast(dtype = to32, x = y16)[name = string(\"cast_out\")];"), "cast_out")
}

func TestExperimentX1(t *testing.T) {
	defer beside(t)
	const shape, n = "[1, 64, 1, 256]", 64 * 256
	typ := "tensor<fp16, " + shape + ">"
	forTargets(t, func(t *testing.T, c *aneclient.Client) {
		loose := 0.002
		if c.Target() != "virtual" {
			loose = 0.01 // tables of 33 knots
		}
		for _, k := range []struct {
			name, body string
			tolerance  float64
			want       func(row []float64)
		}{
			{"relu", typ + " y16 = relu(x = x16)[name = string(\"y16\")];", 0, func(row []float64) {
				for i, v := range row {
					row[i] = max(v, 0)
				}
			}},
			{"gelu", constant("string", "mode", `"TANH_APPROXIMATION"`) + typ + " y16 = gelu(mode = mode, x = x16)[name = string(\"y16\")];", loose, func(row []float64) {
				for i, v := range row {
					row[i] = gelu(v)
				}
			}},
			{"2x+1", constant("fp16", "two", "2") + constant("fp16", "one", "1") + typ + " d = mul(x = x16, y = two)[name = string(\"d\")];\n" + typ + " y16 = add(x = d, y = one)[name = string(\"y16\")];", 0.001, func(row []float64) {
				for i, v := range row {
					row[i] = 2*v + 1
				}
			}},
			{"softmax", constant("int32", "ax", "-1") + typ + " y16 = softmax(axis = ax, x = x16)[name = string(\"y16\")];", loose, softmax},
			{"layer_norm", constant("tensor<int32, [1]>", "axes", "[3]") + constant("fp16", "eps", "1e-5") + typ + " y16 = layer_norm(axes = axes, epsilon = eps, x = x16)[name = string(\"y16\")];", 4 * loose, normalize},
		} {
			b := bench(t, c, loadText(t, c, casts(shape, k.body)), 0)
			x := random(11, n)
			want := wide(x)
			rowsOf(want, 256, k.want)
			near(t, k.name, b.run(t, x), narrow(want), k.tolerance)
		}
	})
}

func TestExperimentY1(t *testing.T) {
	defer beside(t)
	const shape = "[1, 1, 256, 64]"
	typ := "tensor<fp16, " + shape + ">"
	forTargets(t, func(t *testing.T, c *aneclient.Client) {
		k := bench(t, c, loadText(t, c, casts(shape, typ+" y16 = scaled_dot_product_attention(key = x16, query = x16, value = x16)[name = string(\"y16\")];")), 0)
		x := random(12, 256*64)
		near(t, "attention", k.run(t, x), narrow(attention(wide(x), 256, 64)), 0.001)
	})
}

// matrix is a constant of a text.
func matrix(name string, rows, columns int, values []float32) string {
	var list []string
	for _, v := range values {
		list = append(list, fmt.Sprintf("%g", v))
	}
	shape := fmt.Sprintf("[%d, %d]", rows, columns)
	if rows == 0 {
		shape = fmt.Sprintf("[%d]", columns)
	}
	return constant("tensor<fp16, "+shape+">", name, "["+strings.Join(list, ", ")+"]")
}

// scaled is values times a factor, in fp16.
func scaled(values []float32, by float32) []float32 {
	for i := range values {
		values[i] *= by // a power of two
	}
	return values
}

// layer is x·wᵀ+b.
func layer(x, w, b []float64, n, from, to int) []float64 {
	y := product(x, w, n, from, to, false, true)
	rowsOf(y, to, func(row []float64) {
		for i := range row {
			row[i] += b[i]
		}
	})
	return y
}

func TestExperimentY2(t *testing.T) {
	defer beside(t)
	w, b := scaled(random(13, 64*64), 0.125), random(14, 64)
	text := casts("[256, 64]", lines(matrix("W", 64, 64, w), matrix("B", 0, 64, b), "tensor<fp16, [256, 64]> y16 = linear(bias = B, weight = W, x = x16)[name = string(\"y16\")];"))
	forTargets(t, func(t *testing.T, c *aneclient.Client) {
		k := bench(t, c, loadText(t, c, text), 0)
		x := random(15, 256*64)
		near(t, "linear", k.run(t, x), narrow(layer(wide(x), wide(w), wide(b), 256, 64, 64)), 0.003)
	})
}

func TestExperimentY3(t *testing.T) {
	defer beside(t)
	const n, d, f = 256, 64, 128
	w1, b1, w2, b2 := scaled(random(16, f*d), 0.125), random(17, f), scaled(random(18, d*f), 0.125), random(19, d)
	flat, heads := "tensor<fp16, [256, 64]>", "tensor<fp16, [1, 1, 256, 64]>"
	norm := func(from, to string) string {
		return flat + " " + to + " = layer_norm(axes = axes, epsilon = eps, x = " + from + ")[name = string(\"" + to + "\")];\n"
	}
	text := casts("[256, 64]", lines(
		constant("tensor<int32, [1]>", "axes", "[1]"), constant("fp16", "eps", "1e-5"), constant("string", "mode", `"TANH_APPROXIMATION"`),
		constant("tensor<int32, [4]>", "up", "[1, 1, 256, 64]"), constant("tensor<int32, [2]>", "down", "[256, 64]"),
		matrix("W1", f, d, w1), matrix("B1", 0, f, b1), matrix("W2", d, f, w2), matrix("B2", 0, d, b2),
		norm("x16", "n1"), heads, " q = reshape(shape = up, x = n1)[name = string(\"q\")];\n",
		heads, " at = scaled_dot_product_attention(key = q, query = q, value = q)[name = string(\"at\")];\n",
		flat, " a = reshape(shape = down, x = at)[name = string(\"a\")];\n", flat, " r1 = add(x = x16, y = a)[name = string(\"r1\")];\n", norm("r1", "n2"),
		"tensor<fp16, [256, 128]> h = linear(bias = B1, weight = W1, x = n2)[name = string(\"h\")];\n",
		"tensor<fp16, [256, 128]> g = gelu(mode = mode, x = h)[name = string(\"g\")];\n",
		flat, " o = linear(bias = B2, weight = W2, x = g)[name = string(\"o\")];\n", flat, " y16 = add(x = r1, y = o)[name = string(\"y16\")];"))
	c := connect(t, "virtual")
	k := bench(t, c, loadText(t, c, text), 0)
	x := random(20, n*d)
	r := wide(x)
	n1 := wide(x)
	rowsOf(n1, d, normalize)
	for i, v := range attention(n1, n, d) {
		r[i] += v
	}
	n2 := append([]float64(nil), r...)
	rowsOf(n2, d, normalize)
	h := layer(n2, wide(w1), wide(b1), n, d, f)
	for i := range h {
		h[i] = gelu(h[i])
	}
	for i, v := range layer(h, wide(w2), wide(b2), n, f, d) {
		r[i] += v
	}
	near(t, "block", k.run(t, x), narrow(r), 0.01)
	if k.ProcedureCount() != 1 || k.info.IntermediateBytes == 0 || k.Program().IntermediateBufferHandle() == 0 {
		t.Errorf("%d procedures, %d bytes between tasks, %v", k.ProcedureCount(), k.info.IntermediateBytes, k.Program())
	}
	chip, err := aneclient.NewDescriptor(text, nil, nil)
	check(t, err)
	err = connect(t, "h13").InMemoryModel(chip).Compile(ctx, qos, aneclient.Options{})
	if !errors.Is(err, aneclient.ErrCompile) || !strings.Contains(err.Error(), `function "main" has 3 segments`) {
		t.Errorf("on h13: %v", err)
	}
}

func TestExperimentZ1(t *testing.T) {
	defer beside(t)
	// dY [128, 64] over W [64, 64] in one input, dX over dW in one output.
	slice := func(name, begin, end string, rows int) string {
		return lines(constant("tensor<int32, [2]>", name+"_b", begin), constant("tensor<int32, [2]>", name+"_e", end),
			fmt.Sprintf("tensor<fp16, [%d, 64]> %s = slice_by_index(begin = %[2]s_b, end = %[2]s_e, x = x16)[name = string(%[2]q)];\n", rows, name))
	}
	text := casts("[192, 64]", lines(
		slice("dY", "[0, 0]", "[128, 64]", 128), slice("W", "[128, 0]", "[192, 64]", 64),
		constant("bool", "yes", "true"), constant("bool", "no", "false"), constant("int32", "ax", "0"), constant("bool", "il", "false"),
		"tensor<fp16, [128, 64]> dX = matmul(transpose_x = no, transpose_y = no, x = dY, y = W)[name = string(\"dX\")];\n",
		"tensor<fp16, [64, 64]> dW = matmul(transpose_x = yes, transpose_y = no, x = dY, y = dY)[name = string(\"dW\")];\n",
		"tensor<fp16, [192, 64]> y16 = concat(axis = ax, interleave = il, values = (dX, dW))[name = string(\"y16\")];"))
	forTargets(t, func(t *testing.T, c *aneclient.Client) {
		k := bench(t, c, loadText(t, c, text), 0)
		x := random(21, 192*64)
		dY, w := wide(x[:128*64]), wide(x[128*64:])
		y := k.run(t, x)
		near(t, "dX", y[:128*64], narrow(product(dY, w, 128, 64, 64, false, false)), 0.01)
		near(t, "dW", y[128*64:], narrow(product(dY, dY, 64, 128, 64, true, false)), 0.03)
	})
}
