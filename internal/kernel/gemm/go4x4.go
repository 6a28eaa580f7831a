package gemm

import (
	"encoding/binary"

	"github.com/espalier-ane/espalier/internal/kernel/half"
)

// go4x4 multiplies four lines with four. Eight sums at a time, and two factors of
// each line, are what the registers hold and the adders keep up with.
var go4x4 = Row{
	Name: "go4x4", A: quads, B: quads, Depth: 256, Exact: true, Terms: 256, Run: run4x4,
	Doc: "plain Go; eight sums at a time",
}

var quads = Panel{
	Lines: 4, KR: 1, Bytes: 4, Floats: true, Takes: []Elem{F32, F16, Placed},
	Pack: packQuads, Unpack: floatPanel(4).Unpack, Squares: quadSquares,
}

type quad [4]float32

func packQuads(panels []float32, apart int, s *Source) bool {
	first := 0
	if s.Elem == Placed && s.Depth == 1 {
		first = packQuadStep(panels, apart, s)
	}
	for l := first; l < s.Lines; l += 4 {
		panel := panels[l/4*apart:][:4*s.Depth]
		switch {
		case s.Lines-l < 4:
			packFloats(panel, 4, s, l)
		case s.Elem == F16:
			packQuadHalves(panel, s, l)
		case s.Elem == Placed:
			packQuadPlaces(panel, s, (*[4]int64)(s.Places.At[l:]))
		case s.Line == 1: // side by side
			for at := l; len(panel) >= 4; panel = panel[4:] {
				*(*quad)(panel) = quad(s.Floats[at:])
				at += s.Step
			}
		default:
			packQuadLines(panel, s, l)
		}
	}
	return true
}

// packQuadStep packs one factor of all lines that fill their panel, and returns
// how many these are. The panels are too short to be worth a call each.
func packQuadStep(panels []float32, apart int, s *Source) (lines int) {
	from := s.Floats[s.Shifts[0]:]
	for ; lines+4 <= s.Lines; lines += 4 {
		p := (*[4]int64)(s.Places.At[lines:])
		*(*quad)(panels[lines/4*apart:]) = quad{from[p[0]], from[p[1]], from[p[2]], from[p[3]]}
	}
	return lines
}

func packQuadLines(panel []float32, s *Source, l int) {
	l0, l1, l2, l3 := s.Floats[l*s.Line:], s.Floats[(l+1)*s.Line:], s.Floats[(l+2)*s.Line:], s.Floats[(l+3)*s.Line:]
	if s.Step == 1 { // most often
		l0, l1, l2, l3 = l0[:s.Depth], l1[:s.Depth], l2[:s.Depth], l3[:s.Depth]
		for k := range l0 {
			*(*quad)(panel[4*k:]) = quad{l0[k], l1[k], l2[k], l3[k]}
		}
		return
	}
	for k := range s.Depth {
		at := k * s.Step
		*(*quad)(panel[4*k:]) = quad{l0[at], l1[at], l2[at], l3[at]}
	}
}

func packQuadHalves(panel []float32, s *Source, l int) {
	if s.Line == 1 {
		for k := range s.Depth {
			b := binary.LittleEndian.Uint64(s.Bytes[2*(k*s.Step+l):])
			*(*quad)(panel[4*k:]) = quad{half.Float(uint16(b)), half.Float(uint16(b >> 16)), half.Float(uint16(b >> 32)), half.Float(uint16(b >> 48))}
		}
		return
	}
	l0, l1, l2, l3 := s.Bytes[2*l*s.Line:], s.Bytes[2*(l+1)*s.Line:], s.Bytes[2*(l+2)*s.Line:], s.Bytes[2*(l+3)*s.Line:]
	at := func(line []byte, i int) float32 { return half.Float(binary.LittleEndian.Uint16(line[i:])) }
	for k := range s.Depth {
		i := 2 * k * s.Step
		*(*quad)(panel[4*k:]) = quad{at(l0, i), at(l1, i), at(l2, i), at(l3, i)}
	}
}

