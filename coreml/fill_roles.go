package coreml

import (
	"math"
	"strings"

	"github.com/espalier-ane/espalier/mil"
)

// A role is what the values of a made-up array are for, and so which they may be.
//
// A weight is normal with a deviation of 1/√n, where n is how many products are added up for one result: a sum of n products with
// values around 1 is around 1 again, and a deep network stays finite in fp16.
type role struct {
	kind  roleKind
	dense *mil.TensorType // of a compressed weight: what it stands for; nil for the array itself
	unit  float64         // of a scale: the largest code that it is multiplied with
	bits  int             // of a mask: how many it has, and how many of them are set
	set   int
}

type roleKind uint8

const (
	weightRole roleKind = iota
	positiveRole
	maskRole
	zeroPointRole
)

// roleOf is the role of what an operation reads as a parameter.
func roleOf(op *mil.Operation, param string) role {
	if !strings.HasPrefix(op.Kind, "constexpr_") {
		switch param {
		case "variance", "gamma": // a variance has a root, and a normalized value keeps its size
			return role{kind: positiveRole, unit: 1}
		}
		return role{}
	}
	r := role{}
	if n := len(op.Outputs); n > 0 { // of those with a mask and data, the data comes last
		r.dense, _ = op.Outputs[n-1].Type.(*mil.TensorType)
	}
	switch param {
	case "scale":
		r.kind, r.unit = positiveRole, 1
		for _, data := range []string{"quantized_data", "data", "nonzero_data"} {
			if t := paramType(op, data); t != nil {
				if _, largest := t.DType.IntRange(); !t.DType.IsFloat() {
					r.unit = float64(largest)
				}
			}
		}
	case "zero_point", "offset":
		r.kind = zeroPointRole
	case "mask", "data_mask", "indices_mask":
		r.kind = maskRole
		r.bits = elements(r.dense)
		if t := paramType(op, param); t != nil && t.DType.SubByte() {
			r.bits = elements(t)
		}
		for _, data := range []string{"nonzero_data", "indices_nonzero_data"} {
			r.set = max(r.set, elements(paramType(op, data)))
		}
	}
	return r
}

// deviation is the standard deviation of the values, or of positive ones their mean.
func (r role) deviation(t *mil.TensorType) float64 {
	if r.dense == nil && r.kind == positiveRole {
		return r.unit
	}
	if r.dense != nil {
		t = r.dense
	}
	d := 1 / math.Sqrt(float64(fanIn(t)))
	if r.unit > 0 {
		d /= r.unit
	}
	return d
}

// fanIn is about how many products with a weight are added up: of [out, in, …] those of one out, of a vector its length.
func fanIn(t *mil.TensorType) int {
	shape, ok := t.Shape.Ints()
	if !ok || len(shape) == 0 {
		return 1
	}
	n := shape[0]
	if len(shape) > 1 {
		n = 1
		for _, length := range shape[1:] {
			n *= length
		}
	}
	return max(n, 1)
}

// paramType is the type of what an operation reads as a parameter; nil if it does not.
func paramType(op *mil.Operation, param string) *mil.TensorType {
	for _, in := range op.Inputs {
		if in.Param == param && len(in.Args) == 1 {
			if v := in.Args[0].Value; v != nil {
				t, _ := v.Type.(*mil.TensorType)
				return t
			}
			t, _ := in.Args[0].Const.Type.(*mil.TensorType)
			return t
		}
	}
	for _, a := range op.Attributes {
		if a.Name == param && a.Value != nil {
			t, _ := a.Value.Type.(*mil.TensorType)
			return t
		}
	}
	return nil
}

// elements is how many elements an array has, 0 if that is not known.
func elements(t *mil.TensorType) int {
	if t == nil {
		return 0
	}
	n, _ := t.Shape.Count()
	return n
}
