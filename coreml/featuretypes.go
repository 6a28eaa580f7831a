package coreml

import (
	"maps"
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/espalier-ane/espalier/tensor"
)

// featureType decodes a FeatureType (FeatureTypes.proto).
func (k *keeper) featureType(m message) (t FeatureType, optional bool, err error) {
	// choose decodes a member of the alternative.
	f := m.fields()
	choose := func(name string, decode func(message) (FeatureType, error)) {
		if t != nil {
			f.fail(name, "the type is given twice")
			return
		}
		body := f.message(name)
		if f.err == nil {
			var err error
			t, err = decode(body)
			f.wrap(name, err)
		}
	}
	for f.next() {
		switch f.num {
		case 1:
			choose("int64Type", empty(k, &Int64Type{}, "Int64FeatureType"))
		case 2:
			choose("doubleType", empty(k, &DoubleType{}, "DoubleFeatureType"))
		case 3:
			choose("stringType", empty(k, &StringType{}, "StringFeatureType"))
		case 4:
			choose("imageType", k.imageType)
		case 5:
			choose("multiArrayType", func(m message) (FeatureType, error) { return k.arrayType(m) })
		case 6:
			choose("dictionaryType", k.dictType)
		case 7:
			choose("sequenceType", k.sequenceType)
		case 8:
			choose("stateType", k.stateType)
		case 1000:
			optional = f.bool("isOptional")
		default:
			k.keep("FeatureType", f)
		}
	}
	if f.err == nil && t == nil {
		return nil, false, damage(m.at, "the feature has no type that is known")
	}
	return t, optional, f.err
}

// empty decodes a message without fields of its own.
func empty(k *keeper, t FeatureType, name string) func(message) (FeatureType, error) {
	return func(m message) (FeatureType, error) {
		f := m.fields()
		for f.next() {
			k.keep(name, f)
		}
		return t, f.err
	}
}

func (k *keeper) imageType(m message) (FeatureType, error) {
	t := &ImageType{}
	var sizes, sizeRange message
	f := m.fields()
	for f.next() {
		switch f.num {
		case 1:
			t.Width = f.size("width")
		case 2:
			t.Height = f.size("height")
		case 3:
			t.ColorSpace = ColorSpace(f.int64("colorSpace"))
			if _, ok := colorSpaces[t.ColorSpace]; !ok && t.ColorSpace != 0 && f.err == nil {
				f.fail("colorSpace", "color space %d is not known", t.ColorSpace)
			}
		case 21:
			f.one("enumeratedSizes", &sizes)
		case 31:
			f.one("imageSizeRange", &sizeRange)
		default:
			k.keep("ImageFeatureType", f)
		}
	}
	if f.err != nil {
		return nil, f.err
	}
	if sizes.present() && sizeRange.present() {
		return nil, damage(m.at, "both enumerated sizes and a range of sizes are given")
	}
	f = sizes.fields()
	for f.next() {
		if f.num != 1 {
			k.keep("EnumeratedImageSizes", f)
			continue
		}
		var size ImageSize
		g := f.message("sizes").fields()
		for g.next() {
			switch g.num {
			case 1:
				size.Width = g.size("width")
			case 2:
				size.Height = g.size("height")
			default:
				k.keep("ImageSize", g)
			}
		}
		f.wrapAt("sizes", len(t.Sizes), g.err)
		t.Sizes = append(t.Sizes, size)
	}
	if f.err != nil {
		return nil, under("enumeratedSizes", f.err)
	}
	if sizeRange.present() {
		t.Range = &ImageSizeRange{}
		f = sizeRange.fields()
		for f.next() {
			switch f.num {
			case 1:
				t.Range.Width = k.sizeRange(f, "widthRange")
			case 2:
				t.Range.Height = k.sizeRange(f, "heightRange")
			default:
				k.keep("ImageSizeRange", f)
			}
		}
	}
	return t, under("imageSizeRange", f.err)
}

// sizeRange decodes the current field of f, a SizeRange.
func (k *keeper) sizeRange(f *fields, name string) Range {
	var r Range
	g := f.message(name).fields()
	for g.next() {
		switch g.num {
		case 1:
			r.Lower = g.size("lowerBound")
		case 2:
			upper := g.int64("upperBound")
			switch {
			case upper < 0:
				r.Upper = Unbounded
			case upper > math.MaxInt:
				g.fail("upperBound", "%d is not a possible length", upper)
			default:
				r.Upper = int(upper)
			}
		default:
			k.keep("SizeRange", g)
		}
	}
	if g.err == nil && r.Upper != Unbounded && r.Upper < r.Lower {
		g.err = damage(g.allAt, "the range ends at %d, before its start %d", r.Upper, r.Lower)
	}
	f.wrap(name, g.err)
	return r
}

