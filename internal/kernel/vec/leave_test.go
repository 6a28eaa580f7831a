package vec

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestLeave(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	nan := float32(math.NaN())
	special := []float32{0, float32(math.Copysign(0, -1)), nan, float32(math.Inf(1)), float32(math.Inf(-1)), 1e-30, -1e-30, 6e-5, -6e-5, 6.2e-5, 65504, 65519, 65520, -65520, 40000, -40000, 1 + 0x1p-11, 1 + 3*0x1p-11}
	all := []Limits{NoLimits, {Least: 0x1p-14 - 0x1p-25, Most: 32768, None: float32(math.Inf(1))}, {Most: nan, None: float32(math.Inf(1))}, {Least: 1, Most: nan, None: 0}}
	for _, cols := range []int{1, 2, 15, 16, 17, 31, 32, 33, 48, 49, 64, 100} {
		for i, l := range all {
			for _, relu := range []bool{false, true} {
				const rows = 3
				stride := cols + r.IntN(3)
				f := Leave{Limits: l, ReLU: relu, Scale: []float32{1, 0.3}[r.IntN(2)], Stride: stride, Rows: rows, Cols: cols, OutApart: 2*cols + 2*r.IntN(3)}
				f.Tile, f.Out = make([]float32, rows*stride), make([]byte, rows*f.OutApart)
				for j := range f.Tile {
					if f.Tile[j] = special[r.IntN(len(special))]; r.IntN(2) == 0 {
						f.Tile[j] = float32(r.NormFloat64())
					}
				}
				plain := f
				plain.Tile, plain.Out = slices.Clone(f.Tile), bytes.Clone(f.Out)
				plain.Limits.plain(plain.Tile)
				saved := plain.Limits
				plain.Limits = NoLimits
				plain.plain()
				plain.Limits = saved
				if f.Run(); !bytes.Equal(f.Out, plain.Out) {
					t.Errorf("%d columns, limits %d, ReLU %v", cols, i, relu)
				}
			}
		}
	}
}
