package firmware

import (
	"encoding/binary"
	"fmt"

	"github.com/espalier-ane/espalier/td"
)

// A Layout is a structure of fixed size in little-endian bytes. What no field
// covers is not known, and kept.
type Layout struct {
	Name   string // as Apple calls it, where that is known
	Size   int    // in bytes
	Source string
	Fields []Field // by offset, without overlap
}

// A Field is a part of a structure.
type Field struct {
	Name       string
	Offset     int
	Size       int // in bytes: 1, 2, 4 or 8 is an unsigned number, any other size is bytes
	Confidence td.Confidence
	Doc        string
}

// IsNumber reports whether the field is a number and not a run of bytes.
func (f Field) IsNumber() bool {
	return f.Size == 1 || f.Size == 2 || f.Size == 4 || f.Size == 8
}

// Field returns the row with the name.
func (l *Layout) Field(name string) (Field, bool) {
	for _, f := range l.Fields {
		if f.Name == name {
			return f, true
		}
	}
	return Field{}, false
}

// Check says whether the data has the size of the structure.
func (l *Layout) Check(data []byte) error {
	if len(data) != l.Size {
		return damage(min(len(data), l.Size), "%s has %d bytes, got %d", l.Name, l.Size, len(data))
	}
	return nil
}

// bytes returns the part of the data that a field covers.
func (l *Layout) bytes(data []byte, name string) ([]byte, error) {
	if err := l.Check(data); err != nil {
		return nil, err
	}
	f, ok := l.Field(name)
	if !ok {
		return nil, fmt.Errorf("%s has no field %q", l.Name, name)
	}
	return data[f.Offset : f.Offset+f.Size : f.Offset+f.Size], nil
}

// Bytes returns a field as a part of the data: to write into it is to write
// into the data.
func (l *Layout) Bytes(data []byte, name string) ([]byte, error) { return l.bytes(data, name) }

// Get returns the number in a field.
func (l *Layout) Get(data []byte, name string) (uint64, error) {
	b, err := l.bytes(data, name)
	if err != nil {
		return 0, err
	}
	v, ok := number(b)
	if !ok {
		return 0, fmt.Errorf("%s: %s is %d bytes, not a number", l.Name, name, len(b))
	}
	return v, nil
}

// Set writes the number into a field.
func (l *Layout) Set(data []byte, name string, v uint64) error {
	b, err := l.bytes(data, name)
	if err != nil {
		return err
	}
	if len(b) < 8 && v>>(8*len(b)) != 0 {
		return fmt.Errorf("%s: %s has %d bytes, too few for %#x", l.Name, name, len(b), v)
	}
	switch len(b) {
	case 1:
		b[0] = byte(v)
	case 2:
		binary.LittleEndian.PutUint16(b, uint16(v))
	case 4:
		binary.LittleEndian.PutUint32(b, uint32(v))
	case 8:
		binary.LittleEndian.PutUint64(b, v)
	default:
		return fmt.Errorf("%s: %s is %d bytes, not a number", l.Name, name, len(b))
	}
	return nil
}

func number(b []byte) (uint64, bool) {
	switch len(b) {
	case 1:
		return uint64(b[0]), true
	case 2:
		return uint64(binary.LittleEndian.Uint16(b)), true
	case 4:
		return uint64(binary.LittleEndian.Uint32(b)), true
	case 8:
		return binary.LittleEndian.Uint64(b), true
	}
	return 0, false
}

// A Part is a piece of a structure: a field, or the bytes between two.
type Part struct {
	Field          // without a name where nothing is known; its place is then that of the gap
	Value   uint64 // of a number
	Content []byte // part of the data
}

// Parts takes the data apart, every byte of it, in order.
func (l *Layout) Parts(data []byte) ([]Part, error) {
	if err := l.Check(data); err != nil {
		return nil, err
	}
	var parts []Part
	pos := 0
	gap := func(end int) {
		if pos < end {
			parts = append(parts, Part{Field: Field{Offset: pos, Size: end - pos}, Content: data[pos:end]})
		}
	}
	for _, f := range l.Fields {
		gap(f.Offset)
		pos = f.Offset + f.Size
		content := data[f.Offset:pos]
		v, _ := number(content)
		parts = append(parts, Part{Field: f, Value: v, Content: content})
	}
	gap(l.Size)
	return parts, nil
}
