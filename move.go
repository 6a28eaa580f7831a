package espalier

import (
	"math"
	"unsafe"

	"github.com/espalier-ane/espalier/tensor"
)

// A move brings the elements of one array to the memory of another that has as many, in its element type.
type move struct {
	to, from *tensor.Tensor
	// checked refuses a value that does not survive, as convertLossless does; otherwise it becomes what Convert makes of it.
	checked bool
}

// run allocates nothing where both arrays are floats, or both are integers, and lie densely.
func (m *move) run() error {
	d, s := m.to.DType(), m.from.DType()
	switch {
	case d == s:
		return m.to.CopyFrom(m.from)
	case !inChunks(m.to) || !inChunks(m.from):
		return m.whole()
	case d.IsFloat() && s.IsFloat():
		return m.floats()
	case d.IsInteger() && s.IsInteger():
		return m.integers()
	}
	return m.whole()
}

// whole goes through an array of its own.
func (m *move) whole() (err error) {
	t := m.from
	if m.checked {
		t, err = convertLossless(t, m.to.DType())
	} else {
		t, err = t.Convert(m.to.DType())
	}
	if err != nil {
		return err
	}
	return m.to.CopyFrom(t)
}

// chunk is how many elements are on the stack at a time.
const chunk = 256

// inChunks reports whether readFloats and its kin take an array.
func inChunks(t *tensor.Tensor) bool {
	switch t.DType() {
	case tensor.Float16, tensor.Float32, tensor.Float64, tensor.Int8, tensor.Int16, tensor.Int32, tensor.Int64,
		tensor.UInt8, tensor.UInt16, tensor.UInt32:
		return t.Contiguous() && aligned(t)
	}
	return false
}

// aligned reports whether the memory of an array that is contiguous begins at a multiple of its elements.
func aligned(t *tensor.Tensor) bool {
	return uintptr(unsafe.Pointer(unsafe.SliceData(t.Bytes())))%uintptr(t.DType().Size()) == 0
}

func (m *move) floats() error {
	var values [chunk]float64
	for at, n := 0, m.from.Len(); at < n; at += chunk {
		part := values[:min(chunk, n-at)]
		readFloats(part, m.from, at)
		if i := writeFloats(m.to, at, part); i >= 0 && m.checked {
			return cannotHold(m.from, at+i, part[i], m.to.DType())
		}
	}
	return nil
}

func readFloats(values []float64, t *tensor.Tensor, at int) {
	switch t.DType() {
	case tensor.Float16:
		for i, h := range tensor.Data[uint16](t)[at:][:len(values)] {
			values[i] = float64(tensor.F16(h))
		}
	case tensor.Float32:
		for i, v := range tensor.Data[float32](t)[at:][:len(values)] {
			values[i] = float64(v)
		}
	default:
		copy(values, tensor.Data[float64](t)[at:])
	}
}

// writeFloats returns the first finite value that became infinite, -1 if none did. It rounds once.
func writeFloats(t *tensor.Tensor, at int, values []float64) (lost int) {
	lost = -1
	switch t.DType() {
	case tensor.Float16:
		const infinite = 0x7c00
		to := tensor.Data[uint16](t)[at:][:len(values)]
		for i, v := range values {
			to[i] = tensor.ToF16(tensor.RoundToOdd(v))
			if to[i]&0x7fff == infinite && !math.IsInf(v, 0) && lost < 0 {
				lost = i
			}
		}
	case tensor.Float32:
		to := tensor.Data[float32](t)[at:][:len(values)]
		for i, v := range values {
			to[i] = float32(v)
			if math.IsInf(float64(to[i]), 0) && !math.IsInf(v, 0) && lost < 0 {
				lost = i
			}
		}
	default:
		copy(tensor.Data[float64](t)[at:], values)
	}
	return lost
}

func (m *move) integers() error {
	var values [chunk]int64
	for at, n := 0, m.from.Len(); at < n; at += chunk {
		part := values[:min(chunk, n-at)]
		readIntegers(part, m.from, at)
		if i := writeIntegers(m.to, at, part); i >= 0 && m.checked {
			return cannotHold(m.from, at+i, part[i], m.to.DType())
		}
	}
	return nil
}

func readIntegers(values []int64, t *tensor.Tensor, at int) {
	switch t.DType() {
	case tensor.Int8:
		widen(values, tensor.Data[int8](t)[at:])
	case tensor.UInt8:
		widen(values, tensor.Data[uint8](t)[at:])
	case tensor.Int16:
		widen(values, tensor.Data[int16](t)[at:])
	case tensor.UInt16:
		widen(values, tensor.Data[uint16](t)[at:])
	case tensor.Int32:
		widen(values, tensor.Data[int32](t)[at:])
	case tensor.UInt32:
		widen(values, tensor.Data[uint32](t)[at:])
	default:
		copy(values, tensor.Data[int64](t)[at:])
	}
}

// writeIntegers returns the first value that is another now, -1 if none is.
func writeIntegers(t *tensor.Tensor, at int, values []int64) (lost int) {
	switch t.DType() {
	case tensor.Int8:
		return narrow(tensor.Data[int8](t)[at:], values)
	case tensor.UInt8:
		return narrow(tensor.Data[uint8](t)[at:], values)
	case tensor.Int16:
		return narrow(tensor.Data[int16](t)[at:], values)
	case tensor.UInt16:
		return narrow(tensor.Data[uint16](t)[at:], values)
	case tensor.Int32:
		return narrow(tensor.Data[int32](t)[at:], values)
	case tensor.UInt32:
		return narrow(tensor.Data[uint32](t)[at:], values)
	}
	copy(tensor.Data[int64](t)[at:], values)
	return -1
}

type narrowInteger interface {
	int8 | uint8 | int16 | uint16 | int32 | uint32
}

func widen[T narrowInteger](values []int64, from []T) {
	for i := range values {
		values[i] = int64(from[i])
	}
}

func narrow[T narrowInteger](to []T, values []int64) (lost int) {
	lost = -1
	for i, v := range values {
		to[i] = T(v)
		if int64(to[i]) != v && lost < 0 {
			lost = i
		}
	}
	return lost
}
