package ops

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// einsumOps has one operation. coremltools allows the equations nchw,nwhu->nchu and chw,whr->chr; here every explicit
// equation without an ellipsis has its meaning.
var einsumOps = []Def{{
	Name:     "einsum",
	Doc:      "sum of products of tensors, as an equation such as nchw,nwhu->nchu says",
	Versions: since(IOS15, Many("values", Float).As("T"), Const("equation", Str)),
	Infer:    inferEinsum,
	Eval:     evalEinsum,
	Lower:    lowerEinsum,
}}

// equation is what an einsum computes: a label for each axis of each operand and of the result.
type equation struct {
	operands [][]rune
	result   []rune
}

func parseEquation(s string) (*equation, error) {
	left, right, ok := strings.Cut(strings.ReplaceAll(s, " ", ""), "->")
	if !ok {
		return nil, fmt.Errorf("equation %q has no ->", s)
	}
	eq := &equation{result: []rune(right)}
	known := map[rune]bool{}
	for _, op := range strings.Split(left, ",") {
		eq.operands = append(eq.operands, []rune(op))
		for _, label := range op {
			if !unicode.IsLetter(label) {
				return nil, fmt.Errorf("equation %q: expected a letter for each axis, found %q", s, label)
			}
			known[label] = true
		}
	}
	for i, label := range eq.result {
		if !known[label] {
			return nil, fmt.Errorf("equation %q: the result has an axis %q that no operand has", s, label)
		}
		if slices.Contains(eq.result[:i], label) {
			return nil, fmt.Errorf("equation %q: the result has the axis %q twice", s, label)
		}
	}
	return eq, nil
}

func inferEinsum(c *Call) ([]mil.Type, error) {
	eq, err := parseEquation(c.Str("equation"))
	if err != nil {
		return nil, err
	}
	if n := c.Count("values"); n != len(eq.operands) {
		return nil, fmt.Errorf("equation %q is for %d operands, found %d", c.Str("equation"), len(eq.operands), n)
	}
	lengths := map[rune]tensor.Dim{}
	for i, labels := range eq.operands {
		shape := c.TypeAt("values", i).Shape
		if len(shape) != len(labels) {
			return nil, fmt.Errorf("operand %d has shape %v, but the equation calls its axes %q", i, shape, string(labels))
		}
		own := map[rune]tensor.Dim{} // an axis that occurs twice in an operand is its diagonal, and not broadcast
		for j, label := range labels {
			if d, twice := own[label]; twice && !equalOrUnknown(d, shape[j]) {
				return nil, fmt.Errorf("operand %d has shape %v: the lengths %v and %v of axis %q differ", i, shape, d, shape[j], label)
			}
			if d, twice := own[label]; !twice || !d.Known() {
				own[label] = shape[j]
			}
		}
		for label, d := range own {
			before, seen := lengths[label]
			if !seen {
				before = 1
			}
			joined, ok := tensor.BroadcastDim(before, d)
			if !ok {
				return nil, fmt.Errorf("axis %q has length %v in operand %d and %v before it", label, d, i, before)
			}
			lengths[label] = joined
		}
	}
	shape := make(tensor.Shape, len(eq.result))
	for i, label := range eq.result {
		shape[i] = lengths[label]
	}
	return one(c.TypeAt("values", 0).DType, shape)
}

// labelled is a dense tensor whose axes have labels, each once and none of length 1: what is broadcast is
// simply not there.
type labelled struct {
	labels []rune
	shape  []int
	data   []float32
}

func evalEinsum(c *Call) error {
	eq, err := parseEquation(c.Str("equation"))
	if err != nil {
		return err
	}
	if !haveElements(c) {
		c.ReturnFloats(0, make([]float32, c.OutLen(0)))
		return nil
	}
	var acc labelled
	for i, labels := range eq.operands {
		t := c.TensorAt("values", i)
		x := label(c.halt, labels, t.Shape(), t.Float32s())
		if i == 0 {
			acc = x
			if len(eq.operands) > 1 {
				continue
			}
			x = labelled{data: []float32{1}}
		}
		acc, err = contract(c, acc, x, func(label rune) bool {
			return slices.Contains(eq.result, label) ||
				slices.ContainsFunc(eq.operands[i+1:], func(op []rune) bool { return slices.Contains(op, label) })
		})
		if err != nil {
			return err
		}
	}
	c.ReturnFloats(0, acc.ordered(c.halt, eq.result).data)
	return nil
}

// haveElements reports whether all operands have elements. Where one has none there is nothing to sum, and lengths
// beside one of zero may be beyond all loops.
func haveElements(c *Call) bool {
	for i := range c.Count("values") {
		if c.TensorAt("values", i).Len() == 0 {
			return false
		}
	}
	return true
}

