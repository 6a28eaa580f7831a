package depthwise

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/espalier-ane/espalier/internal/kernel/half"
)

// odd are numbers that a kernel may treat otherwise than others.
var odd = []float32{
	0, float32(math.Copysign(0, -1)), float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN()),
	math.Float32frombits(0xffc12345), math.SmallestNonzeroFloat32, -1e-40, 6e-8, 65504, 65520, -1e30, math.MaxFloat32,
}

func number(r *rand.Rand, strange bool) float32 {
	if strange && r.IntN(6) == 0 {
		return odd[r.IntN(len(odd))]
	}
	return float32(r.NormFloat64())
}

// kernels are the shifts of some kernels, in rows of so many floats.
func kernels(r *rand.Rand, row int) []int {
	var shifts []int
	switch r.IntN(4) {
	case 0: // any
		for range r.IntN(27) {
			shifts = append(shifts, r.IntN(2*row))
		}
		return shifts
	case 1: // one row and column of nine differ
		shifts = kernelOf(3, 3, row, 1)
		shifts[r.IntN(9)]++
		return shifts
	}
	return kernelOf([]int{1, 3, 3, 5}[r.IntN(4)], []int{3, 3, 3, 5}[r.IntN(4)], row, 1+r.IntN(2))
}

func kernelOf(h, w, row, dilation int) (shifts []int) {
	for y := range h {
		for x := range w {
			shifts = append(shifts, (y*row+x)*dilation)
		}
	}
	return shifts
}

// Machine code gives the bits of the definition, for any extents, and writes nothing
// else.
func TestTaps(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for i := range 1500 {
		width, rows := 1+r.IntN(70), 1+r.IntN(5)
		row := width + r.IntN(10)
		shifts := kernels(r, row)
		taps := NewTaps(shifts)
		strange := i%3 == 0
		p := &Plane{Rows: rows, Width: width, Step: r.IntN(2 * row), Weights: make([]float32, len(shifts)), Bias: NoBias, Bounds: Unbounded}
		p.Src = make([]float32, r.IntN(3)+taps.far+width+(rows-1)*p.Step)
		for _, v := range [][]float32{p.Src, p.Weights} {
			for j := range v {
				v[j] = number(r, strange)
			}
		}
		if r.IntN(2) == 0 {
			p.Bias = number(r, strange)
		}
		if lo, hi := number(r, strange), number(r, strange); r.IntN(3) > 0 {
			if r.IntN(2) == 0 {
				lo, hi = 0, 6
			}
			if b, ok := Between(min(lo, hi), max(lo, hi)); ok {
				p.Bounds = b
			}
		}
		p.Max = r.IntN(3) == 0
		want := func(i, pitch int) (v float32, written bool) {
			y, x := i/pitch, i%pitch
			if y >= rows || x >= width {
				return 0, false
			}
			if p.Max {
				v = float32(math.Inf(-1))
			}
			for k, w := range p.Weights {
				if met := p.Src[y*p.Step+x+shifts[k]]; p.Max {
					v = max(v, met)
				} else {
					v += float32(w * met)
				}
			}
			return min(max(v+p.Bias, p.lo), p.hi), true
		}
		pitch := width + r.IntN(20)
		floats := make([]float32, rows*pitch+20)
		for j := range floats {
			floats[j] = -77
		}
		taps.Floats(floats[:(rows-1)*pitch+width], pitch, p)
		for j, got := range floats {
			v, written := want(j, pitch)
			if !written {
				v = -77
			}
			if math.Float32bits(got) != math.Float32bits(v) && (got == got || v == v) {
				t.Fatalf("case %d, %d rows of %d, %d taps: element %d is %g, expected %g", i, rows, width, len(shifts), j, got, v)
			}
		}
		begin := r.IntN(4)
		halves := make([]byte, begin+2*rows*pitch+40)
		for j := range halves {
			halves[j] = 0x55
		}
		taps.Halves(halves[begin:][:2*((rows-1)*pitch+width)], 2*pitch, p)
		for j := range (len(halves) - begin) / 2 {
			bits := uint16(0x5555)
			v, written := want(j, pitch)
			if written {
				bits = half.Bits(v)
			}
			if got := binary.LittleEndian.Uint16(halves[begin+2*j:]); got != bits && (v == v || half.Float(got) == half.Float(got)) {
				t.Fatalf("case %d, %d rows of %d, %d taps: element %d is %x, expected %x", i, rows, width, len(shifts), j, got, bits)
			}
		}
	}
}

