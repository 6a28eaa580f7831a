package espalier

import (
	"context"
	"fmt"
	"image"
	"reflect"

	"github.com/espalier-ane/espalier/coreml"
	"github.com/espalier-ane/espalier/internal/ops"
	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// InputError is what is wrong with an input of a prediction.
type InputError struct {
	Name    string
	Missing bool // it was left out and is not optional
	Err     error
}

func (e *InputError) Error() string { return fmt.Sprintf("input %q: %v", e.Name, e.Err) }
func (e *InputError) Unwrap() error { return e.Err }

// array makes an array of what was given for a feature, and checks it against the description.
func (f *features) array(ctx context.Context, d coreml.Feature, given any) (*tensor.Tensor, error) {
	if given == nil {
		return defaultInput(d, f.limits)
	}
	given, err := plain(d.Type, given)
	if err != nil {
		return nil, err
	}
	switch typ := d.Type.(type) {
	case *coreml.ImageType:
		return f.pictureInput(ctx, typ, given)
	case *coreml.ArrayType:
		t, ok := given.(*tensor.Tensor)
		if !ok {
			return nil, fmt.Errorf("expected %v, found %s", d.Type, describeGiven(given))
		}
		return arrayInput(typ, t)
	case *coreml.Int64Type, *coreml.DoubleType, *coreml.StringType:
		t, ok := given.(*tensor.Tensor)
		if !ok || t.Len() != 1 {
			return nil, fmt.Errorf("expected %v, found %s", d.Type, describeGiven(given))
		}
		return convertLossless(t, scalarDType(typ))
	}
	return nil, fmt.Errorf("a %v cannot be the input of an ML program", d.Type)
}

// isNil reports whether a caller gave nothing for an input, be it nothing of a type.
func isNil(given any) bool {
	v := reflect.ValueOf(given)
	return !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil()
}

func scalarDType(t coreml.FeatureType) tensor.DType {
	switch t.(type) {
	case *coreml.Int64Type:
		return tensor.Int64
	case *coreml.DoubleType:
		return tensor.Float64
	}
	return tensor.String
}

// defaultInput is what an optional input is when it is left out: its default value throughout, in its default shape.
func defaultInput(d coreml.Feature, l Limits) (*tensor.Tensor, error) {
	missing := fmt.Errorf("it is missing: expected %v", d.Type)
	t, ok := d.Type.(*coreml.ArrayType)
	if !d.Optional || !ok {
		return nil, missing
	}
	shape, ok := t.DefaultShape()
	if !ok {
		return nil, missing
	}
	if err := ops.CheckMemory(l.Memory, mil.Tensor(tensor.Float64, tensor.ShapeOf(shape...)...)); err != nil {
		return nil, err
	}
	n, _ := tensor.Count(shape)
	fill := 0.0
	if t.Default != nil {
		fill = *t.Default
	}
	vals := make([]float64, n)
	for i := range vals {
		vals[i] = fill
	}
	return tensor.Of(vals, shape...).Convert(arrayDType(t))
}

// arrayDType is the element type of an array feature; fp32 where the description leaves it open.
func arrayDType(t *coreml.ArrayType) tensor.DType {
	if t.DType == tensor.Invalid {
		return tensor.Float32
	}
	return t.DType
}

func arrayInput(typ *coreml.ArrayType, t *tensor.Tensor) (*tensor.Tensor, error) {
	t, err := admitted(typ, t)
	if err != nil {
		return nil, err
	}
	return convertLossless(t, arrayDType(typ))
}

// admitted is an array in the shape that the feature has for it.
func admitted(typ *coreml.ArrayType, t *tensor.Tensor) (*tensor.Tensor, error) {
	shape := t.Shape()
	if len(shape) == 0 && !typ.Admits(shape) && typ.Admits([]int{1}) {
		shape = []int{1}
	}
	if !typ.Admits(shape) {
		return nil, fmt.Errorf("expected %v, found %v", typ, t)
	}
	return t.Reshape(shape...)
}

func (f *features) pictureInput(ctx context.Context, typ *coreml.ImageType, given any) (*tensor.Tensor, error) {
	switch v := given.(type) {
	case image.Image:
		b := v.Bounds()
		if !typ.Admits(b.Dx(), b.Dy()) {
			if f.resize == NoResize {
				return nil, fmt.Errorf("expected %v, found %s: %w", typ, describeGiven(v), ErrPictureSize)
			}
			// A description may ask for any size.
			want := mil.Tensor(tensor.Float32, tensor.ShapeOf(typ.ColorSpace.Channels(), typ.Height, typ.Width)...)
			if err := ops.CheckMemory(f.limits.Memory, want); err != nil {
				return nil, err
			}
			if err := f.limits.room("resizing "+describeGiven(v), resizeBytes(v, typ.Width, typ.Height)); err != nil {
				return nil, err
			}
			var err error
			if v, err = resizePicture(ctx, v, typ.Width, typ.Height, f.resize); err != nil {
				return nil, err
			}
		}
		size := v.Bounds().Size()
		if err := f.limits.room(describeGiven(v), 4*float64(typ.ColorSpace.Channels())*float64(size.X)*float64(size.Y)); err != nil {
			return nil, err
		}
		return pictureTensor(ctx, v, typ.ColorSpace)
	case *tensor.Tensor:
		t, err := pixelTensor(v, typ.ColorSpace)
		if err != nil {
			return nil, err
		}
		if h, w := t.Shape()[2], t.Shape()[3]; !typ.Admits(w, h) {
			return nil, fmt.Errorf("expected %v, found an array of %d × %d pixels", typ, w, h)
		}
		return t, nil
	}
	return nil, fmt.Errorf("expected %v, found %s", typ, describeGiven(given))
}

// describeGiven says what a caller gave for an input.
func describeGiven(given any) string {
	switch v := given.(type) {
	case image.Image:
		return fmt.Sprintf("a picture of %d × %d pixels", v.Bounds().Dx(), v.Bounds().Dy())
	case *tensor.Tensor:
		if v == nil {
			return "a nil tensor"
		}
		return v.String()
	}
	if v := reflect.ValueOf(given); v.Kind() == reflect.Slice {
		return fmt.Sprintf("a %T of %d elements", given, v.Len())
	}
	return fmt.Sprintf("a %T", given)
}

// fitProgram brings a feature's array to the type of the program's input: a description may say double or
// [1] where the program says fp32 or a scalar.
func fitProgram(t *tensor.Tensor, typ mil.Type) (*tensor.Tensor, error) {
	t, err := fitShape(t, typ)
	if err != nil {
		return nil, err
	}
	return t.Convert(typ.(*mil.TensorType).DType)
}

// fitShape brings it to the shape alone.
func fitShape(t *tensor.Tensor, typ mil.Type) (*tensor.Tensor, error) {
	want, ok := typ.(*mil.TensorType)
	if !ok {
		return nil, fmt.Errorf("the program expects a %v", typ)
	}
	if !want.AnyRank && len(want.Shape) != t.Rank() && t.Len() == 1 && want.Shape.Known() {
		dims, _ := want.Shape.Ints()
		if r, err := t.Reshape(dims...); err == nil {
			t = r
		}
	}
	if !want.AnyRank && !want.Shape.Compatible(tensor.ShapeOf(t.Shape()...)) {
		return nil, fmt.Errorf("the program expects %v, found %v", want, t)
	}
	return t, nil
}
