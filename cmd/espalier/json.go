package main

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"strconv"

	"github.com/espalier-ane/espalier/tensor"
)

// printJSON prints a report. The types of the reports are the schema that docs/json.md describes.
func printJSON(w io.Writer, report any) error {
	var compact bytes.Buffer
	e := json.NewEncoder(&compact)
	e.SetEscapeHTML(false)
	if err := e.Encode(report); err != nil {
		return err
	}
	_, err := w.Write(indentJSON(compact.Bytes()))
	return err
}

// indentJSON gives each member of an object a line, and each element of an array of objects. Arrays of
// anything else, which may have a million numbers, stay on one line.
func indentJSON(compact []byte) []byte {
	var out bytes.Buffer
	depth := 0
	newline := func() {
		out.WriteByte('\n')
		for range depth {
			out.WriteString("  ")
		}
	}
	compact = bytes.TrimSpace(compact)
	inline := 0 // how many of the open arrays stay on one line
	for i := 0; i < len(compact); i++ {
		c := compact[i]
		empty := i+1 < len(compact) && (c == '{' && compact[i+1] == '}' || c == '[' && compact[i+1] == ']')
		switch {
		case c == '"':
			n := stringLen(compact[i:])
			out.Write(compact[i : i+n])
			i += n - 1
		case empty:
			out.Write(compact[i : i+2])
			i++
		case c == '[' && (inline > 0 || !holdsObjects(compact[i:])):
			inline++
			out.WriteByte(c)
		case c == ']' && inline > 0:
			inline--
			out.WriteByte(c)
		case c == '{' || c == '[':
			depth++
			out.WriteByte(c)
			newline()
		case c == '}' || c == ']':
			depth--
			newline()
			out.WriteByte(c)
		case c == ',' && inline > 0:
			out.WriteString(", ")
		case c == ',':
			out.WriteByte(c)
			newline()
		case c == ':':
			out.WriteString(": ")
		default:
			out.WriteByte(c)
		}
	}
	out.WriteByte('\n')
	return out.Bytes()
}

// stringLen is the length of the JSON string that b begins with.
func stringLen(b []byte) int {
	for i := 1; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(b)
}

// holdsObjects reports whether the first scalar or object inside the arrays that b begins with is an object.
func holdsObjects(b []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(b, "["), []byte("{"))
}

// number is a float that may be NaN or infinite, which JSON numbers cannot: then it is a string.
type number float64

func (n number) MarshalJSON() ([]byte, error) { return appendNumber(nil, float64(n), 64), nil }

// appendNumber writes a float of the given width with as few digits as tell it from its neighbours.
func appendNumber(b []byte, v float64, bits int) []byte {
	switch {
	case math.IsNaN(v):
		return append(b, `"NaN"`...)
	case math.IsInf(v, 1):
		return append(b, `"Infinity"`...)
	case math.IsInf(v, -1):
		return append(b, `"-Infinity"`...)
	}
	return strconv.AppendFloat(b, v, 'g', -1, bits)
}

// nested is an array as nested lists, the form in which --input reads it too.
type nested struct{ *tensor.Tensor }

func (n nested) MarshalJSON() ([]byte, error) {
	var element func(b []byte, i int) []byte
	switch d := n.DType(); {
	case d == tensor.String:
		vals := n.Strings()
		element = func(b []byte, i int) []byte {
			text, _ := json.Marshal(vals[i]) // strings have no errors
			return append(b, text...)
		}
	case d == tensor.Bool:
		vals := n.Int64s()
		element = func(b []byte, i int) []byte { return strconv.AppendBool(b, vals[i] != 0) }
	case d == tensor.UInt64:
		vals := tensor.Data[uint64](n.Tensor)
		element = func(b []byte, i int) []byte { return strconv.AppendUint(b, vals[i], 10) }
	case d.IsFloat():
		vals, bits := n.Float64s(), 32
		if d == tensor.Float64 {
			bits = 64
		}
		element = func(b []byte, i int) []byte { return appendNumber(b, vals[i], bits) }
	default:
		vals := n.Int64s()
		element = func(b []byte, i int) []byte { return strconv.AppendInt(b, vals[i], 10) }
	}
	next := 0
	var write func(b []byte, shape []int) []byte
	write = func(b []byte, shape []int) []byte {
		if len(shape) == 0 {
			next++
			return element(b, next-1)
		}
		b = append(b, '[')
		for i := range shape[0] {
			if i > 0 {
				b = append(b, ',')
			}
			b = write(b, shape[1:])
		}
		return append(b, ']')
	}
	return write(nil, n.Shape()), nil
}
