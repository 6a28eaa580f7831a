package e5

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"

	"github.com/espalier-ane/espalier/tensor"
)

// The layouts of operands as our compiler writes them and our runtime reads
// them: the lists are as long as the tensor has axes, outermost axis first. Of a
// value of the host, elements lie side by side. Of an operand of the engine they lie
// as in the port of the container, whose extents and strides the named fields
// have too:
//
//	[2, 3] fp16   Dim 2 3   Stride 64 2   Width 3   Height 2   StrideHeight 64 …

// storageTypes are the element types without a code, and the code under which
// their bytes are stored: it has the same width, and the container or the host
// program says what they are.
var storageTypes = map[tensor.DType]ElementType{
	tensor.Bool:         UInt8,
	tensor.Float8E4M3FN: UInt8,
	tensor.Float8E5M2:   UInt8,
	tensor.BFloat16:     UInt16,
	tensor.Float64:      UInt64,
	tensor.UInt4:        Int4,
}

// StorageTypeOf returns the code under which elements of a type are stored; false
// if there is none of their width.
func StorageTypeOf(d tensor.DType) (ElementType, bool) {
	if e, ok := ElementTypeOf(d); ok {
		return e, true
	}
	e, ok := storageTypes[d]
	return e, ok
}

// Dense describes a tensor whose elements lie side by side.
func Dense(d tensor.DType, shape ...int) (TensorDescriptor, error) {
	e, ok := StorageTypeOf(d)
	if !ok {
		return TensorDescriptor{}, fmt.Errorf("no element type of a descriptor has the width of %v", d)
	}
	if _, ok := tensor.Count(shape); !ok {
		return TensorDescriptor{}, fmt.Errorf("no tensor has the shape %v", shape)
	}
	t := TensorDescriptor{Dim: make([]uint64, len(shape)), Stride: make([]uint64, len(shape)), StorageType: e, ComponentPack: 1}
	stride := uint64(e.DType().Size())
	for i := len(shape) - 1; i >= 0; i-- {
		t.Dim[i], t.Stride[i] = uint64(shape[i]), stride
		stride *= uint64(max(shape[i], 1))
	}
	return t, nil
}

// Opaque describes a value that has no layout, since it is no tensor or its shape
// is not known before it is there. Functions of the host hand it to each other.
func Opaque() TensorDescriptor { return TensorDescriptor{StorageType: UInt8} }

// IsOpaque reports whether the descriptor is one that Opaque makes: no elements
// are stored together.
func (t *TensorDescriptor) IsOpaque() bool { return t.ComponentPack == 0 && len(t.Dim) == 0 }

// Dense returns the shape of a tensor that lies as Dense describes it, and its
// size in bytes; false if it lies otherwise.
func (t *TensorDescriptor) Dense() (shape []int, size int, ok bool) {
	if !t.StorageType.valid() || len(t.Dim) != len(t.Stride) || t.ComponentPack != 1 {
		return nil, 0, false
	}
	shape = make([]int, len(t.Dim))
	for i, d := range t.Dim {
		if d > 1<<48 { // as tensor.Count
			return nil, 0, false
		}
		shape[i] = int(d)
	}
	n, ok := tensor.Count(shape)
	if !ok {
		return nil, 0, false
	}
	stride := uint64(t.StorageType.DType().Size())
	for i := len(shape) - 1; i >= 0; i-- {
		if t.Stride[i] != stride && shape[i] > 1 && n > 0 {
			return nil, 0, false
		}
		stride *= uint64(max(shape[i], 1))
	}
	size, ok = t.StorageType.DType().ByteLen(n)
	return shape, size, ok
}

// maxBytes bounds what a layout may cover, as tensor.Count does elements.
const maxBytes = 1 << 48

// Layout returns the shape of a tensor, its strides in bytes, and how many bytes it
// covers, gaps behind the last row included; false if that cannot be, or if two
// elements would share bytes.
func (t *TensorDescriptor) Layout() (shape, strides []int, size int, ok bool) {
	if !t.StorageType.valid() || len(t.Dim) != len(t.Stride) || t.ComponentPack != 1 {
		return nil, nil, 0, false
	}
	shape, strides = make([]int, len(t.Dim)), make([]int, len(t.Dim))
	for i, d := range t.Dim {
		if d > maxBytes || t.Stride[i] > maxBytes {
			return nil, nil, 0, false
		}
		shape[i], strides[i] = int(d), int(t.Stride[i])
	}
	n, ok := tensor.Count(shape)
	if !ok {
		return nil, nil, 0, false
	}
	size, ok = t.StorageType.DType().ByteLen(min(n, 1))
	if n == 0 || !ok {
		return shape, strides, 0, ok
	}
	if t.StorageType.DType().SubByte() {
		shape, size, ok = t.Dense()
		return shape, strides, size, ok
	}
	if !separate(shape, strides, size) {
		return nil, nil, 0, false
	}
	for i, d := range t.Dim {
		if size, ok = covers(size, d, t.Stride[i]); !ok {
			return nil, nil, 0, false
		}
	}
	for _, axis := range [][2]uint64{
		{t.Width, t.StrideWidth}, {t.Height, t.StrideHeight}, {t.Channels, t.StrideChannels}, {t.BatchNumber, t.StrideBatchNumber},
	} {
		if size, ok = covers(size, axis[0], axis[1]); !ok {
			return nil, nil, 0, false
		}
	}
	return shape, strides, size, true
}

// covers is the larger of a size and n strides; false if that is beyond all bounds.
func covers(size int, n, stride uint64) (int, bool) {
	hi, lo := bits.Mul64(n, stride)
	if hi != 0 || lo > maxBytes {
		return 0, false
	}
	return max(size, int(lo)), true
}

// separate reports whether no two elements share bytes, as far as nested axes tell.
func separate(shape, strides []int, element int) bool {
	axes := make([]int, 0, len(shape))
	for i, n := range shape {
		if n > 1 {
			axes = append(axes, i)
		}
	}
	slices.SortFunc(axes, func(a, b int) int { return cmp.Compare(strides[a], strides[b]) })
	end := element
	for _, i := range axes {
		if strides[i] < end || strides[i] > maxBytes/shape[i] {
			return false
		}
		end += (shape[i] - 1) * strides[i]
	}
	return true
}
