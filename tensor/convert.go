package tensor

import (
	"fmt"
	"math"
)

// Float32s returns the elements as float32 in row-major order: the tensor's own memory if it is a dense
// Float32, else a copy. Integers convert to nearest, bool to 0 and 1.
func (t *Tensor) Float32s() []float32 {
	n := t.Len()
	switch t.dtype {
	case Float32:
		return Data[float32](t)
	case Float16:
		return mapTo(Data[uint16](t), F16)
	case BFloat16:
		return mapTo(Data[uint16](t), BF16)
	case Float8E4M3FN:
		return mapTo(Data[uint8](t), F8E4M3)
	case Float8E5M2:
		return mapTo(Data[uint8](t), F8E5M2)
	case Float64:
		return mapTo(Data[float64](t), func(v float64) float32 { return float32(v) })
	case UInt64:
		return mapTo(Data[uint64](t), func(v uint64) float32 { return float32(v) })
	case String:
		panic("bug: Float32s of strings")
	}
	out := make([]float32, n)
	for i, v := range t.Int64s() {
		out[i] = float32(v)
	}
	return out
}

// Float64s returns the elements as float64 in row-major order.
func (t *Tensor) Float64s() []float64 {
	switch t.dtype {
	case Float64:
		return Data[float64](t)
	case UInt64:
		return mapTo(Data[uint64](t), func(v uint64) float64 { return float64(v) })
	}
	if t.dtype.IsFloat() {
		return mapTo(t.Float32s(), func(v float32) float64 { return float64(v) })
	}
	return mapTo(t.Int64s(), func(v int64) float64 { return float64(v) })
}

// Int64s returns the elements as int64 in row-major order: the tensor's own memory if it is a dense Int64,
// else a copy. Floats are truncated towards zero, and clamped to the range of int64, NaN becoming 0; a
// UInt64 above the range wraps.
func (t *Tensor) Int64s() []int64 {
	switch t.dtype {
	case Int64:
		return Data[int64](t)
	case UInt64:
		return mapTo(Data[uint64](t), func(v uint64) int64 { return int64(v) })
	case Int32:
		return mapTo(Data[int32](t), func(v int32) int64 { return int64(v) })
	case UInt32:
		return mapTo(Data[uint32](t), func(v uint32) int64 { return int64(v) })
	case Int16:
		return mapTo(Data[int16](t), func(v int16) int64 { return int64(v) })
	case UInt16:
		return mapTo(Data[uint16](t), func(v uint16) int64 { return int64(v) })
	case Int8:
		return mapTo(Data[int8](t), func(v int8) int64 { return int64(v) })
	case UInt8:
		return mapTo(Data[uint8](t), func(v uint8) int64 { return int64(v) })
	case Bool:
		return mapTo(Data[uint8](t), func(v uint8) int64 {
			if v != 0 {
				return 1
			}
			return 0
		})
	case Float64:
		return mapTo(Data[float64](t), truncate)
	case String:
		panic("bug: Int64s of strings")
	}
	if t.dtype.IsFloat() {
		return mapTo(t.Float32s(), func(v float32) int64 { return truncate(float64(v)) })
	}
	bits := t.dtype.Bits()
	out := make([]int64, 0, t.Len())
	t.each(func(i int) {
		v := int64(getBits(t.data, i, bits))
		if t.dtype == Int4 {
			v = v << 60 >> 60
		}
		out = append(out, v)
	})
	return out
}

