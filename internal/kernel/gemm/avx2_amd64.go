//go:build amd64

package gemm

import (
	"github.com/espalier-ane/espalier/internal/kernel/half"
	"github.com/espalier-ane/espalier/internal/kernel/isa"
)

// avx2 multiplies six lines with sixteen: twelve sums of eight lanes, and what two
// loads of B and two factors of A need beside them, fill the registers.
var avx2 = Row{
	Name: "avx2-6x16", Needs: isa.AVX2, A: narrowPanel(6), B: narrowPanel(16), Depth: 256, Fused: true, Terms: 256,
	Run: runAVX2, Sets: true, Doc: "twelve vectors of sums, fused products",
}

func runAVX2(t *Tile) {
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
			addAVX2(&b)
		}
	}
}

// addAVX2 is a call of its own so that the scheduler can stop a loop over blocks:
// machine code it cannot.
//
//go:noinline
func addAVX2(b *block) { add6x16(b) }

//go:noescape
func add6x16(block *block)

// narrowPanel is a panel of floats, of 6 or 16 lines, that AVX2 packs where lines
// lie side by side, and where the factors of a line do.
func narrowPanel(lines int) Panel {
	p := floatPanel(lines)
	p.Pack = func(panels []float32, apart int, s *Source) bool {
		if s.Depth == 0 {
			return true
		}
		if s.Elem == Placed {
			s.Places.Read(panels, apart, lines, s.Floats, s.Shifts[:s.Depth])
			return true
		}
		for l := 0; l < s.Lines; l += lines {
			packNarrow(panels[l/lines*apart:][:lines*s.Depth], lines, s, l)
		}
		return true
	}
	return p
}

//go:noinline
func packNarrow(panel []float32, lines int, s *Source, first int) {
	count := min(lines, s.Lines-first)
	switch {
	case s.Line == 1 && lines == 16 && count == 16:
		from := s.element(first, 0)
		s.element(first+count-1, s.Depth-1)
		if s.Elem == F16 {
			packSixteenHalves(&panel[0], (*byte)(from), s.Depth, 2*s.Step)
		} else {
			packSixteenFloats(&panel[0], (*float32)(from), s.Depth, 4*s.Step)
		}
	case s.Elem == F16 && s.Step == 1 && s.Depth >= 16: // a line at a time, as floats
		if count < lines {
			clear(panel)
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
	default:
		packFloats(panel, lines, s, first)
	}
}

//go:noescape
func packSixteenFloats(dst, src *float32, steps, from int)

//go:noescape
func packSixteenHalves(dst *float32, src *byte, steps, from int)
