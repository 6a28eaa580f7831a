package coreml

import (
	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// dataTypes are the codes of DataType in MIL.proto.
var dataTypes = map[int64]tensor.DType{
	1:  tensor.Bool,
	2:  tensor.String,
	10: tensor.Float16,
	11: tensor.Float32,
	12: tensor.Float64,
	13: tensor.BFloat16,
	21: tensor.Int8,
	22: tensor.Int16,
	23: tensor.Int32,
	24: tensor.Int64,
	25: tensor.Int4,
	31: tensor.UInt8,
	32: tensor.UInt16,
	33: tensor.UInt32,
	34: tensor.UInt64,
	35: tensor.UInt4,
	36: tensor.UInt2,
	37: tensor.UInt1,
	38: tensor.UInt6,
	39: tensor.UInt3,
	40: tensor.Float8E4M3FN,
	41: tensor.Float8E5M2,
}

// valueType decodes a ValueType.
func (d *programDecoder) valueType(m message) (mil.Type, error) {
	if d.depth++; d.depth > maxDepth {
		return nil, damage(m.at, "types are nested more than %d deep", maxDepth)
	}
	defer func() { d.depth-- }()

	var t mil.Type
	f := m.fields()
	for f.next() {
		name, known := valueTypeNames[int(f.num)]
		if !known {
			d.keep("ValueType", f)
			continue
		}
		body := f.message(name)
		if f.err == nil && t != nil {
			f.fail(name, "the type is given twice")
		}
		if f.err != nil {
			break
		}
		var err error
		switch f.num {
		case 1:
			t, err = d.tensorType(body)
		case 2:
			t, err = d.listType(body)
		case 3:
			t, err = d.tupleType(body)
		case 4:
			t, err = d.dictType(body)
		case 5:
			t, err = d.stateType(body)
		}
		f.wrap(name, err)
	}
	if f.err == nil && t == nil {
		return nil, damage(m.at, "the type is missing or of a kind that is not known")
	}
	return t, f.err
}

var valueTypeNames = map[int]string{1: "tensorType", 2: "listType", 3: "tupleType", 4: "dictionaryType", 5: "stateType"}

func (d *programDecoder) tensorType(m message) (mil.Type, error) {
	t := &mil.TensorType{}
	rank := int64(0)
	f := m.fields()
	for f.next() {
		switch f.num {
		case 1:
			code := f.int64("dataType")
			if t.DType = dataTypes[code]; t.DType == tensor.Invalid && f.err == nil {
				f.fail("dataType", "element type %d is not known", code)
			}
		case 2:
			rank = f.int64("rank")
		case 3:
			dim, variadic, err := d.dimension(f.message("dimensions"))
			f.wrapAt("dimensions", len(t.Shape), err)
			t.Shape = append(t.Shape, dim)
			t.AnyRank = t.AnyRank || variadic
		default: // with attributes, which mil.TensorType has no place for
			d.keep("TensorType", f)
		}
	}
	switch {
	case f.err != nil:
		return nil, f.err
	case t.DType == tensor.Invalid:
		return nil, under("dataType", damage(m.at, "the element type is missing"))
	case rank < 0 || t.AnyRank:
		t.Shape, t.AnyRank = nil, true
	case rank != int64(len(t.Shape)):
		return nil, under("rank", damage(m.at, "the rank is %d, but there are %d dimensions", rank, len(t.Shape)))
	}
	if t.Shape.Known() {
		if _, ok := t.Shape.Count(); !ok {
			return nil, under("dimensions", damage(m.at, "the shape %v has more elements than any memory", t.Shape))
		}
	}
	return t, nil
}

// dimension decodes a Dimension. A variadic one stands for any number of dimensions.
func (d *programDecoder) dimension(m message) (dim tensor.Dim, variadic bool, err error) {
	dim = tensor.Unknown
	given := false
	f := m.fields()
	for f.next() {
		if f.num > 2 {
			d.keep("Dimension", f)
			continue
		}
		name := "unknown"
		if f.num == 1 {
			name = "constant"
		}
		if given {
			f.fail(name, "the dimension is given twice")
			break
		}
		given = true
		g := f.message(name).fields()
		if f.num == 1 {
			dim = 0 // unless the size follows
		}
		for g.next() {
			switch {
			case g.num != 1:
				d.keep("Dimension."+name, g)
			case f.num == 1:
				dim = tensor.Dim(g.size("size"))
			default:
				variadic = g.bool("variadic")
			}
		}
		f.wrap(name, g.err)
	}
	if f.err == nil && !given {
		return dim, false, damage(m.at, "the dimension is neither constant nor unknown")
	}
	return dim, variadic, f.err
}

func (d *programDecoder) listType(m message) (mil.Type, error) {
	t := &mil.ListType{Length: tensor.Unknown}
	var elem, length message
	f := m.fields()
	for f.next() {
		switch f.num {
		case 1:
			f.one("type", &elem)
		case 2:
			f.one("length", &length)
		default:
			d.keep("ListType", f)
		}
	}
	if f.err != nil {
		return nil, f.err
	}
	var err error
	if t.Elem, err = d.valueType(elem.or(m)); err != nil {
		return nil, under("type", err)
	}
	if length.present() {
		if t.Length, _, err = d.dimension(length); err != nil {
			return nil, under("length", err)
		}
	}
	return t, nil
}

func (d *programDecoder) tupleType(m message) (mil.Type, error) {
	t := &mil.TupleType{}
	f := m.fields()
	for f.next() {
		if f.num != 1 {
			d.keep("TupleType", f)
			continue
		}
		body := f.message("types")
		if f.err != nil {
			break
		}
		elem, err := d.valueType(body)
		f.wrapAt("types", len(t.Elems), err)
		t.Elems = append(t.Elems, elem)
	}
	return t, f.err
}

func (d *programDecoder) dictType(m message) (mil.Type, error) {
	t := &mil.DictType{}
	var key, value message
	f := m.fields()
	for f.next() {
		switch f.num {
		case 1:
			f.one("keyType", &key)
		case 2:
			f.one("valueType", &value)
		default:
			d.keep("DictionaryType", f)
		}
	}
	if f.err != nil {
		return nil, f.err
	}
	var err error
	if t.Key, err = d.valueType(key.or(m)); err != nil {
		return nil, under("keyType", err)
	}
	if t.Value, err = d.valueType(value.or(m)); err != nil {
		return nil, under("valueType", err)
	}
	return t, nil
}

func (d *programDecoder) stateType(m message) (mil.Type, error) {
	var wrapped message
	f := m.fields()
	for f.next() {
		if f.num != 1 {
			d.keep("StateType", f)
			continue
		}
		f.one("wrappedType", &wrapped)
	}
	if f.err != nil {
		return nil, f.err
	}
	elem, err := d.valueType(wrapped.or(m))
	if err != nil {
		return nil, under("wrappedType", err)
	}
	return &mil.StateType{Elem: elem}, nil
}

// or returns m or, where there is none, an empty message at the place of the one that should hold it.
func (m message) or(holder message) message {
	if !m.present() {
		return message{[]byte{}, holder.at}
	}
	return m
}
