package vec

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/espalier-ane/espalier/internal/kernel/half"
)

func TestPlanar(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	special := []uint16{0, 0x8000, 1, 0x8001, 0x3ff, 0x7bff, 0xfbff, half.Inf, half.Inf | 0x8000, half.NaN, 0xfe01}
	numbers := func(n int, odd bool) []byte {
		b := make([]byte, 2*n)
		for i := range n {
			v := half.Bits(float32(r.NormFloat64()))
			if odd && r.IntN(4) == 0 {
				v = special[r.IntN(len(special))]
			}
			binary.LittleEndian.PutUint16(b[2*i:], v)
		}
		return b
	}
	floats := func(n int) []float32 {
		v := make([]float32, n)
		for i := range v {
			v[i] = float32(r.NormFloat64())
		}
		return v
	}
	minusZero := float32(math.Copysign(0, -1))
	for round := range 2000 {
		rows, cols := 1+r.IntN(4), 1+r.IntN(70)
		p := Planar{
			Op: PlanarOp(r.IntN(5)), AApart: 2*cols + 2*r.IntN(3), BApart: 2*cols + 2*r.IntN(3), Rows: rows, Cols: cols, None: []float32{half.Max, float32(math.Inf(1))}[r.IntN(2)],
			NegateA: r.IntN(2) == 0, NegateB: r.IntN(2) == 0, ReLU: r.IntN(2) == 0,
			Pre: []float32{1, 0.3, -2}[r.IntN(3)], Scale: []float32{1, 0.7}[r.IntN(2)], Bias: []float32{0, minusZero, 0.25}[r.IntN(3)],
		}
		odd := round%2 == 0
		p.A = numbers(rows*p.AApart/2, odd)
		if r.IntN(2) == 0 {
			p.B = numbers(rows*p.BApart/2, odd)
		} else {
			p.Scalars = floats(rows)
		}
		if r.IntN(3) == 0 {
			p.Scales = floats(rows)
		}
		want := p
		if r.IntN(2) == 0 {
			p.Halves, want.Halves = make([]byte, 2*rows*cols), make([]byte, 2*rows*cols)
		} else {
			p.Floats, want.Floats = make([]float32, rows*cols), make([]float32, rows*cols)
		}
		got, wanted := p.Run(), want.plain()
		if got != wanted || got && !(bytes.Equal(p.Halves, want.Halves) && slices.Equal(p.Floats, want.Floats)) {
			t.Fatalf("round %d, operator %d, %d × %d: %v, want %v", round, p.Op, rows, cols, got, wanted)
		}
	}
}
