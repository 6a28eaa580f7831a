package ops

import (
	"slices"

	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// axisLabels are the labels of the axes of a value; unlabelled ones have extent 1.
type axisLabels [anec.NumAxes]rune

const unlabelled rune = 0

// labelledValue is a value whose axes have labels, each once. As in the evaluation, an axis of extent 1 has none: what
// is broadcast is simply not there.
type labelledValue struct {
	*anec.Value
	axes axisLabels
}

// lowerEinsum multiplies the operands one after the other, each product a batch of matrix products. What is between
// two products is fp32, as in the evaluation.
func lowerEinsum(l *Lowering) error {
	eq, err := parseEquation(l.Str("equation"))
	if err != nil {
		return err
	}
	var acc labelledValue
	for i, labels := range eq.operands {
		x := labelledValue{Value: l.InAt("values", i)}
		if l.Err() != nil {
			return nil
		}
		for j, label := range labels {
			a := anec.AxisOf(len(labels), j)
			if x.Type.Dims[a] == 1 {
				continue
			}
			if slices.Contains(x.axes[:], label) {
				return l.Refuse("operand %d of %q has the axis %q twice: no layer takes a diagonal", i, l.Str("equation"), label)
			}
			x.axes[a] = label
		}
		keep := func(label rune) bool {
			return slices.Contains(eq.result, label) ||
				slices.ContainsFunc(eq.operands[i+1:], func(op []rune) bool { return slices.Contains(op, label) })
		}
		stored := tensor.Float32
		if i == len(eq.operands)-1 {
			stored = l.OutDType(0)
		}
		if i == 0 {
			acc = x
			if len(eq.operands) == 1 {
				acc = l.sumAlone(acc, axisLabels{}, keep, stored)
			}
			continue
		}
		x, acc = l.sumAlone(x, acc.axes, keep, tensor.Float32), l.sumAlone(acc, x.axes, keep, tensor.Float32)
		if acc, err = l.contract(acc, x, keep, stored); err != nil {
			return err
		}
	}
	acc = l.laidOut(acc, eq.result)
	l.Give(0, l.Reshape(acc.Value, l.OutDims(0)))
	return nil
}

// sumAlone sums over the labels that neither the other operand nor the result has.
func (l *Lowering) sumAlone(x labelledValue, other axisLabels, keep func(rune) bool, stored tensor.DType) labelledValue {
	var alone td.Axes
	for a, label := range x.axes {
		if label != unlabelled && !keep(label) && !slices.Contains(other[:], label) {
			alone |= td.AxesOf(td.Axis(a))
			x.axes[a] = unlabelled
		}
	}
	if alone != 0 {
		x.Value = l.LayerAs(stored, l.Name()+"_sum", &anec.Reduction{Type: td.ReduceSum, Axes: alone}, x.Value)
	}
	return x
}

// contract multiplies two operands and sums over the labels that are not to be kept.
//
//	a  batch… rows… inner…
//	b  batch… inner… cols…
//	y  batch… rows… cols…
//
// The axes are brought into this order, and those of a group made one:  C batch, H rows or inner, W inner or cols.
func (l *Lowering) contract(a, b labelledValue, keep func(rune) bool, stored tensor.DType) (labelledValue, error) {
	if l.Err() != nil {
		return a, nil
	}
	var batch, rows, cols, inner []rune
	for _, label := range a.axes {
		switch {
		case label == unlabelled:
		case !slices.Contains(b.axes[:], label):
			rows = append(rows, label)
		case keep(label):
			batch = append(batch, label)
		default:
			inner = append(inner, label)
		}
	}
	for _, label := range b.axes {
		if label != unlabelled && !slices.Contains(a.axes[:], label) {
			cols = append(cols, label)
		}
	}
	result := slices.Concat(batch, rows, cols)
	if len(result) > anec.NumAxes {
		return a, l.Refuse("a product of %q has %d axes: a layer takes at most %d", l.Str("equation"), len(result), anec.NumAxes)
	}
	extents := a.extents()
	for label, n := range b.extents() {
		extents[label] = n
	}
	if len(inner) == 0 { // nothing to sum: elements times elements
		a, b = l.laidOut(a, result), l.laidOut(b, result)
		y := l.LayerAs(stored, l.Name()+"_product", &anec.ElementWise{Type: td.EWMult}, a.Value, b.Value)
		return labelledValue{y, lastAxes(result)}, nil
	}
	// Up to three batch axes stay as they are.
	groups := make([]int, 0, 3)
	if len(batch) <= 3 {
		for _, label := range batch {
			groups = append(groups, extents[label])
		}
	} else {
		groups = append(groups, product(batch, extents))
	}
	matrices := func(x labelledValue, first, second []rune) *anec.Value {
		dims := anec.Dims{1, 1, 1, product(first, extents), product(second, extents)}
		copy(dims[3-len(groups):], groups)
		return l.Reshape(l.laidOut(x, slices.Concat(batch, first, second)).Value, dims)
	}
	y := l.LayerAs(stored, l.Name()+"_product", &anec.MatMul{}, matrices(a, rows, inner), matrices(b, inner, cols))
	dims := anec.Dims{1, 1, 1, 1, 1}
	for i, label := range result {
		dims[anec.NumAxes-len(result)+i] = extents[label]
	}
	return labelledValue{l.Reshape(y, dims), lastAxes(result)}, nil
}

func (x *labelledValue) extents() map[rune]int {
	n := map[rune]int{}
	for a, label := range x.axes {
		if label != unlabelled {
			n[label] = x.Type.Dims[a]
		}
	}
	return n
}

func product(labels []rune, extents map[rune]int) int {
	n := 1
	for _, label := range labels {
		n *= extents[label]
	}
	return n
}

// lastAxes puts labels on the axes that come last.
func lastAxes(labels []rune) (axes axisLabels) {
	copy(axes[anec.NumAxes-len(labels):], labels)
	return axes
}

// laidOut transposes a value such that its labels are on the last axes, in the order of a list. Where the list has a
// label that the value has not, there is an axis of extent 1.
func (l *Lowering) laidOut(x labelledValue, order []rune) labelledValue {
	if l.Err() != nil {
		return x
	}
	var free []td.Axis
	for a, label := range x.axes {
		if label == unlabelled {
			free = append(free, td.Axis(a))
		}
	}
	out := labelledValue{axes: lastAxes(order)}
	var perm anec.Perm
	for i, label := range out.axes {
		if a := slices.Index(x.axes[:], label); label != unlabelled && a >= 0 {
			perm[i] = td.Axis(a)
			continue
		}
		out.axes[i] = unlabelled
		perm[i], free = free[0], free[1:]
	}
	out.Value = l.Transpose(x.Value, perm)
	return out
}