func packQuadPlaces(panel []float32, s *Source, p *[4]int64) {
	if p[1] == p[0]+1 && p[2] == p[0]+2 && p[3] == p[0]+3 { // side by side
		for k, shift := range s.Shifts[:s.Depth] {
			*(*quad)(panel[4*k:]) = quad(s.Floats[int(p[0])+shift:])
		}
		return
	}
	for k, shift := range s.Shifts[:s.Depth] {
		from := s.Floats[shift:]
		*(*quad)(panel[4*k:]) = quad{from[p[0]], from[p[1]], from[p[2]], from[p[3]]}
	}
}

func quadSquares(sums, panel []float32, depth int) {
	var s0, s1, s2, s3 float32
	for panel = panel[:4*depth]; len(panel) >= 4; panel = panel[4:] {
		q := (*quad)(panel)
		s0 += float32(q[0] * q[0])
		s1 += float32(q[1] * q[1])
		s2 += float32(q[2] * q[2])
		s3 += float32(q[3] * q[3])
	}
	addQuad(sums, s0, s1, s2, s3)
}

func addQuad(c []float32, s0, s1, s2, s3 float32) {
	q := (*quad)(c)
	q[0] += s0
	q[1] += s1
	q[2] += s2
	q[3] += s3
}

func run4x4(t *Tile) {
	words := 4 * t.Depth
	switch {
	case t.Rows == 1:
		addLines4(t, words)
		return
	case t.Cols == 1:
		addColumn4(t, words)
		return
	}
	for c := 0; c < t.Cols; c += 4 {
		b := t.B[c/4*t.DistB:][:words]
		for r := 0; r < t.Rows; r += 4 {
			a := t.A[r/4*t.DistA:][:words]
			to := t.C[r*t.Stride+c:]
			addUpper4(to, t.Stride, a, b)
			if t.Rows-r > 2 {
				addLower4(to[2*t.Stride:], t.Stride, a, b)
			}
		}
	}
}

// The functions below add up the products of two panels in the order of the
// factors, from 0 on, and add the sums to C. The conversions keep a product from
// being fused with the sum, which would round otherwise on other machines.

// addUpper4 is the first two rows of a block.
func addUpper4(c []float32, stride int, a, b []float32) {
	var s00, s01, s02, s03, s10, s11, s12, s13 float32
	b = b[:len(a)]
	k := 8
	for ; k <= len(a); k += 8 {
		x, y := (*[8]float32)(a[k-8:k]), (*[8]float32)(b[k-8:k])
		s00 += float32(x[0] * y[0])
		s01 += float32(x[0] * y[1])
		s02 += float32(x[0] * y[2])
		s03 += float32(x[0] * y[3])
		s10 += float32(x[1] * y[0])
		s11 += float32(x[1] * y[1])
		s12 += float32(x[1] * y[2])
		s13 += float32(x[1] * y[3])
		s00 += float32(x[4] * y[4])
		s01 += float32(x[4] * y[5])
		s02 += float32(x[4] * y[6])
		s03 += float32(x[4] * y[7])
		s10 += float32(x[5] * y[4])
		s11 += float32(x[5] * y[5])
		s12 += float32(x[5] * y[6])
		s13 += float32(x[5] * y[7])
	}
	if k-4 == len(a) {
		x, y := (*quad)(a[k-8:]), (*quad)(b[k-8:])
		s00 += float32(x[0] * y[0])
		s01 += float32(x[0] * y[1])
		s02 += float32(x[0] * y[2])
		s03 += float32(x[0] * y[3])
		s10 += float32(x[1] * y[0])
		s11 += float32(x[1] * y[1])
		s12 += float32(x[1] * y[2])
		s13 += float32(x[1] * y[3])
	}
	addQuad(c, s00, s01, s02, s03)
	addQuad(c[stride:], s10, s11, s12, s13)
}

