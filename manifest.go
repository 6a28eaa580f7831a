package espalier

import (
	"fmt"

	"github.com/espalier-ane/espalier/bundle"
	"github.com/espalier-ane/espalier/coreml"
	"github.com/espalier-ane/espalier/tensor"
)

// The features of a model as a bundle's manifest has them, and back.

// manifestFunction is what the manifest says of a function, but for its segments.
func manifestFunction(d *coreml.FunctionDescription) bundle.Function {
	f := bundle.Function{Name: d.Name}
	for _, in := range d.Inputs {
		f.Inputs = append(f.Inputs, manifestFeature(in))
	}
	for _, out := range d.Outputs {
		f.Outputs = append(f.Outputs, manifestFeature(out))
	}
	for _, s := range d.States {
		f.States = append(f.States, manifestFeature(s))
	}
	if d.PredictedFeature != "" || d.PredictedProbabilities != "" {
		f.Classifier = &bundle.Classifier{Label: d.PredictedFeature, Probabilities: d.PredictedProbabilities}
	}
	return f
}

func manifestFeature(d coreml.Feature) bundle.Feature {
	f := bundle.Feature{Name: d.Name, Description: d.Description, Optional: d.Optional}
	switch t := d.Type.(type) {
	case *coreml.Int64Type, *coreml.DoubleType, *coreml.StringType:
		f.Kind = t.String()
	case *coreml.ArrayType:
		f.Kind, f.Array = "array", manifestArray(t)
	case *coreml.StateType:
		f.Kind, f.Array = "state", manifestArray(t.Array)
	case *coreml.ImageType:
		f.Kind = "image"
		f.Image = &bundle.Image{Width: t.Width, Height: t.Height, ColorSpace: t.ColorSpace.String()}
		for _, s := range t.Sizes {
			f.Image.Sizes = append(f.Image.Sizes, [2]int{s.Width, s.Height})
		}
		if t.Range != nil {
			f.Image.WidthRange = &bundle.Range{Lower: t.Range.Width.Lower, Upper: t.Range.Width.Upper}
			f.Image.HeightRange = &bundle.Range{Lower: t.Range.Height.Lower, Upper: t.Range.Height.Upper}
		}
	case *coreml.DictType:
		f.Kind, f.Elem = "dictionary", t.Key.String()
	case *coreml.SequenceType:
		f.Kind, f.Elem = "sequence", t.Elem.String()
		f.Length = &bundle.Range{Lower: t.Length.Lower, Upper: t.Length.Upper}
	}
	return f
}

func manifestArray(t *coreml.ArrayType) *bundle.Array {
	a := &bundle.Array{Shape: t.Shape, Shapes: t.Shapes}
	if t.DType != tensor.Invalid {
		a.Type = t.DType.String()
	}
	for _, r := range t.Ranges {
		a.Ranges = append(a.Ranges, bundle.Range{Lower: r.Lower, Upper: r.Upper})
	}
	if t.Default != nil {
		f := bundle.Float(*t.Default)
		a.Default = &f
	}
	return a
}

// DescribeFunction is the description of a function of a bundle.
func DescribeFunction(f *bundle.Function) (coreml.FunctionDescription, error) {
	d := coreml.FunctionDescription{Name: f.Name}
	for _, list := range []struct {
		from []bundle.Feature
		to   *[]coreml.Feature
	}{{f.Inputs, &d.Inputs}, {f.Outputs, &d.Outputs}, {f.States, &d.States}} {
		for i := range list.from {
			feature, err := describedFeature(&list.from[i])
			if err != nil {
				return d, fmt.Errorf("function %q: feature %q: %w", f.Name, list.from[i].Name, err)
			}
			*list.to = append(*list.to, feature)
		}
	}
	if f.Classifier != nil {
		d.PredictedFeature, d.PredictedProbabilities = f.Classifier.Label, f.Classifier.Probabilities
	}
	return d, nil
}

func describedFeature(f *bundle.Feature) (coreml.Feature, error) {
	d := coreml.Feature{Name: f.Name, Description: f.Description, Optional: f.Optional}
	scalars := map[string]coreml.FeatureType{"int64": &coreml.Int64Type{}, "double": &coreml.DoubleType{}, "string": &coreml.StringType{}}
	var err error
	switch f.Kind {
	case "array":
		d.Type, err = describedArray(f.Array)
	case "state":
		var a *coreml.ArrayType
		a, err = describedArray(f.Array)
		d.Type = &coreml.StateType{Array: a}
	case "image":
		d.Type, err = describedImage(f.Image)
	case "dictionary":
		d.Type = &coreml.DictType{Key: scalars[f.Elem]}
	case "sequence":
		t := &coreml.SequenceType{Elem: scalars[f.Elem]}
		if f.Length != nil {
			t.Length = coreml.Range{Lower: f.Length.Lower, Upper: f.Length.Upper}
		}
		d.Type = t
	default:
		if d.Type = scalars[f.Kind]; d.Type == nil {
			err = fmt.Errorf("its kind %q is not known", f.Kind)
		}
	}
	return d, err
}

func describedArray(a *bundle.Array) (*coreml.ArrayType, error) {
	t := &coreml.ArrayType{Shape: a.Shape, Shapes: a.Shapes}
	if a.Type != "" {
		var err error
		if t.DType, err = tensor.ParseDType(a.Type); err != nil {
			return nil, err
		}
	}
	for _, r := range a.Ranges {
		t.Ranges = append(t.Ranges, coreml.Range{Lower: r.Lower, Upper: r.Upper})
	}
	if a.Default != nil {
		v := float64(*a.Default)
		t.Default = &v
	}
	return t, nil
}

func describedImage(i *bundle.Image) (*coreml.ImageType, error) {
	space, err := coreml.ParseColorSpace(i.ColorSpace)
	if err != nil {
		return nil, err
	}
	t := &coreml.ImageType{Width: i.Width, Height: i.Height, ColorSpace: space}
	for _, s := range i.Sizes {
		t.Sizes = append(t.Sizes, coreml.ImageSize{Width: s[0], Height: s[1]})
	}
	if i.WidthRange != nil && i.HeightRange != nil {
		t.Range = &coreml.ImageSizeRange{
			Width:  coreml.Range{Lower: i.WidthRange.Lower, Upper: i.WidthRange.Upper},
			Height: coreml.Range{Lower: i.HeightRange.Lower, Upper: i.HeightRange.Upper},
		}
	}
	return t, nil
}
