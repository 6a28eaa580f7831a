package coreml

import (
	"encoding/binary"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/espalier-ane/espalier/mil"
	"github.com/espalier-ane/espalier/tensor"
)

// value decodes a Value: a constant in the program or in a weight file.
func (d *programDecoder) value(m message) (*mil.Constant, error) {
	if d.depth++; d.depth > maxDepth {
		return nil, damage(m.at, "values are nested more than %d deep", maxDepth)
	}
	defer func() { d.depth-- }()

	c := &mil.Constant{}
	var typ, immediate, blob message
	f := m.fields()
	for f.next() {
		switch f.num {
		case 2:
			f.one("type", &typ)
		case 3:
			f.one("immediateValue", &immediate)
		case 5:
			f.one("blobFileValue", &blob)
		default: // with docString, which mil.Constant has no place for
			d.keep("Value", f)
		}
	}
	if f.err != nil {
		return nil, f.err
	}
	var err error
	if c.Type, err = d.valueType(typ.or(m)); err != nil {
		return nil, under("type", err)
	}
	switch {
	case immediate.present() && blob.present():
		return nil, damage(m.at, "the value is given twice, in the program and in a file")
	case immediate.present():
		return c, under("immediateValue", d.immediate(c, immediate))
	case blob.present():
		return c, under("blobFileValue", d.blobFileValue(c, blob))
	}
	return nil, damage(m.at, "the value is missing: it is neither in the program nor in a file")
}

// blobFileValue decodes a Value.BlobFileValue. Whether the file has what it should is found out by Load.
func (d *programDecoder) blobFileValue(c *mil.Constant, m message) error {
	t, ok := c.Type.(*mil.TensorType)
	if !ok || t.AnyRank || !t.Shape.Known() {
		return damage(m.at, "a value of type %v cannot live in a file", c.Type)
	}
	c.File = &mil.FileRef{Files: d.files}
	f := m.fields()
	for f.next() {
		switch f.num {
		case 1:
			c.File.Path = f.text("fileName")
		case 2:
			if f.has("offset", protowire.VarintType) {
				c.File.Offset = f.bits
			}
		default:
			d.keep("BlobFileValue", f)
		}
	}
	if f.err == nil && c.File.Path == "" {
		return under("fileName", damage(m.at, "the name of the file is missing"))
	}
	return f.err
}

// immediate decodes a Value.ImmediateValue of c's type.
func (d *programDecoder) immediate(c *mil.Constant, m message) error {
	given := false
	f := m.fields()
	for f.next() {
		if f.num > 4 {
			d.keep("ImmediateValue", f)
			continue
		}
		name := [...]string{1: "tensor", 2: "tuple", 3: "list", 4: "dictionary"}[f.num]
		body := f.message(name)
		if f.err == nil && given {
			f.fail(name, "the value is given twice")
		}
		if f.err != nil {
			break
		}
		given = true
		switch t := c.Type.(type) {
		case *mil.TensorType:
			if f.num == 1 {
				var err error
				c.Tensor, err = d.tensorValue(t, body)
				f.wrap(name, err)
				continue
			}
		case *mil.TupleType:
			if f.num == 2 {
				f.wrap(name, d.items(c, body, len(t.Elems), func(i int) mil.Type { return t.Elems[i] }))
				continue
			}
		case *mil.ListType:
			if f.num == 3 {
				length := -1
				if t.Length.Known() {
					length = int(t.Length)
				}
				f.wrap(name, d.items(c, body, length, func(int) mil.Type { return t.Elem }))
				continue
			}
		case *mil.DictType:
			if f.num == 4 {
				f.wrap(name, d.entries(c, t, body))
				continue
			}
		}
		f.fail(name, "a %s cannot be the value of a constant of type %v", name, c.Type)
	}
	if f.err == nil && !given {
		return damage(m.at, "the value is missing")
	}
	return f.err
}

