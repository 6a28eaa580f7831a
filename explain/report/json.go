package report

import (
	"bytes"
	"encoding/json"
	"io"
)

// WriteJSON writes a value whose type is a schema of docs/json.md.
func WriteJSON(w io.Writer, v any) error {
	compact, err := Marshal(v)
	if err != nil {
		return err
	}
	return Indent(w, compact)
}

// Indent writes JSON for people to read, too.
func Indent(w io.Writer, compact []byte) error {
	_, err := w.Write(indented(compact))
	return err
}

// Marshal is json.Marshal, but that it leaves <, > and & as they are.
func Marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(b.Bytes()), nil
}

// indented gives each member of an object a line, and each element of an array of objects. Arrays of anything else, which
// may have a million numbers, stay on one line.
func indented(compact []byte) []byte {
	var out bytes.Buffer
	depth := 0
	newline := func() {
		out.WriteByte('\n')
		for range depth {
			out.WriteString("  ")
		}
	}
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
