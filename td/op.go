package td

import (
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/espalier-ane/espalier/tensor"
)

// Axis is one of the five axes of an operand, outermost first, with the numbers
// of ZinIrDimension (guide C.1).
type Axis uint8

// The axes.
const (
	AxisN Axis = iota // batch; of convolution weights the output channel
	AxisD             // depth
	AxisC             // channel; of convolution weights the input channel of a group
	AxisH             // height; rows of a matrix
	AxisW             // width; columns of a matrix

	NumAxes = 5
)

func (a Axis) String() string {
	if a >= NumAxes {
		return fmt.Sprintf("axis %d", uint8(a))
	}
	return "NDCHW"[a : a+1]
}

// Axes is a set of axes: bit a is Axis a.
type Axes uint8

// AxesOf returns the set of the axes.
func AxesOf(axes ...Axis) (set Axes) {
	for _, a := range axes {
		set |= 1 << a
	}
	return set
}

// Has reports whether the set has the axis.
func (s Axes) Has(a Axis) bool { return s&(1<<a) != 0 }

// An Op is the typed form of a version-256 task: what it computes, from what,
// to where.
//
// The first operands are written, as many as the class has results; the others
// are read. A source has the extent of the result along each axis, or 1, which
// broadcasts, where the class does not say otherwise.
type Op struct {
	ID       uint16 // of the task
	Operands []Operand
	Epilogue []MicroOp
	Params   Params // fields of the class; its type says the class
}

// Results returns the number of operands that the class writes, which come
// first; those that are not there count.
func (o *Op) Results() int { return len(o.Params.row().results) }

// Sources returns the number of operands that the class itself reads, which
// follow the results; those that are not there count. Operands after them are
// there for the epilogue.
func (o *Op) Sources() int { return len(o.Params.row().sources) }

// InPlace reports whether the first result may lie over operand i, where both
// have the same extents, strides and element size: whether each element is read
// no later than its place is written. Kernels keep to it, however the work is
// shared out.
//
//   - What goes element by element may lie over every source.
//   - A normalization reads a line before it writes there.
//   - A ring buffer keeps the state outside of the window.
func (o *Op) InPlace(i int) bool {
	r := o.Params.row()
	switch {
	case i < o.Results():
		return false
	case i >= o.Results()+o.Sources():
		return true // the epilogue's
	}
	for j, name := range r.sources {
		if k := o.Results() + j; k < len(o.Operands) && o.Operands[k].Present() && slices.Contains(r.overNot, name) {
			return false
		}
	}
	return slices.Contains(r.over, r.sources[i-o.Results()])
}

// Class returns the class of the operation.
func (o *Op) Class() Class { return ClassOf(o.Params) }

// ClassOf returns the class that has the fields.
func ClassOf(p Params) Class { return p.row().class }

// An Operand is a tensor in memory. Element (n,d,c,h,w) begins at
//
//	base + Offset + n*Strides[N] + d*Strides[D] + (c/I)*Strides[C] + h*Strides[H] + w*Strides[W] + (c%I)*size
//
// where I is the interleave and size the bytes of an element. Elements smaller
// than a byte lie packed in logical order, lowest bits first; then all strides
// are 0. The zero Operand is one that is not there.
type Operand struct {
	Base       int   // index in the base address table; before addresses are bound, of a memory that has no entry yet
	Offset     int64 // bytes, 0 or more
	Type       tensor.DType
	Interleave uint8 // 1 or more
	Dims       [NumAxes]int
	Strides    [NumAxes]int64 // bytes
}

// Present reports whether the operand is there.
func (o *Operand) Present() bool { return o.Type != tensor.Invalid }

// Dense returns an operand of which the elements lie side by side, W innermost.
func Dense(base int, offset int64, d tensor.DType, dims [NumAxes]int) Operand {
	o := Operand{Base: base, Offset: offset, Type: d, Interleave: 1, Dims: dims}
	if d.SubByte() {
		return o
	}
	stride := int64(d.Size())
	for a := NumAxes - 1; a >= 0; a-- {
		o.Strides[a] = stride
		stride *= int64(max(dims[a], 1))
	}
	return o
}

