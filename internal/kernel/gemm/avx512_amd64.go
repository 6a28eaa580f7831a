//go:build amd64

package gemm

import "github.com/espalier-ane/espalier/internal/kernel/isa"

// avx512 multiplies twelve lines with 32: 24 sums of 16 lanes, and what two loads
// of B and twelve factors of A need beside them, fill the registers. Fewer lines
// at the edges have blocks of their own.
var avx512 = Row{
	Name: "avx512-12x32", Needs: isa.AVX512, A: vectorPanel(12), B: vectorPanel(32), Depth: 256, Fused: true, Terms: 256,
	Run: runAVX512, Sets: true, Doc: "24 vectors of sums, fused products",
}

func runAVX512(t *Tile) {
	if t.Depth == 0 || t.Rows == 0 || t.Cols == 0 {
		return
	}
	t.check(12, 32, t.Depth)
	b := block{depth: t.Depth, stride: 4 * t.Stride}
	for c := 0; c < t.Cols; c += 32 {
		b.b = &t.B[c/32*t.DistB]
		for r := 0; r < t.Rows; r += 12 {
			b.a = &t.A[r/12*t.DistA]
			b.put(t, r*t.Stride+c)
			addAVX512(&b, t.Rows-r, t.Cols-c)
		}
	}
}

// addAVX512 computes one block. It is a call of its own so that the scheduler can
// stop a loop over blocks: machine code it cannot.
//
//go:noinline
func addAVX512(b *block, rows, cols int) {
	switch {
	case cols > 16 && rows > 8:
		add12x32(b)
	case cols > 16 && rows > 4:
		add8x32(b)
	case cols > 16:
		add4x32(b)
	case rows > 8:
		add12x16(b)
	case rows > 4:
		add8x16(b)
	default:
		add4x16(b)
	}
}

//go:noescape
func add12x32(block *block)

//go:noescape
func add8x32(block *block)

//go:noescape
func add4x32(block *block)

//go:noescape
func add12x16(block *block)

//go:noescape
func add8x16(block *block)

//go:noescape
func add4x16(block *block)
