package e5

import (
	"slices"
	"testing"

	"github.com/espalier-ane/espalier/tensor"
)

func TestDense(t *testing.T) {
	for _, c := range []struct {
		dtype   tensor.DType
		shape   []int
		storage ElementType
		strides []uint64
		size    int
	}{
		{tensor.Float16, []int{2, 3, 4}, Float16, []uint64{24, 8, 2}, 48},
		{tensor.Bool, []int{5}, UInt8, []uint64{1}, 5},
		{tensor.Float64, nil, UInt64, nil, 8},
		{tensor.Int4, []int{3, 3}, Int4, []uint64{0, 0}, 5},
		{tensor.BFloat16, []int{4, 0, 2}, UInt16, []uint64{4, 4, 2}, 0},
		{tensor.Float32, []int{1, 2, 3, 4, 5}, Float32, []uint64{480, 240, 80, 20, 4}, 480},
	} {
		d, err := Dense(c.dtype, c.shape...)
		if err != nil {
			t.Fatal(err)
		}
		if d.StorageType != c.storage || !slices.Equal(d.Stride, c.strides) || d.IsOpaque() {
			t.Errorf("%v %v is described as %+v", c.dtype, c.shape, d)
		}
		shape, size, ok := d.Dense()
		if !ok || !slices.Equal(shape, c.shape) || size != c.size {
			t.Errorf("%v %v is read as %v of %d bytes, %t", c.dtype, c.shape, shape, size, ok)
		}
	}
	for _, d := range []tensor.DType{tensor.String, tensor.UInt3, tensor.Invalid} {
		if _, err := Dense(d, 1); err == nil {
			t.Errorf("%v has a code", d)
		}
	}
	if _, err := Dense(tensor.Int8, 1<<40, 1<<40); err == nil {
		t.Error("any shape will do")
	}
}

func TestDenseRefuses(t *testing.T) {
	opaque := Opaque()
	if !opaque.IsOpaque() {
		t.Error("what is opaque is not")
	}
	gap := NCHW(Float16, [4]uint64{1, 2, 1, 8}, [4]uint64{128, 64, 64, 2})
	for name, d := range map[string]TensorDescriptor{
		"opaque":    opaque,
		"gaps":      gap,
		"no stride": {Dim: []uint64{1}, ComponentPack: 1},
		"packed":    {ComponentPack: 4},
		"huge":      {Dim: []uint64{1 << 47, 8}, Stride: []uint64{8, 1}, StorageType: UInt8, ComponentPack: 1},
		"negative":  {Dim: []uint64{1<<64 - 1}, Stride: []uint64{1}, StorageType: UInt8, ComponentPack: 1},
		"no type":   {StorageType: NumElementTypes, ComponentPack: 1},
	} {
		if _, _, ok := d.Dense(); ok {
			t.Errorf("%s: %+v is dense", name, d)
		}
	}
}

// A layout covers its gaps, and those that only the named extents tell of.
func TestLayout(t *testing.T) {
	short := NCHW(Float16, [4]uint64{1, 1, 1, 3}, [4]uint64{64, 64, 64, 2})
	short.Dim, short.Stride = []uint64{3}, []uint64{2}
	for _, c := range []struct {
		d    TensorDescriptor
		size int
	}{
		{NCHW(Float16, [4]uint64{1, 2, 5, 8}, [4]uint64{640, 320, 64, 2}), 640},
		{short, 64},
		{NCHW(Float16, [4]uint64{1, 2, 2, 3}, [4]uint64{64, 2, 16, 4}), 64}, // channels side by side
		{TensorDescriptor{StorageType: Float32, ComponentPack: 1}, 4},
		{TensorDescriptor{Dim: []uint64{0, 4}, Stride: []uint64{8, 2}, StorageType: Float16, ComponentPack: 1}, 0},
		{TensorDescriptor{Dim: []uint64{3}, Stride: []uint64{0}, StorageType: Int4, ComponentPack: 1}, 2},
	} {
		shape, strides, size, ok := c.d.Layout()
		if !ok || size != c.size || len(shape) != len(c.d.Dim) || len(strides) != len(c.d.Dim) {
			t.Errorf("%+v: shape %v, strides %v, %d bytes, %t; want %d", c.d, shape, strides, size, ok, c.size)
		}
	}
	for name, d := range map[string]TensorDescriptor{
		"opaque":   Opaque(),
		"overlap":  NCHW(Float16, [4]uint64{1, 2, 1, 8}, [4]uint64{32, 8, 8, 2}),
		"on top":   NCHW(Float16, [4]uint64{1, 2, 1, 8}, [4]uint64{32, 0, 0, 2}),
		"huge":     NCHW(Float16, [4]uint64{1, 2, 1, 8}, [4]uint64{1 << 63, 1 << 62, 64, 2}),
		"one long": {Dim: []uint64{1}, Stride: []uint64{1 << 60}, StorageType: UInt8, ComponentPack: 1},
		"named":    {Width: 1 << 40, StrideWidth: 1 << 40, StorageType: UInt8, ComponentPack: 1},
		"lists":    {Dim: []uint64{1}, StorageType: UInt8, ComponentPack: 1},
	} {
		if _, _, size, ok := d.Layout(); ok {
			t.Errorf("%s: %+v has a layout of %d bytes", name, d, size)
		}
	}
}
