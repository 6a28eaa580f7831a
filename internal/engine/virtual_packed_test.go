package engine

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// checkPacked runs an operation that multiplies once more, with constant sources
// that are packed, and sees that the bits stay what they are.
func (b *bench) checkPacked(t *testing.T) {
	t.Helper()
	switch b.op.Class() {
	case td.ClassConv, td.ClassMatrixMultiplication, td.ClassCrossCorrelation:
	default:
		return
	}
	before := slices.Clone(b.memories[0])
	b.runWith(t, constant)
	if !bytes.Equal(before, b.memories[0]) {
		t.Fatalf("%v: constant sources give other bits\n%+v %+v", b.op.Class(), b.op, b.op.Params)
	}
}

// A convolution has several kernels. Each is held to the definition, at odd
// extents, strides, types, groups and windows, and takes what it should.
func TestVirtualConvolutionRows(t *testing.T) {
	type shape struct {
		groups, inputs, outputs  int // of a group
		d, h, w                  int // of x
		kernel, stride, dilation [3]int
		before, after            [3]int
		row                      string
	}
	one, none := [3]int{1, 1, 1}, [3]int{}
	r := rand.New(rand.NewPCG(4, 4))
	for _, s := range []shape{
		{7, 1, 1, 1, 9, 13, [3]int{1, 3, 3}, one, one, [3]int{0, 1, 1}, [3]int{0, 1, 1}, "conv-channelwise"},
		{5, 1, 1, 1, 9, 14, [3]int{1, 3, 3}, [3]int{1, 2, 2}, one, [3]int{0, 1, 1}, [3]int{0, 1, 1}, "conv-channelwise"},
		{5, 1, 2, 1, 11, 17, [3]int{1, 2, 3}, [3]int{1, 1, 3}, [3]int{1, 3, 2}, [3]int{0, 2, 0}, [3]int{0, 0, 3}, "conv-channelwise"},
		{3, 1, 1, 1, 1, 600, [3]int{1, 1, 5}, one, [3]int{1, 1, 7}, [3]int{0, 0, 20}, [3]int{0, 0, 20}, "conv-channelwise"},
		{3, 1, 1, 1, 40, 30, [3]int{1, 3, 1}, one, one, none, none, "conv-channelwise"},
		{3, 1, 1, 1, 2, 2, [3]int{1, 2, 2}, [3]int{1, 5, 5}, one, none, none, "conv-channelwise"},
		{3, 1, 1, 1, 4, 4, [3]int{1, 16, 16}, one, one, [3]int{0, 8, 8}, [3]int{0, 8, 8}, "conv-channelwise"},
		{3, 1, 1, 1, 4, 4, [3]int{1, 17, 16}, one, one, [3]int{0, 8, 8}, [3]int{0, 8, 8}, "conv"}, // too many taps
		{3, 1, 1, 3, 4, 4, [3]int{2, 2, 2}, one, one, none, none, "conv"},                         // along D
		{1, 9, 7, 1, 11, 13, one, one, one, none, none, "conv-pointwise"},
		{2, 3, 5, 1, 5, 7, one, one, one, none, none, "conv-pointwise"},
		{2, 3, 5, 2, 5, 7, one, one, one, none, none, "conv"}, // places along D lie elsewhere
		{1, 270, 33, 1, 11, 13, one, one, one, none, none, "conv-pointwise"},
		{1, 3, 4, 1, 8, 9, one, [3]int{1, 2, 2}, one, none, none, "conv"},
		{1, 31, 9, 1, 7, 7, [3]int{1, 3, 3}, one, one, [3]int{0, 1, 1}, [3]int{0, 1, 1}, "conv"},
		{2, 4, 3, 3, 6, 5, [3]int{2, 3, 2}, [3]int{1, 2, 1}, [3]int{1, 1, 2}, [3]int{1, 1, 1}, [3]int{1, 1, 1}, "conv"},
		{1, 2, 3, 4, 12, 15, [3]int{3, 3, 3}, one, one, one, one, "conv"},
		{1, 2, 3, 1, 901, 40, [3]int{1, 2, 2}, one, [3]int{1, 900, 1}, none, none, "conv"}, // too much for a stage
	} {
		p := &td.Convolution{Groups: s.groups, Window: td.Window{
			Kernel: s.kernel, Stride: s.stride, Dilation: s.dilation, PadBefore: s.before, PadAfter: s.after,
		}}
		x := [td.NumAxes]int{2, s.d, s.groups * s.inputs, s.h, s.w}
		y := over(&p.Window, x)
		y[td.AxisC] = s.groups * s.outputs
		for round := range 3 {
			types := floatTypes
			weights := pick(r, sourceTypes...)
			if round == 0 { // as most are
				types, weights = []tensor.DType{tensor.Float16}, tensor.Float16
			}
			op := &td.Op{Params: p, Operands: []td.Operand{
				operand256(pick(r, types...), y[:]...), operand256(pick(r, types...), x[:]...),
				operand256(weights, y[td.AxisC], s.kernel[0], s.inputs, s.kernel[1], s.kernel[2]),
				operand256(pick(r, types...), 1, 1, y[td.AxisC], 1, 1),
			}}
			epilogues(r, op, false)
			b := newBench(t, r, op)
			if round == 0 {
				b.makeDense(r)
				if row := rowOf(op); row.Name != s.row {
					t.Errorf("%+v is done by %s", s, row.Name)
				}
			}
			b.check(t, boundOf(op), b.convolved)
		}
	}
}

// makeDense lays the operands out without gaps, and fills them again.
func (b *bench) makeDense(r *rand.Rand) {
	for i := range b.op.Operands {
		o := &b.op.Operands[i]
		if !o.Present() {
			continue
		}
		*o = td.Dense(o.Base, 0, o.Type, o.Dims)
		_, size, _ := o.Extent()
		b.memories[i] = make([]byte, size+4)
		b.fill(i, func([td.NumAxes]int) float64 { return randomValue(r, o.Type) })
	}
}

// Tasks that multiply with the same weights share what is packed.
func TestPackedIsShared(t *testing.T) {
	for _, transpose := range []bool{false, true} {
		f16 := tensor.Float16
		op := &td.Op{Params: &td.MatMul{TransposeZ: transpose}, Operands: []td.Operand{
			operand256(f16, 1, 1, 1, 6, 8), operand256(f16, 1, 1, 1, 6, 8), operand256(f16, 1, 1, 1, 8, 8),
		}}
		b := newBench(t, rand.New(rand.NewPCG(1, 1)), op)
		p, err := b.programOf(constant)
		if err != nil {
			t.Fatal(err)
		}
		want := p.packs.Bytes()
		task, err := op.Task(td.V256)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.bind(t.Context(), []td.Placed{{Task: task}}); err != nil {
			t.Fatal(err)
		}
		if got := p.packs.Bytes(); got != want || got == 0 {
			t.Errorf("%d bytes are packed for one task, %d for two", want, got)
		}
	}
}
