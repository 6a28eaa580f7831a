//go:build arm64

package gemm

import (
	"github.com/espalier-ane/espalier/internal/kernel/half"
	"github.com/espalier-ane/espalier/internal/kernel/isa"
)

// neon multiplies six lines with sixteen: 24 sums of four lanes, and what four loads
// of B and four factors of A need beside them, fill the registers.
var neon = Row{
	Name: "neon-6x16", Needs: isa.NEON, A: neonPanel(6), B: neonPanel(16), Depth: 256, Fused: true, Terms: 256,
	Run: runNEON, Sets: true, Doc: "24 vectors of sums, fused products",
}

func runNEON(t *Tile) {
	if t.Depth == 0 || t.Rows == 0 || t.Cols == 0 {
		return
	}
	t.check(6, 16, t.Depth)
	b := block{depth: t.Depth, stride: 4 * t.Stride}
	for c := 0; c < t.Cols; c += 16 {
		b.b = &t.B[c/16*t.DistB]
		for r := 0; r < t.Rows; r += 6 {
			b.a = &t.A[r/6*t.DistA]
			b.put(t, r*t.Stride+c)
			addNEON(&b)
		}
	}
}

// addNEON is a call of its own so that the scheduler can stop a loop over blocks:
// machine code it cannot.
//
//go:noinline
func addNEON(b *block) { add6x16(b) }

//go:noescape
func add6x16(block *block)

// neonPanel is a panel of floats to which fp16 numbers come by way of floats, as many
// at a time as lie side by side.
func neonPanel(lines int) Panel {
	p := floatPanel(lines)
	plain := p.Pack
	p.Pack = func(panels []float32, apart int, s *Source) bool {
		if s.Elem != F16 || s.Line != 1 && s.Step != 1 {
			return plain(panels, apart, s)
		}
		for l := 0; l < s.Lines; l += lines {
			packHalves(panels[l/lines*apart:][:lines*s.Depth], lines, s, l)
		}
		return true
	}
	return p
}

//go:noinline
func packHalves(panel []float32, lines int, s *Source, first int) {
	count := min(lines, s.Lines-first)
	if count < lines {
		clear(panel)
	}
	if s.Line == 1 {
		for k := range s.Depth {
			half.Floats(panel[k*lines:][:count], s.Bytes[2*(k*s.Step+first):])
		}
		return
	}
	var floats [256]float32
	for l := range count {
		for k := 0; k < s.Depth; k += len(floats) {
			n := min(len(floats), s.Depth-k)
			half.Floats(floats[:n], s.Bytes[2*((first+l)*s.Line+k):])
			to := panel[k*lines+l:]
			for j, v := range floats[:n] {
				to[j*lines] = v
			}
		}
	}
}
