package tensor

import (
	"fmt"
	"slices"
	"unsafe"
)

// Tensor is a strided view over memory that it may share with other tensors. Strides and offset count
// elements, not bytes, so that views of sub-byte types are views like any other.
//
//	element (i0, i1, …) is at offset + i0·strides[0] + i1·strides[1] + …
//
// The zero Tensor is not valid; New, FromBytes and Of make tensors.
type Tensor struct {
	dtype   DType
	shape   []int
	strides []int
	offset  int
	data    []byte   // every type but String
	strs    []string // String
}

// New makes a tensor of zeros, false or "". It panics when the shape is negative or overflows: shapes
// that come from a file are checked with Count first.
func New(d DType, shape ...int) *Tensor {
	n, ok := Count(shape)
	if !ok || !d.valid() {
		panic(fmt.Sprintf("bug: tensor.New(%v, %v)", d, shape))
	}
	t := &Tensor{dtype: d, shape: slices.Clone(shape), strides: rowMajor(shape)}
	if d == String {
		t.strs = make([]string, n)
		return t
	}
	size, _ := d.ByteLen(n)
	t.data = make([]byte, size)
	return t
}

// FromBytes makes a tensor over little-endian packed elements in row-major order, without copying.
func FromBytes(d DType, shape []int, data []byte) (*Tensor, error) {
	n, ok := Count(shape)
	if !ok || d.Bits() == 0 {
		return nil, fmt.Errorf("no array of %v elements can have shape %v", d, shape)
	}
	size, _ := d.ByteLen(n)
	if len(data) < size {
		return nil, fmt.Errorf("%v%v takes %d bytes, found %d", d, ShapeOf(shape...), size, len(data))
	}
	return &Tensor{dtype: d, shape: slices.Clone(shape), strides: rowMajor(shape), data: data[:size:size]}, nil
}

// Strided makes a tensor over memory in which neighbours on an axis lie so many bytes apart, without copying. The strides are
// multiples of the element's size, and the memory may go on behind the last element.
func Strided(d DType, shape, strides []int, data []byte) (*Tensor, error) {
	n, ok := Count(shape)
	if !ok || d.Size() == 0 || len(strides) != len(shape) {
		return nil, fmt.Errorf("no array of %v elements can have shape %v and strides %v", d, shape, strides)
	}
	t := &Tensor{dtype: d, shape: slices.Clone(shape), strides: make([]int, len(shape)), data: data[:len(data):len(data)]}
	size := d.Size()
	end := size
	for i, s := range strides {
		if s < 0 || s%size != 0 || n > 0 && shape[i] > 1 && s > (len(data)-end)/(shape[i]-1) {
			return nil, fmt.Errorf("strides %v of %v%v do not stay in %d bytes", strides, d, ShapeOf(shape...), len(data))
		}
		t.strides[i] = s / size
		end += max(shape[i]-1, 0) * s
	}
	if n > 0 && end > len(data) {
		return nil, fmt.Errorf("%v%v with strides %v takes %d bytes, found %d", d, ShapeOf(shape...), strides, end, len(data))
	}
	return t, nil
}

// From returns the memory from the first element on, to the end of what the tensor is a view of: byte strides lead from there to
// the other elements. Strings have none, nor have sub-byte elements that begin within a byte.
func (t *Tensor) From() []byte {
	if bit := t.offset * t.dtype.Bits(); t.dtype != String && bit%8 == 0 {
		return t.data[bit/8:]
	}
	return nil
}

// Number is the Go types whose memory is that of an element type.
type Number interface {
	~bool | ~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~float32 | ~float64
}

// Of makes a tensor that shares vals. The element type follows T; for halves and other types that Go does
// not have, use FromBytes or Convert.
func Of[T Number | ~string](vals []T, shape ...int) *Tensor {
	if n, ok := Count(shape); !ok || n != len(vals) {
		panic(fmt.Sprintf("bug: tensor.Of: %d values for shape %v", len(vals), shape))
	}
	t := &Tensor{shape: slices.Clone(shape), strides: rowMajor(shape)}
	switch v := any(vals).(type) {
	case []string:
		t.dtype, t.strs = String, v
		return t
	}
	t.dtype = dtypeOf[T]()
	if len(vals) > 0 {
		t.data = unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(vals))), len(vals)*int(unsafe.Sizeof(vals[0])))
	}
	return t
}

// Scalar makes a rank-0 tensor.
func Scalar[T Number | ~string](v T) *Tensor { return Of([]T{v}) }

func dtypeOf[T any]() DType {
	var z T
	switch any(z).(type) {
	case bool:
		return Bool
	case int8:
		return Int8
	case int16:
		return Int16
	case int32:
		return Int32
	case int64:
		return Int64
	case uint8:
		return UInt8
	case uint16:
		return UInt16
	case uint32:
		return UInt32
	case uint64:
		return UInt64
	case float32:
		return Float32
	case float64:
		return Float64
	}
	panic(fmt.Sprintf("bug: no element type for %T", z))
}

func rowMajor(shape []int) []int {
	s := make([]int, len(shape))
	n := 1
	for i := len(shape) - 1; i >= 0; i-- {
		s[i] = n
		n *= shape[i]
	}
	return s
}

// DType returns the element type.
func (t *Tensor) DType() DType { return t.dtype }

// Shape returns the lengths of the axes. The caller must not change it.
func (t *Tensor) Shape() []int { return t.shape }

// Strides returns the distance, in elements, between neighbours on each axis. The caller must not change it.
func (t *Tensor) Strides() []int { return t.strides }

