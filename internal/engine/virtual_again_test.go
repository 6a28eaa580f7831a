package engine

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/espalier-ane/espalier/internal/testkit"
	"github.com/espalier-ane/espalier/td"
	"github.com/espalier-ane/espalier/tensor"
)

// Running allocates nothing, for any class, and gives the same bits for any
// number of threads.
func TestVirtualRunsAgain(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, b := range largeBenches(t) {
		for _, b.gemm = range b.rows() {
			runsAgain(t, b)
		}
	}
}

func runsAgain(t *testing.T, b *bench) {
	name := fmt.Sprintf("%v/%v", b.op.Class(), b.op.Operands[0].Type)
	var first []byte
	for _, threads := range []int{1, 2, 5} {
		runtime.GOMAXPROCS(threads)
		results := b.memories[:b.op.Results()]
		for _, m := range results {
			clear(m)
		}
		c := b.run(t)
		if got := slices.Concat(results...); first == nil {
			first = got
		} else if string(first) != string(got) {
			t.Errorf("%s: %d threads give other bits", name, threads)
		}
		if n := testkit.Allocs(3, func() { c.program.RunAll(context.Background(), c) }); n != 0 {
			t.Errorf("%s: %v allocations with %d threads", name, n, threads)
		}
		b.checkPacked(t)
		if c := b.runWith(t, constant); testkit.Allocs(3, func() { c.program.RunAll(context.Background(), c) }) != 0 {
			t.Errorf("%s: allocations with %d threads and constant sources", name, threads)
		}
	}
}

