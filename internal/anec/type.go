package anec

import (
	"fmt"
	"slices"
	"strings"

	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// The axes, as in package td.
const (
	N = td.AxisN
	D = td.AxisD
	C = td.AxisC
	H = td.AxisH
	W = td.AxisW
)

// NumAxes is the number of axes of every value.
const NumAxes = td.NumAxes

// Dims are the extents along N, D, C, H, W.
type Dims [NumAxes]int

// Count returns the number of elements; false if an extent is negative or the
// number is beyond any memory.
func (d Dims) Count() (int, bool) { return tensor.Count(d[:]) }

// Elements is the number of elements, whatever the extents.
func (d Dims) Elements() float64 {
	n := 1.0
	for _, extent := range d {
		n *= float64(extent)
	}
	return n
}

// With returns the extents with another one along an axis.
func (d Dims) With(a td.Axis, extent int) Dims {
	d[a] = extent
	return d
}

func (d Dims) String() string {
	var b strings.Builder
	for i, n := range d {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprint(&b, n)
	}
	return "[" + b.String() + "]"
}

// A Type is what is known of a tensor before it has a place in memory.
type Type struct {
	DType tensor.DType
	Dims  Dims

	// Interleave is how many channels lie side by side at one position, a choice
	// of layout that changes no value. 0 stands for 1.
	Interleave int
}

// TypeOf returns a type without interleave.
func TypeOf(d tensor.DType, dims ...int) Type {
	if len(dims) != NumAxes {
		panic(fmt.Sprintf("bug: anec.TypeOf with %d extents", len(dims)))
	}
	return Type{DType: d, Dims: Dims(dims), Interleave: 1}
}

// String formats a type as "fp16[1,1,3,8,8]", with "x4" after it where four
// channels are interleaved.
func (t Type) String() string {
	s := t.DType.String() + t.Dims.String()
	if t.Interleave > 1 {
		s += fmt.Sprintf("x%d", t.Interleave)
	}
	return s
}

// Same reports whether both types hold the same values: all but the interleave.
func (t Type) Same(u Type) bool { return t.DType == u.DType && t.Dims == u.Dims }

// Bytes returns the size of the elements, packed.
func (t Type) Bytes() (int, bool) {
	n, ok := t.Dims.Count()
	if !ok {
		return 0, false
	}
	return t.DType.ByteLen(n)
}

// interleaves are those that surfaces may have (guide C.2).
var interleaves = []int{1, 2, 3, 4, 8}

// check says what no tensor can have.
func (t Type) check() error {
	if _, ok := td.ElementCode(t.DType); !ok {
		return fmt.Errorf("element type %v is none that a task can hold", t.DType)
	}
	if _, ok := t.Bytes(); !ok {
		return fmt.Errorf("extents %v are not those of a tensor", t.Dims)
	}
	if t.Interleave != 0 && !slices.Contains(interleaves, t.Interleave) {
		return fmt.Errorf("interleave %d, want one of %v", t.Interleave, interleaves)
	}
	return nil
}
