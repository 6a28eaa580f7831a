package tensor

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/espalier-ane/espalier/internal/limit"
	"github.com/espalier-ane/espalier/internal/osfile"
)

// NumPy's array file, format versions 1 to 3:
//
//	"\x93NUMPY" major minor | header length u16 (u32 from version 2) | header, a Python dictionary | elements
//
// Source: numpy/lib/format.py. Elements that only a pickle could hold are refused.

const npyMagic = "\x93NUMPY"

// npyHeader is what the header of an array file says.
type npyHeader struct {
	descr   string // "<f4", "|b1", "<U7"
	fortran bool
	shape   []int
}

// IsNPY reports whether a file begins as an array file does.
func IsNPY(data []byte) bool { return bytes.HasPrefix(data, []byte(npyMagic)) }

// ReadNPY reads an array file. Text arrays ("<U7", "|S7") become String tensors.
func ReadNPY(r io.Reader) (*Tensor, error) {
	return readNPY(r, room{there: math.MaxInt64, memory: osfile.MemoryLimit()})
}

// room is how much an array file can have and may take.
type room struct {
	there        int64 // bytes that the file has at most
	used, memory int64 // bytes of other arrays, and of all together
}

// textOverhead is what a string takes beside its characters.
const textOverhead = 16

// check refuses an array of so many bytes in the file that takes so many in memory.
func (m room) check(size, taken int) error {
	switch {
	case int64(size) > m.there:
		return fmt.Errorf("expected %d bytes of elements, found %d or less", size, m.there)
	case int64(taken) > m.memory-m.used:
		return &limit.Error{Resource: limit.Memory, What: "the array", Asked: int64(taken), InUse: m.used, Allowed: m.memory}
	}
	return nil
}

func readNPY(r io.Reader, m room) (*Tensor, error) {
	h, err := readNPYHeader(r)
	if err != nil {
		return nil, fmt.Errorf("npy: %w", err)
	}
	t, err := readNPYData(r, h, m)
	if err != nil {
		return nil, fmt.Errorf("npy: %s array of shape %v: %w", h.descr, ShapeOf(h.shape...), err)
	}
	return t, nil
}

func readNPYHeader(r io.Reader) (npyHeader, error) {
	var h npyHeader
	start := make([]byte, 10)
	if _, err := io.ReadFull(r, start); err != nil || string(start[:6]) != npyMagic {
		return h, errors.New(`not an array file: it does not begin with "\x93NUMPY"`)
	}
	size := int(binary.LittleEndian.Uint16(start[8:]))
	if major := start[6]; major >= 2 && major <= 3 {
		var high [2]byte
		if _, err := io.ReadFull(r, high[:]); err != nil {
			return h, errors.New("the header is truncated")
		}
		size |= int(binary.LittleEndian.Uint16(high[:])) << 16
	} else if major != 1 {
		return h, fmt.Errorf("format version %d is not known", major)
	}
	const limit = 1 << 16 // NumPy itself refuses more than 10,000 characters
	if size > limit {
		return h, fmt.Errorf("a header of %d bytes is not plausible", size)
	}
	text := make([]byte, size)
	if _, err := io.ReadFull(r, text); err != nil {
		return h, errors.New("the header is truncated")
	}
	return parseNPYHeader(string(text))
}

// parseNPYHeader reads the dictionary {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }.
func parseNPYHeader(text string) (npyHeader, error) {
	var h npyHeader
	bad := func(what string) (npyHeader, error) {
		return h, fmt.Errorf("header %.200q: %s", strings.TrimSpace(text), what)
	}
	rest := strings.TrimSpace(text)
	body, ok := strings.CutPrefix(rest, "{")
	if !ok {
		return bad("expected a dictionary")
	}
	seen := map[string]bool{}
	for {
		body = strings.TrimLeft(body, " \n,")
		if strings.HasPrefix(body, "}") {
			break
		}
		key, after, ok := pyString(body)
		if !ok || seen[key] {
			return bad("expected each key once")
		}
		seen[key] = true
		after = strings.TrimLeft(after, " ")
		if after, ok = strings.CutPrefix(after, ":"); !ok {
			return bad("expected ':' after " + key)
		}
		body = strings.TrimLeft(after, " ")
		switch key {
		case "descr":
			if h.descr, body, ok = pyString(body); !ok {
				return bad("its elements are records, which are not supported")
			}
		case "fortran_order":
			if body, h.fortran = strings.CutPrefix(body, "True"); !h.fortran {
				if body, ok = strings.CutPrefix(body, "False"); !ok {
					return bad("expected True or False as fortran_order")
				}
			}
		case "shape":
			if h.shape, body, ok = pyTuple(body); !ok {
				return bad("expected a tuple of lengths as shape")
			}
		default:
			return bad("unknown key " + key)
		}
	}
	if len(seen) != 3 {
		return bad("expected the keys descr, fortran_order and shape")
	}
	return h, nil
}

