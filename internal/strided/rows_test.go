package strided

import (
	"math"
	"testing"

	"github.com/espalier-ane/espalier/internal/kernel/gemm"
	"github.com/espalier-ane/espalier/tensor"
)

// testRows are the micro-kernels that products are tested with: all that can run
// here, and splitRow.
func testRows() []*gemm.Row { return append(gemm.Usable(), &splitRow) }

// forRows runs a test with each of them.
func forRows(t *testing.T, test func(t *testing.T, row *gemm.Row)) {
	for _, row := range testRows() {
		t.Run(row.Name, func(t *testing.T) { test(t, row) })
	}
}

// splitRow stands for micro-kernels unlike the portable ones, such as those that
// work on tiles of bf16: panels have two numbers of 16 bits for a factor, in
// groups of two; lines are 3 and 5; sums are in another order; and panels hold
// no infinities, nor floats of more bits: lines with such are for another row.
var splitRow = gemm.Row{
	Name: "split3x5", A: splitA, B: splitB, Depth: 64, Terms: 64, Run: runSplit, Else: gemm.Rows()[0],
}

var splitA, splitB = splitPanel(3), splitPanel(5)

const splitGroup = 2

func splitPanel(lines int) gemm.Panel {
	word := func(line, k int) int { return (k/splitGroup*lines+line)*splitGroup + k%splitGroup }
	p := gemm.Panel{Lines: lines, KR: splitGroup, Bytes: 4, Takes: []gemm.Elem{gemm.F32}}
	p.Holds = func(x float32) bool {
		high := tensor.ToBF16(x)
		return tensor.BF16(high)+tensor.BF16(tensor.ToBF16(x-tensor.BF16(high))) == x
	}
	p.Pack = func(panels []float32, apart int, s *gemm.Source) bool {
		held := true
		for l := 0; l < s.Lines; l += lines {
			panel := panels[l/lines*apart:][:p.Words(s.Depth)]
			clear(panel)
			for i := range min(lines, s.Lines-l) {
				for k := range s.Depth {
					x := s.Floats[(l+i)*s.Line+k*s.Step]
					high := tensor.ToBF16(x)
					low := tensor.ToBF16(x - tensor.BF16(high))
					held = held && p.Holds(x)
					panel[word(i, k)] = math.Float32frombits(uint32(high)<<16 | uint32(low))
				}
			}
		}
		return held
	}
	p.Unpack = func(dst, panel []float32, line int) {
		for k := range dst {
			dst[k] = joined(panel[word(line, k)])
		}
	}
	p.Squares = func(sums, panel []float32, depth int) {
		for l := range lines {
			for k := range depth {
				v := joined(panel[word(l, k)])
				sums[l] += v * v
			}
		}
	}
	return p
}

// joined is the factor that a word holds.
func joined(word float32) float32 {
	b := math.Float32bits(word)
	return tensor.BF16(uint16(b>>16)) + tensor.BF16(uint16(b))
}

func runSplit(t *gemm.Tile) {
	a, b := make([]float32, t.Depth), make([]float32, t.Depth)
	for r := range (t.Rows + 2) / 3 * 3 { // whole blocks
		splitA.Unpack(a, t.A[r/3*t.DistA:], r%3)
		for c := range (t.Cols + 4) / 5 * 5 {
			splitB.Unpack(b, t.B[c/5*t.DistB:], c%5)
			var sums [splitGroup]float32
			for k, x := range a {
				sums[k%splitGroup] += float32(x * b[k])
			}
			t.C[r*t.Stride+c] += sums[0] + sums[1]
		}
	}
}
