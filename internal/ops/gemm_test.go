package ops

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// tripleLoop is gemm as its law states it.
func tripleLoop(m, n, k int, a, b matrix, c []float32) {
	for i := range m {
		for j := range n {
			var sum float32
			for p := range k {
				sum += float32(a.data[i*a.row+p*a.col] * b.data[p*b.row+j*b.col])
			}
			c[i*n+j] += sum
		}
	}
}

func randomFloats(r *rand.Rand, n int) []float32 {
	out := make([]float32, n)
	for i := range out {
		out[i] = float32(r.NormFloat64())
	}
	return out
}

// TestGemmIsTheTripleLoop holds gemm to the bits of the obvious form, for sizes around those of tiles, chunks and
// blocks and for all ways in which a matrix may lie.
func TestGemmIsTheTripleLoop(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	sizes := [][3]int{
		{0, 3, 3}, {3, 0, 3}, {3, 3, 0}, {1, 1, 1}, {1, 300, 7}, {300, 1, 7}, {3, 257, 5}, {259, 2, 5}, {3, 3, 70},
		{4, 4, 1}, {5, 5, 3}, {5, 4, 9}, {6, 7, 8}, {7, 13, 17}, {33, 31, 64}, {64, 65, 63}, {260, 9, 20}, {515, 37, 3},
		{9, 70, 1100}, {5, 9, 70000}, {300, 300, 33},
	}
	for _, size := range sizes {
		m, n, k := size[0], size[1], size[2]
		for layout := range 4 {
			a := matrix{randomFloats(r, m*k), k, 1}
			b := matrix{randomFloats(r, k*n), n, 1}
			if layout&1 != 0 {
				a.row, a.col = 1, m
			}
			if layout&2 != 0 {
				b.row, b.col = 1, k
			}
			start := randomFloats(r, m*n)
			got, want := append([]float32{}, start...), append([]float32{}, start...)
			gemm(nil, m, n, k, a, b, got)
			tripleLoop(m, n, k, a, b, want)
			sameBits(t, fmt.Sprintf("%d×%d×%d, layout %d", m, n, k, layout), got, want)
		}
	}
	// Every second element of every third row.
	a, b := matrix{randomFloats(r, 3*21*22), 66, 2}, matrix{randomFloats(r, 3*11*40), 120, 2}
	got, want := make([]float32, 21*13), make([]float32, 21*13)
	gemm(nil, 21, 13, 11, a, b, got)
	tripleLoop(21, 13, 11, a, b, want)
	sameBits(t, "sparse", got, want)
}

// sameBits compares exactly, but for the sign of zero: a sum that leaves out padding may differ there.
func sameBits(t *testing.T, what string, got, want []float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d elements, expected %d", what, len(got), len(want))
	}
	for i := range got {
		if got[i] != want[i] && !(math.IsNaN(float64(got[i])) && math.IsNaN(float64(want[i]))) {
			t.Fatalf("%s: element %d is %v, expected %v", what, i, got[i], want[i])
		}
	}
}

func BenchmarkGemm(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, size := range [][3]int{{64, 3136, 576}, {512, 512, 512}, {512, 49, 4608}, {1, 1000, 2048}, {1, 4096, 4096}} {
		m, n, k := size[0], size[1], size[2]
		for _, layout := range []string{"b", "bT"} {
			b.Run(fmt.Sprintf("%dx%dx%d/%s", m, n, k, layout), func(b *testing.B) {
				x := matrix{randomFloats(r, m*k), k, 1}
				y := matrix{randomFloats(r, k*n), n, 1}
				if layout == "bT" {
					y.row, y.col = 1, k
				}
				c := make([]float32, m*n)
				for b.Loop() {
					gemm(nil, m, n, k, x, y, c)
				}
				reportRate(b, m*n*k)
			})
		}
	}
}

// reportRate reports a speed for an operation of that many products, each with its sum.
func reportRate(b *testing.B, products int) {
	b.ReportMetric(2*float64(products)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
}