// items decodes a TupleValue or a ListValue of n values, any number if n is negative, the i-th of which must
// fit the type want(i).
func (d *programDecoder) items(c *mil.Constant, m message, n int, want func(i int) mil.Type) error {
	f := m.fields()
	for f.next() {
		if f.num != 1 {
			d.keep("ListValue", f)
			continue
		}
		body := f.message("values")
		if f.err != nil {
			break
		}
		i := len(c.Items)
		if n >= 0 && i >= n {
			f.fail("values", "there are more than the %d values of type %v", n, c.Type)
			break
		}
		f.wrapAt("values", i, d.item(&c.Items, body, want(i)))
	}
	if f.err == nil && n >= 0 && len(c.Items) < n {
		return damage(m.at, "there are %d values, expected %d for type %v", len(c.Items), n, c.Type)
	}
	return f.err
}

// item decodes a Value that must fit a type, and appends it to the list.
func (d *programDecoder) item(list *[]*mil.Constant, m message, want mil.Type) error {
	c, err := d.value(m)
	if err != nil {
		return err
	}
	if !mil.Compatible(c.Type, want) {
		return damage(m.at, "the value is of type %v, expected %v", c.Type, want)
	}
	*list = append(*list, c)
	return nil
}

// entries decodes a DictionaryValue.
func (d *programDecoder) entries(c *mil.Constant, t *mil.DictType, m message) error {
	f := m.fields()
	for f.next() {
		if f.num != 1 {
			d.keep("DictionaryValue", f)
			continue
		}
		body := f.message("values")
		if f.err != nil {
			break
		}
		var key, value message
		g := body.fields()
		for g.next() {
			switch g.num {
			case 1:
				g.one("key", &key)
			case 2:
				g.one("value", &value)
			default:
				d.keep("KeyValuePair", g)
			}
		}
		var pair []*mil.Constant
		if g.err == nil {
			g.wrap("key", d.item(&pair, key.or(body), t.Key))
		}
		if g.err == nil {
			g.wrap("value", d.item(&pair, value.or(body), t.Value))
		}
		f.wrapAt("values", len(c.Entries), g.err)
		if f.err == nil {
			c.Entries = append(c.Entries, mil.Entry{Key: pair[0], Value: pair[1]})
		}
	}
	return f.err
}

// The members of the alternative value in TensorValue (MIL.proto).
const (
	storedFloats   = 1
	storedInts     = 2
	storedBools    = 3
	storedStrings  = 4
	storedLongInts = 5
	storedDoubles  = 6
	storedBytes    = 7
)

var storedNames = [...]string{
	storedFloats: "floats", storedInts: "ints", storedBools: "bools", storedStrings: "strings",
	storedLongInts: "longInts", storedDoubles: "doubles", storedBytes: "bytes",
}

// storable reports whether elements of a type can be stored in the member of TensorValue. coremltools writes
// fp32, fp64, bool and string in their own members, int16, uint16 and int32 in ints, int64 and uint64 in
// longInts, everything else as packed little-endian bytes. Integers are taken from either list of integers,
// and bytes for every number.
func storable(t tensor.DType, member int) bool {
	switch member {
	case storedFloats:
		return t == tensor.Float32
	case storedDoubles:
		return t == tensor.Float64
	case storedBools:
		return t == tensor.Bool
	case storedStrings:
		return t == tensor.String
	case storedInts, storedLongInts:
		return t.IsInteger()
	}
	return t != tensor.String && t != tensor.Bool
}

