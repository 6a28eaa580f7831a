package ops

import "github.com/espalier-ane/espalier/internal/anec"

// Operands of a model meet from the right, whatever their ranks. On the axes of a layer they do so too, but where a
// tensor of rank 4 meets one of rank 5: its first axis lies along N and not, as the second of five, along D.
//
//	[n, d, c, h, w]   n,d,c,h,w
//	   [d, c, h, w]   d,1,c,h,w  →  1,d,c,h,w

// Aligned gives a tensor of a rank the place on the axes that it would have with ones in front, up to another
// rank.
func (l *Lowering) Aligned(v *anec.Value, rank, to int) *anec.Value {
	if v == nil || rank >= to {
		return v
	}
	shape, err := anec.ShapeOf(v.Type.Dims, rank)
	if err != nil {
		l.Fail(err)
		return nil
	}
	return l.Reshape(v, dimsFrom(append(onesOf(to-rank), shape...)))
}

// InAligned is an argument as it meets others in the first result.
func (l *Lowering) InAligned(param string) *anec.Value {
	return l.Aligned(l.In(param), l.Rank(param), len(l.OutShape(0)))
}

func onesOf(n int) []int {
	shape := make([]int, n)
	for i := range shape {
		shape[i] = 1
	}
	return shape
}

// dimsFrom lays out a shape whose rank is known to fit.
func dimsFrom(shape []int) anec.Dims {
	dims, err := anec.DimsOf(shape)
	if err != nil {
		panic("bug: " + err.Error())
	}
	return dims
}
