package td

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Params are the fields of a class. The types that implement it are the classes
// that version 256 can express.
type Params interface {
	row() *classRow

	// values points to the fields, in the order of the row's registers.
	values() []any

	// check says what does not fit between the fields and the operands, of
	// which number and presence are checked already.
	check(*Op) error
}

// A classRow is what all operations of a class share.
type classRow struct {
	class   Class
	new     func() Params
	results []string // operands that are written
	sources []string // operands that are read, the needed ones first
	needed  int

	lastOptional bool // the last result need not be there

	over    []string // sources that the first result may lie over; see Op.InPlace
	overNot []string // unless one of these is there

	block  *Block
	fields []*Field
}

// newClassRow makes a row and its registers, one for each field. A field is
// unsigned unless its name ends in "?", a flag, or in "~", an fp32 number.
func newClassRow(c Class, new func() Params, results, sources string, needed int, fields ...string) *classRow {
	r := &classRow{
		class: c, new: new, needed: needed,
		results: strings.Fields(results), sources: strings.Fields(sources),
		block: classBlock(c, len(fields)),
	}
	for i, name := range fields {
		kind, hi := Uint, uint8(31)
		switch {
		case strings.HasSuffix(name, "?"):
			kind, hi = Flag, 0
		case strings.HasSuffix(name, "~"):
			kind = FP32
		}
		f := r.block.row(strings.TrimRight(name, "?~"), r.block.Addr+4*uint32(i), hi, 0, kind, Ours, "")
		r.fields = append(r.fields, f)
	}
	return r
}

// lastResultOptional says that the last result need not be there.
func (r *classRow) lastResultOptional() *classRow {
	r.lastOptional = true
	return r
}

// inPlace says which sources the first result may lie over, as long as none of
// the others that are named is there.
func (r *classRow) inPlace(sources string, not ...string) *classRow {
	r.over, r.overNot = strings.Fields(sources), not
	return r
}

// The classes, one row each. A family has its rows in its file.
var (
	convRow        = newClassRow(ClassConv, func() Params { return new(Convolution) }, "y", "x w bias", 2, append(slices.Clone(windowFields), "Groups", "Transposed?")...)
	poolRow        = newClassRow(ClassPooling, func() Params { return new(Pooling) }, "y", "x", 1, append(slices.Clone(windowFields), "Kind", "CountPad?")...)
	elementWiseRow = newClassRow(ClassElementWise, func() Params { return new(ElementWise) }, "y", "x z other", 1, "Kind").inPlace("x z other")
	matMulRow      = newClassRow(ClassMatrixMultiplication, func() Params { return new(MatMul) }, "y", "x z", 2, "TransposeX?", "TransposeZ?")
	reductionRow   = newClassRow(ClassReduction, func() Params { return new(Reduction) }, "y", "x", 1, "Kind", "Axes")
	softmaxRow     = newClassRow(ClassSoftmax, func() Params { return new(Softmax) }, "y", "x", 1, "Axis").inPlace("x")
	layerNormRow   = newClassRow(ClassLayerNormalization, func() Params { return new(LayerNorm) }, "y", "x gamma beta", 1, "Axes", "Epsilon~").inPlace("x")
	gatherRow      = newClassRow(ClassGather, func() Params { return new(Gather) }, "y", "x indices", 2, "Axis")
	copyRow        = newClassRow(ClassNEBypass, func() Params { return new(Copy) }, "y", "x", 1).inPlace("x")
	inputViewRow   = newClassRow(ClassInputView, func() Params { return new(InputView) }, "y", "x", 1)
	attentionRow   = newClassRow(ClassSDPA, func() Params { return new(Attention) }, "y", "q k v mask", 3, "Scale~")

	classRows = slices.Concat([]*classRow{
		convRow, poolRow, elementWiseRow, matMulRow, reductionRow, softmaxRow, layerNormRow, gatherRow, copyRow, inputViewRow, attentionRow,
	}, normRows, rankingRows, quantRows, []*classRow{randomRow, ringBufferWriterRow, neuronCustomRow}, geometryRows, paddingRows, rearrangeRows, samplingRows)
)

func rowOf(c Class) *classRow {
	for _, r := range classRows {
		if r.class == c {
			return r
		}
	}
	return nil
}

// OpClasses returns the classes that version 256 can express.
func OpClasses() []Class {
	classes := make([]Class, len(classRows))
	for i, r := range classRows {
		classes[i] = r.class
	}
	return classes
}

// NewParams returns the zero fields of a class, nil if version 256 cannot
// express it.
func NewParams(c Class) Params {
	if r := rowOf(c); r != nil {
		return r.new()
	}
	return nil
}