// largeBenches has an operation of every class that has more than one tile.
func largeBenches(t *testing.T) []*bench {
	r := rand.New(rand.NewPCG(1, 2))
	f16, f32 := tensor.Float16, tensor.Float32
	big := []int{1, 1, 24, 30, 40}
	steps := []td.MicroOp{
		{Code: td.MicroScaleBias, A: 2, B: 1}, {Code: td.MicroActivation, Function: uint8(td.FuncSigmoid)},
		{Code: td.MicroEW, Function: uint8(td.EWMult), Source: td.FromStep(-1)},
	}
	window := td.Window{Kernel: [3]int{1, 3, 3}, Stride: [3]int{1, 1, 1}, Dilation: [3]int{1, 1, 1}, PadBefore: [3]int{0, 1, 1}, PadAfter: [3]int{0, 1, 1}}
	ops := []*td.Op{
		{Params: &td.Convolution{Window: window, Groups: 1}, Epilogue: steps, Operands: []td.Operand{
			operand256(f16, 1, 1, 40, 30, 40), operand256(f16, big...), operand256(f16, 40, 1, 24, 3, 3), operand256(f32, 1, 1, 40, 1, 1)}},
		{Params: &td.Convolution{Window: window, Groups: 24}, Epilogue: steps, Operands: []td.Operand{
			operand256(f16, 2, 1, 24, 30, 40), operand256(f16, 2, 1, 24, 30, 40), operand256(f16, 24, 1, 1, 3, 3), operand256(f32, 1, 1, 24, 1, 1)}},
		{Params: &td.Convolution{Window: td.UnitWindow, Groups: 2}, Operands: []td.Operand{
			operand256(f16, 1, 1, 80, 30, 40), operand256(f16, big...), operand256(tensor.Int8, 80, 1, 12, 1, 1)}},
		{Params: &td.MatMul{}, Operands: []td.Operand{
			operand256(f16, 1, 1, 1, 1, 900), operand256(f16, 1, 1, 1, 1, 300), operand256(f16, 1, 1, 1, 300, 900)}},
		{Params: &td.Pooling{Window: window, Kind: td.PoolAvg}, Operands: []td.Operand{operand256(f16, big...), operand256(f16, big...)}},
		{Params: &td.ElementWise{Kind: td.EWAdd}, Epilogue: steps, Operands: []td.Operand{
			operand256(f16, big...), operand256(f16, big...), operand256(f16, 1, 1, 24, 1, 1)}},
		{Params: &td.ElementWise{Kind: td.EWAdd}, Operands: []td.Operand{
			operand256(tensor.Int32, big...), operand256(tensor.Int32, big...), operand256(tensor.Int32, big...)}},
		{Params: &td.MatMul{TransposeZ: true}, Operands: []td.Operand{
			operand256(f32, 1, 1, 2, 70, 90), operand256(f16, 1, 1, 2, 70, 300), operand256(tensor.Int4, 1, 1, 1, 90, 300)}},
		{Params: &td.Reduction{Kind: td.ReduceSum, Axes: td.AxesOf(td.AxisH, td.AxisW)}, Operands: []td.Operand{
			operand256(f16, 1, 1, 24, 1, 1), operand256(f16, big...)}},
		{Params: &td.Reduction{Kind: td.ReduceLogSumExp, Axes: td.AxesOf(td.AxisC)}, Operands: []td.Operand{
			operand256(f16, 1, 1, 1, 30, 40), operand256(f16, big...)}},
		{Params: &td.Reduction{Kind: td.ReduceArgMax, Axes: td.AxesOf(td.AxisC)}, Operands: []td.Operand{
			operand256(tensor.Int32, 1, 1, 1, 30, 40), operand256(f16, big...)}},
		{Params: &td.Reduction{Kind: td.ReduceMax, Axes: td.AxesOf(td.AxisC)}, Operands: []td.Operand{
			operand256(tensor.Int32, 1, 1, 1, 30, 40), operand256(tensor.Int8, big...)}},
		{Params: &td.Softmax{Axis: td.AxisW}, Operands: []td.Operand{operand256(f16, big...), operand256(f16, big...)}},
		{Params: &td.LayerNorm{Axes: td.AxesOf(td.AxisC), Epsilon: 1e-5}, Operands: []td.Operand{
			operand256(f16, big...), operand256(f16, big...), operand256(f16, 1, 1, 24, 1, 1)}},
		{Params: &td.Gather{Axis: td.AxisH}, Operands: []td.Operand{
			operand256(f16, big...), operand256(f16, big...), operand256(tensor.Int32, 1, 1, 1, 30, 1)}},
		{Params: &td.Gather{Axis: td.AxisW}, Operands: []td.Operand{
			operand256(f32, big...), operand256(f16, big...), operand256(tensor.Int32, 1, 1, 1, 30, 40)}},
		{Params: &td.Copy{}, Operands: []td.Operand{operand256(f16, big...), operand256(f16, big...)}},
		{Params: &td.Copy{}, Operands: []td.Operand{operand256(f32, big...), operand256(f16, big...)}},
		{Params: &td.InputView{}, Operands: []td.Operand{operand256(f32, big...), operand256(f16, big...)}},
		{Params: &td.Attention{Scale: 0.1}, Operands: []td.Operand{
			operand256(f16, 1, 1, 3, 50, 80), operand256(f16, 1, 1, 3, 50, 64), operand256(f16, 1, 1, 1, 130, 64), operand256(f16, 1, 1, 3, 130, 80),
			operand256(tensor.Bool, 1, 1, 1, 50, 130)}},
	}
	ops = append(append(ops, largeNormOps()...), largeRankingOps()...)
	ops = append(ops, largeQuantOps()...)
	ops = append(ops, largeSamplingOps()...)
	ops = append(ops, largeGeometryOps()...)
	ops = append(ops, largeCustomOps()...)
	var benches []*bench
	seen := make(map[td.Class]bool)
	for _, op := range ops {
		benches = append(benches, newBench(t, r, op))
		seen[op.Class()] = true
	}
	for _, class := range td.OpClasses() {
		if !seen[class] {
			t.Errorf("%v is missing", class)
		}
	}
	return benches
}
