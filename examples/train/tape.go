package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/espalier-ane/espalier/tensor"
)

// A tape writes a MIL program, forward and backward. Every operation notes how a gradient goes back through it, in operations of
// the same program:
//
//	forward     x ─ matmul ─ a ─ relu ─ b ─ … ─ loss
//	backward   dx ─ matmul ─ da ─ mask ─ db ─ … ─ 1
//
// gradients plays the notes from the last to the first.
type tape struct {
	dtype   tensor.DType
	inputs  []*node
	text    strings.Builder
	names   int
	notes   []func()
	weights []*node
	initial map[string][]float32
}

// A node is a value of the program.
type node struct {
	name     string
	shape    []int
	gradient *node // of the loss by it; nil: none so far
}

func newTape(d tensor.DType) *tape { return &tape{dtype: d, initial: map[string][]float32{}} }

// typ is a type as MIL writes it.
func (t *tape) typ(shape []int) string {
	list := make([]string, len(shape))
	for i, n := range shape {
		list[i] = strconv.Itoa(n)
	}
	return fmt.Sprintf("tensor<%v, [%s]>", t.dtype, strings.Join(list, ", "))
}

// op writes an operation.
func (t *tape) op(kind, args string, shape ...int) *node {
	t.names++
	y := &node{name: fmt.Sprintf("%s_%d", kind, t.names), shape: shape}
	fmt.Fprintf(&t.text, "        %s %s = %s(%s)[name = string(%q)];\n", t.typ(shape), y.name, kind, args, y.name)
	return y
}

func (t *tape) note(back func()) { t.notes = append(t.notes, back) }

func (t *tape) input(name string, shape ...int) *node {
	x := &node{name: name, shape: shape}
	t.inputs = append(t.inputs, x)
	return x
}

// weight is a constant that training changes.
func (t *tape) weight(name string, values []float32, shape ...int) *node {
	w := &node{name: name, shape: shape}
	fmt.Fprintf(&t.text, "        %s %s = const()[name = string(%q), val = %s(%s)];\n", t.typ(shape), name, name, t.typ(shape), nested(values, shape))
	t.weights = append(t.weights, w)
	t.initial[name] = values
	return w
}

// nested writes numbers as MIL writes arrays.
func nested(values []float32, shape []int) string {
	list := make([]string, shape[0])
	each := len(values) / shape[0]
	for i := range list {
		if len(shape) > 1 {
			list[i] = nested(values[i*each:(i+1)*each], shape[1:])
		} else {
			list[i] = strconv.FormatFloat(float64(values[i]), 'x', -1, 32)
		}
	}
	return "[" + strings.Join(list, ", ") + "]"
}

func (t *tape) number(f float64) string {
	if t.dtype == tensor.Float16 {
		f = float64(tensor.F16(tensor.ToF16(float32(f))))
	}
	return fmt.Sprintf("%v(%s)", t.dtype, strconv.FormatFloat(f, 'x', -1, 32))
}

// give adds to the gradient of a node.
func (t *tape) give(x, g *node) {
	if x.gradient == nil {
		x.gradient = g
	} else {
		x.gradient = t.op("add", fmt.Sprintf("x = %s, y = %s", x.gradient.name, g.name), x.shape...)
	}
}

// two writes an operation of two values. The second may be a vector along the last axis.
func (t *tape) two(kind string, x, y *node) *node {
	return t.op(kind, fmt.Sprintf("x = %s, y = %s", x.name, y.name), x.shape...)
}

// with writes an operation of a value and a number.
func (t *tape) with(kind string, x *node, number float64) *node {
	return t.op(kind, fmt.Sprintf("x = %s, y = %s", x.name, t.number(number)), x.shape...)
}

// reduce is a mean or a sum over an axis, which stays.
func (t *tape) reduce(kind string, x *node, axis int) *node {
	shape := append([]int(nil), x.shape...)
	shape[axis] = 1
	return t.op(kind, fmt.Sprintf("x = %s, axes = tensor<int32, [1]>([%d]), keep_dims = bool(true)", x.name, axis), shape...)
}

// fit brings the gradient of a result to a vector that was added to each row of it, or multiplied with it.
func (t *tape) fit(g, to *node) *node {
	if len(to.shape) == len(g.shape) {
		return g
	}
	sum := t.reduce("reduce_sum", g, 0)
	return t.op("reshape", fmt.Sprintf("x = %s, shape = tensor<int32, [1]>([%d])", sum.name, to.shape[0]), to.shape...)
}

// matmul is x·y, or x·yᵀ, of matrices along the last two axes.
func (t *tape) matmul(x, y *node, transposed bool) *node {
	product := func(a, b *node, ta, tb bool, shape ...int) *node {
		return t.op("matmul", fmt.Sprintf("x = %s, y = %s, transpose_x = bool(%v), transpose_y = bool(%v)", a.name, b.name, ta, tb), shape...)
	}
	r := len(x.shape)
	columns := y.shape[r-1]
	if transposed {
		columns = y.shape[r-2]
	}
	z := product(x, y, false, transposed, append(append([]int(nil), x.shape[:r-1]...), columns)...)
	t.note(func() {
		g := z.gradient
		t.give(x, product(g, y, false, !transposed, x.shape...))
		if transposed {
			t.give(y, product(g, x, true, false, y.shape...))
		} else {
			t.give(y, product(x, g, true, false, y.shape...))
		}
	})
	return z
}

func (t *tape) add(x, y *node) *node {
	z := t.two("add", x, y)
	t.note(func() {
		t.give(x, z.gradient)
		t.give(y, t.fit(z.gradient, y))
	})
	return z
}

