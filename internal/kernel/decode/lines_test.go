package decode

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/espalier-ane/espalier/internal/kernel/half"
)

// Lines of any length are decoded as one by one, and split into parts whose sums they
// are. Nothing beside them changes.
func TestLines8(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, n := range []int{1, 7, 16, 24, 31, 32, 33, 64, 100, 147, 256} {
		for _, lines := range []int{1, 3, 32, most/n + 2} {
			l := Lines8{Apart: n + r.IntN(3), N: n, Signed: r.IntN(2) == 0, Factors: make([]float32, lines), Zeros: make([]float32, lines)}
			for i := range l.Factors {
				l.Factors[i], l.Zeros[i] = half.Round(float32(r.NormFloat64()/16)), float32(r.IntN(256)-128)
			}
			l.Codes = random(r, (lines-1)*l.Apart+n)
			l.Line = 2*n + 2*r.IntN(3)
			l.Dst = random(r, (lines-1)*l.Line+2*n)
			want := bytes.Clone(l.Dst)
			for i := range lines {
				s := Scale{Signed: l.Signed, Zero: l.Zeros[i], Factor: l.Factors[i]}
				for j := range n {
					h := s.number(int(l.Codes[i*l.Apart+j]), 8)
					want[i*l.Line+2*j], want[i*l.Line+2*j+1] = byte(h), byte(h>>8)
				}
			}
			l.Write()
			if !bytes.Equal(l.Dst, want) {
				t.Fatalf("%d lines of %d are others", lines, n)
			}
			if !Finite(l.Factors) {
				t.Fatal("small factors give numbers that are not finite")
			}
			if lines > 32 {
				continue
			}
			groups := (n + 31) / 32
			const second, group, line = 2048, 4096, 64
			l.Dst, l.Line = random(r, groups*group), line
			split := bytes.Clone(l.Dst)
			for i := range lines {
				s := Scale{Signed: l.Signed, Zero: l.Zeros[i], Factor: l.Factors[i]}
				for j := range 32 * groups {
					var high, low uint16
					if j < n {
						high, low = parts(t, half.Float(s.number(int(l.Codes[i*l.Apart+j]), 8)))
					}
					at := i*line + j/32*group + j%32*2
					split[at], split[at+1], split[at+second], split[at+second+1] = byte(high), byte(high>>8), byte(low), byte(low>>8)
				}
			}
			l.Split(group, second)
			if !bytes.Equal(l.Dst, split) {
				t.Fatalf("%d lines of %d have other parts", lines, n)
			}
		}
	}
	if Finite([]float32{1, 600}) || Finite([]float32{half.Float(half.NaN)}) {
		t.Error("large factors give finite numbers")
	}
}

// Two tables are looked up for each code.
func TestTwice(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	var first, last Table
	for i := range first {
		first[i], last[i] = uint16(r.Uint32()), uint16(r.Uint32())
	}
	for _, bits := range []int{1, 2, 3, 4, 6} {
		for _, lines := range []int{1, 5, 32} {
			for _, groups := range []int{1, 3, 8} {
				const second, group, line = 2048, 4096, 64
				l := Twice{
					Dst: random(r, (lines-1)*line+(groups-1)*group+second+64), Group: group, Second: second, Line: line,
					Apart: groups*4*bits + 1, Bits: bits, Lines: lines, Groups: groups, First: &first, Last: &last,
				}
				l.Codes = random(r, (lines-1)*l.Apart+groups*4*bits)
				want := bytes.Clone(l.Dst)
				for i := range lines {
					for j := range 32 * groups {
						c := Code(l.Codes[i*l.Apart:], j, bits)
						at := i*line + j/32*group + j%32*2
						want[at], want[at+1], want[at+second], want[at+second+1] = byte(first[c]), byte(first[c]>>8), byte(last[c]), byte(last[c]>>8)
					}
				}
				l.Look()
				if !bytes.Equal(l.Dst, want) {
					t.Fatalf("%d lines of %d groups of %d bits are others", lines, groups, bits)
				}
			}
		}
	}
}

func BenchmarkLines8(b *testing.B) {
	const n, lines = 256, 32
	l := Lines8{Dst: make([]byte, 8*4096), Line: 2 * n, Codes: make([]byte, n*lines), Apart: n, N: n, Signed: true, Factors: make([]float32, lines), Zeros: make([]float32, lines)}
	report := func(b *testing.B) {
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(n*lines), "ns/code")
	}
	b.Run("numbers", func(b *testing.B) {
		for b.Loop() {
			l.Write()
		}
		report(b)
	})
	b.Run("parts", func(b *testing.B) {
		l.Line = 64
		for b.Loop() {
			l.Split(4096, 2048)
		}
		report(b)
	})
	b.Run("twice", func(b *testing.B) {
		var table Table
		t := Twice{Dst: l.Dst, Group: 4096, Second: 2048, Line: 64, Codes: l.Codes, Apart: 192, Bits: 6, Lines: lines, Groups: n / 32, First: &table, Last: &table}
		for b.Loop() {
			t.Look()
		}
		report(b)
	})
}

// parts are those of a number.
func parts(t *testing.T, x float32) (high, low uint16) {
	h := math.Float32bits(x)
	h = (h + 0x7fff + h>>16&1) >> 16
	rest := x - math.Float32frombits(h<<16)
	if math.Float32bits(rest)&0xffff != 0 {
		t.Fatalf("%v is no sum of two parts", x)
	}
	return uint16(h), uint16(math.Float32bits(rest) >> 16)
}
