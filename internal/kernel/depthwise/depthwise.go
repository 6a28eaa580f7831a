// Package depthwise convolves channels of which each has a kernel of its own. There
// is no matrix in it: a place of the result is the sum of a few products.
//
// A band of rows of the result is computed from a copy of what it meets of x, as
// float32 and with its padding around it. Each product and each sum is rounded, in the order of the taps, so that all
// instruction sets give the same bits. The plain Go says what is computed; machine
// code takes over where the processor has it.
package depthwise

import (
	"math"

	"github.com/espalier-ane/espalier/internal/kernel/half"
)

// Taps are the taps of a kernel, by how far each is from the place of the result, in
// the copy.
type Taps struct {
	shifts  []int
	far     int    // the farthest
	grid    bool   // three rows of three, each row like the others
	rows    [3]int // if so: how far they are from the place
	columns [3]int // and the taps from the row
}

// NewTaps makes the taps of a kernel. Shifts are not negative.
func NewTaps(shifts []int) *Taps {
	t := &Taps{shifts: shifts, grid: len(shifts) == 9}
	for i, s := range shifts {
		if s < 0 {
			panic("bug: a tap before its place")
		}
		t.far = max(t.far, s)
		if t.grid = t.grid && s-shifts[i/3*3] == shifts[i%3]-shifts[0]; t.grid {
			t.rows[i/3], t.columns[i%3] = shifts[i/3*3], s-shifts[i/3*3]
		}
	}
	return t
}

// A Plane is what a band of rows of a channel is computed from: the sum over all taps
// of
//
//	Weights[tap] · Src[row·Step + column + shift[tap]]
//
// plus Bias, kept between bounds. If Max is set, it is instead the greatest of what
// the taps meet, NaN if one is; 0 is greater than -0.
type Plane struct {
	Src         []float32
	Step        int // floats from what a row meets to what the next one meets
	Weights     []float32
	Max         bool
	Rows, Width int
	Bias        float32 // -0: none
	Bounds
}

// Bounds are what a value is kept between: min(max(x, lo), hi).
type Bounds struct{ lo, hi, zero float32 }

// Unbounded keeps every value as it is.
var Unbounded = Bounds{float32(math.Inf(-1)), float32(math.Inf(1)), NoBias}

// NoBias changes nothing.
var NoBias = float32(math.Copysign(0, -1))

// Between makes bounds. It is false for those that are NaN or zeros of which the
// sign would show.
func Between(lo, hi float32) (b Bounds, ok bool) {
	if lo != lo || hi != hi || hi == 0 || lo == 0 && math.Signbit(float64(lo)) {
		return b, false
	}
	b = Bounds{lo, hi, NoBias}
	if lo == 0 {
		b.zero = 0 // which -0 becomes
	}
	return b, true
}

// Floats computes rows that are a pitch apart.
func (t *Taps) Floats(dst []float32, pitch int, p *Plane) {
	if !t.check(p, 4*pitch, 4, 4*len(dst)) {
		return
	}
	if fast {
		tapsByMachine(t, p, dst, nil, 4*pitch)
		return
	}
	for r := range p.Rows {
		t.row(dst[r*pitch:][:p.Width], p, r)
	}
}

// planes are several planes: how far they, and their results, are apart, and their
// biases.
type planes struct {
	count, dstApart, srcApart int
	bias                      []float32
}

// HalvesOf is Halves for several planes, which are so many floats apart and whose
// results are so many bytes apart. The weights of one follow those of the other. There
// is a bias for each, or none.
func (t *Taps) HalvesOf(count int, dst []byte, pitch, dstApart, srcApart int, p *Plane, bias []float32) {
	q, taps := *p, len(t.shifts)
	q.Weights = p.Weights[:taps]
	end := (p.Rows-1)*pitch + 2*p.Width
	if count <= 0 || !t.check(&q, pitch, 2, len(dst)) {
		return
	}
	if min(dstApart, srcApart) < 0 || (count-1)*dstApart+end > len(dst) || count*taps > len(p.Weights) ||
		(count-1)*srcApart+(p.Rows-1)*p.Step+t.far+p.Width > len(p.Src) || bias != nil && len(bias) < count {
		panic("bug: planes outside of their memory")
	}
	if fast {
		planesByMachine(t, p, nil, dst, pitch, &planes{count, dstApart, srcApart, bias})
		return
	}
	for i := range count {
		q.Src, q.Weights = p.Src[i*srcApart:], p.Weights[i*taps:][:taps]
		if bias != nil {
			q.Bias = bias[i]
		}
		t.halves(dst[i*dstApart:], pitch, &q)
	}
}

