//go:build amd64

package matvec

import (
	"unsafe"

	"github.com/espalier-ane/espalier/internal/kernel/isa"
)

var machineRows = []*Row{&avx2, &avx512}

var avx2 = Row{
	Name: "avx2", Needs: isa.AVX2, Fused: true,
	dots:   func(p *Product) { dotsBy(p, 16, dotsAVX2) },
	strips: func(p *Product) { stripsBy(p, 16, stripAVX2) },
	Side:   16,
	panels: func(p *Product) { panelsBy(p, 16, panelAVX2) },
	Doc:    "16 lines of eight factors, turned in registers",
}

var avx512 = Row{
	Name: "avx512", Needs: isa.AVX512, Fused: true,
	dots:   func(p *Product) { dotsBy(p, 32, dotsAVX512) },
	strips: func(p *Product) { stripsBy(p, 32, stripAVX512) },
	Side:   32,
	panels: func(p *Product) { panelsBy(p, 32, panelAVX512) },
	Doc:    "32 lines of eight factors, turned in registers",
}

// eight is how many factors machine code takes at once.
const eight = 8

// most is how many factors of dots go into one call, which cannot be preempted, and
// how many lines of strips.
const most = 1 << 10

// maxAhead is how many bytes of lines are asked for beforehand.
const maxAhead = 1 << 18

// dotsBy has machine code take so many lines at a time. What is left of lines and
// factors is copied to the stage, where all else is 0: a product of zeros changes no
// sum.
func dotsBy(p *Product, lines int, run func(c *chain, rows int)) {
	st := p.Stage
	sums, whole := st.sums[:p.Rows*lines], p.Depth&^(eight-1)
	c := &st.chain
	*c = chain{s: &sums[0], ahead: lines * p.Apart}
	if c.ahead > maxAhead { // the same lines, further on
		c.ahead = 1 << 10
	}
	for l := 0; l < p.Lines; l += lines {
		n, w := min(lines, p.Lines-l), p.W[l*p.Apart:]
		clear(sums)
		for r := range p.Rows {
			copy(sums[r*lines:][:n], p.S[r*p.Stride+l:])
		}
		for k := 0; k < whole; k += c.count {
			c.w, c.apart, c.count, c.x = &w[2*k], p.Apart, min(whole-k, most), &p.X[k*p.Rows]
			if n < lines {
				c.count = min(c.count, stageBytes/2/lines)
				c.w, c.apart = st.fill(w[2*k:], p.Apart, n, lines, c.count, c.count)
			}
			run(c, p.Rows)
		}
		if d := p.Depth - whole; d > 0 {
			c.w, c.apart = st.fill(w[2*whole:], p.Apart, n, lines, d, eight)
			c.x, c.count = &st.factors(p, whole)[0], eight
			run(c, p.Rows)
		}
		for r := range p.Rows {
			copy(p.S[r*p.Stride+l:][:n], sums[r*lines:])
		}
	}
}

// stripsBy likewise, a multiple of so many lines at a time.
func stripsBy(p *Product, lines int, run func(c *chain)) {
	st := p.Stage
	for l := 0; l < p.Lines; {
		n := min(p.Lines-l, most)
		if n >= lines {
			n &^= lines - 1
		}
		for k := 0; k < p.Depth; k += eight {
			d, w := min(eight, p.Depth-k), p.W[k*p.Apart+2*l:]
			x := p.X[k*p.Rows:]
			c := &st.chain
			*c = chain{w: &w[0], apart: p.Apart, count: n, ahead: 4 * p.Rows}
			if d < eight || n < lines {
				c.count = max(n, lines)
				c.w, c.apart = st.fill(w, p.Apart, d, eight, n, c.count)
				x = st.factors(p, k)
			}
			for r := range p.Rows {
				c.x = &x[r]
				s := p.S[r*p.Stride+l:][:n]
				c.s = &s[0]
				if n < lines {
					copy(st.sums[:lines], s)
					c.s = &st.sums[0]
				}
				run(c)
				if n < lines {
					copy(s, st.sums[:])
				}
			}
		}
		l += n
	}
}

