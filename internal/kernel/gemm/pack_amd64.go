//go:build amd64

package gemm

import "unsafe"

// vectorPanel is a panel of floats, of 12 or 32 lines, that AVX-512 packs.
func vectorPanel(lines int) Panel {
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
			packVector(panels[l/lines*apart:][:lines*s.Depth], lines, s, l)
		}
		return true
	}
	p.Squares = func(sums, panel []float32, depth int) { vectorSquares(sums, panel, lines, depth) }
	return p
}

// A packing is what the machine code is told: where the panel is, what goes into
// it, and of how many steps.
type packing struct {
	dst, src unsafe.Pointer
	steps    int
	from     int    // bytes from a line, or a step, of the source to the next
	to       int    // bytes from a step of the panel to the next
	there    uint64 // lanes that are read
	write    uint64 // lanes that are written
	halves   uint64 // 1: the source is fp16
	group    [3]int // bytes from the first four lines to the second, third and last
}

// packVector makes a panel of the lines from one on. It is a call of its own so
// that the scheduler can stop a loop over panels: machine code it cannot.
//
//go:noinline
func packVector(panel []float32, lines int, s *Source, first int) {
	count := min(lines, s.Lines-first)
	p := packing{dst: unsafe.Pointer(&panel[0]), steps: s.Depth, to: 4 * lines}
	switch {
	case s.Line == 1:
		p.readsLine(s)
		p.src = s.element(first, 0)
		s.element(first+count-1, s.Depth-1)
		p.from, p.there, p.write = p.size()*s.Step, 1<<count-1, 1<<lines-1
		packSide(&p)
	case s.Step == 1 && count >= 4:
		p.readsLine(s)
		p.from = p.size() * s.Line
		s.element(first+count-1, s.Depth-1)
		if count < lines {
			clear(panel)
		}
		for l := 0; l < count; l += 16 {
			packSixteen(&p, panel, s, first, l, min(16, count-l))
		}
	default:
		packFloats(panel, lines, s, first)
	}
}

// readsLine says how elements are stored.
func (p *packing) readsLine(s *Source) {
	if s.Elem == F16 {
		p.halves = 1
	}
}

func (p *packing) size() int { return 4 >> p.halves }

// packSixteen packs up to 16 lines that lie apart, from l on. Lines are read four
// at a time. If the last four are not whole, they are read again with lines
// before them.
//
//	lines  0 1 2 3  4 5 6
//	       └──────┘
//	             └──────┘
//
//go:noinline
func packSixteen(p *packing, panel []float32, s *Source, first, l, count int) {
	if count < 4 {
		l, count = l-(4-count), 4
	}
	rest := count % 4
	p.group = [3]int{}
	for g := 1; g < count/4; g++ {
		p.group[g-1] = 4 * g * p.from
	}
	p.dst, p.src, p.write = unsafe.Pointer(&panel[l]), s.element(first+l, 0), 1<<(count-rest)-1
	packLines(p)
	if rest > 0 {
		l += count - 4
		p.dst, p.src, p.write, p.group = unsafe.Pointer(&panel[l]), s.element(first+l, 0), 15, [3]int{}
		packLines(p)
	}
}

// element is where factor k of a line lies. Lines and factors go forward, so that all
// lie between the first element and the last.
func (s *Source) element(line, k int) unsafe.Pointer {
	if s.Line < 0 || s.Step < 0 {
		panic("bug: lines and factors go forward")
	}
	at := line*s.Line + k*s.Step
	if s.Elem == F16 {
		_ = s.Bytes[2*at+1]
		return unsafe.Pointer(&s.Bytes[2*at])
	}
	return unsafe.Pointer(&s.Floats[at])
}

//go:noescape
func packSide(p *packing)

//go:noescape
func packLines(p *packing)
