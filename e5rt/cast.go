package e5rt

import (
	"encoding/binary"
	"math"
	"unsafe"

	"github.com/espalier-ane/espalier/internal/kernel/half"
	"github.com/espalier-ane/espalier/internal/kernel/vec"
	"github.com/espalier-ane/espalier/tensor"
)

// converts reports whether convertPart can take the types.
func converts(from, to tensor.DType) bool {
	able := func(d tensor.DType) bool {
		return d == tensor.Bool || d.IsInteger() && !d.SubByte() || d == tensor.Float16 || d == tensor.Float32 || d == tensor.BFloat16
	}
	return from == to || able(from) && able(to)
}

// convertPart converts elements that lie side by side, by the rules of
// tensor.Convert.
func convertPart(dst, src []byte, s, d tensor.DType) {
	switch {
	case s == d:
		copy(dst, src)
	case s == tensor.Float32 && d == tensor.Float16: // by far the most frequent
		half.Narrow(dst, src)
	case s == tensor.Float16 && d == tensor.Float32 && uintptr(unsafe.Pointer(unsafe.SliceData(dst)))%4 == 0:
		widen(unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(dst))), len(src)/2), src)
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

// widen reads fp16 numbers; a NaN stays as it was, quiet or not.
func widen(to []float32, b []byte) {
	for part := 1024; len(to) > 0; to, b = to[part:], b[2*part:] {
		part = min(part, len(to))
		half.Floats(to[:part], b)
		if !vec.HasNaN(to[:part]) {
			continue
		}
		for i, v := range to[:part] {
			if v != v {
				to[i] = tensor.F16(binary.LittleEndian.Uint16(b[2*i:]))
			}
		}
	}
}

func readFloats(to []float32, b []byte, d tensor.DType) {
	le := binary.LittleEndian
	if d == tensor.Float16 {
		widen(to, b)
		return
	}
	for i := range to {
		switch d {
		case tensor.Float32:
			to[i] = math.Float32frombits(le.Uint32(b[4*i:]))
		case tensor.BFloat16:
			to[i] = tensor.BF16(le.Uint16(b[2*i:]))
		case tensor.UInt64:
			to[i] = float32(le.Uint64(b[8*i:]))
		default:
			to[i] = float32(readInt(b[i*d.Size():], d))
		}
	}
}

func writeFloats(b []byte, from []float32, d tensor.DType) {
	le := binary.LittleEndian
	for i, v := range from {
		switch d {
		case tensor.Float16:
			le.PutUint16(b[2*i:], tensor.ToF16(v))
		case tensor.Float32:
			le.PutUint32(b[4*i:], math.Float32bits(v))
		case tensor.BFloat16:
			le.PutUint16(b[2*i:], tensor.ToBF16(v))
		case tensor.Bool:
			b[i] = 0
			if v != 0 {
				b[i] = 1
			}
		default:
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
