package strided

import (
	"encoding/binary"
	"math"

	"github.com/espalier-ane/espalier/internal/kernel/half"
	"github.com/espalier-ane/espalier/tensor"
)

// sizeOf is the number of bytes of an element, 1 for those that share bytes: it
// is the unit of strides.
func sizeOf(t tensor.DType) int { return max(t.Size(), 1) }

// narrow reports whether storing rounds a float32.
func narrow(t tensor.DType) bool { return t.IsFloat() && t.Bits() < 32 }

// eighths has the values of the two types of 8 bits.
var eighths = func() (tables [2][256]float32) {
	for b := range 256 {
		tables[0][b], tables[1][b] = tensor.F8E4M3(uint8(b)), tensor.F8E5M2(uint8(b))
	}
	return tables
}()

// toInt truncates towards zero; NaN is 0, and what int64 does not hold is the
// nearest that it does.
func toInt(v float64) int64 {
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

// loadFloats reads elements, the first at byte off and each stride further; of a
// packed type, off and stride count elements.
func loadFloats(dst []float32, t tensor.DType, src []byte, off, stride int) {
	if len(dst) == 0 {
		return
	}
	if stride == 0 {
		loadFloats(dst[:1], t, src, off, 1)
		repeat(dst, dst[0])
		return
	}
	switch { // the most frequent ones first
	case t == tensor.Float16 && stride != 2:
		loadApart(dst, src, off, stride)
	case t == tensor.Float16 || stride == sizeOf(t) && !t.SubByte():
		loadDense(dst, t, src[off:off+stride*len(dst)])
	case stride == 1 && t.SubByte():
		loadPacked(dst, t, src, off)
	case t == tensor.Float32:
		for i := range dst {
			dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(src[off:]))
			off += stride
		}
	default:
		for i := range dst {
			dst[i] = floatAt(t, src, off)
			off += stride
		}
	}
}

// loadApart reads fp16 numbers that lie apart: they are put side by side first, so
// that they are converted together.
func loadApart(dst []float32, src []byte, off, stride int) {
	var side [2 * 64]byte
	for len(dst) > 0 {
		n := min(len(dst), len(side)/2)
		gatherHalves(side[:2*n], src, off, stride)
		half.Floats(dst[:n], side[:])
		dst, off = dst[n:], off+n*stride
	}
}

// gatherHalves copies elements of two bytes, which lie apart, to where they lie side
// by side. Four are written at once: memory that was written in parts must wait
// before it is read whole.
func gatherHalves(dst, src []byte, off, stride int) {
	for ; len(dst) >= 8; dst = dst[8:] {
		v := uint64(binary.LittleEndian.Uint16(src[off:]))
		v |= uint64(binary.LittleEndian.Uint16(src[off+stride:])) << 16
		v |= uint64(binary.LittleEndian.Uint16(src[off+2*stride:])) << 32
		v |= uint64(binary.LittleEndian.Uint16(src[off+3*stride:])) << 48
		binary.LittleEndian.PutUint64(dst, v)
		off += 4 * stride
	}
	for ; len(dst) >= 2; dst = dst[2:] {
		dst[0], dst[1] = src[off], src[off+1]
		off += stride
	}
}

// storeApart writes fp16 numbers apart.
func storeApart(dst []byte, off, stride int, src []float32) {
	var side [2 * 64]byte
	for len(src) > 0 {
		n := min(len(src), len(side)/2)
		half.Put(side[:], src[:n])
		for i := range n {
			binary.LittleEndian.PutUint16(dst[off:], binary.LittleEndian.Uint16(side[2*i:]))
			off += stride
		}
		src = src[n:]
	}
}

// repeat sets all elements to a number: a few, and then as many again.
func repeat(v []float32, x float32) {
	const few = 16
	for i := range v[:min(few, len(v))] {
		v[i] = x
	}
	for n := few; n < len(v); n *= 2 {
		copy(v[n:], v[:n])
	}
}