// label takes the diagonal over axes with the same label and drops axes of length 1.
func label(h *halt, labels []rune, shape []int, data []float32) labelled {
	var out labelled
	var steps []int
	step := 1
	for i := len(labels) - 1; i >= 0; i-- {
		if shape[i] != 1 {
			if j := slices.Index(out.labels, labels[i]); j >= 0 {
				steps[j] += step
			} else {
				out.labels = append(out.labels, labels[i])
				out.shape = append(out.shape, shape[i])
				steps = append(steps, step)
			}
		}
		step *= shape[i]
	}
	slices.Reverse(out.labels)
	slices.Reverse(out.shape)
	slices.Reverse(steps)
	out.data = stridedCopy(h, out.shape, steps, data)
	return out
}

// stridedCopy makes a dense array of elements that lie steps apart; data itself if it is that.
func stridedCopy(h *halt, shape, steps []int, data []float32) []float32 {
	n, _ := tensor.Count(shape)
	dense, size := true, 1
	for i := len(shape) - 1; i >= 0; i-- {
		dense = dense && steps[i] == size
		size *= shape[i]
	}
	if dense {
		return data[:n]
	}
	out := make([]float32, n)
	last := len(shape) - 1
	rows := 0
	if n > 0 {
		rows = n / shape[last]
	}
	h.For(rows, 1+(1<<13)/max(1, n/max(1, rows)), func(lo, hi int) {
		for r := lo; r < hi; r++ {
			at := 0
			for i, rest := last-1, r; i >= 0; i-- {
				at += rest % shape[i] * steps[i]
				rest /= shape[i]
			}
			row := out[r*shape[last]:][:shape[last]]
			for j := range row {
				row[j] = data[at]
				at += steps[last]
			}
		}
	})
	return out
}

// ordered transposes to an order of labels. Those that x does not have are axes of length 1.
func (x labelled) ordered(h *halt, labels []rune) labelled {
	steps := make([]int, len(x.shape))
	for i, step := len(x.shape)-1, 1; i >= 0; i-- {
		steps[i] = step
		step *= x.shape[i]
	}
	var out labelled
	var outSteps []int
	for _, l := range labels {
		if i := slices.Index(x.labels, l); i >= 0 {
			out.labels, out.shape, outSteps = append(out.labels, l), append(out.shape, x.shape[i]), append(outSteps, steps[i])
		}
	}
	out.data = stridedCopy(h, out.shape, outSteps, x.data)
	return out
}

// count is the number of elements on some axes.
func (x labelled) count(labels []rune) int {
	n := 1
	for i, l := range x.labels {
		if slices.Contains(labels, l) {
			n *= x.shape[i]
		}
	}
	return n
}

// contract multiplies two tensors and sums over the labels that are not to be kept: a batch of matrix products.
func contract(c *Call, a, b labelled, keep func(rune) bool) (labelled, error) {
	a, b = a.sumAlone(c.halt, b, keep), b.sumAlone(c.halt, a, keep)
	var batch, rows, cols, inner []rune
	var shape []int
	for i, l := range a.labels {
		switch {
		case !slices.Contains(b.labels, l):
			rows = append(rows, l)
		case keep(l):
			batch, shape = append(batch, l), append(shape, a.shape[i])
		default:
			inner = append(inner, l)
		}
	}
	for i, l := range a.labels {
		if slices.Contains(rows, l) {
			shape = append(shape, a.shape[i])
		}
	}
	for i, l := range b.labels {
		if !slices.Contains(a.labels, l) {
			cols, shape = append(cols, l), append(shape, b.shape[i])
		}
	}
	size, ok := tensor.Count(shape)
	if !ok {
		return labelled{}, fmt.Errorf("the product of operands has shape %v, which is beyond reason", shape)
	}
	if err := c.checkMemory(mil.Tensor(tensor.Float32, tensor.ShapeOf(shape...)...)); err != nil {
		return labelled{}, err
	}
	if err := c.steps(float64(size) * float64(a.count(inner))); err != nil {
		return labelled{}, err
	}
	m, n, k := a.count(rows), b.count(cols), a.count(inner)
	left := a.ordered(c.halt, slices.Concat(batch, rows, inner)).data
	right := b.ordered(c.halt, slices.Concat(batch, inner, cols)).data
	out := labelled{slices.Concat(batch, rows, cols), shape, make([]float32, size)}
	c.For(a.count(batch), 1, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			gemm(c.halt, m, n, k, matrix{left[i*m*k:], k, 1}, matrix{right[i*k*n:], n, 1}, out.data[i*m*n:])
		}
	})
	return out, nil
}

// sumAlone sums over the labels that neither the other operand nor the result has.
func (x labelled) sumAlone(h *halt, other labelled, keep func(rune) bool) labelled {
	var stay, alone []rune
	for _, l := range x.labels {
		if keep(l) || slices.Contains(other.labels, l) {
			stay = append(stay, l)
		} else {
			alone = append(alone, l)
		}
	}
	if len(alone) == 0 {
		return x
	}
	n := x.count(alone)
	y := x.ordered(h, slices.Concat(stay, alone))
	sums := make([]float32, x.count(stay))
	for i := range sums {
		if h.asked() {
			break
		}
		for _, v := range y.data[i*n : (i+1)*n] {
			sums[i] += v
		}
	}
	return labelled{stay, y.shape[:len(stay)], sums}
}
