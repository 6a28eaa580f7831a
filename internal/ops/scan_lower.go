package ops

import (
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// lowerCumSum adds x to itself, moved by 1, 2, 4 … places: after k steps each element is the sum of the 2^k up to
// it.
//
//	a     b     c       d
//	a    a+b   b+c     c+d        moved by 1
//	a    a+b  a+b+c  a+b+c+d      moved by 2
//
// Without the element itself, all moves by one place at first. Floats are fp32 on the way, as in the evaluator.
func lowerCumSum(l *Lowering) error {
	place, err := l.Axis("axis", l.Rank("x"))
	if err != nil {
		return err
	}
	axis, reverse := l.Axis5("x", place), l.Bool("reverse")
	n, d := l.OutDims(0)[axis], l.OutDType(0)
	between := d
	if d.IsFloat() {
		between = tensor.Float32
	}
	sum := l.In("x")
	if l.Bool("exclusive") {
		sum = l.moved(sum, axis, 1, reverse)
	}
	for by := 1; by < n; by *= 2 {
		sum = l.LayerAs(between, l.Name(), &anec.ElementWise{Type: td.EWAdd}, sum, l.moved(sum, axis, by, reverse))
	}
	l.Give(0, l.Cast(sum, d))
	return nil
}

// moved shifts the elements along an axis by some places, to the end or, in reverse, to the beginning, and lets zeros
// in.
func (l *Lowering) moved(v *anec.Value, axis td.Axis, by int, reverse bool) *anec.Value {
	if v == nil {
		return nil
	}
	n := v.Type.Dims[axis]
	view := &anec.InputView{Axis: axis, Size: n - by, Step: 1}
	pad := &anec.Padding{Mode: td.PadZero}
	if reverse {
		view.Offset, pad.After[axis] = by, by
	} else {
		pad.Before[axis] = by
	}
	if by >= n { // all is moved out
		zero := l.Number("zero", v.Type.DType, 0)
		return l.Layer(l.Name(), &anec.Broadcast{Dims: v.Type.Dims}, zero)
	}
	return l.Layer(l.Name(), pad, l.Layer(l.Name(), view, v))
}

// lowerBandPart chooses between x and zero by a constant mask of one matrix.
func lowerBandPart(l *Lowering) error {
	shape := l.OutShape(0)
	rows, columns := shape[len(shape)-2], shape[len(shape)-1]
	if rows > maxIndices/columns {
		return l.Refuse("a mask of %d by %d has more than %d elements", rows, columns, maxIndices)
	}
	lower, upper := l.Int("lower"), l.Int("upper")
	mask := make([]bool, rows*columns)
	for i := range mask {
		row, column := i/columns, i%columns
		mask[i] = (lower < 0 || row-column <= lower) && (upper < 0 || column-row <= upper)
	}
	band := l.TensorConstant(l.Name()+"_band", tensor.Of(mask, rows, columns))
	l.Give(0, l.Layer(l.Name(), &anec.Select{}, band, l.In("x"), l.Number("zero", l.OutDType(0), 0)))
	return nil
}