func loadDense(dst []float32, t tensor.DType, src []byte) {
	switch t {
	case tensor.Float16:
		half.Floats(dst, src)
	case tensor.Float32:
		for i := range dst {
			dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(src[4*i:]))
		}
	case tensor.Int8:
		for i := range dst {
			dst[i] = float32(int8(src[i]))
		}
	case tensor.UInt8:
		for i := range dst {
			dst[i] = float32(src[i])
		}
	default:
		for i := range dst {
			dst[i] = floatAt(t, src, i*sizeOf(t))
		}
	}
}

// loadPacked reads elements of a stream of bits from element i on.
func loadPacked(dst []float32, t tensor.DType, src []byte, i int) {
	bits := t.Bits()
	if 8%bits != 0 { // an element may lie in two bytes
		for j := range dst {
			dst[j] = float32(packedAt(src, i+j, bits))
		}
		return
	}
	mask, sign := byte(1)<<bits-1, byte(0)
	if t == tensor.Int4 {
		sign = 8
	}
	for j := range dst {
		at := (i + j) * bits
		v := src[at/8] >> (at % 8) & mask
		dst[j] = float32(int8(v^sign) - int8(sign))
	}
}

func floatAt(t tensor.DType, src []byte, off int) float32 {
	switch t {
	case tensor.Float16:
		return half.Float(binary.LittleEndian.Uint16(src[off:]))
	case tensor.Float32:
		return math.Float32frombits(binary.LittleEndian.Uint32(src[off:]))
	case tensor.BFloat16:
		return tensor.BF16(binary.LittleEndian.Uint16(src[off:]))
	case tensor.Float64:
		return float32(math.Float64frombits(binary.LittleEndian.Uint64(src[off:])))
	case tensor.Float8E4M3FN:
		return eighths[0][src[off]]
	case tensor.Float8E5M2:
		return eighths[1][src[off]]
	case tensor.UInt64:
		return float32(binary.LittleEndian.Uint64(src[off:]))
	}
	return float32(intAt(t, src, off))
}

// intAt reads an integer; an unsigned one of 64 bits wraps.
func intAt(t tensor.DType, src []byte, off int) int64 {
	switch t {
	case tensor.Bool:
		if src[off] != 0 {
			return 1
		}
		return 0
	case tensor.Int8:
		return int64(int8(src[off]))
	case tensor.UInt8:
		return int64(src[off])
	case tensor.Int16:
		return int64(int16(binary.LittleEndian.Uint16(src[off:])))
	case tensor.UInt16:
		return int64(binary.LittleEndian.Uint16(src[off:]))
	case tensor.Int32:
		return int64(int32(binary.LittleEndian.Uint32(src[off:])))
	case tensor.UInt32:
		return int64(binary.LittleEndian.Uint32(src[off:]))
	case tensor.Int64, tensor.UInt64:
		return int64(binary.LittleEndian.Uint64(src[off:]))
	case tensor.Int4:
		return int64(int8(packedAt(src, off, 4)<<4) >> 4)
	case tensor.UInt1, tensor.UInt2, tensor.UInt3, tensor.UInt4, tensor.UInt6:
		return int64(packedAt(src, off, t.Bits()))
	}
	panic("bug: integers of " + t.String())
}

// packedAt reads element i of a stream of bits, lowest first.
func packedAt(src []byte, i, bits int) uint8 {
	at := i * bits
	v := uint16(src[at/8])
	if at%8+bits > 8 {
		v |= uint16(src[at/8+1]) << 8
	}
	return uint8(v>>(at%8)) & (1<<bits - 1)
}

func loadInts(dst []int64, t tensor.DType, src []byte, off, stride int) {
	for i := range dst {
		dst[i] = intAt(t, src, off)
		off += stride
	}
}

