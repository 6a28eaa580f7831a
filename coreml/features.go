package coreml

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/espalier-ane/espalier/tensor"
)

// Feature is an input, output or state of a model.
type Feature struct {
	Name        string
	Description string // for people
	Type        FeatureType
	Optional    bool // an input that may be left out
}

// FeatureType is *Int64Type, *DoubleType, *StringType, *ImageType, *ArrayType, *DictType, *SequenceType or *StateType.
type FeatureType interface {
	// String describes the type for people: "fp16 array [1, 3]", "RGB image 64 × 64".
	String() string
	isFeatureType()
}

// Int64Type is a whole number.
type Int64Type struct{}

// DoubleType is a number.
type DoubleType struct{}

// StringType is a text.
type StringType struct{}

// ImageType is a picture. The program sees it as an array [1, channels, height, width].
type ImageType struct {
	Width, Height int // the default size
	ColorSpace    ColorSpace

	// At most one of the two says which other sizes there are.
	Sizes []ImageSize     // these
	Range *ImageSizeRange // any in the range
}

// ImageSize is the size of a picture.
type ImageSize struct{ Width, Height int }

// ImageSizeRange is a range of sizes of pictures.
type ImageSizeRange struct{ Width, Height Range }

// ArrayType is an array of numbers.
type ArrayType struct {
	DType tensor.DType // Invalid if the description does not say
	Shape []int        // the default shape; nil if the description gives none, as for the outputs of flexible models

	// At most one of the two says which other shapes there are.
	Shapes [][]int // these
	Ranges []Range // any in the ranges, one for each axis

	Default *float64 // what every element of an optional input is when the input is left out
}

// Range is a range of lengths, both ends included.
type Range struct {
	Lower int
	Upper int // Unbounded if there is none
}

// Unbounded is the upper end of a range without one.
const Unbounded = -1

// DictType is a dictionary from Key, *Int64Type or *StringType, to numbers.
type DictType struct{ Key FeatureType }

// SequenceType is a sequence of Elem, *Int64Type or *StringType.
type SequenceType struct {
	Elem   FeatureType
	Length Range
}

// StateType is an array that outlives a prediction.
type StateType struct{ Array *ArrayType }

func (*Int64Type) isFeatureType()    {}
func (*DoubleType) isFeatureType()   {}
func (*StringType) isFeatureType()   {}
func (*ImageType) isFeatureType()    {}
func (*ArrayType) isFeatureType()    {}
func (*DictType) isFeatureType()     {}
func (*SequenceType) isFeatureType() {}
func (*StateType) isFeatureType()    {}

func (*Int64Type) String() string  { return "int64" }
func (*DoubleType) String() string { return "double" }
func (*StringType) String() string { return "string" }

func (t *ImageType) String() string {
	s := fmt.Sprintf("%v image %d × %d", t.ColorSpace, t.Width, t.Height)
	switch {
	case t.Range != nil:
		s += fmt.Sprintf(" (%v × %v)", t.Range.Width, t.Range.Height)
	case len(t.Sizes) > 0:
		parts := make([]string, len(t.Sizes))
		for i, z := range t.Sizes {
			parts[i] = fmt.Sprintf("%d × %d", z.Width, z.Height)
		}
		s += " (" + strings.Join(parts, " | ") + ")"
	}
	return s
}

func (t *ArrayType) String() string {
	s := "array"
	if t.DType != tensor.Invalid {
		s = t.DType.String() + " array"
	}
	if t.Shape != nil {
		s += " " + tensor.ShapeOf(t.Shape...).String()
	}
	switch {
	case len(t.Ranges) > 0:
		parts := make([]string, len(t.Ranges))
		for i, r := range t.Ranges {
			parts[i] = r.String()
		}
		s += " ([" + strings.Join(parts, ", ") + "])"
	case len(t.Shapes) > 0:
		parts := make([]string, len(t.Shapes))
		for i, shape := range t.Shapes {
			parts[i] = tensor.ShapeOf(shape...).String()
		}
		s += " (" + strings.Join(parts, " | ") + ")"
	}
	if t.Default != nil {
		s += " = " + strconv.FormatFloat(*t.Default, 'g', -1, 64)
	}
	return s
}

func (t *DictType) String() string { return "dictionary from " + t.Key.String() + " to double" }

func (t *SequenceType) String() string {
	return "sequence of " + t.Length.String() + " " + t.Elem.String()
}

