package vec

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"
)

// The machine code gives the bytes of the plain form, and writes nothing beside
// its rows.
func TestFinish(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	bounds := [][2]float32{
		{float32(math.Inf(-1)), float32(math.Inf(1))}, {0, float32(math.Inf(1))}, {0, 6}, {-1, 1}, {float32(math.NaN()), 1},
		{float32(math.Copysign(0, -1)), 2}, {-3, 0},
	}
	for cols := 1; cols < 100; cols++ {
		b := bounds[cols%len(bounds)]
		f := Finish{Rows: 1 + r.IntN(5), Cols: cols, Stride: cols + r.IntN(3), Lo: b[0], Hi: b[1]}
		f.Tile = numbers(r, f.Rows*f.Stride)
		if r.IntN(2) == 0 {
			f.Bias = numbers(r, f.Rows)
		}
		if r.IntN(2) == 0 {
			f.OtherApart = r.IntN(2) * (2*cols + 2*r.IntN(4))
			f.Other = make([]byte, f.Rows*f.OtherApart+2*cols)
			for i := range f.Other {
				f.Other[i] = byte(r.Uint32())
			}
		}
		f.OutApart = 2*cols + 2*r.IntN(5)
		made := make([]byte, f.Rows*f.OutApart+40)
		for i := range made {
			made[i] = 0xa5
		}
		want := bytes.Clone(made)
		plain := f
		plain.Out = want
		plain.plain()
		f.Out = made
		f.Run()
		for i := 0; i < len(made); i += 2 {
			x, y := uint16(made[i])|uint16(made[i+1])<<8, uint16(want[i])|uint16(want[i+1])<<8
			if nan := func(h uint16) bool { return h&0x7fff > 0x7c00 }; x != y && !(nan(x) && nan(y)) {
				t.Fatalf("%d rows of %d: byte %d is %#x, expected %#x", f.Rows, f.Cols, i, x, y)
			}
		}
	}
}