// A long row, and many taps, are computed in parts.
func TestTapsInParts(t *testing.T) {
	shifts := make([]int, 200)
	for i := range shifts {
		shifts[i] = i
	}
	taps := NewTaps(shifts)
	p := &Plane{Rows: 7, Width: 5000, Step: 5200, Src: make([]float32, 7*5200), Weights: make([]float32, 200), Bias: 1, Bounds: Unbounded}
	for i := range p.Src {
		p.Src[i] = float32(i % 13)
	}
	for i := range p.Weights {
		p.Weights[i] = float32(i % 3)
	}
	got := make([]float32, 7*5000)
	taps.Floats(got, 5000, p)
	for _, i := range []int{0, 1, 2047, 2048, 4095, 4096, 4999, 5000, 9000, 20000, 34999} {
		want := float32(1) // whole numbers: exact
		for k, w := range p.Weights {
			want += w * p.Src[i/5000*5200+i%5000+k]
		}
		if got[i] != want {
			t.Errorf("element %d is %g, expected %g", i, got[i], want)
		}
	}
}

// Several planes are what each is alone, and nothing beside them is written.
func TestPlanes(t *testing.T) {
	const rows, width, row, area, count = 5, 7, 9, 70, 4
	for name, taps := range map[string]*Taps{"grid": NewTaps([]int{0, 1, 2, 9, 10, 11, 18, 19, 20}), "any": NewTaps([]int{0, 3, 20})} {
		n := len(taps.shifts)
		p := &Plane{Src: make([]float32, count*area), Step: row, Weights: make([]float32, count*n), Rows: rows, Width: width, Bias: 3, Bounds: Unbounded}
		for i := range p.Src {
			p.Src[i] = float32(i%17) / 4
		}
		for i := range p.Weights {
			p.Weights[i] = float32(i%7) - 3
		}
		for _, bias := range [][]float32{nil, {1, 2, 3, 4}} {
			const pitch, apart = 2*width + 2, 2 * 60
			got, want := make([]byte, count*apart), make([]byte, count*apart)
			taps.HalvesOf(count, got, pitch, apart, area, p, bias)
			for i := range count {
				one := *p
				one.Src, one.Weights = p.Src[i*area:], p.Weights[i*n:][:n]
				if bias != nil {
					one.Bias = bias[i]
				}
				taps.Halves(want[i*apart:], pitch, &one)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("%s, bias %v: planes are %x, expected %x", name, bias, got, want)
			}
			for what, call := range map[string]func(){
				"the last plane of the result": func() { taps.HalvesOf(count, got[:3*apart+4*pitch+2*width-1], pitch, apart, area, p, bias) },
				"the last plane of the source": func() { taps.HalvesOf(count+1, make([]byte, (count+1)*apart), pitch, apart, area, p, nil) },
			} {
				func() {
					defer func() {
						if recover() == nil {
							t.Errorf("%s: %s may lie outside", name, what)
						}
					}()
					call()
				}()
			}
		}
	}
}

// Nothing outside of the memory is touched: the call panics before.
func TestOutside(t *testing.T) {
	taps := NewTaps([]int{0, 1, 2})
	plane := Plane{Src: make([]float32, 20), Step: 10, Weights: make([]float32, 3), Rows: 2, Width: 8, Bias: NoBias, Bounds: Unbounded}
	taps.Floats(make([]float32, 16), 8, &plane)
	refuse := func(name string, f func()) {
		defer func() {
			if recover() == nil {
				t.Errorf("%s: no panic", name)
			}
		}()
		f()
	}
	refuse("result", func() { taps.Floats(make([]float32, 15), 8, &plane) })
	refuse("fp16 result", func() { taps.Halves(make([]byte, 31), 16, &plane) })
	short := plane
	short.Src = short.Src[:19]
	refuse("source", func() { taps.Floats(make([]float32, 16), 8, &short) })
	few := plane
	few.Weights = few.Weights[:2]
	refuse("weights", func() { taps.Floats(make([]float32, 16), 8, &few) })
}

func BenchmarkTaps(b *testing.B) {
	for _, c := range []struct {
		name        string
		rows, width int
	}{{"7", 7, 7}, {"14", 14, 14}, {"28", 28, 28}, {"56", 56, 56}, {"112", 24, 112}} {
		b.Run(c.name, func(b *testing.B) {
			row := c.width + 2
			taps := NewTaps(kernelOf(3, 3, row, 1))
			bounds, _ := Between(0, 6)
			p := &Plane{Rows: c.rows, Width: c.width, Step: row, Src: make([]float32, (c.rows+2)*row), Weights: make([]float32, 9), Bounds: bounds}
			dst := make([]byte, 2*c.rows*c.width)
			for b.Loop() {
				taps.Halves(dst, 2*c.width, p)
			}
		})
	}
}

// A channel costs no allocation.
func TestNoAllocation(t *testing.T) {
	taps := NewTaps(kernelOf(3, 3, 10, 1))
	src, dst, sums := make([]float32, 100), make([]byte, 2*64), make([]float32, 64)
	weights := make([]float32, 9)
	if n := testing.AllocsPerRun(10, func() {
		p := Plane{Src: src, Step: 10, Weights: weights, Rows: 8, Width: 8, Bias: NoBias, Bounds: Unbounded}
		taps.Halves(dst, 16, &p)
		taps.Floats(sums, 8, &p)
	}); n != 0 {
		t.Errorf("%g allocations", n)
	}
}
