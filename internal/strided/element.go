package strided

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/espalier-ane/espalier/internal/kernel"
)

// Type is an element type.
type Type uint8

// The element types.
const (
	None Type = iota
	Bool
	F16
	F32
	F64
	BF16
	F8E4M3
	F8E5M2
	I8
	I16
	I32
	I64
	U8
	U16
	U32
	U64
	I4
	U1
	U2
	U3
	U4
	U6
	numTypes
)

var types = [numTypes]struct {
	name  string
	bits  int
	float bool
}{
	None:   {"no type", 0, false},
	Bool:   {"bool", 8, false},
	F16:    {"fp16", 16, true},
	F32:    {"fp32", 32, true},
	F64:    {"fp64", 64, true},
	BF16:   {"bf16", 16, true},
	F8E4M3: {"fp8e4m3fn", 8, true},
	F8E5M2: {"fp8e5m2", 8, true},
	I8:     {"int8", 8, false},
	I16:    {"int16", 16, false},
	I32:    {"int32", 32, false},
	I64:    {"int64", 64, false},
	U8:     {"uint8", 8, false},
	U16:    {"uint16", 16, false},
	U32:    {"uint32", 32, false},
	U64:    {"uint64", 64, false},
	I4:     {"int4", 4, false},
	U1:     {"uint1", 1, false},
	U2:     {"uint2", 2, false},
	U3:     {"uint3", 3, false},
	U4:     {"uint4", 4, false},
	U6:     {"uint6", 6, false},
}

func (t Type) String() string {
	if t >= numTypes {
		return fmt.Sprintf("type %d", uint8(t))
	}
	return types[t].name
}

func (t Type) bits() int { return types[t].bits }

// size is the number of bytes of an element, 1 for those that share bytes: it
// is the unit of strides.
func (t Type) size() int { return max(t.bits()/8, 1) }

func (t Type) packed() bool  { return t.bits() < 8 }
func (t Type) isFloat() bool { return types[t].float }

// narrow reports whether storing rounds a float32.
func (t Type) narrow() bool { return t.isFloat() && t.bits() < 32 }

var eighths = func() (tables [2][256]float32) {
	for b := range 256 {
		tables[0][b] = fromF8(uint8(b), 3, 7)
		tables[1][b] = kernel.FromHalf(uint16(b) << 8)
		if b&0x7f == 0x7f {
			tables[0][b] = float32(math.NaN())
		}
	}
	return tables
}()

// fromF8 is the value of an 8-bit float with so many mantissa bits, one whose
// largest exponent is like the others.
func fromF8(b uint8, mantissa, bias int) float32 {
	exponent, fraction := int(b&0x7f)>>mantissa, int(b)&(1<<mantissa-1)
	v := math.Ldexp(float64(fraction), 1-bias-mantissa)
	if exponent > 0 {
		v = math.Ldexp(float64(fraction+1<<mantissa), exponent-bias-mantissa)
	}
	if b&0x80 != 0 {
		v = math.Copysign(v, -1)
	}
	return float32(v)
}

// toF8E4M3 rounds to the nearest, ties to even; beyond 448 there is only NaN.
func toF8E4M3(f float32) uint8 {
	sign := uint8(math.Float32bits(f)>>24) & 0x80
	a := math.Abs(float64(f))
	if !(a <= 464) {
		return sign | 0x7f
	}
	return sign | roundF8(a, 3, 7)
}

// toF8E5M2 rounds to the nearest, ties to even; overflow gives infinity.
func toF8E5M2(f float32) uint8 {
	sign := uint8(math.Float32bits(f)>>24) & 0x80
	a := math.Abs(float64(f))
	switch {
	case a != a:
		return sign | 0x7e
	case a >= 61440: // the tie between the greatest and what would follow
		return sign | 0x7c
	}
	return sign | roundF8(a, 2, 15)
}

