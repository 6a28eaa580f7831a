package tensor

import (
	"fmt"
	"strings"
)

// DType is an element type.
type DType uint8

// The element types of MIL.
const (
	Invalid DType = iota
	Bool
	String
	Float16
	Float32
	Float64
	BFloat16
	Float8E4M3FN
	Float8E5M2
	Int8
	Int16
	Int32
	Int64
	UInt8
	UInt16
	UInt32
	UInt64
	Int4
	UInt1
	UInt2
	UInt3
	UInt4
	UInt6
	numDTypes
)

// Kind groups the element types that share their arithmetic.
type Kind uint8

// The kinds of element type.
const (
	KindNone   Kind = iota
	KindBool        // false or true
	KindString      // text
	KindFloat       // binary floating point
	KindInt         // two's complement
	KindUint        // unsigned
)

// dtypes is the table of element types, indexed by DType. Bits is the size of a stored element: a bool
// takes a byte, a string has no fixed size.
var dtypes = [numDTypes]struct {
	name string // MIL's spelling
	kind Kind
	bits int
	npy  string // NumPy's type string without the byte order, "" if NumPy has none
}{
	Invalid:      {"invalid", KindNone, 0, ""},
	Bool:         {"bool", KindBool, 8, "b1"},
	String:       {"string", KindString, 0, ""},
	Float16:      {"fp16", KindFloat, 16, "f2"},
	Float32:      {"fp32", KindFloat, 32, "f4"},
	Float64:      {"fp64", KindFloat, 64, "f8"},
	BFloat16:     {"bf16", KindFloat, 16, ""},
	Float8E4M3FN: {"fp8e4m3fn", KindFloat, 8, ""},
	Float8E5M2:   {"fp8e5m2", KindFloat, 8, ""},
	Int8:         {"int8", KindInt, 8, "i1"},
	Int16:        {"int16", KindInt, 16, "i2"},
	Int32:        {"int32", KindInt, 32, "i4"},
	Int64:        {"int64", KindInt, 64, "i8"},
	UInt8:        {"uint8", KindUint, 8, "u1"},
	UInt16:       {"uint16", KindUint, 16, "u2"},
	UInt32:       {"uint32", KindUint, 32, "u4"},
	UInt64:       {"uint64", KindUint, 64, "u8"},
	Int4:         {"int4", KindInt, 4, ""},
	UInt1:        {"uint1", KindUint, 1, ""},
	UInt2:        {"uint2", KindUint, 2, ""},
	UInt3:        {"uint3", KindUint, 3, ""},
	UInt4:        {"uint4", KindUint, 4, ""},
	UInt6:        {"uint6", KindUint, 6, ""},
}

// DTypes lists every element type.
func DTypes() []DType {
	all := make([]DType, 0, numDTypes-1)
	for d := Invalid + 1; d < numDTypes; d++ {
		all = append(all, d)
	}
	return all
}

// ParseDType finds the element type with MIL's spelling.
func ParseDType(name string) (DType, error) {
	for d := Invalid + 1; d < numDTypes; d++ {
		if dtypes[d].name == name {
			return d, nil
		}
	}
	if d, ok := dtypeAliases[strings.ToLower(name)]; ok {
		return d, nil
	}
	return Invalid, fmt.Errorf("unknown element type %q", name)
}

// dtypeAliases are the spellings that coremltools and `cast` accept beside MIL's own.
var dtypeAliases = map[string]DType{
	"float16": Float16, "half": Float16, "float32": Float32, "float": Float32,
	"float64": Float64, "double": Float64, "bfloat16": BFloat16,
	"fp8_e4m3fn": Float8E4M3FN, "fp8_e5m2": Float8E5M2, "int": Int32, "str": String,
}

func (d DType) valid() bool { return d > Invalid && d < numDTypes }

// String returns MIL's spelling.
func (d DType) String() string {
	if d >= numDTypes {
		return fmt.Sprintf("dtype(%d)", uint8(d))
	}
	return dtypes[d].name
}

// Kind returns the kind of the element type.
func (d DType) Kind() Kind {
	if d >= numDTypes {
		return KindNone
	}
	return dtypes[d].kind
}

// Bits returns the size of a stored element in bits; 0 for strings.
func (d DType) Bits() int {
	if d >= numDTypes {
		return 0
	}
	return dtypes[d].bits
}

// SubByte reports whether several elements share a byte.
func (d DType) SubByte() bool { b := d.Bits(); return b > 0 && b < 8 }

// Size returns the size of a stored element in bytes; 0 for strings and sub-byte types.
func (d DType) Size() int { return d.Bits() / 8 }

// IsFloat reports whether the element type is a floating-point type.
func (d DType) IsFloat() bool { return d.Kind() == KindFloat }

// IsInteger reports whether the element type is a signed or unsigned integer; bool is not.
func (d DType) IsInteger() bool { k := d.Kind(); return k == KindInt || k == KindUint }

// IntRange returns the smallest and the largest value of an integer type or bool, the largest as uint64.
func (d DType) IntRange() (lo int64, hi uint64) {
	switch d.Kind() {
	case KindBool:
		return 0, 1
	case KindInt:
		n := d.Bits()
		return -1 << (n - 1), 1<<(n-1) - 1
	case KindUint:
		return 0, 1<<d.Bits() - 1
	}
	return 0, 0
}

// ByteLen returns how many bytes n packed elements take; false if that overflows or d has no fixed size.
func (d DType) ByteLen(n int) (int, bool) {
	bits := d.Bits()
	if bits == 0 || n < 0 {
		return 0, n == 0
	}
	if n > (1<<62)/bits {
		return 0, false
	}
	return (n*bits + 7) / 8, true
}