// panelsBy has machine code take a panel at a time.
func panelsBy(p *Product, lines int, run func(c *chain, rows int)) {
	st := p.Stage
	sums := st.sums[:p.Rows*lines]
	c := &st.chain
	*c = chain{s: &sums[0]}
	for l := 0; l < p.Lines; l += lines {
		n, w := min(lines, p.Lines-l), p.W[l/lines*p.Apart:]
		clear(sums)
		for r := range p.Rows {
			copy(sums[r*lines:][:n], p.S[r*p.Stride+l:])
		}
		for k := 0; k < p.Depth; k += most {
			c.w, c.count, c.x = &w[2*lines*k], min(p.Depth-k, most), &p.X[k*p.Rows]
			run(c, p.Rows)
		}
		for r := range p.Rows {
			copy(p.S[r*p.Stride+l:][:n], sums[r*lines:])
		}
	}
}

// fill copies n runs of so many numbers, of which there is room for some more, and
// returns where they lie and how far they are apart.
func (st *Stage) fill(w []byte, apart, n, runs, numbers, room int) (*byte, int) {
	clear(st.bytes[:2*runs*room])
	for i := range n {
		copy(st.bytes[2*i*room:], w[i*apart:][:2*numbers])
	}
	return &st.bytes[0], 2 * room
}

// factors copies the factors of the rows from k on, fewer than eight or so many.
func (st *Stage) factors(p *Product, k int) []float32 {
	clear(st.x[:])
	copy(st.x[:], p.X[k*p.Rows:][:min(eight, p.Depth-k)*p.Rows])
	return st.x[:]
}

//go:noinline
func dotsAVX512(c *chain, rows int) {
	switch rows {
	case 1:
		dots1AVX512(c)
	case 2:
		dots2AVX512(c)
	case 4:
		dots4AVX512(c)
	}
}

//go:noinline
func dotsAVX2(c *chain, rows int) {
	switch rows {
	case 1:
		dots1AVX2(c)
	case 2:
		dots2AVX2(c)
	case 4:
		half4AVX2(c)
		other := *c
		other.x, other.s = after(c.x, 2), after(c.s, 2*16)
		half4AVX2(&other)
	}
}

//go:noinline
func panelAVX512(c *chain, rows int) {
	switch rows {
	case 1:
		panel1AVX512(c)
	case 2:
		panel2AVX512(c)
	case 4:
		panel4AVX512(c)
	}
}

//go:noinline
func panelAVX2(c *chain, rows int) {
	switch rows {
	case 1:
		panel1AVX2(c)
	case 2:
		panel2AVX2(c)
	case 4:
		panel4AVX2(c)
	}
}

// after is n floats further.
func after(f *float32, n int) *float32 {
	return (*float32)(unsafe.Add(unsafe.Pointer(f), 4*n))
}

// The machine code is called by functions of their own so that the scheduler can
// stop a loop over lines: machine code it cannot.

//go:noinline
func stripAVX2(c *chain) { strip8AVX2(c) }

//go:noinline
func stripAVX512(c *chain) { strip8AVX512(c) }

//go:noescape
func dots1AVX512(chain *chain)

//go:noescape
func dots2AVX512(chain *chain)

//go:noescape
func dots4AVX512(chain *chain)

//go:noescape
func strip8AVX512(chain *chain)

//go:noescape
func dots1AVX2(chain *chain)

//go:noescape
func dots2AVX2(chain *chain)

//go:noescape
func half4AVX2(chain *chain)

//go:noescape
func strip8AVX2(chain *chain)

//go:noescape
func panel1AVX512(chain *chain)

//go:noescape
func panel2AVX512(chain *chain)

//go:noescape
func panel4AVX512(chain *chain)

//go:noescape
func panel1AVX2(chain *chain)

//go:noescape
func panel2AVX2(chain *chain)

//go:noescape
func panel4AVX2(chain *chain)