func (t *StateType) String() string { return "state of " + t.Array.String() }

// String returns "3", "1…8" or "1…".
func (r Range) String() string {
	switch {
	case r.Upper == r.Lower:
		return strconv.Itoa(r.Lower)
	case r.Upper == Unbounded:
		return strconv.Itoa(r.Lower) + "…"
	}
	return strconv.Itoa(r.Lower) + "…" + strconv.Itoa(r.Upper)
}

// Contains reports whether n is in the range.
func (r Range) Contains(n int) bool {
	return n >= r.Lower && (n <= r.Upper || r.Upper == Unbounded)
}

// Flexible reports whether the array may have other shapes than its default.
func (t *ArrayType) Flexible() bool { return len(t.Ranges) > 0 || len(t.Shapes) > 0 }

// Admits reports whether an array may have the shape. The default shape is always admitted; where the
// description gives no shape, every shape is.
func (t *ArrayType) Admits(shape []int) bool {
	same := func(s []int) bool { return slices.Equal(s, shape) }
	switch {
	case t.Shape != nil && same(t.Shape):
		return true
	case len(t.Shapes) > 0:
		return slices.ContainsFunc(t.Shapes, same)
	case len(t.Ranges) > 0:
		if len(shape) != len(t.Ranges) {
			return false
		}
		for i, r := range t.Ranges {
			if !r.Contains(shape[i]) {
				return false
			}
		}
		return true
	}
	return t.Shape == nil
}

// Admits reports whether a picture may have the size.
func (t *ImageType) Admits(width, height int) bool {
	return width == t.Width && height == t.Height ||
		slices.Contains(t.Sizes, ImageSize{width, height}) ||
		t.Range != nil && t.Range.Width.Contains(width) && t.Range.Height.Contains(height)
}

// DefaultShape is the shape that an array has unless another one is chosen; false if the description does not say.
func (t *ArrayType) DefaultShape() ([]int, bool) {
	switch {
	case t.Shape != nil:
		return t.Shape, true
	case len(t.Shapes) > 0:
		return t.Shapes[0], true
	case len(t.Ranges) > 0:
		shape := make([]int, len(t.Ranges))
		for i, r := range t.Ranges {
			shape[i] = r.Lower
			if r.Lower == 0 && r.Contains(1) { // an empty array is rarely meant
				shape[i] = 1
			}
		}
		return shape, true
	}
	return nil, false
}

// DefaultShape is the shape of the array that the program sees of a picture, unless another size is chosen.
func (t *ImageType) DefaultShape() []int { return []int{1, t.ColorSpace.Channels(), t.Height, t.Width} }

// ColorSpace says how the elements of a picture are stored.
type ColorSpace int

// The colour spaces, with their codes in ImageFeatureType.ColorSpace of FeatureTypes.proto.
const (
	Grayscale        ColorSpace = 10 // one channel, 8 bit
	RGB              ColorSpace = 20 // three channels of 8 bit, red first
	BGR              ColorSpace = 30 // three channels of 8 bit, blue first
	GrayscaleFloat16 ColorSpace = 40 // one channel, fp16
)

var colorSpaces = map[ColorSpace]struct {
	name     string
	channels int
}{
	Grayscale:        {"grayscale", 1},
	RGB:              {"RGB", 3},
	BGR:              {"BGR", 3},
	GrayscaleFloat16: {"fp16 grayscale", 1},
}

func (c ColorSpace) String() string {
	if row, ok := colorSpaces[c]; ok {
		return row.name
	}
	return fmt.Sprintf("color space %d", int(c))
}

// ParseColorSpace finds a colour space by the name that String gives.
func ParseColorSpace(name string) (ColorSpace, error) {
	for c, row := range colorSpaces {
		if row.name == name {
			return c, nil
		}
	}
	return 0, fmt.Errorf("unknown color space %q", name)
}

// Channels is the number of channels.
func (c ColorSpace) Channels() int { return colorSpaces[c].channels }

// arrayDTypes are the codes of ArrayFeatureType.ArrayDataType in FeatureTypes.proto: 0x10000 is a float,
// 0x20000 an integer, the rest is its width.
var arrayDTypes = map[int64]tensor.DType{
	0:            tensor.Invalid,
	0x10000 | 16: tensor.Float16,
	0x10000 | 32: tensor.Float32,
	0x10000 | 64: tensor.Float64,
	0x20000 | 8:  tensor.Int8,
	0x20000 | 32: tensor.Int32,
}