func (k *keeper) arrayType(m message) (*ArrayType, error) {
	t := &ArrayType{}
	var shapes, ranges message
	setDefault := func(v float64) { t.Default = &v }
	f := m.fields()
	for f.next() {
		switch f.num {
		case 1:
			f.lengths("shape", &t.Shape)
		case 2:
			code := f.int64("dataType")
			dtype, ok := arrayDTypes[code]
			if !ok && f.err == nil {
				f.fail("dataType", "element type %d is not known; known are %v", code, slices.Sorted(maps.Keys(arrayDTypes)))
			}
			t.DType = dtype
		case 21:
			f.one("enumeratedShapes", &shapes)
		case 31:
			f.one("shapeRange", &ranges)
		case 41:
			setDefault(float64(int32(f.int64("intDefaultValue"))))
		case 51:
			if f.has("floatDefaultValue", protowire.Fixed32Type) {
				setDefault(float64(math.Float32frombits(uint32(f.bits))))
			}
		case 61:
			if f.has("doubleDefaultValue", protowire.Fixed64Type) {
				setDefault(math.Float64frombits(f.bits))
			}
		default:
			k.keep("ArrayFeatureType", f)
		}
	}
	if f.err != nil {
		return nil, f.err
	}
	if shapes.present() && ranges.present() {
		return nil, damage(m.at, "both enumerated shapes and ranges of shapes are given")
	}
	if err := checkShape(t.Shape, m.at); err != nil {
		return nil, under("shape", err)
	}
	f = shapes.fields()
	for f.next() {
		if f.num != 1 {
			k.keep("EnumeratedShapes", f)
			continue
		}
		shape := []int{}
		g := f.message("shapes").fields()
		for g.next() {
			if g.num != 1 {
				k.keep("Shape", g)
				continue
			}
			g.lengths("shape", &shape)
		}
		if g.err == nil {
			g.err = checkShape(shape, g.allAt)
		}
		f.wrapAt("shapes", len(t.Shapes), g.err)
		t.Shapes = append(t.Shapes, shape)
	}
	if f.err != nil {
		return nil, under("enumeratedShapes", f.err)
	}
	f = ranges.fields()
	for f.next() {
		if f.num != 1 {
			k.keep("ShapeRange", f)
			continue
		}
		t.Ranges = append(t.Ranges, k.sizeRange(f, "sizeRanges"))
	}
	return t, under("shapeRange", f.err)
}

// lengths appends the current field, a repeated int64, to a list of lengths.
func (f *fields) lengths(name string, list *[]int) {
	f.packed(name, protowire.VarintType, func(bits uint64) {
		if bits > math.MaxInt && f.err == nil {
			f.fail(name, "%d is not a possible length", int64(bits))
		}
		*list = append(*list, int(bits))
	})
}

// checkShape refuses a shape whose number of elements cannot be counted.
func checkShape(shape []int, at int64) error {
	if _, ok := tensor.Count(shape); !ok {
		return damage(at, "the shape %v has more elements than any memory", shape)
	}
	return nil
}

func (k *keeper) dictType(m message) (FeatureType, error) {
	t := &DictType{}
	f := m.fields()
	for f.next() {
		switch f.num {
		case 1:
			t.Key = k.plainType(f, t.Key, "int64KeyType", &Int64Type{}, "Int64FeatureType")
		case 2:
			t.Key = k.plainType(f, t.Key, "stringKeyType", &StringType{}, "StringFeatureType")
		default:
			k.keep("DictionaryFeatureType", f)
		}
	}
	if f.err == nil && t.Key == nil {
		return nil, damage(m.at, "the type of the keys is missing")
	}
	return t, f.err
}

func (k *keeper) sequenceType(m message) (FeatureType, error) {
	t := &SequenceType{}
	f := m.fields()
	for f.next() {
		switch f.num {
		case 1:
			t.Elem = k.plainType(f, t.Elem, "int64Type", &Int64Type{}, "Int64FeatureType")
		case 3:
			t.Elem = k.plainType(f, t.Elem, "stringType", &StringType{}, "StringFeatureType")
		case 101:
			t.Length = k.sizeRange(f, "sizeRange")
		default:
			k.keep("SequenceFeatureType", f)
		}
	}
	if f.err == nil && t.Elem == nil {
		return nil, damage(m.at, "the type of the elements is missing")
	}
	return t, f.err
}

// plainType decodes the current field of f, a member of an alternative that says nothing but itself.
func (k *keeper) plainType(f *fields, before FeatureType, field string, t FeatureType, name string) FeatureType {
	if before != nil {
		f.fail(field, "the type is given twice")
		return before
	}
	m := f.message(field)
	_, err := empty(k, t, name)(m)
	f.wrap(field, err)
	return t
}

func (k *keeper) stateType(m message) (FeatureType, error) {
	var array message
	f := m.fields()
	for f.next() {
		if f.num == 1 {
			f.one("arrayType", &array)
			continue
		}
		k.keep("StateFeatureType", f)
	}
	switch {
	case f.err != nil:
		return nil, f.err
	case !array.present():
		return nil, damage(m.at, "the type of the state is missing")
	}
	t, err := k.arrayType(array)
	return &StateType{t}, under("arrayType", err)
}
