package bundle

import (
	"github.com/espalier-ane/espalier/tensor"
)

// featureElems are what the keys of a dictionary and the elements of a sequence
// can be: DictionaryFeatureType and SequenceFeatureType of Core ML's
// FeatureTypes.proto.
var featureElems = map[string]bool{"int64": true, "string": true}

// checkType refuses what no value can be of: who reads a manifest need not ask
// again.
func (f *Feature) checkType(field string) error {
	if f.Elem != "" && !featureElems[f.Elem] {
		return wrong(field+".elem", "%q is neither \"int64\" nor \"string\"", f.Elem)
	}
	if err := f.Length.check(field + ".length"); err != nil {
		return err
	}
	if f.Array != nil {
		return f.Array.check(field + ".array")
	}
	if f.Image != nil {
		return f.Image.check(field + ".image")
	}
	return nil
}

func (a *Array) check(field string) error {
	if a.Type != "" {
		if _, err := tensor.ParseDType(a.Type); err != nil {
			return wrong(field+".type", "%v", err)
		}
	}
	if err := checkShape(field+".shape", a.Shape); err != nil {
		return err
	}
	for i, shape := range a.Shapes {
		if err := checkShape(at(field+".shapes", i), shape); err != nil {
			return err
		}
	}
	for i := range a.Ranges {
		if err := a.Ranges[i].check(at(field+".ranges", i)); err != nil {
			return err
		}
	}
	return nil
}

// checkShape refuses a shape whose elements cannot be counted.
func checkShape(field string, shape []int) error {
	if _, ok := tensor.Count(shape); !ok {
		return wrong(field, "%v is not a possible shape", shape)
	}
	return nil
}

func (i *Image) check(field string) error {
	for k, size := range append([][2]int{{i.Width, i.Height}}, i.Sizes...) {
		if _, ok := tensor.Count([]int{4, size[0], size[1]}); !ok { // four channels are the most there are
			name := field
			if k > 0 {
				name = at(field+".sizes", k-1)
			}
			return wrong(name, "%d × %d is not a possible size", size[0], size[1])
		}
	}
	if (i.WidthRange == nil) != (i.HeightRange == nil) {
		return wrong(field, "there is a range of widths or of heights, and not of both")
	}
	if err := i.WidthRange.check(field + ".widthRange"); err != nil {
		return err
	}
	return i.HeightRange.check(field + ".heightRange")
}

// check refuses a range that holds no length; nil is no range.
func (r *Range) check(field string) error {
	if r != nil && (r.Lower < 0 || r.Upper != -1 && r.Upper < r.Lower) {
		return wrong(field, "from %d to %d is not a possible range", r.Lower, r.Upper)
	}
	return nil
}
