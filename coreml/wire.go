package coreml

import (
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// message is a protobuf message as it lies in a file. Its data is nil if there is no message.
type message struct {
	data []byte
	at   int64 // where data begins in the file
}

func (m message) present() bool { return m.data != nil }

// fields walks over the fields of a message without looking into them. Accessors return the value of the
// current field; what is wrong stays in err and ends the walk, so that a decoder checks once:
//
//	f := m.fields()
//	for f.next() {
//		switch f.num {
//		case 1:
//			name = f.text("name")
//		…
//		}
//	}
//	return f.err
type fields struct {
	all   []byte // the message
	allAt int64  // where it begins in the file
	rest  []byte // what is left of it
	at    int64  // where rest begins in the file
	kept  int64  // where the run of uninterpreted fields that was kept last ends

	num   protowire.Number
	typ   protowire.Type
	raw   []byte // the whole field with its tag
	start int64  // where raw begins in the file
	bits  uint64 // the value of a varint, fixed32 or fixed64
	data  []byte // the value of a bytes field

	err error
}

func (m message) fields() *fields { return &fields{all: m.data, allAt: m.at, rest: m.data, at: m.at} }

// next moves to the next field. It returns false at the end and after an error.
func (f *fields) next() bool {
	if f.err != nil || len(f.rest) == 0 {
		return false
	}
	num, typ, n := protowire.ConsumeTag(f.rest)
	if n < 0 {
		f.err = damage(f.at, "no field can be read here: %v", protowire.ParseError(n))
		return false
	}
	value := f.rest[n:]
	size := 0
	switch typ {
	case protowire.VarintType:
		f.bits, size = protowire.ConsumeVarint(value)
	case protowire.Fixed32Type:
		var v uint32
		v, size = protowire.ConsumeFixed32(value)
		f.bits = uint64(v)
	case protowire.Fixed64Type:
		f.bits, size = protowire.ConsumeFixed64(value)
	case protowire.BytesType:
		f.data, size = protowire.ConsumeBytes(value)
	default: // a group, which no known field is
		size = protowire.ConsumeFieldValue(num, typ, value)
	}
	if size < 0 {
		f.err = damage(f.at, "the value of field %d is cut off or damaged, %d bytes are left: %v", num, len(value), protowire.ParseError(size))
		return false
	}
	size += n
	f.num, f.typ, f.raw, f.start = num, typ, f.rest[:size:size], f.at
	f.rest = f.rest[size:]
	f.at += int64(size)
	return true
}

// dataAt is where the data of a bytes field begins in the file.
func (f *fields) dataAt() int64 { return f.at - int64(len(f.data)) }

// fail ends the walk with an error about the current field.
func (f *fields) fail(name string, format string, args ...any) {
	f.err = under(name, damage(f.start, format, args...))
}

// has checks the wire type of the current field.
func (f *fields) has(name string, typ protowire.Type) bool {
	if f.typ != typ {
		f.fail(name, "the field has wire type %s, expected %s", wireName(f.typ), wireName(typ))
		return false
	}
	return true
}

func wireName(t protowire.Type) string {
	switch t {
	case protowire.VarintType:
		return "varint"
	case protowire.Fixed32Type:
		return "fixed32"
	case protowire.Fixed64Type:
		return "fixed64"
	case protowire.BytesType:
		return "bytes"
	}
	return "group"
}

// message is the current field as a message.
func (f *fields) message(name string) message {
	if !f.has(name, protowire.BytesType) {
		return message{}
	}
	return message{f.data, f.dataAt()}
}

// one stores the current field, a message that may occur once.
func (f *fields) one(name string, m *message) {
	if m.present() {
		f.fail(name, "the field occurs a second time, after byte 0x%x", m.at)
		return
	}
	*m = f.message(name)
}

// text is the current field as a string.
func (f *fields) text(name string) string {
	if !f.has(name, protowire.BytesType) {
		return ""
	}
	if !utf8.Valid(f.data) {
		f.fail(name, "the text is not valid UTF-8")
		return ""
	}
	return string(f.data)
}

// int64 is the current field as an int64 or an enumeration.
func (f *fields) int64(name string) int64 {
	if !f.has(name, protowire.VarintType) {
		return 0
	}
	return int64(f.bits)
}

// size is the current field as an int64 or uint64 that counts something, and so fits an int and is not negative.
func (f *fields) size(name string) int {
	if !f.has(name, protowire.VarintType) {
		return 0
	}
	if f.bits > math.MaxInt {
		f.fail(name, "%d is not a possible length", int64(f.bits))
		return 0
	}
	return int(f.bits)
}

// bool is the current field as a truth value.
func (f *fields) bool(name string) bool {
	return f.has(name, protowire.VarintType) && f.bits != 0
}

// entry takes the current field apart as an entry of a map with string keys.
func (f *fields) entry(name string) (key string, value message) {
	e := f.message(name).fields()
	for e.next() {
		switch e.num {
		case 1:
			key = e.text("key")
		case 2:
			e.one("value", &value)
		}
	}
	if e.err != nil && f.err == nil {
		f.err = under(fmt.Sprintf("%s[%s]", name, key), e.err)
	}
	if !value.present() { // an absent value is an empty one
		value = message{[]byte{}, f.at}
	}
	return key, value
}

// wrap ends the walk with the error of something that the current field holds, if there is one.
func (f *fields) wrap(name string, err error) {
	if err != nil && f.err == nil {
		f.err = under(name, err)
	}
}

// wrapAt is wrap for the i-th element of a repeated field.
func (f *fields) wrapAt(name string, i int, err error) {
	if err != nil {
		f.wrap(name+"["+strconv.Itoa(i)+"]", err)
	}
}

// packed calls add for each number of the current field, which is a repeated scalar: packed, or one of them.
func (f *fields) packed(name string, typ protowire.Type, add func(bits uint64)) {
	if f.typ == typ {
		add(f.bits)
		return
	}
	if !f.has(name, protowire.BytesType) {
		return
	}
	for rest := f.data; len(rest) > 0; {
		var v uint64
		var n int
		switch typ {
		case protowire.VarintType:
			v, n = protowire.ConsumeVarint(rest)
		case protowire.Fixed32Type:
			var v32 uint32
			v32, n = protowire.ConsumeFixed32(rest)
			v = uint64(v32)
		case protowire.Fixed64Type:
			v, n = protowire.ConsumeFixed64(rest)
		}
		if n < 0 {
			f.err = under(name, damage(f.at-int64(len(rest)), "the packed numbers are cut off or damaged: %v", protowire.ParseError(n)))
			return
		}
		add(v)
		rest = rest[n:]
	}
}

// UnknownField is a run of fields that this package does not interpret.
type UnknownField struct {
	Message string // the type of the message that holds them, as the specification spells it: "Model"
	Number  int    // of the first field
	Offset  int64  // in the file
	Raw     []byte // the fields with their tags; part of the mapping
}

// keeper collects the fields that are not interpreted.
type keeper struct{ unknown []UnknownField }

// keep adds the current field of f. Fields that follow each other are kept as one run: a file that is made of
// small unknown fields must not cost a record each.
func (k *keeper) keep(message string, f *fields) {
	if n := len(k.unknown); n > 0 && f.kept == f.start && f.kept > 0 {
		last := &k.unknown[n-1]
		last.Raw = f.all[last.Offset-f.allAt : f.at-f.allAt : f.at-f.allAt]
	} else {
		k.unknown = append(k.unknown, UnknownField{message, int(f.num), f.start, f.raw})
	}
	f.kept = f.at
}