// addLower4 is the last two rows of a block. It is addUpper4 but for the indices
// of a, which are constants so that nobody has to check them.
func addLower4(c []float32, stride int, a, b []float32) {
	var s20, s21, s22, s23, s30, s31, s32, s33 float32
	b = b[:len(a)]
	k := 8
	for ; k <= len(a); k += 8 {
		x, y := (*[8]float32)(a[k-8:k]), (*[8]float32)(b[k-8:k])
		s20 += float32(x[2] * y[0])
		s21 += float32(x[2] * y[1])
		s22 += float32(x[2] * y[2])
		s23 += float32(x[2] * y[3])
		s30 += float32(x[3] * y[0])
		s31 += float32(x[3] * y[1])
		s32 += float32(x[3] * y[2])
		s33 += float32(x[3] * y[3])
		s20 += float32(x[6] * y[4])
		s21 += float32(x[6] * y[5])
		s22 += float32(x[6] * y[6])
		s23 += float32(x[6] * y[7])
		s30 += float32(x[7] * y[4])
		s31 += float32(x[7] * y[5])
		s32 += float32(x[7] * y[6])
		s33 += float32(x[7] * y[7])
	}
	if k-4 == len(a) {
		x, y := (*quad)(a[k-8:]), (*quad)(b[k-8:])
		s20 += float32(x[2] * y[0])
		s21 += float32(x[2] * y[1])
		s22 += float32(x[2] * y[2])
		s23 += float32(x[2] * y[3])
		s30 += float32(x[3] * y[0])
		s31 += float32(x[3] * y[1])
		s32 += float32(x[3] * y[2])
		s33 += float32(x[3] * y[3])
	}
	addQuad(c, s20, s21, s22, s23)
	addQuad(c[stride:], s30, s31, s32, s33)
}

// addLines4 adds the products of one row and all columns, two panels of these at
// a time.
func addLines4(t *Tile, words int) {
	a := t.A[:words]
	for c := 0; c < t.Cols; c += 8 {
		first := t.B[c/4*t.DistB:][:words]
		if c+4 < t.Cols {
			addLine4(t.C[c:], a, first, t.B[(c/4+1)*t.DistB:][:words])
			continue
		}
		var rest [8]float32 // the panel there is, twice
		copy(rest[:], t.C[c:c+4])
		addLine4(rest[:], a, first, first)
		copy(t.C[c:c+4], rest[:])
	}
}

// addColumn4 adds the products of all rows and one column. It is addLines4 with
// the sides exchanged.
func addColumn4(t *Tile, words int) {
	b := t.B[:words]
	for r := 0; r < t.Rows; r += 8 {
		first := t.A[r/4*t.DistA:][:words]
		second := first // the panel there is, twice
		if r+4 < t.Rows {
			second = t.A[(r/4+1)*t.DistA:][:words]
		}
		var sums [8]float32
		addLine4(sums[:], b, first, second)
		for j, v := range sums[:min(8, t.Rows-r)] {
			t.C[(r+j)*t.Stride] += v
		}
	}
}

// addLine4 is the first line of a with two panels.
func addLine4(c, a, b0, b1 []float32) {
	var s0, s1, s2, s3, s4, s5, s6, s7 float32
	b0, b1 = b0[:len(a)], b1[:len(a)]
	k := 8
	for ; k <= len(a); k += 8 {
		x, y, z := (*[8]float32)(a[k-8:k]), (*[8]float32)(b0[k-8:k]), (*[8]float32)(b1[k-8:k])
		s0 += float32(x[0] * y[0])
		s1 += float32(x[0] * y[1])
		s2 += float32(x[0] * y[2])
		s3 += float32(x[0] * y[3])
		s4 += float32(x[0] * z[0])
		s5 += float32(x[0] * z[1])
		s6 += float32(x[0] * z[2])
		s7 += float32(x[0] * z[3])
		s0 += float32(x[4] * y[4])
		s1 += float32(x[4] * y[5])
		s2 += float32(x[4] * y[6])
		s3 += float32(x[4] * y[7])
		s4 += float32(x[4] * z[4])
		s5 += float32(x[4] * z[5])
		s6 += float32(x[4] * z[6])
		s7 += float32(x[4] * z[7])
	}
	if k-4 == len(a) {
		x, y, z := (*quad)(a[k-8:]), (*quad)(b0[k-8:]), (*quad)(b1[k-8:])
		s0 += float32(x[0] * y[0])
		s1 += float32(x[0] * y[1])
		s2 += float32(x[0] * y[2])
		s3 += float32(x[0] * y[3])
		s4 += float32(x[0] * z[0])
		s5 += float32(x[0] * z[1])
		s6 += float32(x[0] * z[2])
		s7 += float32(x[0] * z[3])
	}
	addQuad(c, s0, s1, s2, s3)
	addQuad(c[4:], s4, s5, s6, s7)
}
