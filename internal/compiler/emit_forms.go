package compiler

import (
	"slices"

	"github.com/espalier-ane/espalier/e5"
	"github.com/espalier-ane/espalier/hal"
	"github.com/espalier-ane/espalier/internal/anec"
	"github.com/espalier-ane/espalier/internal/segment"
)

// The forms of a value in a descriptor: an element type and a layout, under a symbol. A cast takes one to another.
//
//	x          fp32   rows of 12 bytes    the port of the function
//	x__engine  fp16   rows of 64 bytes    the port of the container

// forms are those in which values are there, as far as the descriptor of a function goes.
type forms struct {
	e5    *e5.Function
	lies  map[string][]e5.Operand // by value, the one that was made first before the others
	taken map[string]bool         // symbols, and names of values
}

func newForms(function string, taken map[string]bool) *forms {
	return &forms{e5: e5.NewFunction(function), lies: map[string][]e5.Operand{}, taken: taken}
}

// find finds a value in a form that it has already.
func (f *forms) find(value string, want e5.TensorDescriptor) (e5.Operand, bool) {
	for _, o := range f.lies[value] {
		if o.Tensor.IsOpaque() || sameForm(o.Tensor, want) {
			return e5.Operand{Symbol: o.Symbol, Tensor: want}, true
		}
	}
	return e5.Operand{}, false
}

// make notes that a value is there in one more form, and names that: what lies as the host has it has the name of the value.
func (f *forms) make(value string, form, host e5.TensorDescriptor) e5.Operand {
	o := e5.Operand{Symbol: value, Tensor: form}
	if !form.IsOpaque() && !sameForm(form, host) {
		o.Symbol = engineName(value, f.taken)
	}
	f.lies[value] = append(f.lies[value], o)
	return o
}

func (f *forms) cast(from, to e5.Operand) {
	f.e5.Add([]e5.Operand{from}, []e5.Operand{to},
		e5.CastAttrs{Source: from.Tensor.StorageType, Destination: to.Tensor.StorageType, ComponentPack: 1})
}

// sameForm reports whether two descriptions of a value are of the same bytes. The strides of axes with one element do not matter.
func sameForm(a, b e5.TensorDescriptor) bool {
	shape, strides, size, ok := a.Layout()
	other, otherStrides, otherSize, otherOK := b.Layout()
	if !ok || !otherOK || size != otherSize || a.StorageType != b.StorageType || !slices.Equal(shape, other) {
		return false
	}
	for i, n := range shape {
		if n > 1 && strides[i] != otherStrides[i] {
			return false
		}
	}
	return true
}

// ioPort describes a port of the function. What is only known when it runs has no size.
func ioPort(o e5.Operand) e5.IOPort {
	_, _, size, _ := o.Tensor.Layout()
	return e5.IOPort{Name: o.Symbol, ByteSize: uint64(size), Tensor: o.Tensor}
}

// portTensor describes a port of a container, for a value of a shape: that shape with the strides of the port, and the extents
// and strides of the port by name.
func portTensor(t anec.Type, target *hal.Target, shape []int) e5.TensorDescriptor {
	element, ok := e5.StorageTypeOf(t.DType)
	if !ok {
		panic("bug: a port of " + t.DType.String())
	}
	strides, _ := segment.PortLayout(t, target)
	d, u := t.Dims, func(n int) uint64 { return uint64(n) }
	to := e5.NCHW(element, [4]uint64{u(d[anec.N] * d[anec.D]), u(d[anec.C]), u(d[anec.H]), u(d[anec.W])},
		[4]uint64{uint64(strides[anec.D]), uint64(strides[anec.C]), uint64(strides[anec.H]), uint64(strides[anec.W])})
	if dims, err := anec.DimsOf(shape); err != nil || dims != d {
		return to
	}
	to.Dim, to.Stride = make([]uint64, len(shape)), make([]uint64, len(shape))
	for i, n := range shape {
		to.Dim[i], to.Stride[i] = u(n), uint64(strides[anec.AxisOf(len(shape), i)])
	}
	return to
}
