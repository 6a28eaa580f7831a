package espalier_test

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"
)

// Specifications as what they are: messages with fields. What is damaged is written with the right lengths again, unless a
// length is what is damaged.

// A protoField is a field of a message.
type protoField struct {
	key   uint64 // number and wire type
	bits  uint64 // of a number
	bytes []byte // of a text, or a message that could not be read
	inner []*protoField
	lie   int64 // what the length is written as beyond the truth
}

const (
	protoVarint  = 0
	protoFixed64 = 1
	protoBytes   = 2
	protoFixed32 = 5
)

// readProto reads a message; nil if the data is none.
func readProto(data []byte, depth int) []*protoField {
	if len(data) == 0 || depth > 40 {
		return nil
	}
	var list []*protoField
	for len(data) > 0 {
		key, n := binary.Uvarint(data)
		if n <= 0 || key>>3 == 0 {
			return nil
		}
		data = data[n:]
		f := &protoField{key: key}
		switch key & 7 {
		case protoVarint:
			if f.bits, n = binary.Uvarint(data); n <= 0 {
				return nil
			}
		case protoFixed64:
			if n = 8; len(data) < n {
				return nil
			}
			f.bits = binary.LittleEndian.Uint64(data)
		case protoFixed32:
			if n = 4; len(data) < n {
				return nil
			}
			f.bits = uint64(binary.LittleEndian.Uint32(data))
		case protoBytes:
			size, m := binary.Uvarint(data)
			if m <= 0 || size > uint64(len(data)-m) {
				return nil
			}
			n = m + int(size)
			f.bytes = data[m:n]
			f.inner = readProto(f.bytes, depth+1)
		default:
			return nil
		}
		data = data[n:]
		list = append(list, f)
	}
	return list
}

func writeProto(to []byte, list []*protoField) []byte {
	for _, f := range list {
		to = binary.AppendUvarint(to, f.key)
		switch f.key & 7 {
		case protoVarint:
			to = binary.AppendUvarint(to, f.bits)
		case protoFixed64:
			to = binary.LittleEndian.AppendUint64(to, f.bits)
		case protoFixed32:
			to = binary.LittleEndian.AppendUint32(to, uint32(f.bits))
		case protoBytes:
			body := f.bytes
			if f.inner != nil {
				body = writeProto(nil, f.inner)
			}
			to = append(binary.AppendUvarint(to, uint64(int64(len(body))+f.lie)), body...)
		}
	}
	return to
}

// damageSpecification damages the fields of a model.
func damageSpecification(t testing.TB, r *rand.Rand) input {
	model := pick(r, mutatedModels)
	files := packageOf(t, model)
	path := pick(r, names(files, "*.mlmodel"))
	top := readProto(files[path], 0)
	for range 1 + r.IntN(3) {
		top = mutateProto(r, top)
	}
	return input{model + " " + path, with(files, path, writeProto(nil, top))}
}

// mutateProto damages a message, or one in it.
func mutateProto(r *rand.Rand, list []*protoField) []*protoField {
	if len(list) == 0 {
		return list
	}
	var messages []*protoField
	for _, f := range list {
		if f.inner != nil {
			messages = append(messages, f)
		}
	}
	if len(messages) > 0 && r.IntN(6) != 0 {
		f := pick(r, messages)
		f.inner = mutateProto(r, f.inner)
		return list
	}
	i, j := r.IntN(len(list)), r.IntN(len(list))
	f := list[i]
	switch r.IntN(8) {
	case 0: // doubled
		return slices.Insert(list, j, f)
	case 1: // in another order
		list[i], list[j] = list[j], list[i]
	case 2: // gone
		return slices.Delete(list, i, i+1)
	case 3: // under another number or of another wire type
		f.key = uint64(edge(r, int64(f.key)))&0x3fff | 8
	case 4: // longer than its message, or shorter
		f.lie = edge(r, 0)
	case 5: // deeper, in itself
		copied := *f
		for range 1 + r.IntN(60) {
			copied = protoField{key: f.key&^7 | protoBytes, inner: []*protoField{{key: copied.key, bits: copied.bits, bytes: copied.bytes, inner: copied.inner}}}
		}
		list[i] = &copied
	default: // another number, another text
		if f.key&7 != protoBytes {
			f.bits = uint64(edge(r, int64(f.bits)))
		} else if f.inner == nil {
			f.bytes = mutateBytes(r, f.bytes, list[j].bytes)
		}
	}
	return list
}
