package ops

import (
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// lowerSame is the lowering of operations whose result is an argument as it is.
func lowerSame(param string) LowerFunc {
	return func(l *Lowering) error {
		l.Give(0, l.In(param))
		return nil
	}
}

// lowerReshape is the lowering of all operations that give x the shape of the type rule.
func lowerReshape(l *Lowering) error {
	l.Give(0, l.Reshape(l.In("x"), l.OutDims(0)))
	return nil
}

// lowerShape gives a constant: shapes are known by now.
func lowerShape(l *Lowering) error {
	lengths, _ := l.Shape("x").Ints()
	vals := make([]int32, len(lengths))
	for i, n := range lengths {
		vals[i] = int32(n)
	}
	l.Give(0, l.integers(l.OutDims(0), vals))
	return nil
}

func lowerTranspose(l *Lowering) error {
	perm, err := permutation(l.Call)
	if err != nil {
		return err
	}
	to := anec.Identity
	for i, p := range perm {
		to[l.Axis5("x", i)] = l.Axis5("x", p)
	}
	l.Give(0, l.Transpose(l.In("x"), to))
	return nil
}

// integers adds a constant of int32: lengths, or indices that a lowering has computed.
func (l *Lowering) integers(dims anec.Dims, vals []int32) *anec.Value {
	if l.Err() != nil {
		return nil
	}
	if n, ok := dims.Count(); !ok || n != len(vals) {
		panic("bug: a lowering has another number of integers than " + dims.String() + " holds")
	}
	return l.Constant(l.Name()+"_integers", anec.ConstantOf(tensor.Of(vals, dims[:]...)))
}

// integer adds a constant of one int32.
func (l *Lowering) integer(n int) *anec.Value {
	return l.integers(anec.Dims{1, 1, 1, 1, 1}, []int32{int32(n)})
}

// elementWise combines two values.
func (l *Lowering) elementWise(kind td.EWKind, x, z *anec.Value) *anec.Value {
	return l.Layer(l.Name(), &anec.ElementWise{Type: kind}, x, z)
}

// along are the extents of a vector of n elements that lies along an axis of a layer.
func along(a td.Axis, n int) anec.Dims {
	dims := anec.Dims{1, 1, 1, 1, 1}
	dims[a] = n
	return dims
}

// maxIndices bounds the indices that a lowering computes: lengths in a file must not ask for memory beyond reason.
const maxIndices = 1 << 24

// counting is 0, 1, 2 … up to n; nil and an error in the builder if there are too many.
func (l *Lowering) counting(n int) []int32 {
	if n > maxIndices {
		l.Fail(l.Refuse("it takes %d indices, more than %d", n, maxIndices))
		return nil
	}
	vals := make([]int32, n)
	for i := range vals {
		vals[i] = int32(i)
	}
	return vals
}
