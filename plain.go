package espalier

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"unsafe"

	"github.com/espalier-ane/espalier/coreml"
	"github.com/espalier-ane/espalier/tensor"
)

// goElements are the element types of plain Go values. Their memory is that of the elements, so that a slice becomes a
// tensor without a copy.
var goElements = map[reflect.Kind]tensor.DType{
	reflect.Bool: tensor.Bool, reflect.Float32: tensor.Float32, reflect.Float64: tensor.Float64,
	reflect.Int8: tensor.Int8, reflect.Int16: tensor.Int16, reflect.Int32: tensor.Int32, reflect.Int64: tensor.Int64,
	reflect.Uint8: tensor.UInt8, reflect.Uint16: tensor.UInt16, reflect.Uint32: tensor.UInt32, reflect.Uint64: tensor.UInt64,
	reflect.Int: intElement(tensor.Int32, tensor.Int64), reflect.Uint: intElement(tensor.UInt32, tensor.UInt64),
}

// intElement is the element type of an int or uint, which are as wide as the machine has them.
func intElement(narrow, wide tensor.DType) tensor.DType {
	if strconv.IntSize == 32 {
		return narrow
	}
	return wide
}

// flat makes a tensor with one axis of a slice of numbers, bools or strings, sharing its memory, or of a single one of
// them. It is nil for anything else.
func flat(given any) *tensor.Tensor {
	v := reflect.ValueOf(given)
	kind := v.Kind()
	if _, number := goElements[kind]; number || kind == reflect.String { // a single one is a slice of one
		list := reflect.MakeSlice(reflect.SliceOf(v.Type()), 1, 1)
		list.Index(0).Set(v)
		v, kind = list, reflect.Slice
	}
	if kind != reflect.Slice {
		return nil
	}
	if v.Type().Elem().Kind() == reflect.String {
		list := make([]string, v.Len())
		for i := range list {
			list[i] = v.Index(i).String()
		}
		return tensor.Of(list, len(list))
	}
	d, ok := goElements[v.Type().Elem().Kind()]
	if !ok {
		return nil
	}
	t, err := tensor.FromBytes(d, []int{v.Len()}, unsafe.Slice((*byte)(v.UnsafePointer()), v.Len()*d.Size()))
	if err != nil {
		panic("bug: " + err.Error())
	}
	return t
}

// plain makes an array of a plain Go value that was given for a feature, in the shape that the feature has. Everything
// else stays what it is.
func plain(typ coreml.FeatureType, given any) (any, error) {
	if t, ok := given.(*tensor.Tensor); ok && t == nil {
		return nil, fmt.Errorf("expected %v, found %s", typ, describeGiven(given))
	}
	if _, picture := typ.(*coreml.ImageType); picture {
		return given, nil
	}
	t := flat(given)
	if t == nil {
		return given, nil
	}
	array, ok := typ.(*coreml.ArrayType)
	if !ok { // a number or a label
		return t, nil
	}
	shape, err := shapeFor(array, t.Len())
	if err != nil {
		return nil, fmt.Errorf("expected %v, found %s: %w", typ, describeGiven(given), err)
	}
	return t.Reshape(shape...)
}

// shapeFor is the one shape of n elements that an array may have.
func shapeFor(typ *coreml.ArrayType, n int) ([]int, error) {
	switch {
	case len(typ.Shapes) > 0:
		return oneOf(typ, n)
	case len(typ.Ranges) > 0:
		return solve(typ, n)
	case typ.Shape == nil:
		return []int{n}, nil
	}
	if count, _ := tensor.Count(typ.Shape); count != n {
		return nil, fmt.Errorf("it must have %d", count)
	}
	return typ.Shape, nil
}

// What is wrong with a slice for an array of more than one shape.
var (
	errSeveralShapes = errors.New("several shapes may have as many: give a tensor, which says its shape")
	errNoShape       = errors.New("no shape of it has as many")
)

// oneOf finds the one shape of a list that has n elements.
func oneOf(typ *coreml.ArrayType, n int) (found []int, err error) {
	for _, shape := range append(typ.Shapes[:len(typ.Shapes):len(typ.Shapes)], typ.Shape) {
		if count, _ := tensor.Count(shape); shape == nil || count != n || found != nil && slices.Equal(found, shape) {
			continue
		}
		if found != nil {
			return nil, errSeveralShapes
		}
		found = shape
	}
	if found == nil {
		return nil, errNoShape
	}
	return found, nil
}

// solve finds the length of the one axis that a range leaves open.
//
//	[1, 1…512, 64] with 640 elements is [1, 10, 64]
func solve(typ *coreml.ArrayType, n int) ([]int, error) {
	shape := make([]int, len(typ.Ranges))
	open := -1
	for i, r := range typ.Ranges {
		switch {
		case r.Lower == r.Upper:
			shape[i] = r.Lower
		case open >= 0:
			return nil, errSeveralShapes
		default:
			shape[i], open = 1, i
		}
	}
	if rest, ok := tensor.Count(shape); ok && rest > 0 && open >= 0 {
		shape[open] = n / rest
	}
	if count, ok := tensor.Count(shape); !ok || count != n || !typ.Admits(shape) {
		return nil, errNoShape
	}
	return shape, nil
}