// tensorValue decodes a TensorValue of the given type. Floats and bytes are not copied where they lie in one
// piece, as they do in every real file.
func (d *programDecoder) tensorValue(t *mil.TensorType, m message) (*tensor.Tensor, error) {
	shape, known := t.Shape.Ints()
	if t.AnyRank || !known {
		return nil, damage(m.at, "a constant needs a shape without unknowns, found %v", t)
	}
	count, ok := tensor.Count(shape)
	if !ok {
		return nil, damage(m.at, "the shape %v has more elements than any memory", t.Shape)
	}

	member := 0
	var values message
	f := m.fields()
	for f.next() {
		if int(f.num) >= len(storedNames) {
			d.keep("TensorValue", f)
			continue
		}
		name := storedNames[f.num]
		if member != 0 {
			f.fail(name, "the elements are given twice, also as %s", storedNames[member])
			break
		}
		member, values = int(f.num), f.message(name)
		if f.err == nil && !storable(t.DType, member) {
			f.fail(name, "the elements of %v cannot be given as %s", t, name)
		}
	}
	switch {
	case f.err != nil:
		return nil, f.err
	case member == 0 && count > 0:
		return nil, damage(m.at, "the elements of %v are missing", t)
	}
	if t.DType == tensor.String {
		out, err := d.texts(values, count)
		if err != nil {
			return nil, under(storedNames[member], err)
		}
		return tensor.Of(out, shape...), nil
	}
	data, err := d.elements(t.DType, member, values)
	if err != nil {
		return nil, under(storedNames[member], err)
	}
	if size, _ := t.DType.ByteLen(count); len(data) != size {
		return nil, under(storedNames[member], damage(m.at, "the elements of %v take %d bytes, found %d", t, size, len(data)))
	}
	array, err := tensor.FromBytes(t.DType, shape, data)
	if err != nil {
		return nil, under(storedNames[member], damage(m.at, "%v", err))
	}
	return array, nil
}

// texts decodes RepeatedStrings.
func (d *programDecoder) texts(m message, count int) ([]string, error) {
	out := []string{}
	f := m.fields()
	for f.next() {
		if f.num != 1 {
			d.keep("RepeatedStrings", f)
			continue
		}
		if len(out) == count {
			f.fail("values", "there are more than the %d strings of the shape", count)
			break
		}
		if f.has("values", protowire.BytesType) && !utf8.Valid(f.data) {
			f.fail("values", "the text is not valid UTF-8")
		}
		out = append(out, string(f.data))
	}
	if f.err == nil && len(out) != count {
		return nil, damage(m.at, "there are %d strings, the shape asks for %d", len(out), count)
	}
	return out, f.err
}

// elements decodes the numbers of a member of TensorValue into the packed form of the element type.
func (d *programDecoder) elements(t tensor.DType, member int, m message) ([]byte, error) {
	var out []byte
	lo, hi := t.IntRange()
	f := m.fields()
	for f.next() {
		if f.num != 1 {
			d.keep("Repeated"+storedNames[member], f)
			continue
		}
		switch member {
		case storedFloats, storedDoubles, storedBytes:
			raw := f.data
			switch {
			case member == storedFloats && f.typ == protowire.Fixed32Type:
				raw = f.raw[len(f.raw)-4:] // a float by itself
			case member == storedDoubles && f.typ == protowire.Fixed64Type:
				raw = f.raw[len(f.raw)-8:]
			case !f.has("values", protowire.BytesType):
				continue
			}
			if out == nil || member == storedBytes { // bytes are not repeated: the last ones count
				out = raw[:len(raw):len(raw)]
			} else {
				out = append(out, raw...)
			}
		case storedBools:
			f.packed("values", protowire.VarintType, func(bits uint64) {
				b := byte(0)
				if bits != 0 {
					b = 1
				}
				out = append(out, b)
			})
		case storedInts, storedLongInts:
			size := t.Size()
			if size == 0 {
				f.fail("values", "elements of type %v are given as bytes", t)
				continue
			}
			f.packed("values", protowire.VarintType, func(bits uint64) {
				v := int64(bits)
				if member == storedInts {
					v = int64(int32(bits))
				}
				// A uint32 in ints and a uint64 in longInts wrap around.
				wraps := t == tensor.UInt64 || t == tensor.UInt32 && member == storedInts
				if !wraps && (v < lo || v >= 0 && uint64(v) > hi) && f.err == nil {
					f.fail("values", "%d does not fit type %v", v, t)
				}
				var b [8]byte
				binary.LittleEndian.PutUint64(b[:], uint64(v))
				out = append(out, b[:size]...)
			})
		}
	}
	return out, f.err
}
