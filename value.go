package espalier

import (
	"cmp"
	"errors"
	"fmt"
	"image"
	"slices"
	"strconv"

	"github.com/espalier-ane/espalier/coreml"
	"github.com/espalier-ane/espalier/internal/ops"
	"github.com/espalier-ane/espalier/tensor"
)

// ErrPictureSize is wrapped by the error about a picture of a size that the model does not take.
var ErrPictureSize = errors.New("say how to resize it")

// Value is an output of a prediction.
type Value struct {
	Feature coreml.Feature
	// Tensor holds an array in its declared type; a picture as fp32 [1, C, H, W] before any rounding, in the
	// model's own colour order; a label as a String or Int64 of shape [1]; the probabilities
	// of a classifier as Float64, in the order of Labels. Its memory is the caller's.
	Tensor *tensor.Tensor
	// Labels are the keys of a dictionary, String or Int64; nil for everything else.
	Labels *tensor.Tensor
}

// newValue makes an output of what the evaluation gave, which may be used for something else.
func newValue(d coreml.Feature, v ops.Value) (*Value, error) { return valueOf(d, v, false) }

// valueOf makes an output; one that is an array of its own is not copied.
func valueOf(d coreml.Feature, v ops.Value, isOwn bool) (*Value, error) {
	switch v := v.(type) {
	case *ops.Dict:
		labels := v.Keys
		if labels.DType() != tensor.String { // numbers may be those of a weight file
			labels = labels.Clone()
		}
		return &Value{Feature: d, Tensor: tensor.Of(v.Values, len(v.Values)), Labels: labels}, nil
	case *tensor.Tensor:
		dtype := v.DType()
		switch typ := d.Type.(type) {
		case *coreml.ArrayType:
			if typ.DType != tensor.Invalid {
				dtype = typ.DType
			}
			if r := asDescribed(v, typ.Shape); r != nil {
				v = r
			}
		case *coreml.ImageType:
			dtype = tensor.Float32
		case *coreml.Int64Type, *coreml.DoubleType, *coreml.StringType:
			dtype = scalarDType(typ)
			if v.Len() == 1 {
				v, _ = v.Reshape(1)
			}
		}
		t, err := v.Convert(dtype)
		if err != nil {
			return nil, fmt.Errorf("the program gives %v, but the description says %v", v, d.Type)
		}
		if t == v && !isOwn { // it may be an input, a constant, a state or a buffer of the runtime, or a view of one
			t = v.Clone()
		}
		return &Value{Feature: d, Tensor: t}, nil
	}
	return nil, fmt.Errorf("the program gives a %T, which no feature can be", v)
}

// asDescribed is a one-element array in the shape of its description: a program may give a scalar where the
// description says [1]. It is nil where that does not apply.
func asDescribed(t *tensor.Tensor, shape []int) *tensor.Tensor {
	if n, ok := tensor.Count(shape); shape == nil || !ok || n != 1 || t.Len() != 1 {
		return nil
	}
	r, err := t.Reshape(shape...)
	if err != nil {
		return nil
	}
	return r
}

// Class is a label with its probability.
type Class struct {
	Label       string
	Probability float64
}

// Top returns the n most probable classes of a dictionary, the best one first.
func (v *Value) Top(n int) []Class {
	if v.Labels == nil {
		return nil
	}
	labels, probs := labelTexts(v.Labels), v.Tensor.Float64s()
	classes := make([]Class, len(labels))
	for i := range classes {
		classes[i] = Class{labels[i], probs[i]}
	}
	slices.SortStableFunc(classes, func(a, b Class) int { return cmp.Compare(b.Probability, a.Probability) })
	return classes[:min(n, len(classes))]
}

func labelTexts(t *tensor.Tensor) []string {
	if t.DType() == tensor.String {
		return t.Strings()
	}
	out := make([]string, 0, t.Len())
	for _, v := range t.Int64s() {
		out = append(out, strconv.FormatInt(v, 10))
	}
	return out
}

// Image makes a picture of an image output: clamped to 0…255 and rounded.
func (v *Value) Image() (image.Image, error) {
	typ, ok := v.Feature.Type.(*coreml.ImageType)
	if !ok {
		return nil, fmt.Errorf("output %q is no picture but %v", v.Feature.Name, v.Feature.Type)
	}
	return tensorPicture(v.Tensor, typ.ColorSpace)
}