// Window is how a convolution or pooling walks over D, H and W. Along axis i, in
// this order, the result has
//
//	(extent + PadBefore + PadAfter - (Kernel-1)*Dilation - 1) / Stride + 1
//
// elements, rounded down.
type Window struct {
	Kernel, Stride, Dilation, PadBefore, PadAfter [3]int
}

// UnitWindow covers one element.
var UnitWindow = Window{Kernel: [3]int{1, 1, 1}, Stride: [3]int{1, 1, 1}, Dilation: [3]int{1, 1, 1}}

var windowAxes = [3]Axis{AxisD, AxisH, AxisW}

var windowFields = func() (names []string) {
	for _, f := range []string{"Kernel", "Stride", "Dilation", "PadBefore", "PadAfter"} {
		for _, a := range windowAxes {
			names = append(names, f+a.String())
		}
	}
	return names
}()

func (w *Window) values() (values []any) {
	for _, field := range []*[3]int{&w.Kernel, &w.Stride, &w.Dilation, &w.PadBefore, &w.PadAfter} {
		for i := range field {
			values = append(values, &field[i])
		}
	}
	return values
}

// check holds the result y of a window over x to its size.
func (w *Window) check(x, y *Operand) error {
	for i, a := range windowAxes {
		if w.Kernel[i] < 1 || w.Stride[i] < 1 || w.Dilation[i] < 1 {
			return fmt.Errorf("kernel %d, stride %d and dilation %d along %v: want 1 or more", w.Kernel[i], w.Stride[i], w.Dilation[i], a)
		}
		room := int64(x.Dims[a]) + int64(w.PadBefore[i]) + int64(w.PadAfter[i]) - (int64(w.Kernel[i])-1)*int64(w.Dilation[i]) - 1
		want := int64(0)
		if room >= 0 {
			want = room/int64(w.Stride[i]) + 1
		}
		if int64(y.Dims[a]) != want {
			return fmt.Errorf("y has %d along %v, the window over %d makes %d", y.Dims[a], a, x.Dims[a], want)
		}
	}
	return nil
}

// Convolution multiplies windows of x with weights. w has the output channels
// along N and the input channels of a group along C, its kernel along D, H and
// W. bias, if it is there, has the output channels along C.
//
// A transposed one is in opclass_transposed.go.
type Convolution struct {
	Window
	Groups     int
	Transposed bool
}

func (p *Convolution) row() *classRow { return convRow }
func (p *Convolution) values() []any  { return append(p.Window.values(), &p.Groups, &p.Transposed) }

func (p *Convolution) check(o *Op) error {
	y, x, w := &o.Operands[0], &o.Operands[1], &o.Operands[2]
	if p.Groups < 1 {
		return fmt.Errorf("%d groups", p.Groups)
	}
	makes, takes := int64(w.Dims[AxisN]), int64(w.Dims[AxisC])*int64(p.Groups)
	if p.Transposed {
		makes, takes = takes, makes
	}
	switch {
	case y.Dims[AxisN] != x.Dims[AxisN]:
		return fmt.Errorf("y has %d along N, x has %d", y.Dims[AxisN], x.Dims[AxisN])
	case int64(y.Dims[AxisC]) != makes:
		return fmt.Errorf("y has %d channels, w makes %d", y.Dims[AxisC], makes)
	case int64(x.Dims[AxisC]) != takes:
		return fmt.Errorf("x has %d channels, w takes %d in %d groups", x.Dims[AxisC], takes, p.Groups)
	case w.Dims[AxisN]%p.Groups != 0:
		return fmt.Errorf("the %d channels along N of w do not divide into %d groups", w.Dims[AxisN], p.Groups)
	}
	for i, a := range windowAxes {
		if w.Dims[a] != p.Kernel[i] {
			return fmt.Errorf("w has %d along %v, the kernel %d", w.Dims[a], a, p.Kernel[i])
		}
	}
	if len(o.Operands) > 3 && o.Operands[3].Present() {
		if want := [NumAxes]int{1, 1, y.Dims[AxisC], 1, 1}; o.Operands[3].Dims != want {
			return fmt.Errorf("bias has extents %v, want %v", o.Operands[3].Dims, want)
		}
	}
	if p.Transposed {
		return p.checkTransposed(x, y)
	}
	return p.Window.check(x, y)
}

// Pooling makes one value of each window of x. CountPad: an average divides by
// the size of the window, not by the number of elements of x in it.
type Pooling struct {
	Window
	Kind     PoolKind
	CountPad bool
}

func (p *Pooling) row() *classRow { return poolRow }
func (p *Pooling) values() []any  { return append(p.Window.values(), &p.Kind, &p.CountPad) }

