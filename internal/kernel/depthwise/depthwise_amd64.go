//go:build amd64

package depthwise

import (
	"unsafe"

	"github.com/espalier-ane/espalier/internal/kernel/isa"
)

// fast: there is machine code; wide: it is that of AVX-512.
var (
	fast = isa.Have().Has(isa.AVX2)
	wide = isa.Have().Has(isa.AVX512)
)

// tapping is what the machine code is told; distances count bytes.
type tapping struct {
	dst, src        unsafe.Pointer
	rows, width     int
	step, pitch     int
	weights, shifts unsafe.Pointer // 0x30; shifts count floats
	taps            int
	tapRows         [2]int // 0x48: of a grid, the second and the third
	tapColumns      [2]int
	bias            float32 // 0x68
	lo, hi, zero    float32
	halves          int // 0x78: 1 if the result is fp16
}

// A call of machine code cannot be preempted: it takes so many vectors of products,
// and a part of a row that is so long.
const (
	most    = 1 << 16
	longest = 1 << 11
)

// tapsByMachine computes a plane, of floats or of fp16 numbers, whose rows are so many
// bytes apart.
func tapsByMachine(t *Taps, p *Plane, floats []float32, halves []byte, pitch int) {
	planesByMachine(t, p, floats, halves, pitch, &planes{count: 1})
}

// planesByMachine computes several.
func planesByMachine(t *Taps, p *Plane, floats []float32, halves []byte, pitch int, all *planes) {
	a := tapping{
		step: 4 * p.Step, pitch: pitch, taps: len(t.shifts),
		bias: p.Bias, lo: p.lo, hi: p.hi, zero: p.zero,
	}
	if a.taps > 0 {
		a.shifts = unsafe.Pointer(&t.shifts[0])
	}
	code := anyTaps
	switch {
	case p.Max:
		code = greatest
	case t.grid:
		code = grid
	}
	if len(p.Weights) > 0 {
		a.weights = unsafe.Pointer(&p.Weights[0])
	}
	first := 0
	if code == grid { // its rows count from the first
		first = t.rows[0]
		a.tapRows = [2]int{4 * (t.rows[1] - first), 4 * (t.rows[2] - first)}
		a.tapColumns = [2]int{4 * t.columns[1], 4 * t.columns[2]}
	}
	if halves != nil {
		a.halves = 1
	}
	perCall := max(1, most/((min(longest, p.Width)+15)/16*max(1, a.taps)))
	for i := range all.count {
		src := p.Src[i*all.srcApart:]
		if i > 0 {
			a.weights = unsafe.Pointer(&p.Weights[i*len(t.shifts)])
		}
		if all.bias != nil {
			a.bias = all.bias[i]
		}
		for column := 0; column < p.Width; column += longest {
			a.width = min(longest, p.Width-column)
			for row := 0; row < p.Rows; row += perCall {
				a.rows = min(perCall, p.Rows-row)
				a.src = unsafe.Pointer(&src[first+row*p.Step+column])
				if halves != nil {
					a.dst = unsafe.Pointer(&halves[i*all.dstApart+row*pitch+2*column])
				} else {
					a.dst = unsafe.Pointer(&floats[row*pitch/4+column])
				}
				someTaps(&a, code)
			}
		}
	}
}

// someTaps is a call of its own so that the scheduler can stop a loop over rows:
// machine code it cannot.
//
//go:noinline
func someTaps(a *tapping, code int) {
	switch {
	case code == grid && wide:
		gridAVX512(a)
	case code == grid:
		gridAVX2(a)
	case code == greatest && wide:
		maxAVX512(a)
	case code == greatest:
		maxAVX2(a)
	case wide:
		tapsAVX512(a)
	default:
		tapsAVX2(a)
	}
}

// The kinds of machine code.
const (
	anyTaps = iota
	grid
	greatest
)

//go:noescape
func gridAVX512(a *tapping)

//go:noescape
func gridAVX2(a *tapping)

//go:noescape
func tapsAVX512(a *tapping)

//go:noescape
func maxAVX512(a *tapping)

//go:noescape
func tapsAVX2(a *tapping)

//go:noescape
func maxAVX2(a *tapping)
