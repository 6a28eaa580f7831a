package e5

import (
	"encoding/binary"
	"fmt"
	"unicode/utf8"
)

// This file reads FlatBuffers that may be anything at all. The library's own
// accessors trust every offset; these trust none.

// A reading is the state of reading one file, its nested buffers included. After
// the first error, everything that is asked for is empty.
type reading struct {
	err     error
	left    int // bytes that may still be visited
	unknown []string
}

// A file whose parts refer to the same bytes again and again would be decoded
// to more than it is worth. Every visit to a table, string or list costs its
// bytes. A tree visits the bytes of a section twice, once in the file and once
// as a buffer of its own, and a shared vtable for every table, which is larger
// than it.
func budget(size int) int { return 4*size + 4096 }

// maxUnknown bounds the list of unknown fields.
const maxUnknown = 100

// A buffer is a FlatBuffer in the file.
type buffer struct {
	*reading
	data []byte
	base int // where the data stands in the file
}

func (b buffer) fail(pos int, path, format string, args ...any) {
	if b.err == nil {
		b.err = &FormatError{Offset: int64(b.base + pos), Field: path, Msg: fmt.Sprintf(format, args...)}
	}
}

// visit accounts for n bytes at pos, which must be in the buffer.
func (b buffer) visit(pos, n int, path, what string) bool {
	if b.err != nil {
		return false
	}
	if n < 0 || n > len(b.data) || pos < 0 || pos > len(b.data)-n {
		b.fail(pos, path, "%s of %d bytes does not fit into the %d of the buffer", what, n, len(b.data))
		return false
	}
	if b.left -= n; b.left < 0 {
		b.fail(pos, path, "the same bytes are referred to too often")
		return false
	}
	return true
}

func (b buffer) u16(pos int) int    { return int(binary.LittleEndian.Uint16(b.data[pos:])) }
func (b buffer) u32(pos int) uint32 { return binary.LittleEndian.Uint32(b.data[pos:]) }

// follow returns the place to which the reference at pos leads.
func (b buffer) follow(pos int, path string) (int, bool) {
	distance := b.u32(pos)
	if distance == 0 || uint64(distance) > uint64(len(b.data)-pos) || (pos+int(distance))%4 != 0 {
		b.fail(pos, path, "a reference by %d bytes leads nowhere", distance)
		return 0, false
	}
	return pos + int(distance), true
}

// root returns the table that the buffer is about.
func (b buffer) root(path string, schema *Table) table {
	if !b.visit(0, 4, path, "the reference to the root") {
		return table{buffer: b}
	}
	pos, ok := b.follow(0, path)
	if !ok {
		return table{buffer: b}
	}
	return b.table(pos, path, schema)
}

// A table is one of a buffer's tables, absent if it has no slots.
type table struct {
	buffer
	path   string
	pos    int
	size   int // in bytes
	vtable int
	slots  int
}

// table returns the table at pos.
func (b buffer) table(pos int, path string, schema *Table) table {
	none := table{buffer: b, path: path}
	if !b.visit(pos, 4, path, "a table") {
		return none
	}
	// The distance is signed and goes backwards.
	vtable := int64(pos) - int64(int32(b.u32(pos)))
	if vtable < 0 || vtable > int64(len(b.data)-4) || vtable%2 != 0 {
		b.fail(pos, path, "the vtable would be at byte %d of the %d", vtable, len(b.data))
		return none
	}
	t := table{buffer: b, path: path, pos: pos, vtable: int(vtable), size: b.u16(int(vtable) + 2)}
	length := b.u16(t.vtable)
	switch {
	case length < 4 || length%2 != 0:
		b.fail(t.vtable, path, "a vtable of %d bytes", length)
		return none
	case t.size < 4:
		b.fail(t.vtable+2, path, "a table of %d bytes", t.size)
		return none
	case !b.visit(t.vtable, length, path, "a vtable") || !b.visit(pos, t.size, path, "a table"):
		return none
	}
	t.slots = (length - 4) / 2
	for slot := len(schema.Fields); slot < t.slots; slot++ {
		if b.u16(t.vtable+4+2*slot) != 0 && len(b.unknown) < maxUnknown {
			b.unknown = append(b.unknown, fmt.Sprintf("byte 0x%x: %s: field %d", b.base+pos, path, slot))
		}
	}
	return t
}

// field returns where the field of so many bytes stands, false if it is absent.
func (t table) field(slot, size int) (int, bool) {
	if t.err != nil || slot >= t.slots {
		return 0, false
	}
	offset := t.u16(t.vtable + 4 + 2*slot)
	if offset == 0 {
		return 0, false
	}
	if offset < 4 || offset > t.size-size {
		t.fail(t.vtable+4+2*slot, t.path, "field %d of %d bytes would be at byte %d of a table of %d", slot, size, offset, t.size)
		return 0, false
	}
	return t.pos + offset, true
}

