package e5rt

import (
	"encoding/binary"
	"math"
	"unsafe"

	"github.com/espalier-ane/espalier/internal/kernel/half"
	"github.com/espalier-ane/espalier/tensor"
)

// converts reports whether convert can take the types.
func converts(from, to tensor.DType) bool {
	able := func(d tensor.DType) bool {
		return d == tensor.Bool || d.IsInteger() && !d.SubByte() || d == tensor.Float16 || d == tensor.Float32 || d == tensor.BFloat16
	}
	return from == to || able(from) && able(to)
}

// convert writes the elements of one buffer into another of as many elements, by
// the rules of tensor.Convert, and allocates nothing.
func convert(to, from *tensor.Tensor) {
	src, dst := from.Bytes(), to.Bytes()
	s, d := from.DType(), to.DType()
	switch {
	case s == d:
		copy(dst, src)
	case s == tensor.Float32 && d == tensor.Float16 && aligned(src):
		half.Put(dst, tensor.Data[float32](from))
	case s == tensor.Float16 && d == tensor.Float32 && aligned(dst):
		half.Floats(tensor.Data[float32](to), src)
	case s.IsFloat() || d.IsFloat():
		var chunk [256]float32
		for len(src) > 0 {
			n := min(len(chunk), len(src)/s.Size())
			readFloats(chunk[:n], src, s)
			writeFloats(dst, chunk[:n], d)
			src, dst = src[n*s.Size():], dst[n*d.Size():]
		}
	default:
		for len(src) > 0 {
			writeInt(dst, readInt(src, s), d)
			src, dst = src[s.Size():], dst[d.Size():]
		}
	}
}

// aligned reports whether floats can be read and written where they lie.
func aligned(b []byte) bool {
	return uintptr(unsafe.Pointer(unsafe.SliceData(b)))%unsafe.Alignof(float32(0)) == 0
}

func readFloats(to []float32, b []byte, d tensor.DType) {
	le := binary.LittleEndian
	switch d {
	case tensor.Float16:
		half.Floats(to, b)
	case tensor.Float32:
		b = b[:4*len(to)]
		for i := range to {
			to[i] = math.Float32frombits(le.Uint32(b[4*i:]))
		}
	case tensor.BFloat16:
		for i := range to {
			to[i] = tensor.BF16(le.Uint16(b[2*i:]))
		}
	case tensor.UInt64:
		for i := range to {
			to[i] = float32(le.Uint64(b[8*i:]))
		}
	default:
		for i := range to {
			to[i] = float32(readInt(b[i*d.Size():], d))
		}
	}
}

func writeFloats(b []byte, from []float32, d tensor.DType) {
	le := binary.LittleEndian
	switch d {
	case tensor.Float16:
		half.Put(b, from)
	case tensor.Float32:
		b = b[:4*len(from)]
		for i, v := range from {
			le.PutUint32(b[4*i:], math.Float32bits(v))
		}
	case tensor.BFloat16:
		for i, v := range from {
			le.PutUint16(b[2*i:], tensor.ToBF16(v))
		}
	case tensor.Bool:
		for i, v := range from {
			b[i] = 0
			if v != 0 {
				b[i] = 1
			}
		}
	default:
		for i, v := range from {
			writeInt(b[i*d.Size():], truncate(v), d)
		}
	}
}

// truncate rounds towards zero, within the range of int64.
func truncate(v float32) int64 {
	switch {
	case v != v:
		return 0
	case v >= math.MaxInt64:
		return math.MaxInt64
	case v <= math.MinInt64:
		return math.MinInt64
	}
	return int64(v)
}

func readInt(b []byte, d tensor.DType) int64 {
	le := binary.LittleEndian
	switch d {
	case tensor.Int8:
		return int64(int8(b[0]))
	case tensor.UInt8:
		return int64(b[0])
	case tensor.Bool:
		return int64(min(b[0], 1))
	case tensor.Int16:
		return int64(int16(le.Uint16(b)))
	case tensor.UInt16:
		return int64(le.Uint16(b))
	case tensor.Int32:
		return int64(int32(le.Uint32(b)))
	case tensor.UInt32:
		return int64(le.Uint32(b))
	}
	return int64(le.Uint64(b))
}

func writeInt(b []byte, v int64, d tensor.DType) {
	le := binary.LittleEndian
	switch d.Size() {
	case 1:
		b[0] = byte(v)
		if d == tensor.Bool {
			b[0] = 0
			if v != 0 {
				b[0] = 1
			}
		}
	case 2:
		le.PutUint16(b, uint16(v))
	case 4:
		le.PutUint32(b, uint32(v))
	default:
		le.PutUint64(b, uint64(v))
	}
}
