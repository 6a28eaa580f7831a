package strided

import (
	"math/rand/v2"
	"testing"
)

// dense is an operand of a base of its own, laid out without gaps.
func dense(base int, t Type, dims ...int) Operand {
	o := Operand{Base: base, Type: t, Interleave: 1, Dims: [NumAxes]int(dims)}
	stride := t.size()
	for a := NumAxes - 1; a >= 0; a-- {
		o.Strides[a] = stride
		stride *= o.Dims[a]
	}
	return o
}

func (o *Operand) bytes() int { return product(o.Dims) * o.Type.size() }

// A bound operation with memory for it.
type bound struct {
	kernel Kernel
	tiles  int
	w      *Scratch
}

// bindDense binds an operation whose operands have bases of their own. Fp16
// sources have random numbers.
func bindDense(tb testing.TB, op *Op) *bound {
	tb.Helper()
	packs := new(Packs)
	op.Packs = packs
	k, err := Bind(op)
	if err != nil {
		tb.Fatal(err)
	}
	b := &bound{kernel: k, w: NewScratch(k.Need())}
	b.tiles, _ = k.Tiles()
	r := rand.New(rand.NewPCG(1, 2))
	b.w.Memory = make([][]byte, len(op.Operands))
	for i := range op.Operands {
		o := &op.Operands[i]
		if !o.Present() {
			continue
		}
		m := make([]byte, o.bytes())
		if o.Type == F16 && i > 0 {
			for j := 0; j < len(m); j += 2 {
				putFloat(F16, m[j:], float32(r.NormFloat64()))
			}
		}
		b.w.Memory[o.Base] = m
	}
	b.w.Packed = packs.New()
	for i := range b.w.Packed {
		packs.Fill(b.w.Packed, i, b.w.Memory)
	}
	return b
}

func (b *bound) run() { b.kernel.Run(b.w, 0, b.tiles) }

func benchConv(groups, in, out, side, kernel, stride, pad int, constant bool) *Op {
	after := (side+2*pad-kernel)/stride + 1
	weights := dense(2, F16, out, 1, in/groups, kernel, kernel)
	weights.Constant = constant
	return &Op{
		Class:    classConv,
		Operands: []Operand{dense(0, F16, 1, 1, out, after, after), dense(1, F16, 1, 1, in, side, side), weights},
		Steps:    []Step{{Kind: Function, Code: reluNumber}},
		Params: Params{Groups: groups, Window: Window{
			Kernel: [3]int{1, kernel, kernel}, Stride: [3]int{1, stride, stride},
			Dilation: [3]int{1, 1, 1}, PadBefore: [3]int{0, pad, pad},
		}},
	}
}

func benchMatMul(rows, inner, cols int, constant bool) *Op {
	z := dense(2, F16, 1, 1, 1, cols, inner)
	z.Constant = constant
	return &Op{
		Class:    classMatMul,
		Operands: []Operand{dense(0, F16, 1, 1, 1, rows, cols), dense(1, F16, 1, 1, 1, rows, inner), z},
		Params:   Params{TransposeZ: true},
	}
}