func roundF8(a float64, mantissa, bias int) uint8 {
	if a == 0 {
		return 0
	}
	_, e := math.Frexp(a)
	e = max(e-1, 1-bias)
	steps := math.RoundToEven(math.Ldexp(a, mantissa-e))
	return uint8(int(steps) + (e+bias-1)<<mantissa) // a carry moves into the exponent by itself
}

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
func loadFloats(dst []float32, t Type, src []byte, off, stride int) {
	if len(dst) == 0 {
		return
	}
	if stride == 0 {
		loadFloats(dst[:1], t, src, off, 1)
		v := dst[0]
		for i := range dst {
			dst[i] = v
		}
		return
	}
	if stride == t.size() && !t.packed() {
		loadDense(dst, t, src[off:off+stride*len(dst)])
		return
	}
	if stride == 1 && t.packed() {
		loadPacked(dst, t, src, off)
		return
	}
	switch t {
	case F16:
		for i := range dst {
			dst[i] = kernel.FromHalf(binary.LittleEndian.Uint16(src[off:]))
			off += stride
		}
	case F32:
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

func loadDense(dst []float32, t Type, src []byte) {
	switch t {
	case F16:
		for len(dst) >= 4 {
			b, d := binary.LittleEndian.Uint64(src), (*[4]float32)(dst)
			d[0] = kernel.FromHalf(uint16(b))
			d[1] = kernel.FromHalf(uint16(b >> 16))
			d[2] = kernel.FromHalf(uint16(b >> 32))
			d[3] = kernel.FromHalf(uint16(b >> 48))
			dst, src = dst[4:], src[8:]
		}
		for i := range dst {
			dst[i] = kernel.FromHalf(binary.LittleEndian.Uint16(src[2*i:]))
		}
	case F32:
		for i := range dst {
			dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(src[4*i:]))
		}
	case I8:
		for i := range dst {
			dst[i] = float32(int8(src[i]))
		}
	case U8:
		for i := range dst {
			dst[i] = float32(src[i])
		}
	default:
		for i := range dst {
			dst[i] = floatAt(t, src, i*t.size())
		}
	}
}

// loadPacked reads elements of a stream of bits from element i on.
func loadPacked(dst []float32, t Type, src []byte, i int) {
	bits := t.bits()
	if 8%bits != 0 { // an element may lie in two bytes
		for j := range dst {
			dst[j] = float32(packedAt(src, i+j, bits))
		}
		return
	}
	mask, sign := byte(1)<<bits-1, byte(0)
	if t == I4 {
		sign = 8
	}
	for j := range dst {
		at := (i + j) * bits
		v := src[at/8] >> (at % 8) & mask
		dst[j] = float32(int8(v^sign) - int8(sign))
	}
}

func floatAt(t Type, src []byte, off int) float32 {
	switch t {
	case F16:
		return kernel.FromHalf(binary.LittleEndian.Uint16(src[off:]))
	case F32:
		return math.Float32frombits(binary.LittleEndian.Uint32(src[off:]))
	case BF16:
		return math.Float32frombits(uint32(binary.LittleEndian.Uint16(src[off:])) << 16)
	case F64:
		return float32(math.Float64frombits(binary.LittleEndian.Uint64(src[off:])))
	case F8E4M3:
		return eighths[0][src[off]]
	case F8E5M2:
		return eighths[1][src[off]]
	case U64:
		return float32(binary.LittleEndian.Uint64(src[off:]))
	}
	return float32(intAt(t, src, off))
}

// intAt reads an integer; an unsigned one of 64 bits wraps.
func intAt(t Type, src []byte, off int) int64 {
	switch t {
	case Bool:
		if src[off] != 0 {
			return 1
		}
		return 0
	case I8:
		return int64(int8(src[off]))
	case U8:
		return int64(src[off])
	case I16:
		return int64(int16(binary.LittleEndian.Uint16(src[off:])))
	case U16:
		return int64(binary.LittleEndian.Uint16(src[off:]))
	case I32:
		return int64(int32(binary.LittleEndian.Uint32(src[off:])))
	case U32:
		return int64(binary.LittleEndian.Uint32(src[off:]))
	case I64, U64:
		return int64(binary.LittleEndian.Uint64(src[off:]))
	case I4:
		return int64(int8(packedAt(src, off, 4)<<4) >> 4)
	case U1, U2, U3, U4, U6:
		return int64(packedAt(src, off, t.bits()))
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

func loadInts(dst []int64, t Type, src []byte, off, stride int) {
	for i := range dst {
		dst[i] = intAt(t, src, off)
		off += stride
	}
}

func storeFloats(t Type, dst []byte, off, stride int, src []float32) {
	switch t {
	case F16:
		if stride == 2 {
			storeHalves(dst[off:off+2*len(src)], src)
			return
		}
		for _, v := range src {
			binary.LittleEndian.PutUint16(dst[off:], kernel.ToHalf(v))
			off += stride
		}
	case F32:
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
func putFloat(t Type, dst []byte, v float32) {
	switch t {
	case F16:
		binary.LittleEndian.PutUint16(dst, kernel.ToHalf(v))
	case F32:
		binary.LittleEndian.PutUint32(dst, math.Float32bits(v))
	case BF16:
		binary.LittleEndian.PutUint16(dst, toBF16(v))
	case F64:
		binary.LittleEndian.PutUint64(dst, math.Float64bits(float64(v)))
	case F8E4M3:
		dst[0] = toF8E4M3(v)
	case F8E5M2:
		dst[0] = toF8E5M2(v)
	case Bool:
		dst[0] = 0
		if v != 0 {
			dst[0] = 1
		}
	default:
		putInt(t, dst, toInt(float64(v)))
	}
}

func toBF16(v float32) uint16 {
	b := math.Float32bits(v)
	if v != v {
		return uint16(b>>16) | 0x40
	}
	return uint16((b + 0x7fff + b>>16&1) >> 16)
}

// putInt stores the low bits of an integer.
func putInt(t Type, dst []byte, v int64) {
	switch t {
	case Bool:
		dst[0] = 0
		if v != 0 {
			dst[0] = 1
		}
	case I8, U8:
		dst[0] = uint8(v)
	case I16, U16:
		binary.LittleEndian.PutUint16(dst, uint16(v))
	case I32, U32:
		binary.LittleEndian.PutUint32(dst, uint32(v))
	case I64, U64:
		binary.LittleEndian.PutUint64(dst, uint64(v))
	default:
		panic("bug: storing integers as " + t.String())
	}
}

func storeInts(t Type, dst []byte, off, stride int, src []int64) {
	for _, v := range src {
		putInt(t, dst[off:], v)
		off += stride
	}
}

// castFloats is castFloat of many.
func castFloats(t Type, v []float32) {
	if t == F16 { // by far the most frequent
		for j, x := range v {
			v[j] = kernel.FromHalf(kernel.ToHalf(x))
		}
		return
	}
	for j, x := range v {
		v[j] = castFloat(t, x)
	}
}

// castFloat is what remains of a value after it was stored as a type and loaded
// again.
func castFloat(t Type, v float32) float32 {
	switch t {
	case F16:
		return kernel.FromHalf(kernel.ToHalf(v))
	case F32, F64:
		return v
	case BF16:
		return math.Float32frombits(uint32(toBF16(v)) << 16)
	case F8E4M3:
		return eighths[0][toF8E4M3(v)]
	case F8E5M2:
		return eighths[1][toF8E5M2(v)]
	case U64:
		return float32(uint64(toInt(float64(v))))
	case Bool:
		if v != 0 {
			return 1
		}
		return 0
	}
	return float32(castInt(t, toInt(float64(v))))
}

func castInt(t Type, v int64) int64 {
	switch t {
	case Bool:
		if v != 0 {
			return 1
		}
		return 0
	case I64, U64:
		return v
	case I8, I16, I32, I4:
		shift := 64 - t.bits()
		return v << shift >> shift
	}
	return v & (1<<t.bits() - 1)
}
