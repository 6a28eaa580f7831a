package strided

import (
	"math/rand/v2"
	"testing"

	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// dense is an operand in a memory of its own, laid out without gaps.
func dense(memory int, t tensor.DType, dims ...int) Operand {
	return Operand{Operand: td.Dense(0, 0, t, [td.NumAxes]int(dims)), Memory: memory}
}

func (o *Operand) bytes() int { return elements(o.Dims) * sizeOf(o.Type) }

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
	return bindPacked(tb, op, new(Packs))
}

// bindPacked is bindDense with packs of the caller.
func bindPacked(tb testing.TB, op *Op, packs *Packs) *bound {
	tb.Helper()
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
		if o.Type == tensor.Float16 && i > 0 {
			for j := 0; j < len(m); j += 2 {
				putFloat(tensor.Float16, m[j:], float32(r.NormFloat64()))
			}
		}
		b.w.Memory[o.Memory] = m
	}
	b.w.Packed = packs.New(make([]byte, packs.Room()))
	for i := range b.w.Packed {
		packs.Fill(b.w.Packed, i, b.w.Memory, nil)
	}
	return b
}

func (b *bound) run() { b.kernel.Run(b.w, 0, b.tiles) }

func benchConv(groups, in, out, side, kernel, stride, pad int, constant bool) *Op {
	after := (side+2*pad-kernel)/stride + 1
	weights := dense(2, tensor.Float16, out, 1, in/groups, kernel, kernel)
	weights.Constant = constant
	return &Op{
		Operands: []Operand{dense(0, tensor.Float16, 1, 1, out, after, after), dense(1, tensor.Float16, 1, 1, in, side, side), weights},
		Epilogue: []td.MicroOp{activation(td.FuncReLU, 0, 0)},
		Params: &td.Convolution{Groups: groups, Window: td.Window{
			Kernel: [3]int{1, kernel, kernel}, Stride: [3]int{1, stride, stride},
			Dilation: [3]int{1, 1, 1}, PadBefore: [3]int{0, pad, pad},
		}},
	}
}

func activation(f td.Function, a, b float32) td.MicroOp {
	return td.MicroOp{Code: td.MicroActivation, Function: uint8(f), A: a, B: b}
}

func benchMatMul(rows, inner, cols int, constant bool) *Op {
	z := dense(2, tensor.Float16, 1, 1, 1, cols, inner)
	z.Constant = constant
	return &Op{
		Operands: []Operand{dense(0, tensor.Float16, 1, 1, 1, rows, cols), dense(1, tensor.Float16, 1, 1, 1, rows, inner), z},
		Params:   &td.MatMul{TransposeZ: true},
	}
}

// BenchmarkKernels prints, for each kernel, what a step costs: a product, or an
// element where there are none.
func BenchmarkKernels(b *testing.B) {
	half := func(base int, dims ...int) Operand { return dense(base, tensor.Float16, dims...) }
	for _, bb := range []struct {
		name  string
		steps float64
		op    *Op
	}{
		{"conv 3x3", 64 * 64 * 9 * 56 * 56, benchConv(1, 64, 64, 56, 3, 1, 1, true)},
		{"conv 3x3 of 28x28", 128 * 128 * 9 * 28 * 28, benchConv(1, 128, 128, 28, 3, 1, 1, true)},
		{"conv 3x3 of 14x14", 256 * 256 * 9 * 14 * 14, benchConv(1, 256, 256, 14, 3, 1, 1, true)},
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
		{"attention", 12 * 128 * 128 * 64, &Op{Params: &td.Attention{Scale: 0.125}, Operands: []Operand{
			half(0, 1, 1, 12, 128, 32), half(1, 1, 1, 12, 128, 32), half(2, 1, 1, 12, 128, 32), half(3, 1, 1, 12, 128, 32),
		}}},
		{"attention of one position", 32 * 1024 * 128, &Op{Params: &td.Attention{Scale: 0.125}, Operands: []Operand{
			half(0, 1, 1, 32, 1, 64), half(1, 1, 1, 32, 1, 64), half(2, 1, 1, 32, 1024, 64), half(3, 1, 1, 32, 1024, 64),
		}}},
		{"softmax", 12 * 128 * 128, &Op{Params: &td.Softmax{Axis: td.AxisW}, Operands: []Operand{half(0, 1, 1, 12, 128, 128), half(1, 1, 1, 12, 128, 128)}}},
		{"layernorm", 128 * 384, &Op{Params: &td.LayerNorm{Axes: td.AxesOf(td.AxisW), Epsilon: 1e-5}, Operands: []Operand{half(0, 1, 1, 1, 128, 384), half(1, 1, 1, 1, 128, 384)}}},
		{"max pool 3x3 stride 2", 64 * 9 * 56 * 56, &Op{Operands: []Operand{half(0, 1, 1, 64, 56, 56), half(1, 1, 1, 64, 112, 112)}, Params: &td.Pooling{
			Kind: td.PoolMax, Window: td.Window{Kernel: [3]int{1, 3, 3}, Stride: [3]int{1, 2, 2}, Dilation: [3]int{1, 1, 1}, PadBefore: [3]int{0, 1, 1}},
		}}},
		{"mean over 7x7", 2048 * 49, &Op{Params: &td.Reduction{Kind: td.ReduceAvg, Axes: td.AxesOf(td.AxisH, td.AxisW)}, Operands: []Operand{half(0, 1, 1, 2048, 1, 1), half(1, 1, 1, 2048, 7, 7)}}},
		{"add", 256 * 56 * 56, &Op{Params: &td.ElementWise{Kind: td.EWAdd}, Operands: []Operand{half(0, 1, 1, 256, 56, 56), half(1, 1, 1, 256, 56, 56), half(2, 1, 1, 256, 56, 56)}}},
		{"six steps", 256 * 56 * 56, &Op{Params: &td.ElementWise{Kind: td.EWAdd}, Operands: []Operand{half(0, 1, 1, 256, 56, 56), half(1, 1, 1, 256, 56, 56), half(2, 1, 1, 256, 56, 56)}, Epilogue: []td.MicroOp{
			{Code: td.MicroScaleBias, A: 2, B: 1}, activation(td.FuncClip, -3, 3), {Code: td.MicroEW, Function: uint8(td.EWMult), Source: td.FromStep(-1)},
			{Code: td.MicroEW, Function: uint8(td.EWAdd), A: 0.5}, {Code: td.MicroEW, Function: uint8(td.EWMax)}, {Code: td.MicroTypeCast, Function: 3},
		}}},
		{"gelu", 128 * 1536, &Op{Params: &td.Copy{}, Operands: []Operand{half(0, 1, 1, 1, 128, 1536), half(1, 1, 1, 1, 128, 1536)}, Epilogue: []td.MicroOp{activation(td.FuncGELU, 0, 0)}}},
		{"transpose", 128 * 384, &Op{Params: &td.Copy{}, Operands: []Operand{half(0, 1, 1, 1, 128, 384), {Memory: 1, Operand: td.Operand{
			Type: tensor.Float16, Interleave: 1, Dims: [td.NumAxes]int{1, 1, 1, 128, 384}, Strides: [td.NumAxes]int64{0, 0, 0, 2, 256},
		}}}}},
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