func (p *Pooling) check(o *Op) error {
	y, x := &o.Operands[0], &o.Operands[1]
	if y.Dims[AxisN] != x.Dims[AxisN] || y.Dims[AxisC] != x.Dims[AxisC] {
		return fmt.Errorf("y has %d and %d along N and C, x %d and %d", y.Dims[AxisN], y.Dims[AxisC], x.Dims[AxisN], x.Dims[AxisC])
	}
	if !p.Kind.Valid() {
		return fmt.Errorf("%v is not known", p.Kind)
	}
	return p.Window.check(x, y)
}

// ElementWise combines x and z. Kinds of one value take no z. Select takes z
// where x is not 0, else other, which no other kind has.
type ElementWise struct {
	Kind EWKind
}

func (p *ElementWise) row() *classRow { return elementWiseRow }
func (p *ElementWise) values() []any  { return []any{&p.Kind} }

func (p *ElementWise) check(o *Op) error {
	if !p.Kind.Valid() {
		return fmt.Errorf("%v is not known", p.Kind)
	}
	if two := len(o.Operands) > 2 && o.Operands[2].Present(); two == p.Kind.Unary() {
		return fmt.Errorf("%v has z: %t", p.Kind, two)
	}
	if three := len(o.Operands) > 3 && o.Operands[3].Present(); p.Kind == EWSelect && !three {
		return fmt.Errorf("%v has no third source", p.Kind)
	}
	return o.broadcast(1, 2, 3) // of other kinds, 3 is the epilogue's
}

// Unary reports whether k is a function of one value.
func (k EWKind) Unary() bool {
	switch k {
	case EWNone, EWSquare, EWAbs,
		EWEqualZero, EWNotEqualZero, EWLessThanZero, EWLessThanEqualZero, EWGreaterThanEqualZero, EWGreaterThanZero:
		return true
	}
	return false
}

// MatMul multiplies matrices: rows along H, columns along W. N, D and C are
// batch axes, along which x and z broadcast. A transpose says that the operand
// is stored with rows and columns exchanged.
type MatMul struct {
	TransposeX, TransposeZ bool
}

func (p *MatMul) row() *classRow { return matMulRow }
func (p *MatMul) values() []any  { return []any{&p.TransposeX, &p.TransposeZ} }

func (p *MatMul) check(o *Op) error {
	y, x, z := &o.Operands[0], &o.Operands[1], &o.Operands[2]
	rows, inner := x.Dims[AxisH], x.Dims[AxisW]
	if p.TransposeX {
		rows, inner = inner, rows
	}
	innerZ, columns := z.Dims[AxisH], z.Dims[AxisW]
	if p.TransposeZ {
		innerZ, columns = columns, innerZ
	}
	if inner != innerZ {
		return fmt.Errorf("x has %d columns, z %d rows", inner, innerZ)
	}
	if y.Dims[AxisH] != rows || y.Dims[AxisW] != columns {
		return fmt.Errorf("y is %dx%d, the product %dx%d", y.Dims[AxisH], y.Dims[AxisW], rows, columns)
	}
	return o.broadcastAlong(AxesOf(AxisN, AxisD, AxisC), 1, 2)
}

// Reduction makes one value of all values along the axes, where y has extent 1.
// ArgMin and ArgMax take one axis and give the index of the first of equals.
type Reduction struct {
	Kind ReductionKind
	Axes Axes
}

func (p *Reduction) row() *classRow { return reductionRow }
func (p *Reduction) values() []any  { return []any{&p.Kind, &p.Axes} }

func (p *Reduction) check(o *Op) error {
	y, x := &o.Operands[0], &o.Operands[1]
	if !p.Kind.Valid() {
		return fmt.Errorf("%v is not known", p.Kind)
	}
	axes := 0
	for a := range Axis(NumAxes) {
		want := x.Dims[a]
		if p.Axes.Has(a) {
			want = 1
			axes++
		}
		if y.Dims[a] != want {
			return fmt.Errorf("y has %d along %v, want %d", y.Dims[a], a, want)
		}
	}
	if (p.Kind == ReduceArgMin || p.Kind == ReduceArgMax) && axes != 1 {
		return fmt.Errorf("%v takes one axis, got %d", p.Kind, axes)
	}
	return nil
}

// Softmax is exp(x) over its sum along an axis.
type Softmax struct {
	Axis Axis
}

func (p *Softmax) row() *classRow    { return softmaxRow }
func (p *Softmax) values() []any     { return []any{&p.Axis} }
func (p *Softmax) check(o *Op) error { return o.sameDims(1) }

// LayerNorm is (x - mean) / sqrt(variance + Epsilon), both over the axes, times
// gamma plus beta, where they are there.
type LayerNorm struct {
	Axes    Axes
	Epsilon float32
}

func (p *LayerNorm) row() *classRow { return layerNormRow }
func (p *LayerNorm) values() []any  { return []any{&p.Axes, &p.Epsilon} }

func (p *LayerNorm) check(o *Op) error {
	if err := o.sameDims(1); err != nil {
		return err
	}
	return o.broadcast(2, 3)
}

