package matvec

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/espalier-ane/espalier/internal/kernel/half"
)

// Every row adds up products as it says, bit by bit: of lines one after the other
// and side by side, of any number, at any byte, with numbers of all kinds.
func TestRows(t *testing.T) {
	for _, row := range Usable() {
		t.Run(row.Name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 2))
			for _, lines := range []int{1, 7, 15, 16, 17, 31, 32, 33, 64, 75} {
				for _, depth := range []int{1, 7, 8, 9, 31, 32, 33, 72, 300} {
					for _, rows := range []int{1, 2, 4} {
						testRow(t, r, row, lines, depth, rows)
					}
				}
			}
			testRow(t, r, row, 3, 2*1024+5, 1) // more than one call
			testRow(t, r, row, 2*1024+5, 3, 2)
		})
	}
}

// The ways in which lines lie: where factor k of line l is, of so many runs of numbers
// that lie side by side.
var ways = []struct {
	name string
	runs func(row *Row, lines, depth int) (runs, numbers int)
	at   func(row *Row, apart, l, k int) int
	do   func(*Row, *Product)
}{
	{"dots", func(_ *Row, lines, depth int) (int, int) { return lines, depth },
		func(_ *Row, apart, l, k int) int { return l*apart + 2*k }, (*Row).Dots},
	{"strips", func(_ *Row, lines, depth int) (int, int) { return depth, lines },
		func(_ *Row, apart, l, k int) int { return k*apart + 2*l }, (*Row).Strips},
	{"panels", func(row *Row, lines, depth int) (int, int) {
		return (lines + row.Side - 1) / row.Side, row.Side * depth
	},
		func(row *Row, apart, l, k int) int { return l/row.Side*apart + 2*(k*row.Side+l%row.Side) }, (*Row).Panels},
}

func testRow(t *testing.T, r *rand.Rand, row *Row, lines, depth, rows int) {
	for _, way := range ways {
		runs, numbers := way.runs(row, lines, depth)
		shift, apart := r.IntN(4), 2*numbers+r.IntN(5)
		memory := make([]byte, shift+(runs-1)*apart+2*numbers) // and nothing behind it
		p := Product{
			W: memory[shift:], Apart: apart, Lines: lines, Depth: depth, Rows: rows,
			X: make([]float32, rows*depth), Stride: lines + r.IntN(3), Stage: new(Stage),
		}
		p.S = make([]float32, (rows-1)*p.Stride+lines)
		for i := range runs * numbers {
			binary.LittleEndian.PutUint16(p.W[i/numbers*apart+i%numbers*2:], half.Bits(number(r)))
		}
		for _, v := range [][]float32{p.X, p.S} {
			for i := range v {
				v[i] = number(r)
			}
		}
		want := make([]float32, len(p.S))
		copy(want, p.S)
		for l := range lines {
			for k := range depth {
				w := half.Float(binary.LittleEndian.Uint16(p.W[way.at(row, apart, l, k):]))
				for i := range rows {
					s := &want[i*p.Stride+l]
					if row.Fused {
						*s = fused(w, p.X[k*rows+i], *s)
					} else {
						*s += float32(w * p.X[k*rows+i])
					}
				}
			}
		}
		way.do(row, &p)
		for i, v := range p.S {
			if v != want[i] && (v == v || want[i] == want[i]) {
				t.Fatalf("%s: %d lines of %d, %d rows: sum %d is %v, want %v", way.name, lines, depth, rows, i, v, want[i])
			}
		}
	}
}

// number is one of any kind; few are not finite, so that sums are numbers mostly.
func number(r *rand.Rand) float32 {
	switch r.IntN(200) {
	case 0:
		return half.Float(uint16(r.IntN(1 << 16)))
	case 1, 2, 3:
		return half.Float(uint16(r.IntN(1 << 10))) // subnormal as fp16
	case 4, 5:
		return float32(math.Copysign(0, -1))
	}
	return float32(r.NormFloat64())
}

// fused is a·b + c, rounded once: the sum in fp64 is rounded to odd, which does no
// harm to rounding it to fp32.
func fused(a, b, c float32) float32 {
	p, q := float64(a)*float64(b), float64(c) // the product is exact
	s := p + q
	back := s - p
	rest := (p - (s - back)) + (q - back)
	if bits := math.Float64bits(s); rest != 0 && rest == rest && bits&1 == 0 {
		if (rest > 0) == (s > 0) {
			bits++
		} else {
			bits--
		}
		s = math.Float64frombits(bits)
	}
	return float32(s)
}

// What takes three rows takes four.
func TestRoundUp(t *testing.T) {
	for rows, want := range []int{1: 1, 2, 4, 4} {
		if got := RoundUp(rows); rows > 0 && got != want {
			t.Errorf("RoundUp(%d) = %d, want %d", rows, got, want)
		}
	}
}

// How fast weights are read: 50256 lines of 768 factors, 77 MB.
func BenchmarkReads(b *testing.B) {
	const lines, depth, tile, block = 50240, 768, 64, 256
	w := make([]byte, 2*lines*depth)
	for i := range lines * depth {
		binary.LittleEndian.PutUint16(w[2*i:], half.Bits(float32(i%17)/16))
	}
	for _, row := range Usable() {
		for _, way := range ways {
			if way.name == "strips" {
				continue
			}
			for _, rows := range []int{1, 2, 4} {
				b.Run(fmt.Sprint(row.Name, "/", way.name, "/", rows), func(b *testing.B) {
					x := make([]float32, rows*depth)
					for i := range x {
						x[i] = float32(i%13) - 6
					}
					p := Product{Apart: 2 * depth, Lines: tile, Depth: block, Rows: rows, S: make([]float32, rows*tile), Stride: tile, Stage: new(Stage)}
					if way.name == "panels" {
						p.Apart *= row.Side
					}
					b.SetBytes(int64(len(w)))
					for b.Loop() {
						for l := 0; l+tile <= lines; l += tile {
							for k := 0; k < depth; k += block {
								p.W, p.X = w[way.at(row, p.Apart, l, k):], x[k*rows:]
								way.do(row, &p)
							}
						}
					}
				})
			}
		}
	}
}
