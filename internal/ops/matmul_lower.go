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
	x, y := l.fromRight("x"), l.fromRight("y")
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

// fromRight lays an argument of four axes out from the right, as those of five are, if the result has five: the
// batch axes of both meet.
//
//	[b, c, h, w]  lies on b,1,c,h,w  Reshape  1,b,c,h,w
func (l *Lowering) fromRight(param string) *anec.Value {
	v := l.In(param)
	if v == nil || l.Rank(param) != 4 || len(l.OutShape(0)) != anec.MaxRank {
		return v
	}
	d := v.Type.Dims
	return l.Reshape(v, anec.Dims{1, d[anec.N], d[anec.C], d[anec.H], d[anec.W]})
}
