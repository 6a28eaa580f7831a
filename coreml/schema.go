package coreml

import (
	"encoding/json"
	"errors"
	"strconv"

	"github.com/espalier-ane/espalier/tensor"
)

// schemaDTypes are the element types as metadata.json spells them.
var schemaDTypes = map[string]tensor.DType{
	"Float16": tensor.Float16, "Float32": tensor.Float32, "Double": tensor.Float64,
	"Int8": tensor.Int8, "Int32": tensor.Int32, "Invalid": tensor.Invalid,
}

// schemaColorSpaces are the colour spaces as metadata.json spells them.
var schemaColorSpaces = map[string]ColorSpace{
	"Grayscale": Grayscale, "RGB": RGB, "BGR": BGR, "Grayscale16Half": GrayscaleFloat16,
}

// schemaFeature reads a feature as metadata.json describes it: names and texts, where numbers and lists are
// texts too ("[1, 10]").
func schemaFeature(s map[string]string) (Feature, error) {
	f := Feature{Name: s["name"], Description: s["shortDescription"], Optional: s["isOptional"] == "1"}
	if f.Name == "" {
		return f, under("name", damage(-1, "the feature has no name"))
	}
	var err error
	switch s["type"] {
	case "Int64":
		f.Type = &Int64Type{}
	case "Double":
		f.Type = &DoubleType{}
	case "String":
		f.Type = &StringType{}
	case "MultiArray":
		f.Type, err = schemaArray(s)
	case "State":
		var array *ArrayType
		array, err = schemaArray(s)
		f.Type = &StateType{array}
	case "Image":
		f.Type, err = schemaImage(s)
	case "Dictionary":
		var key FeatureType
		key, err = schemaPlain(s, "keyType")
		f.Type = &DictType{key}
	case "Sequence":
		t := &SequenceType{Length: Range{0, Unbounded}}
		if t.Elem, err = schemaPlain(s, "valueType"); err == nil {
			var bounds []int
			if bounds, err = schemaList[int](s, "sizeRange"); err == nil && bounds != nil {
				t.Length, err = schemaRange("sizeRange", bounds)
			}
		}
		f.Type = t
	default:
		err = under("type", damage(-1, "feature type %q is not known", s["type"]))
	}
	return f, err
}

func schemaPlain(s map[string]string, key string) (FeatureType, error) {
	switch s[key] {
	case "Int64":
		return &Int64Type{}, nil
	case "String":
		return &StringType{}, nil
	}
	return nil, under(key, damage(-1, "type %q is not known", s[key]))
}

func schemaArray(s map[string]string) (*ArrayType, error) {
	t := &ArrayType{}
	var ok bool
	if t.DType, ok = schemaDTypes[s["dataType"]]; !ok {
		return nil, under("dataType", damage(-1, "element type %q is not known", s["dataType"]))
	}
	var err error
	if t.Shape, err = schemaList[int](s, "shape"); err != nil {
		return nil, err
	}
	if len(t.Shape) == 0 { // an array of rank 0 and one of unknown shape look alike
		t.Shape = nil
	}
	if t.Shapes, err = schemaList[[]int](s, "enumeratedShapes"); err != nil {
		return nil, err
	}
	for _, shape := range append([][]int{t.Shape}, t.Shapes...) {
		if _, ok := tensor.Count(shape); !ok {
			return nil, under("shape", damage(-1, "the shape %v is not possible", shape))
		}
	}
	t.Ranges, err = schemaRanges(s, "shapeRange")
	return t, err
}

func schemaImage(s map[string]string) (FeatureType, error) {
	t := &ImageType{}
	var ok bool
	if t.ColorSpace, ok = schemaColorSpaces[s["colorspace"]]; !ok {
		return nil, under("colorspace", damage(-1, "color space %q is not known", s["colorspace"]))
	}
	for key, n := range map[string]*int{"width": &t.Width, "height": &t.Height} {
		var err error
		if *n, err = strconv.Atoi(s[key]); err != nil || *n < 0 {
			return nil, under(key, damage(-1, "%q is not a length", s[key]))
		}
	}
	sizes, err := schemaList[[]int](s, "enumeratedSizes")
	if err != nil {
		return nil, err
	}
	for _, size := range sizes {
		if len(size) != 2 {
			return nil, under("enumeratedSizes", damage(-1, "%v is not a width and a height", size))
		}
		t.Sizes = append(t.Sizes, ImageSize{size[0], size[1]})
	}
	ranges, err := schemaRanges(s, "sizeRange")
	if err != nil {
		return nil, err
	}
	switch len(ranges) {
	case 0:
	case 2:
		t.Range = &ImageSizeRange{ranges[0], ranges[1]}
	default:
		return nil, under("sizeRange", damage(-1, "%d ranges, expected those of the width and the height", len(ranges)))
	}
	return t, nil
}

// schemaList reads a list of a feature; nil if there is none.
func schemaList[T any](s map[string]string, key string) ([]T, error) {
	text, ok := s[key]
	if !ok {
		return nil, nil
	}
	var list []T
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		return nil, under(key, damage(-1, "%q is not a list of numbers", text))
	}
	return list, nil
}

func schemaRanges(s map[string]string, key string) ([]Range, error) {
	pairs, err := schemaList[[]int](s, key)
	if err != nil {
		return nil, err
	}
	var ranges []Range
	for _, pair := range pairs {
		r, err := schemaRange(key, pair)
		if err != nil {
			return nil, err
		}
		ranges = append(ranges, r)
	}
	return ranges, nil
}

// schemaRange reads a range [lower, upper], where a negative upper end means none.
func schemaRange(key string, pair []int) (Range, error) {
	if len(pair) != 2 || pair[0] < 0 || pair[1] >= 0 && pair[1] < pair[0] {
		return Range{}, under(key, damage(-1, "%v is not a range", pair))
	}
	return Range{pair[0], max(pair[1], Unbounded)}, nil
}

// jsonError gives an error of encoding/json its place.
func jsonError(msg string, err error) error {
	e := &FormatError{Offset: -1, Msg: msg, Err: err}
	var syntax *json.SyntaxError
	var wrongType *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		e.Offset = syntax.Offset
	case errors.As(err, &wrongType):
		e.Offset = wrongType.Offset
	}
	return e
}
