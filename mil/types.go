package mil

import (
	"strings"

	"github.com/espalier-ane/espalier/tensor"
)

// Type is the type of a value: *TensorType, *ListType, *TupleType, *DictType or *StateType.
type Type interface {
	// String spells the type as in program(1.3): "tensor<fp16, [1, 3]>", "int32", "state<…>".
	String() string
	isType()
}

// TensorType is an array type. A scalar is a tensor of rank 0.
type TensorType struct {
	DType tensor.DType
	Shape tensor.Shape
	// AnyRank says that not even the rank is known; Shape is then nil.
	AnyRank bool
}

// ListType is a list whose elements share a type. Length is tensor.Unknown if it varies.
type ListType struct {
	Elem   Type
	Length tensor.Dim
}

// TupleType is a fixed sequence of types.
type TupleType struct{ Elems []Type }

// DictType is a dictionary.
type DictType struct{ Key, Value Type }

// StateType is a buffer that outlives a prediction, holding a value of type Elem.
type StateType struct{ Elem Type }

func (*TensorType) isType() {}
func (*ListType) isType()   {}
func (*TupleType) isType()  {}
func (*DictType) isType()   {}
func (*StateType) isType()  {}

// Tensor makes an array type.
func Tensor(d tensor.DType, dims ...tensor.Dim) *TensorType {
	return &TensorType{DType: d, Shape: tensor.Shape(dims)}
}

// TypeOf is the type of an array.
func TypeOf(t *tensor.Tensor) *TensorType {
	return &TensorType{DType: t.DType(), Shape: tensor.ShapeOf(t.Shape()...)}
}

func (t *TensorType) String() string {
	switch {
	case t.AnyRank:
		return "tensor<" + t.DType.String() + ", [...]>"
	case len(t.Shape) == 0:
		return t.DType.String()
	}
	return "tensor<" + t.DType.String() + ", " + t.Shape.String() + ">"
}

func (t *ListType) String() string {
	return "list<" + t.Elem.String() + ", " + t.Length.String() + ">"
}

func (t *TupleType) String() string {
	parts := make([]string, len(t.Elems))
	for i, e := range t.Elems {
		parts[i] = e.String()
	}
	return "tuple<" + strings.Join(parts, ", ") + ">"
}

func (t *DictType) String() string {
	return "dict<" + t.Key.String() + ", " + t.Value.String() + ">"
}

func (t *StateType) String() string { return "state<" + t.Elem.String() + ">" }

// Equal reports whether two types are the same, symbol for symbol.
func Equal(a, b Type) bool { return match(a, b, true) }

// Compatible reports whether a value could have both types: what both know must agree.
func Compatible(a, b Type) bool { return match(a, b, false) }

func match(a, b Type, exact bool) bool {
	switch a := a.(type) {
	case *TensorType:
		b, ok := b.(*TensorType)
		switch {
		case !ok || a.DType != b.DType:
			return false
		case exact:
			return a.AnyRank == b.AnyRank && a.Shape.Equal(b.Shape)
		}
		return a.AnyRank || b.AnyRank || a.Shape.Compatible(b.Shape)
	case *ListType:
		b, ok := b.(*ListType)
		return ok && match(a.Elem, b.Elem, exact) &&
			(a.Length == b.Length || !exact && !(a.Length.Known() && b.Length.Known()))
	case *TupleType:
		b, ok := b.(*TupleType)
		if !ok || len(a.Elems) != len(b.Elems) {
			return false
		}
		for i := range a.Elems {
			if !match(a.Elems[i], b.Elems[i], exact) {
				return false
			}
		}
		return true
	case *DictType:
		b, ok := b.(*DictType)
		return ok && match(a.Key, b.Key, exact) && match(a.Value, b.Value, exact)
	case *StateType:
		b, ok := b.(*StateType)
		return ok && match(a.Elem, b.Elem, exact)
	}
	return a == nil && b == nil
}