func pyString(s string) (val, rest string, ok bool) {
	if s == "" || s[0] != '\'' && s[0] != '"' {
		return "", s, false
	}
	end := strings.IndexByte(s[1:], s[0])
	if end < 0 {
		return "", s, false
	}
	return s[1 : 1+end], s[end+2:], true
}

func pyTuple(s string) (dims []int, rest string, ok bool) {
	if s == "" || s[0] != '(' {
		return nil, s, false
	}
	end := strings.IndexByte(s, ')')
	if end < 0 {
		return nil, s, false
	}
	dims = []int{}
	for part := range strings.SplitSeq(s[1:end], ",") {
		part = strings.TrimSuffix(strings.TrimSpace(part), "L") // Python 2 wrote long integers
		if part == "" {
			continue
		}
		n, err := strconv.Atoi(part)
		if err != nil || n < 0 {
			return nil, s, false
		}
		dims = append(dims, n)
	}
	return dims, s[end+1:], true
}

func readNPYData(r io.Reader, h npyHeader, m room) (*Tensor, error) {
	n, ok := Count(h.shape)
	if !ok {
		return nil, errors.New("the shape has too many elements")
	}
	if len(h.descr) < 2 {
		return nil, errors.New("the element type is not known")
	}
	order, code := h.descr[0], h.descr[1:]
	shape := slices.Clone(h.shape)
	if h.fortran {
		slices.Reverse(shape)
	}
	var t *Tensor
	switch code[0] {
	case 'U', 'S':
		width, err := strconv.Atoi(code[1:])
		if err != nil || width < 0 || width > 1<<20 {
			return nil, errors.New("the element type is not known")
		}
		if t, err = readText(r, m, code[0], width, order == '>', n, shape); err != nil {
			return nil, err
		}
	case 'O':
		return nil, errors.New("its elements are Python objects, which only a pickle can hold")
	default:
		d := npyDType(code)
		if d == Invalid || !strings.ContainsRune("<>|=", rune(order)) {
			return nil, errors.New("the element type is not supported")
		}
		size, _ := d.ByteLen(n)
		data, err := readExactly(r, m, size)
		if err != nil {
			return nil, err
		}
		if order == '>' {
			swapBytes(data, d.Size())
		}
		if d == Bool {
			for i := range data {
				data[i] = min(data[i], 1)
			}
		}
		if t, err = FromBytes(d, shape, data); err != nil {
			return nil, err
		}
	}
	if h.fortran {
		perm := make([]int, len(shape))
		for i := range perm {
			perm[i] = len(shape) - 1 - i
		}
		v, err := t.Transpose(perm...)
		if err != nil {
			return nil, err
		}
		t = v.Clone()
	}
	return t, nil
}

func npyDType(code string) DType {
	for d := Invalid + 1; d < numDTypes; d++ {
		if dtypes[d].npy == code {
			return d
		}
	}
	return Invalid
}

// readExactly reads n bytes. Its memory grows with what is there, for a header may promise anything; where it is known how
// much there is, it is taken once.
func readExactly(r io.Reader, m room, n int) ([]byte, error) {
	if err := m.check(n, n); err != nil {
		return nil, err
	}
	if m.there < math.MaxInt64 {
		data := make([]byte, n)
		if got, err := io.ReadFull(r, data); err != nil {
			return nil, fmt.Errorf("expected %d bytes of elements, found %d: %w", n, got, err)
		}
		return data, nil
	}
	var buf bytes.Buffer
	buf.Grow(min(n, 1<<20))
	got, err := io.Copy(&buf, io.LimitReader(r, int64(n)))
	if err != nil {
		return nil, err
	}
	if got < int64(n) {
		return nil, fmt.Errorf("expected %d bytes of elements, found %d", n, got)
	}
	return buf.Bytes(), nil
}

