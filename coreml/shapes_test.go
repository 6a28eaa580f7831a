package coreml

import (
	"maps"
	"slices"
	"testing"

	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// The shapes of inputs that a program leaves open: each kind of description, and what has none.
func TestDefaultShapes(t *testing.T) {
	open := mil.Tensor(tensor.Float16, tensor.Unknown, 3)
	f := &mil.Function{Name: "main"}
	d := &FunctionDescription{}
	add := func(name string, program mil.Type, described FeatureType) {
		f.Inputs = append(f.Inputs, &mil.Value{Name: name, Type: program})
		if described != nil {
			d.Inputs = append(d.Inputs, Feature{Name: name, Type: described})
		}
	}
	add("fixed", mil.Tensor(tensor.Float16, 2, 3), &ArrayType{Shape: []int{2, 3}})
	add("default", open, &ArrayType{Shape: []int{4, 3}, Shapes: [][]int{{5, 3}}})
	add("enumerated", open, &ArrayType{Shapes: [][]int{{5, 3}, {6, 3}}})
	add("ranged", open, &ArrayType{Ranges: []Range{{0, Unbounded}, {3, 3}}})
	add("picture", &mil.TensorType{DType: tensor.Float16, AnyRank: true}, &ImageType{Width: 8, Height: 6, ColorSpace: RGB})
	add("silent", open, &ArrayType{})
	add("undescribed", open, nil)
	add("state", &mil.StateType{Elem: open}, nil)

	got := d.DefaultShapes(f)
	want := map[string][]int{"default": {4, 3}, "enumerated": {5, 3}, "ranged": {1, 3}, "picture": {1, 3, 6, 8}}
	if !maps.EqualFunc(got, want, slices.Equal) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := (*FunctionDescription)(nil).DefaultShapes(f); len(got) != 0 {
		t.Errorf("without a description: %v", got)
	}
}