func storeFloats(t tensor.DType, dst []byte, off, stride int, src []float32) {
	switch t {
	case tensor.Float16:
		if stride == 2 {
			half.Put(dst[off:], src)
			return
		}
		storeApart(dst, off, stride, src)
	case tensor.Float32:
		for _, v := range src {
			binary.LittleEndian.PutUint32(dst[off:], math.Float32bits(v))
			off += stride
		}
	default:
		for _, v := range src {
			putFloat(t, dst[off:], v)
			off += stride
		}
	}
}

// putFloat rounds a value to its type: to nearest, ties to even; to integers
// towards zero, wrapping; to bool by whether it is other than 0.
func putFloat(t tensor.DType, dst []byte, v float32) {
	switch t {
	case tensor.Float16:
		binary.LittleEndian.PutUint16(dst, half.Bits(v))
	case tensor.Float32:
		binary.LittleEndian.PutUint32(dst, math.Float32bits(v))
	case tensor.BFloat16:
		binary.LittleEndian.PutUint16(dst, tensor.ToBF16(v))
	case tensor.Float64:
		binary.LittleEndian.PutUint64(dst, math.Float64bits(float64(v)))
	case tensor.Float8E4M3FN:
		dst[0] = tensor.ToF8E4M3(v)
	case tensor.Float8E5M2:
		dst[0] = tensor.ToF8E5M2(v)
	case tensor.Bool:
		dst[0] = 0
		if v != 0 {
			dst[0] = 1
		}
	default:
		putInt(t, dst, toInt(float64(v)))
	}
}

// putInt stores the low bits of an integer.
func putInt(t tensor.DType, dst []byte, v int64) {
	switch t {
	case tensor.Bool:
		dst[0] = 0
		if v != 0 {
			dst[0] = 1
		}
	case tensor.Int8, tensor.UInt8:
		dst[0] = uint8(v)
	case tensor.Int16, tensor.UInt16:
		binary.LittleEndian.PutUint16(dst, uint16(v))
	case tensor.Int32, tensor.UInt32:
		binary.LittleEndian.PutUint32(dst, uint32(v))
	case tensor.Int64, tensor.UInt64:
		binary.LittleEndian.PutUint64(dst, uint64(v))
	default:
		panic("bug: storing integers as " + t.String())
	}
}

func storeInts(t tensor.DType, dst []byte, off, stride int, src []int64) {
	for _, v := range src {
		putInt(t, dst[off:], v)
		off += stride
	}
}

// castFloats is castFloat of many.
func castFloats(t tensor.DType, v []float32) {
	if t == tensor.Float16 { // by far the most frequent
		half.RoundAll(v)
		return
	}
	for j, x := range v {
		v[j] = castFloat(t, x)
	}
}

// castFloat is what remains of a value after it was stored as a type and loaded
// again.
func castFloat(t tensor.DType, v float32) float32 {
	switch t {
	case tensor.Float16:
		return half.Round(v)
	case tensor.Float32, tensor.Float64:
		return v
	case tensor.BFloat16:
		return tensor.BF16(tensor.ToBF16(v))
	case tensor.Float8E4M3FN:
		return eighths[0][tensor.ToF8E4M3(v)]
	case tensor.Float8E5M2:
		return eighths[1][tensor.ToF8E5M2(v)]
	case tensor.UInt64:
		return float32(uint64(toInt(float64(v))))
	case tensor.Bool:
		if v != 0 {
			return 1
		}
		return 0
	}
	return float32(castInt(t, toInt(float64(v))))
}

func castInt(t tensor.DType, v int64) int64 {
	switch t {
	case tensor.Bool:
		if v != 0 {
			return 1
		}
		return 0
	case tensor.Int64, tensor.UInt64:
		return v
	case tensor.Int8, tensor.Int16, tensor.Int32, tensor.Int4:
		shift := 64 - t.Bits()
		return v << shift >> shift
	}
	return v & (1<<t.Bits() - 1)
}