// Rank returns the number of axes.
func (t *Tensor) Rank() int { return len(t.shape) }

// Len returns the number of elements.
func (t *Tensor) Len() int {
	n := 1
	for _, d := range t.shape {
		n *= d
	}
	return n
}

// Contiguous reports whether the elements lie densely in row-major order.
func (t *Tensor) Contiguous() bool {
	n := 1
	for i := len(t.shape) - 1; i >= 0; i-- {
		if t.shape[i] != 1 && t.strides[i] != n {
			return t.Len() == 0
		}
		n *= t.shape[i]
	}
	return true
}

// Memory returns where the memory that t is a view of begins, and its size in bytes: views that share theirs begin at
// the same place. Strings and empty tensors have none.
func (t *Tensor) Memory() (start *byte, size int) { return unsafe.SliceData(t.data), len(t.data) }

// Bytes returns the packed little-endian elements in row-major order: the tensor's own memory when that is
// how they lie, else a copy. Bits after the last sub-byte element are zero in a copy. Strings have none.
func (t *Tensor) Bytes() []byte {
	if t.dtype == String {
		return nil
	}
	bits := t.dtype.Bits()
	if t.Contiguous() && t.offset*bits%8 == 0 {
		size, _ := t.dtype.ByteLen(t.Len())
		off := t.offset * bits / 8
		return t.data[off : off+size : off+size]
	}
	return t.Clone().data
}

// Data returns the elements as a Go slice: the tensor's own memory when it is contiguous and aligned, else a
// copy. T must have the size of the element type: halves are uint16.
func Data[T Number](t *Tensor) []T {
	var z T
	if t.dtype.Size() != int(unsafe.Sizeof(z)) {
		panic(fmt.Sprintf("bug: tensor.Data[%T] of %v", z, t.dtype))
	}
	n := t.Len()
	if n == 0 {
		return nil
	}
	b := t.Bytes()
	if uintptr(unsafe.Pointer(unsafe.SliceData(b)))%unsafe.Alignof(z) != 0 {
		out := make([]T, n)
		copy(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(out))), len(b)), b)
		return out
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), n)
}

// Strings returns the elements of a String tensor in row-major order.
func (t *Tensor) Strings() []string {
	if t.dtype != String {
		panic("bug: tensor.Strings of " + t.dtype.String())
	}
	if t.Contiguous() {
		return t.strs[t.offset : t.offset+t.Len()]
	}
	out := make([]string, 0, t.Len())
	t.each(func(i int) { out = append(out, t.strs[i]) })
	return out
}

// Clone returns a dense copy that shares nothing.
func (t *Tensor) Clone() *Tensor {
	out := New(t.dtype, t.shape...)
	if t.dtype == String {
		copy(out.strs, t.Strings())
		return out
	}
	bits := t.dtype.Bits()
	switch {
	case bits >= 8:
		copyStrided(out.data, t, bits/8)
	default:
		k := 0
		t.each(func(i int) {
			putBits(out.data, k, bits, getBits(t.data, i, bits))
			k++
		})
	}
	return out
}

// Dense returns t itself if it is contiguous from the start of its memory, else a dense copy.
func (t *Tensor) Dense() *Tensor {
	if t.offset == 0 && t.Contiguous() {
		return t
	}
	return t.Clone()
}

// copyStrided writes the elements of t, size bytes each, densely to dst, a run of the last axis at a time.
func copyStrided(dst []byte, t *Tensor, size int) {
	if t.Len() == 0 {
		return
	}
	if len(t.shape) == 0 {
		copy(dst, t.data[t.offset*size:(t.offset+1)*size])
		return
	}
	last := len(t.shape) - 1
	n, stride := t.shape[last], t.strides[last]
	outer := *t
	outer.shape, outer.strides = t.shape[:last], t.strides[:last]
	k := 0
	outer.each(func(i int) {
		if stride == 1 {
			copy(dst[k:k+n*size], t.data[i*size:(i+n)*size])
			k += n * size
			return
		}
		for j := 0; j < n; j++ {
			e := (i + j*stride) * size
			copy(dst[k:k+size], t.data[e:e+size])
			k += size
		}
	})
}

// each calls f with the position in memory of every element, in row-major order.
func (t *Tensor) each(f func(i int)) {
	n := t.Len()
	idx := make([]int, len(t.shape))
	at := t.offset
	for ; n > 0; n-- {
		f(at)
		for a := len(idx) - 1; a >= 0; a-- {
			idx[a]++
			at += t.strides[a]
			if idx[a] < t.shape[a] {
				break
			}
			at -= idx[a] * t.strides[a]
			idx[a] = 0
		}
	}
}

// getBits reads element i of n bits from a little-endian bit stream.
func getBits(b []byte, i, n int) uint8 {
	bit := i * n
	v := uint16(b[bit/8])
	if bit%8+n > 8 {
		v |= uint16(b[bit/8+1]) << 8
	}
	return uint8(v>>(bit%8)) & (1<<n - 1)
}

// putBits writes element i of n bits to a little-endian bit stream.
func putBits(b []byte, i, n int, v uint8) {
	bit := i * n
	mask := uint16(1<<n-1) << (bit % 8)
	w := uint16(v) << (bit % 8)
	b[bit/8] = b[bit/8]&^uint8(mask) | uint8(w)
	if bit%8+n > 8 {
		b[bit/8+1] = b[bit/8+1]&^uint8(mask>>8) | uint8(w>>8)
	}
}

// String describes the tensor, not its elements: "fp16[1, 3]".
func (t *Tensor) String() string { return t.dtype.String() + ShapeOf(t.shape...).String() }
