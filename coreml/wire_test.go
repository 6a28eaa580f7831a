package coreml

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// The functions below write protobuf messages: tests say what is in a file, field by field.

func join(parts ...[]byte) []byte { return slices.Concat(parts...) }

// sub is a field that holds a message or bytes.
func sub(num protowire.Number, parts ...[]byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, num, protowire.BytesType), join(parts...))
}

func text(num protowire.Number, s string) []byte { return sub(num, []byte(s)) }

func number(num protowire.Number, v int64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(nil, num, protowire.VarintType), uint64(v))
}

func float(num protowire.Number, v float32) []byte {
	return protowire.AppendFixed32(protowire.AppendTag(nil, num, protowire.Fixed32Type), math.Float32bits(v))
}

// packed is a packed repeated integer.
func packed(num protowire.Number, vs ...int64) []byte {
	var b []byte
	for _, v := range vs {
		b = protowire.AppendVarint(b, uint64(v))
	}
	return sub(num, b)
}

// entry is an entry of a map with string keys.
func entry(num protowire.Number, key string, value ...[]byte) []byte {
	return sub(num, text(1, key), sub(2, value...))
}

// wantFormatError checks that err is a FormatError whose message has the parts.
func wantFormatError(t *testing.T, err error, parts ...string) {
	t.Helper()
	var format *FormatError
	if !errors.As(err, &format) {
		t.Errorf("got error %v of type %T, want a FormatError", err, err)
		return
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q does not say %q", err, part)
		}
	}
}

func TestFieldsPlaces(t *testing.T) {
	data := join(number(1, 300), text(2, "abc"), float(3, 1))
	f := message{data, 100}.fields()
	var starts, ends []int64
	for f.next() {
		starts, ends = append(starts, f.start), append(ends, f.at)
		if f.num == 2 && f.dataAt() != 105 {
			t.Errorf("the text is at %d, want 105", f.dataAt())
		}
	}
	if f.err != nil || !slices.Equal(starts, []int64{100, 103, 108}) || !slices.Equal(ends, []int64{103, 108, 113}) {
		t.Errorf("got fields from %v to %v, error %v", starts, ends, f.err)
	}
}

func TestFieldsDamage(t *testing.T) {
	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{"tag cut off", []byte{0x80}, "byte 0x10: no field can be read here"},
		{"field number 0", []byte{0x00, 0x00}, "byte 0x10: no field can be read here"},
		{"varint cut off", []byte{0x08, 0xff}, "byte 0x10: the value of field 1"},
		{"varint too long", append([]byte{0x08}, bytes.Repeat([]byte{0xff}, 11)...), "byte 0x10: the value of field 1"},
		{"length past the end", []byte{0x12, 0x05, 'a'}, "byte 0x10: the value of field 2"},
		{"length of 2^63", join([]byte{0x12}, protowire.AppendVarint(nil, 1<<63)), "byte 0x10: the value of field 2"},
		{"fixed32 cut off", []byte{0x1d, 1, 2, 3}, "byte 0x10: the value of field 3"},
		{"fixed64 cut off", []byte{0x19, 1, 2, 3}, "byte 0x10: the value of field 3"},
		{"group not closed", []byte{0x0b, 0x08, 0x01}, "byte 0x10: the value of field 1"},
		{"group closed without a start", []byte{0x08, 0x01, 0x0c}, "byte 0x12: the value of field 1"},
		{"reserved wire type", []byte{0x0e}, "byte 0x10: "},
	} {
		f := message{c.data, 0x10}.fields()
		for f.next() {
		}
		if f.err == nil || !strings.Contains(f.err.Error(), c.want) {
			t.Errorf("%s: got error %v, want %q", c.name, f.err, c.want)
		}
	}
}

func TestUnknownFieldsAreKeptInRuns(t *testing.T) {
	unknown := join(number(70, 1), text(71, "x"), float(72, 3))
	data := join(number(1, 6), unknown, number(1, 7), number(70, 2))
	f := message{data, 40}.fields()
	var k keeper
	for f.next() {
		if f.num != 1 {
			k.keep("Test", f)
		}
	}
	if f.err != nil || len(k.unknown) != 2 {
		t.Fatalf("got %d runs, error %v", len(k.unknown), f.err)
	}
	first, second := k.unknown[0], k.unknown[1]
	if first.Message != "Test" || first.Number != 70 || first.Offset != 42 || !bytes.Equal(first.Raw, unknown) {
		t.Errorf("got first run %+v", first)
	}
	if !bytes.Equal(second.Raw, number(70, 2)) || second.Offset != 40+int64(len(data)-len(second.Raw)) {
		t.Errorf("got second run %+v", second)
	}
}
