package model

import (
	"github.com/espalier-ane/espalier/coreml"
	"github.com/espalier-ane/espalier/explain/report"
	"github.com/espalier-ane/espalier/tensor"
)

// A Feature is an input, output or state.
type Feature struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Type        string `json:"type"`
	Kind        string `json:"kind"`
	Optional    bool   `json:"optional,omitempty"`

	DType   string         `json:"dtype,omitempty"`
	Shape   []int          `json:"shape,omitempty"`
	Shapes  [][]int        `json:"shapes,omitempty"`
	Ranges  []Range        `json:"ranges,omitempty"`
	Default *report.Number `json:"default,omitempty"`

	Width       int      `json:"width,omitempty"`
	Height      int      `json:"height,omitempty"`
	ColorSpace  string   `json:"color_space,omitempty"`
	Sizes       [][2]int `json:"sizes,omitempty"`
	WidthRange  *Range   `json:"width_range,omitempty"`
	HeightRange *Range   `json:"height_range,omitempty"`
	Key         string   `json:"key,omitempty"`
	Element     string   `json:"element,omitempty"`
	Length      *Range   `json:"length,omitempty"`
}

// A Range has no upper end if there is none.
type Range struct {
	Lower int  `json:"lower"`
	Upper *int `json:"upper,omitempty"`
}

func newRange(r coreml.Range) Range {
	if r.Upper == coreml.Unbounded {
		return Range{Lower: r.Lower}
	}
	return Range{r.Lower, &r.Upper}
}

func describeFeatures(features []coreml.Feature) []Feature {
	list := make([]Feature, len(features))
	for i, f := range features {
		r := Feature{Name: f.Name, Description: f.Description, Type: f.Type.String(), Optional: f.Optional}
		r.describeType(f.Type)
		list[i] = r
	}
	return list
}

func (r *Feature) describeType(t coreml.FeatureType) {
	switch t := t.(type) {
	case *coreml.Int64Type:
		r.Kind = "int64"
	case *coreml.DoubleType:
		r.Kind = "double"
	case *coreml.StringType:
		r.Kind = "string"
	case *coreml.ImageType:
		r.Kind = "image"
		r.Width, r.Height, r.ColorSpace = t.Width, t.Height, t.ColorSpace.String()
		for _, s := range t.Sizes {
			r.Sizes = append(r.Sizes, [2]int{s.Width, s.Height})
		}
		if t.Range != nil {
			w, h := newRange(t.Range.Width), newRange(t.Range.Height)
			r.WidthRange, r.HeightRange = &w, &h
		}
	case *coreml.ArrayType:
		r.Kind = "array"
		r.describeArray(t)
	case *coreml.DictType:
		r.Kind, r.Key = "dictionary", t.Key.String()
	case *coreml.SequenceType:
		length := newRange(t.Length)
		r.Kind, r.Element, r.Length = "sequence", t.Elem.String(), &length
	case *coreml.StateType:
		r.Kind = "state"
		r.describeArray(t.Array)
	}
}

func (r *Feature) describeArray(t *coreml.ArrayType) {
	if t.DType != tensor.Invalid {
		r.DType = t.DType.String()
	}
	r.Shape, r.Shapes = t.Shape, t.Shapes
	for _, axis := range t.Ranges {
		r.Ranges = append(r.Ranges, newRange(axis))
	}
	if t.Default != nil {
		d := report.Number(*t.Default)
		r.Default = &d
	}
}
