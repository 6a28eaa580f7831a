package anec

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/espalier-ane/espalier/tensor"
)

// A constant in text has its parts as name = type:content, without the type where
// it is that of the constant. The content is a list of few elements, "splat(v)" for
// equal ones, "hex(bytes)" where numbers would not do, else what PrintWith is told:
// "file(name+offset, n)", n bytes of a file, or "blob(digest, n)", the beginning of
// the SHA-256 of n bytes that the text leaves out.

// shownElements is how many elements a list shows.
const shownElements = 16

func (w *printer) constant(c *Constant) string {
	var list []string
	for _, p := range c.parts() {
		if p.tensor == nil {
			continue
		}
		typ := ""
		if p.name != "data" || c.Stored.DType() != c.DType || !sameShape(c.Stored.Shape(), c.Dims[:]) {
			typ = fmt.Sprintf("%v%s:", p.tensor.DType(), formatShape(p.tensor.Shape()))
		}
		list = append(list, p.name+" = "+typ+w.content(p.tensor))
	}
	if c.Palette != nil {
		list = append(list, fmt.Sprintf("vector = %v", c.Palette.VectorAxis))
	}
	if c.Source != (Source{}) {
		list = append(list, fmt.Sprintf("source = %s+%d", quoted(c.Source.File), c.Source.Offset))
	}
	return " {" + strings.Join(list, ", ") + "}"
}

func sameShape(a, b []int) bool { return formatShape(a) == formatShape(b) }

func formatShape(shape []int) string {
	parts := make([]string, len(shape))
	for i, n := range shape {
		parts[i] = strconv.Itoa(n)
	}
	return "[" + strings.Join(parts, ",") + "]"
}

func (w *printer) content(t *tensor.Tensor) string {
	data := t.Bytes()
	if t.Len() > 1 && isSplat(t, data) {
		t, data = firstElement(t, data), data[:max(t.DType().Size(), 1)]
		list := formatList(t, data)
		return "splat(" + strings.TrimSuffix(strings.TrimPrefix(list, "["), "]") + ")"
	}
	if t.Len() <= shownElements {
		return formatList(t, data)
	}
	return w.large(data)
}

// LeftOut is what stands for bytes that a text leaves out.
func LeftOut(data []byte) string { return fmt.Sprintf("blob(%s, %d)", digest(data), len(data)) }

// InFile is what stands for bytes in a file.
func InFile(name string, offset int64, data []byte) string {
	return fmt.Sprintf("file(%s+%d, %d)", quoted(name), offset, len(data))
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
}

func formatList(t *tensor.Tensor, data []byte) string {
	parts := make([]string, t.Len())
	switch d := t.DType(); {
	case d == tensor.Float64 || d == tensor.UInt64:
		return "hex(" + hex.EncodeToString(data) + ")"
	case d.IsFloat():
		for i, f := range t.Float32s() {
			if math.IsNaN(float64(f)) { // which of the many
				return "hex(" + hex.EncodeToString(data) + ")"
			}
			parts[i] = formatFloat(f)
		}
	default:
		for i, n := range t.Int64s() {
			parts[i] = strconv.FormatInt(n, 10)
		}
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// isSplat reports whether all elements are the same bits. Elements that do not
// divide a byte are never.
func isSplat(t *tensor.Tensor, data []byte) bool {
	bits := t.DType().Bits()
	if bits < 8 {
		if 8%bits != 0 || t.Len()*bits%8 != 0 {
			return false
		}
		first := data[0] & (1<<bits - 1)
		for shift := bits; shift < 8; shift += bits {
			if data[0]>>shift&(1<<bits-1) != first {
				return false
			}
		}
		bits = 8
	}
	size := bits / 8
	for i := size; i < len(data); i++ {
		if data[i] != data[i-size] {
			return false
		}
	}
	return true
}

// firstElement returns a tensor of the first element.
func firstElement(t *tensor.Tensor, data []byte) *tensor.Tensor {
	first, err := tensor.FromBytes(t.DType(), []int{1}, data)
	if err != nil {
		panic("bug: a tensor without a first element: " + err.Error())
	}
	return first
}
