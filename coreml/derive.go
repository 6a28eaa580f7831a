package coreml

import (
	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// deriveDescription describes the functions of a program that comes without a description, by the types of
// its inputs and outputs.
func deriveDescription(p *mil.Program) Description {
	var d Description
	for _, fn := range p.Functions {
		f := FunctionDescription{Name: fn.Name}
		defaults, ranges := flexibleShapes(fn)
		for _, v := range fn.Inputs {
			feature := Feature{Name: v.Name, Type: deriveType(v.Type)}
			if array, ok := feature.Type.(*ArrayType); ok {
				array.makeFlexible(defaults[v.Name], ranges[v.Name])
			}
			if _, ok := v.Type.(*mil.StateType); ok {
				f.States = append(f.States, feature)
			} else {
				f.Inputs = append(f.Inputs, feature)
			}
		}
		for _, v := range fn.Body.Outputs {
			f.Outputs = append(f.Outputs, Feature{Name: v.Name, Type: deriveType(v.Type)})
		}
		d.Functions = append(d.Functions, f)
	}
	if d.DefaultFunction = mainFunction; d.Function("") == nil && len(d.Functions) > 0 {
		d.DefaultFunction = d.Functions[0].Name
	}
	return d
}

// deriveType returns the feature type that a value of a type has at the boundary of a program. What no
// feature can be, as a tuple, becomes an array about which nothing is known.
func deriveType(t mil.Type) FeatureType {
	switch t := t.(type) {
	case *mil.TensorType:
		switch {
		case len(t.Shape) == 0 && !t.AnyRank && t.DType == tensor.String:
			return &StringType{}
		case len(t.Shape) == 0 && !t.AnyRank && t.DType == tensor.Int64:
			return &Int64Type{}
		}
		return deriveArray(t)
	case *mil.ListType:
		return &SequenceType{Elem: deriveType(t.Elem), Length: deriveRange(t.Length)}
	case *mil.DictType:
		return &DictType{Key: deriveType(t.Key)}
	case *mil.StateType:
		if elem, ok := t.Elem.(*mil.TensorType); ok {
			return &StateType{deriveArray(elem)}
		}
		return &StateType{&ArrayType{}}
	}
	return &ArrayType{}
}

// deriveArray returns the array type of a tensor type. An unknown length may be any from 1 on.
func deriveArray(t *mil.TensorType) *ArrayType {
	a := &ArrayType{DType: t.DType}
	switch shape, known := t.Shape.Ints(); {
	case t.AnyRank:
	case known:
		a.Shape = shape
	default:
		for _, d := range t.Shape {
			a.Ranges = append(a.Ranges, deriveRange(d))
		}
	}
	return a
}

func deriveRange(d tensor.Dim) Range {
	if d.Known() {
		return Range{int(d), int(d)}
	}
	return Range{1, Unbounded}
}

// flexibleShapes reads the attribute FlexibleShapeInformation of a function, which has for each input of
// unknown shape its default shape and its ranges:
//
//	(("DefaultShapes", {{"x", [1, 1]}}), ("RangeDims", {{"x", [[1, 1], [1, 2048]]}}))
//
// What is not of this form is left out; the types of the function hold in any case.
func flexibleShapes(fn *mil.Function) (defaults map[string][]int, ranges map[string][]Range) {
	defaults, ranges = map[string][]int{}, map[string][]Range{}
	info := fn.Attributes.Get("FlexibleShapeInformation")
	if info == nil {
		return defaults, ranges
	}
	for _, part := range info.Items {
		if len(part.Items) != 2 {
			continue
		}
		kind, _ := part.Items[0].Str()
		for _, entry := range part.Items[1].Entries {
			input, _ := entry.Key.Str()
			switch kind {
			case "DefaultShapes":
				defaults[input] = lengthsOf(entry.Value)
			case "RangeDims":
				for _, pair := range entry.Value.Items {
					if ends := lengthsOf(pair); len(ends) == 2 {
						ranges[input] = append(ranges[input], Range{ends[0], max(ends[1], Unbounded)})
					}
				}
			}
		}
	}
	return defaults, ranges
}

// lengthsOf returns the elements of a constant list of lengths; nil if it is none.
func lengthsOf(c *mil.Constant) []int {
	if c.Tensor == nil || c.Tensor.DType() != tensor.Int32 || c.Tensor.Rank() != 1 {
		return nil
	}
	var out []int
	for _, n := range tensor.Data[int32](c.Tensor) {
		out = append(out, int(n))
	}
	return out
}

// makeFlexible gives a derived array type the default shape and the ranges that fit it.
func (t *ArrayType) makeFlexible(shape []int, ranges []Range) {
	if len(t.Ranges) == 0 {
		return // the shape is known
	}
	if len(ranges) == len(t.Ranges) {
		t.Ranges = ranges
	}
	if _, ok := tensor.Count(shape); ok && len(shape) == len(t.Ranges) {
		t.Shape = shape
	}
}
