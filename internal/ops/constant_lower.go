package ops

import (
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/tensor"
)

// TensorConstant adds a tensor that a lowering has made.
func (l *Lowering) TensorConstant(name string, t *tensor.Tensor) *anec.Value {
	if l.Err() != nil {
		return nil
	}
	v, err := LowerConstant(l.Builder, name, t)
	if err != nil {
		l.Fail(err)
	}
	return v
}

// Number adds a constant of one element.
func (l *Lowering) Number(name string, d tensor.DType, v float64) *anec.Value {
	t, err := tensor.Of([]float64{v}).Convert(d)
	if err != nil {
		l.Fail(err)
		return nil
	}
	return l.TensorConstant(l.Name()+"_"+name, t)
}

// reshaped is a plain constant with other extents; nil if it is none, and then a layer must do it.
func (l *Lowering) reshaped(v *anec.Value, dims anec.Dims) *anec.Value {
	if v.Const == nil || !v.Const.Plain() {
		return nil
	}
	t, err := v.Const.Stored.Reshape(dims[:]...)
	if err != nil {
		return nil
	}
	c := anec.ConstantOf(t)
	c.Source, c.Mutable = v.Const.Source, v.Const.Mutable
	return l.Constant(v.Name, c)
}
