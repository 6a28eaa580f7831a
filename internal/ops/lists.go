package ops

import (
	"errors"
	"fmt"
	"slices"

	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// A list's type says what its elements are. It says nothing about its length: coremltools writes the
// initial length there, which list_write may exceed. So the rules here leave the length open.

// listTypes are the element types of values that may be put into a list.
const listTypes = B | Float | I32

// maxListLength bounds lists: an index in a file must not ask for memory beyond reason.
const maxListLength = 1 << 24

// noLists is why the operations here run on the host.
const noLists = "no layer holds a list"

var listOps = []Def{
	{
		Name: "make_list",
		Doc:  "a list of tensors of zeros",
		Versions: since(IOS15,
			Opt("init_length", I32, 1),
			OptConst("dynamic_length", B, true),
			OptConst("elem_shape", I32|Str, nil).Of(ManyTensors), // absent: the elements are scalars
			OptConst("dtype", Str, "fp32")),
		Infer:    inferMakeList,
		Eval:     evalMakeList,
		HostOnly: noLists,
	},
	{
		Name:     "list_length",
		Doc:      "the number of elements of a list",
		Versions: since(IOS15, listParam),
		Infer:    func(*Call) ([]mil.Type, error) { return one(tensor.Int32, nil) },
		Eval: func(c *Call) error {
			c.Return(0, tensor.Scalar(int32(len(listOf(c).Items))))
			return nil
		},
		HostOnly: noLists,
	},
	{
		Name:     "list_read",
		Doc:      "an element of a list",
		Versions: since(IOS15, listParam, In("index", I32)),
		Infer: func(c *Call) ([]mil.Type, error) {
			elem, err := listElem(c)
			return []mil.Type{elem}, err
		},
		Eval: func(c *Call) error {
			v, err := listItem(c, c.Int64s("index")[0])
			c.Return(0, v)
			return err
		},
		HostOnly: noLists,
	},
	{
		Name:     "list_write",
		Doc:      "a list with an element replaced, or longer if it has none there",
		Versions: since(IOS15, listParam, In("index", I32), In("value", listTypes).As("T")),
		Infer: func(c *Call) ([]mil.Type, error) {
			return inferListWrite(c, c.Type("value"))
		},
		Eval: func(c *Call) error {
			return returnWritten(c, c.Int64s("index")[:1], []*tensor.Tensor{c.Tensor("value")})
		},
		HostOnly: noLists,
	},
	{
		Name:     "list_gather",
		Doc:      "elements of a list stacked to a tensor",
		Versions: since(IOS15, listParam, In("indices", I32)),
		Infer:    inferListGather,
		Eval:     evalListGather,
		HostOnly: noLists,
	},
	{
		Name:     "list_scatter",
		Doc:      "a list with elements replaced by the slices of a tensor",
		Versions: since(IOS15, listParam, In("indices", I32), In("value", listTypes).As("T")),
		Infer:    inferListScatter,
		Eval:     evalListScatter,
		HostOnly: noLists,
	},
}

var listParam = In("ls", AnyType).Of(OneList)

func listOf(c *Call) *List { return c.Value("ls").(*List) }

// listElem is the type of the elements.
func listElem(c *Call) (*mil.TensorType, error) {
	if c.Has("index") {
		if err := c.oneElement("index"); err != nil {
			return nil, err
		}
	}
	t := c.AnyType("ls", 0).(*mil.ListType)
	elem, ok := t.Elem.(*mil.TensorType)
	if !ok {
		return nil, fmt.Errorf("parameter ls is %v, expected a list of tensors", t)
	}
	return elem, nil
}

func inferMakeList(c *Call) ([]mil.Type, error) {
	d, err := tensor.ParseDType(c.Str("dtype"))
	if err != nil {
		return nil, err
	}
	if !listTypes.Has(d) {
		return nil, fmt.Errorf("dtype is %v, expected %v", d, listTypes)
	}
	shape := make(tensor.Shape, c.Count("elem_shape"))
	for i := range shape {
		if shape[i], err = elemLength(c, i); err != nil {
			return nil, err
		}
	}
	elem := &mil.TensorType{DType: d, Shape: shape}
	if err := c.checkMemory(elem); err != nil {
		return nil, err
	}
	if err := c.oneElement("init_length"); err != nil {
		return nil, err
	}
	if c.Known("init_length") {
		if n := c.Int("init_length"); n < 0 || n > maxListLength {
			return nil, fmt.Errorf("init_length is %d, expected 0 to %d", n, maxListLength)
		}
	}
	return listType(elem), nil
}

// listType is a list of any length as the one result.
func listType(elem mil.Type) []mil.Type {
	return []mil.Type{&mil.ListType{Elem: elem, Length: tensor.Unknown}}
}

// elemLength is a length of the elements, each of which is an argument: a number, or the name of an unknown length.
func elemLength(c *Call, i int) (tensor.Dim, error) {
	t := c.TypeAt("elem_shape", i)
	if count, ok := t.Shape.Count(); !ok || count != 1 {
		return 0, fmt.Errorf("elem_shape has %v as its length %d, expected a scalar", t, i)
	}
	if t.DType == tensor.String {
		return tensor.Unknown, nil
	}
	n := c.TensorAt("elem_shape", i).Int64s()[0]
	if n < 0 {
		return 0, fmt.Errorf("elem_shape has %d as its length %d, expected no negative one", n, i)
	}
	return tensor.Dim(n), nil
}

func evalMakeList(c *Call) error {
	l := &List{Items: make([]*tensor.Tensor, c.Int("init_length")), Fixed: !c.Bool("dynamic_length")}
	if zero := zeroElem(c.outs[0].(*mil.ListType).Elem); zero != nil {
		for i := range l.Items {
			l.Items[i] = zero
		}
	}
	c.Return(0, l)
	return nil
}

// zeroElem is what an element is before it is written; nil if its shape is not known.
func zeroElem(elem mil.Type) *tensor.Tensor {
	t, ok := elem.(*mil.TensorType)
	if !ok || t.AnyRank {
		return nil
	}
	dims, ok := t.Shape.Ints()
	if !ok {
		return nil
	}
	return tensor.New(held(t.DType), dims...)
}

// listItem is an element, zeros if nothing was written to it. It is shaped like its neighbours if the type
// does not say how.
func listItem(c *Call, index int64) (*tensor.Tensor, error) {
	l := listOf(c)
	if err := l.checkIndex(index); err != nil {
		return nil, err
	}
	if v := l.Items[index]; v != nil {
		return v, nil
	}
	for _, v := range l.Items {
		if v != nil {
			return tensor.New(v.DType(), v.Shape()...), nil
		}
	}
	return nil, fmt.Errorf("nothing was written to element %d of the list, and its type %v does not say what shape it has", index, c.AnyType("ls", 0))
}

func (l *List) checkIndex(index int64) error {
	if index < 0 || index >= int64(len(l.Items)) {
		return fmt.Errorf("index %d is not in the list, which has %d elements", index, len(l.Items))
	}
	return nil
}

// inferListWrite is the type of a list after a value of some type is put in.
func inferListWrite(c *Call, value *mil.TensorType) ([]mil.Type, error) {
	elem, err := listElem(c)
	if err != nil {
		return nil, err
	}
	if !mil.Compatible(elem, value) {
		return nil, fmt.Errorf("the value is %v, but the list has elements %v", value, elem)
	}
	return listType(elem), nil
}

// returnWritten returns the list with values at indices. A list that is not fixed grows as far as it must.
func returnWritten(c *Call, indices []int64, values []*tensor.Tensor) error {
	old := listOf(c)
	l := &List{Items: slices.Clone(old.Items), Fixed: old.Fixed}
	last := int64(len(l.Items)) - 1
	for _, index := range indices {
		switch {
		case index < 0 || index >= maxListLength:
			return fmt.Errorf("index %d is out of range: a list has at most %d elements", index, maxListLength)
		case index >= int64(len(l.Items)) && l.Fixed:
			return fmt.Errorf("index %d is not in the list, which has a fixed length of %d", index, len(l.Items))
		}
		last = max(last, index)
	}
	if n := int(last) + 1; n > len(l.Items) {
		zero := zeroElem(c.AnyType("ls", 0).(*mil.ListType).Elem)
		for len(l.Items) < n {
			l.Items = append(l.Items, zero)
		}
	}
	for i, index := range indices {
		l.Items[index] = values[i]
	}
	c.Return(0, l)
	return nil
}

func inferListGather(c *Call) ([]mil.Type, error) {
	elem, err := listElem(c)
	if err != nil {
		return nil, err
	}
	count, err := c.vectorLength("indices")
	if err != nil {
		return nil, err
	}
	if elem.AnyRank {
		return unknownRank(elem.DType)
	}
	return one(elem.DType, joinShapes(tensor.Shape{count}, elem.Shape))
}

func evalListGather(c *Call) error {
	indices := c.Int64s("indices")
	if len(indices) == 0 {
		shape, ok := c.Out(0).Shape.Ints()
		if !ok {
			return fmt.Errorf("indices is empty, and the type of the list %v does not say what shape its elements have", c.AnyType("ls", 0))
		}
		c.Return(0, tensor.New(held(c.Out(0).DType), shape...))
		return nil
	}
	first, err := listItem(c, indices[0])
	if err != nil {
		return err
	}
	shape := append([]int{len(indices)}, first.Shape()...)
	if err := c.checkMemory(&mil.TensorType{DType: first.DType(), Shape: tensor.ShapeOf(shape...)}); err != nil {
		return err
	}
	out := tensor.New(first.DType(), shape...)
	l := listOf(c)
	for i, index := range indices {
		if err := l.checkIndex(index); err != nil {
			return err
		}
		item := l.Items[index]
		if item == nil { // zeros, shaped like the others, as they are there already
			continue
		}
		if err := copyToSlice(out, i, item); err != nil {
			return fmt.Errorf("the elements %d and %d of the list have shapes %v and %v, expected the same",
				indices[0], index, first.Shape(), item.Shape())
		}
	}
	c.Return(0, out)
	return nil
}

// copyToSlice writes v to position i of the first axis of t.
func copyToSlice(t *tensor.Tensor, i int, v *tensor.Tensor) error {
	slot, err := sliceAt(t, i)
	if err != nil {
		return err
	}
	return slot.CopyFrom(v)
}

// sliceAt is position i of the first axis, without that axis.
func sliceAt(t *tensor.Tensor, i int) (*tensor.Tensor, error) {
	s, err := t.Slice(0, i, 1, 1)
	if err != nil {
		return nil, err
	}
	return s.Reshape(s.Shape()[1:]...)
}

func inferListScatter(c *Call) ([]mil.Type, error) {
	value := c.Type("value")
	count, err := c.vectorLength("indices")
	if err != nil {
		return nil, err
	}
	if len(value.Shape) == 0 {
		return nil, errors.New("value is a scalar, expected a first axis that counts elements")
	}
	if _, ok := meet(count, value.Shape[0]); !ok {
		return nil, fmt.Errorf("value has shape %v, but there are %v indices", value.Shape, count)
	}
	return inferListWrite(c, &mil.TensorType{DType: value.DType, Shape: value.Shape[1:]})
}

func evalListScatter(c *Call) error {
	indices, value := c.Int64s("indices"), c.Tensor("value").Dense()
	values := make([]*tensor.Tensor, len(indices))
	for i := range values {
		var err error
		if values[i], err = sliceAt(value, i); err != nil {
			return err
		}
	}
	return returnWritten(c, indices, values)
}