// readText reads fixed-width strings: UTF-32 for 'U', bytes for 'S', padded with NUL.
func readText(r io.Reader, m room, kind byte, width int, bigEndian bool, n int, shape []int) (*Tensor, error) {
	unit := 1
	if kind == 'U' {
		unit = 4
	}
	if n > math.MaxInt64/8/(width+textOverhead) {
		return nil, errors.New("the array is too large")
	}
	if err := m.check(0, n*(width*unit+textOverhead)); err != nil {
		return nil, err
	}
	data, err := readExactly(r, m, n*width*unit)
	if err != nil {
		return nil, err
	}
	if width == 0 && n > 1<<24 {
		return nil, errors.New("the array is too large")
	}
	if bigEndian {
		swapBytes(data, unit)
	}
	vals := make([]string, n)
	for i := range vals {
		cell := data[i*width*unit : (i+1)*width*unit]
		if kind == 'S' {
			vals[i] = string(bytes.TrimRight(cell, "\x00"))
			continue
		}
		var b strings.Builder
		for ; len(cell) > 0; cell = cell[4:] {
			b.WriteRune(rune(binary.LittleEndian.Uint32(cell)))
		}
		vals[i] = strings.TrimRight(b.String(), "\x00")
	}
	return Of(vals, shape...), nil
}

func swapBytes(data []byte, size int) {
	for i := 0; size > 1 && i+size <= len(data); i += size {
		slices.Reverse(data[i : i+size])
	}
}

// WriteNPY writes an array file, version 1. Element types that NumPy does not have are widened: bf16 and
// fp8 to fp32, sub-byte integers to bytes.
func WriteNPY(w io.Writer, t *Tensor) error {
	if t.dtype == String {
		return writeText(w, t)
	}
	if dtypes[t.dtype].npy == "" {
		wide := UInt8
		switch t.dtype.Kind() {
		case KindFloat:
			wide = Float32
		case KindInt:
			wide = Int8
		}
		var err error
		if t, err = t.Convert(wide); err != nil {
			return err
		}
	}
	order := "<"
	if t.dtype.Size() == 1 {
		order = "|"
	}
	if err := writeNPYHeader(w, order+dtypes[t.dtype].npy, t.shape); err != nil {
		return err
	}
	_, err := w.Write(t.Bytes())
	return err
}

func writeText(w io.Writer, t *Tensor) error {
	vals := t.Strings()
	width := 1 // NumPy has no zero-width strings
	for _, s := range vals {
		width = max(width, utf8.RuneCountInString(s))
	}
	if err := writeNPYHeader(w, "<U"+strconv.Itoa(width), t.shape); err != nil {
		return err
	}
	cell := make([]byte, 4*width)
	for _, s := range vals {
		clear(cell)
		i := 0
		for _, r := range s {
			binary.LittleEndian.PutUint32(cell[4*i:], uint32(r))
			i++
		}
		if _, err := w.Write(cell); err != nil {
			return err
		}
	}
	return nil
}

func writeNPYHeader(w io.Writer, descr string, shape []int) error {
	var dims strings.Builder
	for _, d := range shape {
		dims.WriteString(strconv.Itoa(d) + ", ")
	}
	tuple := strings.TrimSuffix(dims.String(), " ") // "3," for one axis
	if len(shape) != 1 {
		tuple = strings.TrimSuffix(tuple, ",")
	}
	text := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", descr, tuple)
	// The elements begin at a multiple of 64.
	pad := 63 - (len(npyMagic)+4+len(text))%64
	text += strings.Repeat(" ", pad) + "\n"
	if len(text) > math.MaxUint16 {
		return fmt.Errorf("npy: a shape of %d axes does not fit the header", len(shape))
	}
	head := append([]byte(npyMagic), 1, 0, byte(len(text)), byte(len(text)>>8))
	_, err := w.Write(append(head, text...))
	return err
}