func truncate(v float64) int64 {
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

func mapTo[S, D any](in []S, f func(S) D) []D {
	out := make([]D, len(in))
	for i, v := range in {
		out[i] = f(v)
	}
	return out
}

// FromFloat32s stores float32 values as elements of type d: floats are rounded to nearest, ties to even,
// integers truncated and wrapped, bool is v ≠ 0. A Float32 tensor shares vals.
func FromFloat32s(d DType, vals []float32, shape ...int) *Tensor {
	switch d {
	case Float32:
		return Of(vals, shape...)
	case Float16:
		return ofRaw(d, mapTo(vals, ToF16), shape)
	case BFloat16:
		return ofRaw(d, mapTo(vals, ToBF16), shape)
	case Float8E4M3FN:
		return ofRaw(d, mapTo(vals, ToF8E4M3), shape)
	case Float8E5M2:
		return ofRaw(d, mapTo(vals, ToF8E5M2), shape)
	case Float64:
		return Of(mapTo(vals, func(v float32) float64 { return float64(v) }), shape...)
	case Bool:
		return Of(mapTo(vals, func(v float32) bool { return v != 0 }), shape...)
	}
	return FromInt64s(d, mapTo(vals, func(v float32) int64 { return truncate(float64(v)) }), shape...)
}

// FromInt64s stores integers as elements of type d: narrower integers wrap, bool is v ≠ 0. An Int64
// tensor shares vals.
func FromInt64s(d DType, vals []int64, shape ...int) *Tensor {
	switch d {
	case Int64:
		return Of(vals, shape...)
	case Bool:
		return Of(mapTo(vals, func(v int64) bool { return v != 0 }), shape...)
	case Int32, UInt32:
		return ofRaw(d, mapTo(vals, func(v int64) int32 { return int32(v) }), shape)
	case Int16, UInt16:
		return ofRaw(d, mapTo(vals, func(v int64) int16 { return int16(v) }), shape)
	case Int8, UInt8:
		return ofRaw(d, mapTo(vals, func(v int64) int8 { return int8(v) }), shape)
	case UInt64:
		return ofRaw(d, vals, shape)
	case Float64:
		return Of(mapTo(vals, func(v int64) float64 { return float64(v) }), shape...)
	case String, Invalid:
		panic("bug: FromInt64s of " + d.String())
	}
	if d.IsFloat() {
		return FromFloat32s(d, mapTo(vals, func(v int64) float32 { return float32(v) }), shape...)
	}
	t := New(d, shape...)
	if len(vals) != t.Len() {
		panic(fmt.Sprintf("bug: %d values for %v", len(vals), t))
	}
	for i, v := range vals {
		putBits(t.data, i, d.Bits(), uint8(v)&(1<<d.Bits()-1))
	}
	return t
}

// ofRaw is Of for memory whose Go type is not that of the element type, only its size.
func ofRaw[T Number](d DType, vals []T, shape []int) *Tensor {
	t := Of(vals, shape...)
	t.dtype = d
	return t
}

// Convert returns the tensor with another element type, by the rules of FromFloat32s and FromInt64s; it
// returns t itself if it has that type. Strings convert only to strings.
func (t *Tensor) Convert(d DType) (*Tensor, error) {
	switch {
	case t.dtype == d:
		return t, nil
	case t.dtype == String || d == String || !d.valid():
		return nil, fmt.Errorf("cannot convert %v to %v", t.dtype, d)
	case d == Float64:
		return Of(t.Float64s(), t.shape...), nil
	case t.dtype == Float64 && !d.IsFloat(): // through float32 large integers would lose digits
		if d == Bool {
			return Of(mapTo(t.Float64s(), func(v float64) bool { return v != 0 }), t.shape...), nil
		}
		return FromInt64s(d, t.Int64s(), t.shape...), nil
	case t.dtype == Float64 && d != Float32: // a narrower float: rounding twice must not show
		return FromFloat32s(d, mapTo(t.Float64s(), RoundToOdd), t.shape...), nil
	case t.dtype.IsFloat() || d.IsFloat():
		return FromFloat32s(d, t.Float32s(), t.shape...), nil
	}
	return FromInt64s(d, t.Int64s(), t.shape...), nil
}

// Alias returns t's memory read as another element type of the same width: the way to see halves as uint16.
func (t *Tensor) Alias(d DType) (*Tensor, error) {
	if d.Bits() != t.dtype.Bits() || d.Bits() == 0 {
		return nil, fmt.Errorf("cannot read %v memory as %v", t.dtype, d)
	}
	v := *t
	v.dtype = d
	return &v, nil
}