func (t table) uint8(slot int) uint8 {
	pos, ok := t.field(slot, 1)
	if !ok {
		return 0
	}
	return t.data[pos]
}

func (t table) uint32(slot int) uint32 {
	pos, ok := t.field(slot, 4)
	if !ok {
		return 0
	}
	return t.u32(pos)
}

func (t table) uint64(slot int) uint64 {
	pos, ok := t.field(slot, 8)
	if !ok {
		return 0
	}
	return binary.LittleEndian.Uint64(t.data[pos:])
}

// text returns the string in a field, "" if it is absent.
func (t table) text(slot int) string {
	pos, ok := t.field(slot, 4)
	if !ok {
		return ""
	}
	return t.textAt(pos, t.path)
}

// textAt returns the string to which the reference at pos leads.
func (b buffer) textAt(pos int, path string) string {
	pos, ok := b.follow(pos, path)
	if !ok || !b.visit(pos, 4, path, "the length of a text") {
		return ""
	}
	n := b.u32(pos)
	if uint64(n) >= uint64(len(b.data)) || !b.visit(pos+4, int(n)+1, path, "a text") {
		b.fail(pos, path, "a text of %d bytes does not fit into the buffer", n)
		return ""
	}
	content := b.data[pos+4 : pos+4+int(n)]
	if b.data[pos+4+int(n)] != 0 {
		b.fail(pos+4+int(n), path, "a text of %d bytes does not end with a zero", n)
		return ""
	}
	if !utf8.Valid(content) {
		b.fail(pos+4, path, "a text is not UTF-8")
		return ""
	}
	return string(content)
}

// list returns where the elements of the list in a field stand, and how many.
func (t table) list(slot, size int) (pos, n int) {
	pos, ok := t.field(slot, 4)
	if !ok {
		return 0, 0
	}
	pos, ok = t.follow(pos, t.path)
	if !ok || !t.visit(pos, 4, t.path, "the length of a list") {
		return 0, 0
	}
	length := t.u32(pos)
	if uint64(length)*uint64(size) > uint64(len(t.data)) || !t.visit(pos+4, int(length)*size, t.path, "a list") {
		t.fail(pos, t.path, "a list of %d elements does not fit into the buffer", length)
		return 0, 0
	}
	return pos + 4, int(length)
}

// bytes returns the bytes in a field, and where they stand in the file. They are
// not a copy.
func (t table) bytes(slot int) (data []byte, base int) {
	pos, n := t.list(slot, 1)
	return t.data[pos : pos+n : pos+n], t.base + pos
}

// uint32s returns the 32-bit numbers in a field.
func (t table) uint32s(slot int) []uint32 {
	pos, n := t.list(slot, 4)
	values := make([]uint32, n)
	for i := range values {
		values[i] = t.u32(pos + 4*i)
	}
	return values
}

// uint64s returns the 64-bit numbers in a field.
func (t table) uint64s(slot int) []uint64 {
	pos, n := t.list(slot, 8)
	values := make([]uint64, n)
	for i := range values {
		values[i] = binary.LittleEndian.Uint64(t.data[pos+8*i:])
	}
	return values
}

// texts returns the strings in a field.
func (t table) texts(slot int) []string {
	pos, n := t.list(slot, 4)
	values := make([]string, 0, n)
	for i := 0; i < n && t.err == nil; i++ {
		values = append(values, t.textAt(pos+4*i, t.path))
	}
	return values
}

// child returns the table in a field.
func (t table) child(slot int, name string, schema *Table) table {
	path := t.under(name)
	pos, ok := t.field(slot, 4)
	if !ok {
		return table{buffer: t.buffer, path: path}
	}
	if pos, ok = t.follow(pos, path); !ok {
		return table{buffer: t.buffer, path: path}
	}
	return t.table(pos, path, schema)
}

// children calls f for each table of the list in a field, until an error.
func (t table) children(slot int, name string, schema *Table, f func(table)) {
	pos, n := t.list(slot, 4)
	for i := 0; i < n && t.err == nil; i++ {
		path := index(t.under(name), i)
		if at, ok := t.follow(pos+4*i, path); ok {
			if child := t.table(at, path, schema); t.err == nil {
				f(child)
			}
		}
	}
}

// under returns the path of a part of the table.
func (t table) under(name string) string {
	if t.path == "" {
		return name
	}
	return t.path + "." + name
}