// Gather takes, for each element of y, the element of x at the same place but
// for the axis, where the index stands in indices, which broadcasts to y. A
// negative index counts from the end. What lies outside reads as 0.
type Gather struct {
	Axis Axis
}

func (p *Gather) row() *classRow { return gatherRow }
func (p *Gather) values() []any  { return []any{&p.Axis} }

func (p *Gather) check(o *Op) error {
	y, x := &o.Operands[0], &o.Operands[1]
	for a := range Axis(NumAxes) {
		if a != p.Axis && y.Dims[a] != x.Dims[a] {
			return fmt.Errorf("y has %d along %v, x has %d", y.Dims[a], a, x.Dims[a])
		}
	}
	if x.Dims[p.Axis] == 0 && y.Dims[p.Axis] != 0 {
		return fmt.Errorf("x has nothing along %v", p.Axis)
	}
	if !o.Operands[2].Type.IsInteger() {
		return fmt.Errorf("indices are %v, want integers", o.Operands[2].Type)
	}
	return o.broadcast(2)
}

// Copy moves x to y, converting the element type. Slices, transposes, parts of
// a concatenation are all strides and offsets.
type Copy struct{}

func (p *Copy) row() *classRow    { return copyRow }
func (p *Copy) values() []any     { return nil }
func (p *Copy) check(o *Op) error { return o.broadcast(1) }

// InputView is Copy of a part of something that begins inside of its rows, along
// W. Chips whose numerics have a gain of width slices show it there; to others it
// is a copy.
type InputView struct{}

func (p *InputView) row() *classRow    { return inputViewRow }
func (p *InputView) values() []any     { return nil }
func (p *InputView) check(o *Op) error { return o.broadcast(1) }

// Attention is softmax(q·kᵀ·Scale + mask)·v. Rows along H are positions,
// columns along W features; N, D and C are batch axes, along which k, v and mask
// broadcast. A mask of bool drops what is false.
type Attention struct {
	Scale float32
}

func (p *Attention) row() *classRow { return attentionRow }
func (p *Attention) values() []any  { return []any{&p.Scale} }

func (p *Attention) check(o *Op) error {
	y, q, k, v := &o.Operands[0], &o.Operands[1], &o.Operands[2], &o.Operands[3]
	switch {
	case q.Dims[AxisW] != k.Dims[AxisW]:
		return fmt.Errorf("q has %d features, k has %d", q.Dims[AxisW], k.Dims[AxisW])
	case k.Dims[AxisH] != v.Dims[AxisH]:
		return fmt.Errorf("k has %d positions, v has %d", k.Dims[AxisH], v.Dims[AxisH])
	case y.Dims[AxisH] != q.Dims[AxisH] || y.Dims[AxisW] != v.Dims[AxisW]:
		return fmt.Errorf("y is %dx%d, want %dx%d", y.Dims[AxisH], y.Dims[AxisW], q.Dims[AxisH], v.Dims[AxisW])
	}
	if len(o.Operands) > 4 && o.Operands[4].Present() {
		mask := &o.Operands[4]
		if m := mask.Dims[AxisH]; m != 1 && m != q.Dims[AxisH] {
			return fmt.Errorf("mask has %d rows, q has %d", m, q.Dims[AxisH])
		}
		if m := mask.Dims[AxisW]; m != 1 && m != k.Dims[AxisH] {
			return fmt.Errorf("mask has %d columns, k has %d positions", m, k.Dims[AxisH])
		}
	}
	return o.broadcastAlong(AxesOf(AxisN, AxisD, AxisC), 1, 2, 3, 4)
}

// broadcast holds the operands i to the extents of the result, or 1.
func (o *Op) broadcast(operands ...int) error {
	return o.broadcastAlong(1<<NumAxes-1, operands...)
}

func (o *Op) broadcastAlong(axes Axes, operands ...int) error {
	y := &o.Operands[0]
	for _, i := range operands {
		if i >= len(o.Operands) || !o.Operands[i].Present() {
			continue
		}
		for a := range Axis(NumAxes) {
			if d := o.Operands[i].Dims[a]; axes.Has(a) && d != y.Dims[a] && d != 1 {
				return fmt.Errorf("%s has %d along %v, want %d or 1", o.name(i), d, a, y.Dims[a])
			}
		}
	}
	return nil
}

// sameDims holds operand i to the extents of the result.
func (o *Op) sameDims(i int) error {
	if x, y := &o.Operands[i], &o.Operands[0]; x.Dims != y.Dims {
		return fmt.Errorf("%s has extents %v, y has %v", o.name(i), x.Dims, y.Dims)
	}
	return nil
}

// maxDim bounds every extent and unsigned field.
const maxDim = math.MaxInt32
