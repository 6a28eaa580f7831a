package ops

import (
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/tensor"
)

// lowerLinear: the vectors of x lie along W, a row of the weight for each output along H, and the bias along W, as
// the layer wants them.
func lowerLinear(l *Lowering) error {
	if err := l.floatProduct("x", "weight"); err != nil {
		return err
	}
	bottoms := []*anec.Value{l.In("x"), l.In("weight")}
	if l.Has("bias") {
		bottoms = append(bottoms, l.In("bias"))
	}
	l.Give(0, l.Layer(l.Name(), &anec.Linear{Axis: anec.W}, bottoms...))
	return nil
}

// floatProduct refuses products of integers: tasks add up in fp32, which has too few bits for them.
func (l *Lowering) floatProduct(params ...string) error {
	for _, p := range params {
		if d := l.DType(p); !d.IsFloat() {
			return l.Refuse("%s is %v: a task adds products up in fp32, which does not hold the sums of integers", p, d)
		}
	}
	return nil
}

// lowerMatmul: matrices lie along H and W by themselves, and batches along the axes before. A vector on the left is
// a row, as it lies; one on the right becomes a column.
func lowerMatmul(l *Lowering) error {
	if err := l.floatProduct("x", "y"); err != nil {
		return err
	}
	x, y := l.InAligned("x"), l.InAligned("y")
	if l.Rank("y") == 1 {
		y = l.Reshape(y, anec.Dims{1, 1, 1, int(l.Shape("y")[0]), 1})
	}
	stored := tensor.Invalid // the layer's own, that of x
	if d := l.OutDType(0); d != l.DType("x") {
		stored = d
	}
	product := &anec.MatMul{TransposeX: l.Bool("transpose_x"), TransposeZ: l.Bool("transpose_y")}
	l.Give(0, l.Reshape(l.LayerAs(stored, l.Name(), product, x, y), l.OutDims(0)))
	return nil
}
