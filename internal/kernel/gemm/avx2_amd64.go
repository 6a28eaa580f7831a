//go:build amd64

package gemm

import (
	"unsafe"

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
	b := block{depth: t.Depth, stride: 4 * t.Stride, second: 4 * t.DistA}
	panels := roundUp(t.Rows, 6) / 6
	for c := 0; c < t.Cols; c += 16 {
		b.b = &t.B[c/16*t.DistB]
		for p := 0; p < panels; p += b.count {
			b.count = min(panels-p, atOnce/t.Depth+1)
			pairs := t.Cols-c <= 8 && panels-p > 1
			if pairs {
				b.count = min((b.count+1)&^1, (panels-p)&^1)
			}
			b.a = &t.A[p*t.DistA]
			b.put(t, 6*p*t.Stride+c)
			addAVX2(&b, pairs)
		}
	}
}

// atOnce is how many factors of a line a call takes, of all its panels: some 25 µs.
const atOnce = 1 << 13

// addAVX2 computes blocks, of some panels of A: six lines with sixteen, or, where only
// eight of these are left, pairs of panels with them, so that there are as many sums. It
// is a call of its own so that the scheduler can stop a loop over blocks: machine code
// it cannot.
//
//go:noinline
func addAVX2(b *block, pairs bool) {
	if pairs {
		add12x8(b)
	} else {
		add6x16(b)
	}
}

//go:noescape
func add6x16(block *block)

//go:noescape
func add12x8(block *block)

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
	case s.Line == 1 && lines == 16 && (s.Elem != F16 || first+count >= 8):
		from := s.element(first, 0)
		s.element(first+count-1, s.Depth-1)
		packBeside(&panel[0], from, s, count)
	case s.Step == 1 && s.Depth >= 8:
		s.element(first+count-1, s.Depth-1)
		packApart(panel, lines, s, first, count)
	default:
		packFloats(panel, lines, s, first)
	}
}

// packBeside packs up to 16 lines that lie side by side. Of halves, eight words that end
// with the last line are there.
func packBeside(panel *float32, from unsafe.Pointer, s *Source, count int) {
	switch {
	case s.Elem == F16 && count == 16:
		packSixteenHalves(panel, (*byte)(from), s.Depth, 2*s.Step)
	case s.Elem == F16:
		packPartHalves(panel, (*byte)(from), s.Depth, 2*s.Step, count)
	case count == 16:
		packSixteenFloats(panel, (*float32)(from), s.Depth, 4*s.Step)
	default:
		packPartFloats(panel, (*float32)(from), s.Depth, 4*s.Step, count)
	}
}

// eightLines is what the machine code is told of eight lines that lie apart.
type eightLines struct {
	lines  [8]unsafe.Pointer
	dst    *float32
	to     int // bytes from a step of the panel to the next
	blocks int // of eight factors
	halves int // 1: the source is fp16
}

// packedAtOnce is how many factors go into one call, and nothing what a line has that is
// not there.
const packedAtOnce = 256

var nothing [packedAtOnce]float32

// packApart packs lines that lie apart, eight factors at a time, and then what is left
// of them.
func packApart(panel []float32, lines int, s *Source, first, count int) {
	p := eightLines{to: 4 * lines}
	if s.Elem == F16 {
		p.halves = 1
	}
	whole := s.Depth &^ 7
	for k := 0; k < whole; k += packedAtOnce {
		n := min(packedAtOnce, whole-k)
		p.blocks = n / 8
		for l := 0; l < lines; l += 8 {
			for i := range p.lines {
				if p.lines[i] = unsafe.Pointer(&nothing); l+i < count {
					p.lines[i] = s.element(first+l+i, k)
				}
			}
			p.dst = &panel[k*lines+l]
			packSome(&p)
		}
	}
	for k := whole; k < s.Depth; k++ {
		to := panel[k*lines:][:lines]
		clear(to[count:])
		for l := range count {
			to[l] = s.float(first+l, k)
		}
	}
}

//go:noinline
func packSome(p *eightLines) { packEight(p) }

//go:noescape
func packSixteenFloats(dst, src *float32, steps, from int)

//go:noescape
func packSixteenHalves(dst *float32, src *byte, steps, from int)

//go:noescape
func packPartFloats(dst, src *float32, steps, from, count int)

//go:noescape
func packPartHalves(dst *float32, src *byte, steps, from, count int)

//go:noescape
func packEight(p *eightLines)