// relu lets a gradient pass where its argument was positive: there, and nowhere else, the sign of the result is 1.
func (t *tape) relu(x *node) *node {
	y := t.op("relu", "x = "+x.name, x.shape...)
	t.note(func() {
		mask := t.op("sign", "x = "+y.name, y.shape...)
		t.give(x, t.two("mul", y.gradient, mask))
	})
	return y
}

// softmax is over the last axis: dx = y·(dy - Σ dy·y).
func (t *tape) softmax(x *node) *node {
	last := len(x.shape) - 1
	y := t.op("softmax", fmt.Sprintf("x = %s, axis = int32(%d)", x.name, last), x.shape...)
	t.note(func() {
		g := y.gradient
		sum := t.reduce("reduce_sum", t.two("mul", g, y), last)
		t.give(x, t.two("mul", y, t.two("sub", g, sum)))
	})
	return y
}

// layerNorm normalizes rows: y = n·gamma + beta with n = (x - mean)/σ, and so dx = (dn - mean(dn) - n·mean(dn·n))/σ with
// dn = dy·gamma.
func (t *tape) layerNorm(x, gamma, beta *node) *node {
	const epsilon = 1e-3
	centred := t.two("sub", x, t.reduce("reduce_mean", x, 1))
	variance := t.reduce("reduce_mean", t.two("mul", centred, centred), 1)
	inverse := t.op("rsqrt", fmt.Sprintf("x = %s, epsilon = %s", variance.name, t.number(epsilon)), variance.shape...)
	n := t.two("mul", centred, inverse)
	y := t.two("add", t.two("mul", n, gamma), beta)
	t.note(func() {
		g := y.gradient
		t.give(beta, t.fit(g, beta))
		t.give(gamma, t.fit(t.two("mul", g, n), gamma))
		dn := t.two("mul", g, gamma)
		along := t.two("mul", n, t.reduce("reduce_mean", t.two("mul", dn, n), 1))
		t.give(x, t.two("mul", t.two("sub", t.two("sub", dn, t.reduce("reduce_mean", dn, 1)), along), inverse))
	})
	return y
}

// scale is a value times a number.
func (t *tape) scale(x *node, by float64) *node {
	y := t.with("mul", x, by)
	t.note(func() { t.give(x, t.with("mul", y.gradient, by)) })
	return y
}

// heads brings [tokens, width] of some sequences to [sequences, heads, length, width/heads], and joined brings it back.
func (t *tape) heads(x *node, sequences, heads int) *node {
	tokens, width := x.shape[0], x.shape[1]
	y := t.split(x, sequences, heads)
	t.note(func() { t.give(x, t.join(y.gradient, tokens, width)) })
	return y
}

func (t *tape) joined(x *node) *node {
	s := x.shape
	y := t.join(x, s[0]*s[2], s[1]*s[3])
	t.note(func() { t.give(x, t.split(y.gradient, s[0], s[1])) })
	return y
}

func (t *tape) split(x *node, sequences, heads int) *node {
	length, each := x.shape[0]/sequences, x.shape[1]/heads
	return t.exchange(t.reshape(x, sequences, length, heads, each), sequences, heads, length, each)
}

func (t *tape) join(x *node, tokens, width int) *node {
	s := x.shape
	return t.reshape(t.exchange(x, s[0], s[2], s[1], s[3]), tokens, width)
}

func (t *tape) reshape(x *node, shape ...int) *node {
	list := strings.Trim(strings.Join(strings.Fields(fmt.Sprint(shape)), ", "), "[]")
	return t.op("reshape", fmt.Sprintf("x = %s, shape = tensor<int32, [%d]>([%s])", x.name, len(shape), list), shape...)
}

func (t *tape) exchange(x *node, shape ...int) *node {
	return t.op("transpose", fmt.Sprintf("x = %s, perm = tensor<int32, [4]>([0, 2, 1, 3])", x.name), shape...)
}

// loss is the mean of the squares of what y is away from what is wanted, times a scale that keeps small gradients in the range of
// fp16. It begins the gradients.
func (t *tape) loss(y, want *node) *node {
	away := t.two("sub", y, want)
	elements := 1
	for _, n := range y.shape {
		elements *= n
	}
	l := t.two("mul", away, away)
	for axis := range y.shape {
		l = t.reduce("reduce_mean", l, axis)
	}
	t.note(func() { y.gradient = t.with("mul", away, 2*lossScale/float64(elements)) })
	return l
}

// lossScale is what gradients are multiplied with.
const lossScale = 64

// program is the text: it gives the loss, and for each weight its gradient.
func (t *tape) program(loss *node) (text string, gradients map[string]string) {
	for i := len(t.notes) - 1; i >= 0; i-- {
		t.notes[i]()
	}
	gradients = map[string]string{}
	outputs := []string{loss.name}
	for _, w := range t.weights {
		gradients[w.name] = w.gradient.name
		outputs = append(outputs, w.gradient.name)
	}
	var inputs []string
	for _, x := range t.inputs {
		inputs = append(inputs, t.typ(x.shape)+" "+x.name)
	}
	return fmt.Sprintf("program(1.3)\n{\n    func main<ios17>(%s) {\n%s    } -> (%s);\n}\n", strings.Join(inputs, ", "), t.text.String(), strings.Join(outputs, ", ")), gradients
}

// spread are numbers for a weight of so many inputs, which keep the variance.
func spread(r interface{ NormFloat64() float64 }, n, inputs int) []float32 {
	values := make([]float32, n)
	for i := range values {
		values[i] = tensor.F16(tensor.ToF16(float32(r.NormFloat64() / math.Sqrt(float64(inputs)))))
	}
	return values
}
