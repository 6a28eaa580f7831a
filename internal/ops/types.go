package ops

import (
	"fmt"

	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// sameAs is the type rule of operations whose one output has the type of an argument.
func sameAs(param string) InferFunc {
	return func(c *Call) ([]mil.Type, error) { return []mil.Type{c.Type(param)}, nil }
}

// one makes the result of a type rule with one output.
func one(d tensor.DType, s tensor.Shape) ([]mil.Type, error) {
	return []mil.Type{&mil.TensorType{DType: d, Shape: s}}, nil
}

// join is the type of a value that comes from one of two places: lengths that differ are unknown.
func join(a, b mil.Type) (mil.Type, error) {
	x, ok := a.(*mil.TensorType)
	y, ok2 := b.(*mil.TensorType)
	if !ok || !ok2 {
		if !mil.Compatible(a, b) {
			return nil, fmt.Errorf("the types %v and %v differ", a, b)
		}
		return a, nil
	}
	if x.DType != y.DType {
		return nil, fmt.Errorf("the types %v and %v differ", a, b)
	}
	if x.AnyRank || y.AnyRank || len(x.Shape) != len(y.Shape) {
		return &mil.TensorType{DType: x.DType, AnyRank: true}, nil
	}
	shape := make(tensor.Shape, len(x.Shape))
	for i := range shape {
		shape[i] = x.Shape[i]
		if x.Shape[i] != y.Shape[i] {
			shape[i] = tensor.Unknown
		}
	}
	return &mil.TensorType{DType: x.DType, Shape: shape}, nil
}

// isTrue reads a boolean scalar.
func isTrue(v Value) bool {
	t, ok := v.(*tensor.Tensor)
	return ok && t.Len() > 0 && t.Int64s()[0] != 0
}
