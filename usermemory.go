package espalier

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"unsafe"

	"github.com/espalier-ane/espalier/coreml"
	"github.com/espalier-ane/espalier/tensor"
)

// Memory of the caller, for inputs and outputs.

// inputMemory is the array that was given for an input, in the shape that the feature has, with the element type of the
// feature. It is nil for everything that is not an array whose elements lie side by side.
func inputMemory(d coreml.Feature, given any) (*tensor.Tensor, tensor.DType, error) {
	given, err := plain(d.Type, given)
	if err != nil {
		return nil, tensor.Invalid, err
	}
	t, ok := given.(*tensor.Tensor)
	if !ok || t == nil || t.DType() == tensor.String || !t.Contiguous() {
		return nil, tensor.Invalid, nil
	}
	switch typ := d.Type.(type) {
	case *coreml.ArrayType:
		t, err = admitted(typ, t)
		return t, arrayDType(typ), err
	case *coreml.Int64Type, *coreml.DoubleType:
		if t.Len() == 1 {
			return t, scalarDType(typ), nil
		}
	}
	return nil, tensor.Invalid, nil
}

// stridedMemory is an array that was given for an input, with the element type of the feature, if its elements do not lie side
// by side; else nil.
func stridedMemory(d coreml.Feature, given any) (*tensor.Tensor, tensor.DType) {
	t, ok := given.(*tensor.Tensor)
	typ, isArray := d.Type.(*coreml.ArrayType)
	if !ok || t == nil || !isArray || t.DType() == tensor.String || t.Contiguous() || !typ.Admits(t.Shape()) {
		return nil, tensor.Invalid
	}
	return t, arrayDType(typ)
}

// apart says of memory for an output that its elements do not lie as the output takes them.
func apart(t *tensor.Tensor) error {
	return fmt.Errorf("the elements of %v do not lie side by side in memory, nor as the engine has them", t)
}

// outputMemory is the array that was given for an output. taken is the memory of the outputs before it.
func outputMemory(given any, taken *[]memoryRange) (*tensor.Tensor, error) {
	t, ok := given.(*tensor.Tensor)
	if v := reflect.ValueOf(given); !ok && v.Kind() == reflect.Slice {
		t = flat(given)
		if t != nil && t.DType() == tensor.String { // flat has copied it
			t = nil
			if list, ok := given.([]string); ok {
				t = tensor.Of(list, len(list))
			}
		}
	}
	if t == nil {
		return nil, fmt.Errorf("expected a tensor or a slice, found %s", describeGiven(given))
	}
	if !t.Contiguous() && t.From() == nil {
		return nil, apart(t)
	}
	r := rangeOf(t)
	if slices.ContainsFunc(*taken, r.overlaps) {
		return nil, errors.New("its memory is that of another output too")
	}
	*taken = append(*taken, r)
	return t, nil
}

// outputDType is the element type of an output that the program gives in another, perhaps.
func outputDType(d coreml.Feature, given tensor.DType) tensor.DType {
	switch typ := d.Type.(type) {
	case *coreml.ArrayType:
		if typ.DType != tensor.Invalid {
			return typ.DType
		}
	case *coreml.ImageType:
		return tensor.Float32
	case *coreml.Int64Type, *coreml.DoubleType, *coreml.StringType:
		return scalarDType(typ)
	}
	return given
}

// fitOutput holds the memory for an output to its shape. A slice, or one element, has every shape.
func fitOutput(t *tensor.Tensor, d tensor.DType, shape []int) (*tensor.Tensor, error) {
	n, _ := tensor.Count(shape)
	if t.Len() != n || t.Rank() != 1 && n != 1 && !slices.Equal(t.Shape(), shape) {
		return nil, fmt.Errorf("expected memory for %v%v, %d elements, found %v", d, tensor.ShapeOf(shape...), n, t)
	}
	if (t.DType() == tensor.String) != (d == tensor.String) {
		return nil, fmt.Errorf("expected memory for %v, found %v", d, t)
	}
	return t.Reshape(shape...)
}

// copyOutput copies an output to memory of the caller.
func copyOutput(v *Value, given any) error {
	t, err := outputMemory(given, new([]memoryRange))
	if err == nil && !t.Contiguous() {
		err = apart(t)
	}
	if err == nil {
		t, err = fitOutput(t, v.Tensor.DType(), v.Tensor.Shape())
	}
	if err != nil {
		return err
	}
	m := move{t, v.Tensor, true}
	return m.run()
}

// A copiedCall is a call of a runner that has no memory to bind: it runs, and copies the outputs.
type copiedCall struct {
	runner          runner
	inputs, outputs map[string]any
}

func bindCopies(r runner, inputs, outputs map[string]any) (bound, error) {
	var taken []memoryRange
	for name, given := range outputs {
		if given == nil {
			continue
		}
		t, err := outputMemory(given, &taken)
		if err == nil && !t.Contiguous() {
			err = apart(t)
		}
		if err != nil {
			return nil, &OutputError{name, err}
		}
	}
	return &copiedCall{r, maps.Clone(inputs), maps.Clone(outputs)}, nil
}

func (c *copiedCall) run(ctx context.Context, s states) error {
	values, err := c.runner.run(ctx, c.inputs, s)
	if err != nil {
		return err
	}
	for name, given := range c.outputs {
		if given == nil {
			continue
		}
		if err := copyOutput(values[name], given); err != nil {
			return &OutputError{name, err}
		}
	}
	return nil
}

func (c *copiedCall) release() {}

// memoryRange is where the elements of an array lie, gaps between them included.
type memoryRange struct{ start, end uintptr }

func rangeOf(t *tensor.Tensor) memoryRange {
	if !t.Contiguous() {
		start := uintptr(unsafe.Pointer(unsafe.SliceData(t.From())))
		end := start + uintptr(t.DType().Size())
		for i, n := range t.Shape() {
			end += uintptr((n - 1) * t.Strides()[i] * t.DType().Size())
		}
		return memoryRange{start, end}
	}
	elements := t.Bytes()
	start := uintptr(unsafe.Pointer(unsafe.SliceData(elements)))
	return memoryRange{start, start + uintptr(len(elements))}
}

func (r memoryRange) overlaps(s memoryRange) bool { return r.start < s.end && s.start < r.end }