// Halves computes rows of fp16 numbers that are so many bytes apart, little endian.
func (t *Taps) Halves(dst []byte, pitch int, p *Plane) {
	if t.check(p, pitch, 2, len(dst)) {
		t.halves(dst, pitch, p)
	}
}

func (t *Taps) halves(dst []byte, pitch int, p *Plane) {
	if fast {
		tapsByMachine(t, p, nil, dst, pitch)
		return
	}
	var v [512]float32 // as many rows as it holds, or a part of one
	q := *p
	width := min(len(v), p.Width)
	rows := min(len(v)/width, p.Rows)
	for r := 0; r < p.Rows; r += rows {
		q.Rows = min(rows, p.Rows-r)
		for at := 0; at < p.Width; at += width {
			q.Src, q.Width = p.Src[r*p.Step+at:], min(width, p.Width-at)
			t.Floats(v[:q.Rows*q.Width], q.Width, &q)
			if pitch == 2*q.Width {
				half.Put(dst[r*pitch:], v[:q.Rows*q.Width])
				continue
			}
			for i := range q.Rows {
				half.Put(dst[(r+i)*pitch+2*at:], v[i*q.Width:][:q.Width])
			}
		}
	}
}

// check reports whether there is something to compute. It panics if that lies
// outside of what is given. Pitch, size of an element and room of the result are
// bytes: fp16 rows may be an odd number of them apart.
func (t *Taps) check(p *Plane, pitch, size, bytes int) bool {
	if p.Rows <= 0 || p.Width <= 0 {
		return false
	}
	if len(p.Weights) != len(t.shifts) && !p.Max || p.Step < 0 || p.Rows > 1 && pitch < size*p.Width ||
		(p.Rows-1)*p.Step+t.far+p.Width > len(p.Src) || (p.Rows-1)*pitch+size*p.Width > bytes {
		panic("bug: rows outside of their memory")
	}
	return true
}

// row computes a row in plain Go.
func (t *Taps) row(dst []float32, p *Plane, r int) {
	if p.Max {
		t.greatest(dst, p, r)
		return
	}
	const atOnce = 8
	src := p.Src[r*p.Step:]
	for at := 0; at < len(dst); at += atOnce {
		n := min(atOnce, len(dst)-at)
		var s [atOnce]float32
		for i, v := range p.Weights {
			x := src[at+t.shifts[i]:]
			if n < atOnce {
				for j := range n {
					s[j] += float32(v * x[j])
				}
				continue
			}
			x8 := (*[atOnce]float32)(x)
			s[0] += float32(v * x8[0])
			s[1] += float32(v * x8[1])
			s[2] += float32(v * x8[2])
			s[3] += float32(v * x8[3])
			s[4] += float32(v * x8[4])
			s[5] += float32(v * x8[5])
			s[6] += float32(v * x8[6])
			s[7] += float32(v * x8[7])
		}
		for j, sum := range s[:n] {
			dst[at+j] = min(max(sum+p.Bias, p.lo), p.hi)
		}
	}
}

// greatest is row for what is greatest.
func (t *Taps) greatest(dst []float32, p *Plane, r int) {
	for i := range dst {
		dst[i] = float32(math.Inf(-1))
	}
	for _, shift := range t.shifts {
		for i, v := range p.Src[r*p.Step+shift:][:len(dst)] {
			dst[i] = max(dst[i], v)
		}
	}
	for i, v := range dst {
		dst[i] = min(max(v+p.Bias, p.lo), p.hi)
	}
}