// Extent returns the bytes that the operand touches, from lo up to but not
// including hi, counted from its base. Both are 0 if it has no element; ok is
// false if they leave the address space.
func (o *Operand) Extent() (lo, hi int64, ok bool) {
	count := int64(1)
	for _, d := range o.Dims {
		if d == 0 {
			return 0, 0, true
		}
		if h, l := bits.Mul64(uint64(count), uint64(d)); h != 0 || l > math.MaxInt64/8 {
			return 0, 0, false
		}
		count *= int64(d)
	}
	if o.Type.SubByte() {
		size := (count*int64(o.Type.Bits()) + 7) / 8
		return o.Offset, o.Offset + size, o.Offset <= math.MaxInt64-size
	}
	interleave := int64(max(o.Interleave, 1))
	last := int64(o.Type.Size()) * min(interleave, int64(o.Dims[AxisC]))
	lo, hi, ok = o.Offset, o.Offset, true
	add := func(p *int64, v int64) {
		sum := *p + v
		ok = ok && (sum > *p) == (v > 0)
		*p = sum
	}
	add(&hi, last)
	for a, d := range o.Dims {
		steps := int64(d - 1)
		if Axis(a) == AxisC {
			steps = steps / interleave
		}
		reach, fits := mul64(steps, o.Strides[a])
		ok = ok && fits
		if reach < 0 {
			add(&lo, reach)
		} else if reach > 0 {
			add(&hi, reach)
		}
	}
	return lo, hi, ok
}

func mul64(a, b int64) (int64, bool) {
	if a == 0 || b == 0 {
		return 0, true
	}
	p := a * b
	return p, p/b == a && !(b == -1 && a == math.MinInt64)
}

// A MicroOp is one step of the epilogue: it changes the value v that the class
// has computed, or the step before has left.
//
//   - MicroScaleBias: v*A + B
//   - MicroActivation: Function(v), with A and B as its constants
//   - MicroEW: EWKind(v, second)
//   - MicroTypeCast: v rounded to the element type
//
// The second value of MicroEW comes from Source; A if there is none.
type MicroOp struct {
	Code     MicroCode
	Function uint8 // a Function, EWKind or element code, after Code
	Source   Source
	Swap     bool // EWKind(second, v)
	A, B     float32
}

// Source is where the second value of a MicroOp comes from.
type Source uint8

// NoSource is the constant A.
const NoSource Source = 0

const firstStep = 16

// FromOperand is operand i of the operation.
func FromOperand(i int) Source { return Source(1 + i) }

// FromStep is the value after step k of the same epilogue; k = -1 is the value
// that the class has computed.
func FromStep(k int) Source { return Source(firstStep + 1 + k) }

// Operand returns the operand, if the source is one.
func (s Source) Operand() (i int, ok bool) {
	return int(s) - 1, s >= 1 && s <= maxOperands
}

// Step returns the step, if the source is one; -1 is the value before the first.
func (s Source) Step() (k int, ok bool) {
	return int(s) - firstStep - 1, s >= firstStep && s <= firstStep+maxSteps
}

func (s Source) String() string {
	if i, ok := s.Operand(); ok {
		return fmt.Sprintf("operand %d", i)
	}
	if k, ok := s.Step(); ok {
		return fmt.Sprintf("step %d", k)
	}
	if s == NoSource {
		return "constant"
	}
	return fmt.Sprintf("source %d", uint8(s))
}

// elementCodes are the numbers of element types in a task: the eleven of seed
// 23.12, then ours.
var elementCodes = map[tensor.DType]uint8{
	tensor.Int4:    0,
	tensor.UInt8:   1,
	tensor.Int8:    2,
	tensor.Float16: 3,
	tensor.Float32: 4,
	tensor.Int16:   5,
	tensor.UInt16:  6,
	tensor.Int32:   7,
	tensor.UInt32:  8,
	tensor.Int64:   9,
	tensor.UInt64:  10,

	tensor.Bool:         32,
	tensor.BFloat16:     33,
	tensor.Float8E4M3FN: 34,
	tensor.Float8E5M2:   35,
	tensor.Float64:      36,
	tensor.UInt1:        37,
	tensor.UInt2:        38,
	tensor.UInt3:        39,
	tensor.UInt4:        40,
	tensor.UInt6:        41,
}

var codeElements = func() map[uint8]tensor.DType {
	m := make(map[uint8]tensor.DType, len(elementCodes))
	for d, c := range elementCodes {
		m[c] = d
	}
	return m
}()

// ElementCode returns the number of an element type in a task.
func ElementCode(d tensor.DType) (uint8, bool) { c, ok := elementCodes[d]; return c, ok }

// ElementType returns the element type with the number.
func ElementType(code uint8) (tensor.DType, bool) { d, ok := codeElements[code]; return d, ok }