// BenchmarkKernels prints, for each kernel, what a step costs: a product, or an
// element where there are none.
func BenchmarkKernels(b *testing.B) {
	half := func(base int, dims ...int) Operand { return dense(base, F16, dims...) }
	for _, bb := range []struct {
		name  string
		steps float64
		op    *Op
	}{
		{"conv 3x3", 64 * 64 * 9 * 56 * 56, benchConv(1, 64, 64, 56, 3, 1, 1, true)},
		{"conv 3x3 of few places", 512 * 512 * 9 * 7 * 7, benchConv(1, 512, 512, 7, 3, 1, 1, true)},
		{"conv 3x3, weights not constant", 64 * 64 * 9 * 56 * 56, benchConv(1, 64, 64, 56, 3, 1, 1, false)},
		{"conv 7x7 stride 2", 64 * 3 * 49 * 112 * 112, benchConv(1, 3, 64, 224, 7, 2, 3, true)},
		{"conv 1x1", 256 * 64 * 56 * 56, benchConv(1, 64, 256, 56, 1, 1, 0, true)},
		{"conv 1x1 stride 2", 512 * 256 * 28 * 28, benchConv(1, 256, 512, 56, 1, 2, 0, true)},
		{"conv 3x3 in 32 groups", 128 * 4 * 9 * 56 * 56, benchConv(32, 128, 128, 56, 3, 1, 1, true)},
		{"channelwise 3x3", 144 * 9 * 56 * 56, benchConv(144, 144, 144, 56, 3, 1, 1, true)},
		{"channelwise 3x3 stride 2", 144 * 9 * 28 * 28, benchConv(144, 144, 144, 56, 3, 2, 1, true)},
		{"channelwise 3x3 of few places", 960 * 9 * 7 * 7, benchConv(960, 960, 960, 7, 3, 1, 1, true)},
		{"matmul", 128 * 384 * 1536, benchMatMul(128, 384, 1536, true)},
		{"matmul, not constant", 128 * 384 * 1536, benchMatMul(128, 384, 1536, false)},
		{"matmul of one row", 1024 * 4096, benchMatMul(1, 1024, 4096, true)},
		{"matmul of one row, not constant", 1024 * 4096, benchMatMul(1, 1024, 4096, false)},
		{"attention", 12 * 128 * 128 * 64, &Op{Class: classAttention, Params: Params{Scale: 0.125}, Operands: []Operand{
			half(0, 1, 1, 12, 128, 32), half(1, 1, 1, 12, 128, 32), half(2, 1, 1, 12, 128, 32), half(3, 1, 1, 12, 128, 32),
		}}},
		{"attention of one position", 32 * 1024 * 128, &Op{Class: classAttention, Params: Params{Scale: 0.125}, Operands: []Operand{
			half(0, 1, 1, 32, 1, 64), half(1, 1, 1, 32, 1, 64), half(2, 1, 1, 32, 1024, 64), half(3, 1, 1, 32, 1024, 64),
		}}},
		{"softmax", 12 * 128 * 128, &Op{Class: classSoftmax, Params: Params{Axis: axisW}, Operands: []Operand{half(0, 1, 1, 12, 128, 128), half(1, 1, 1, 12, 128, 128)}}},
		{"layernorm", 128 * 384, &Op{Class: classLayerNorm, Params: Params{Axes: 1 << axisW, Epsilon: 1e-5}, Operands: []Operand{half(0, 1, 1, 1, 128, 384), half(1, 1, 1, 1, 128, 384)}}},
		{"max pool 3x3 stride 2", 64 * 9 * 56 * 56, &Op{Class: classPooling, Operands: []Operand{half(0, 1, 1, 64, 56, 56), half(1, 1, 1, 64, 112, 112)}, Params: Params{
			Kind: 2, Window: Window{Kernel: [3]int{1, 3, 3}, Stride: [3]int{1, 2, 2}, Dilation: [3]int{1, 1, 1}, PadBefore: [3]int{0, 1, 1}},
		}}},
		{"mean over 7x7", 2048 * 49, &Op{Class: classReduction, Params: Params{Kind: 1, Axes: 1<<axisH | 1<<axisW}, Operands: []Operand{half(0, 1, 1, 2048, 1, 1), half(1, 1, 1, 2048, 7, 7)}}},
		{"add", 256 * 56 * 56, &Op{Class: classElementWise, Params: Params{Kind: 1}, Operands: []Operand{half(0, 1, 1, 256, 56, 56), half(1, 1, 1, 256, 56, 56), half(2, 1, 1, 256, 56, 56)}}},
		{"six steps", 256 * 56 * 56, &Op{Class: classElementWise, Params: Params{Kind: 1}, Operands: []Operand{half(0, 1, 1, 256, 56, 56), half(1, 1, 1, 256, 56, 56), half(2, 1, 1, 256, 56, 56)}, Steps: []Step{
			{Kind: ScaleBias, A: 2, B: 1}, {Kind: Function, Code: clipNumber, A: -3, B: 3}, {Kind: Pair, Code: 2, Earlier: 1},
			{Kind: Pair, Code: 1, A: 0.5}, {Kind: Pair, Code: 7, A: 0}, {Kind: Cast, Code: uint8(F16)},
		}}},
		{"gelu", 128 * 1536, &Op{Class: classCopy, Operands: []Operand{half(0, 1, 1, 1, 128, 1536), half(1, 1, 1, 1, 128, 1536)}, Steps: []Step{{Kind: Function, Code: 34}}}},
		{"transpose", 128 * 384, &Op{Class: classCopy, Operands: []Operand{half(0, 1, 1, 1, 128, 384), {
			Base: 1, Type: F16, Interleave: 1, Dims: [NumAxes]int{1, 1, 1, 128, 384}, Strides: [NumAxes]int{0, 0, 0, 2, 256},
		}}}},
	} {
		b.Run(bb.name, func(b *testing.B) {
			k := bindDense(b, bb.op)
			b.ReportAllocs()
			for b.Loop() {
				k.run()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/(float64(b.N)*bb.steps), "ns/step")
		})
	}
}
