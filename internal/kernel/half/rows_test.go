package half

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// Rows are converted as the plain form does, and nothing beside them is written.
func TestRows(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for cols := 1; cols < 140; cols++ {
		for _, split := range []int{0, 1, -1} {
			rows := Rows{Count: 1 + r.IntN(4), Cols: cols, SrcApart: 2*cols + 2*r.IntN(3)}
			rows.At = 3
			half := (cols + 1) / 2
			rows.DstApart = cols + 4
			if split > 0 {
				rows.Split = half + r.IntN(2)
			} else if split < 0 {
				rows.Split = -half - r.IntN(2)
				rows.At = 1 - rows.Split
			}
			rows.More = r.IntN(3)
			rows.SrcPlane, rows.DstPlane = rows.Count*rows.SrcApart+2*r.IntN(2), rows.Count*rows.DstApart+2*cols+20+r.IntN(2)
			rows.Src = make([]byte, rows.More*rows.SrcPlane+(rows.Count-1)*rows.SrcApart+2*cols)
			for i := range rows.Src {
				rows.Src[i] = byte(r.Uint32())
			}
			rows.Dst = make([]float32, rows.More*rows.DstPlane+rows.Count*rows.DstApart+2*cols+20)
			for i := range rows.Dst {
				rows.Dst[i] = -7
			}
			want := rows
			want.Dst = slices.Clone(rows.Dst)
			for plane := range rows.More + 1 {
				want.plain(want.Dst[plane*rows.DstPlane:], want.Src[plane*rows.SrcPlane:])
			}
			rows.Convert()
			for i, v := range rows.Dst {
				if math.Float32bits(v) != math.Float32bits(want.Dst[i]) && !(v != v && want.Dst[i] != want.Dst[i]) {
					t.Fatalf("%d rows of %d, split %d: float %d is %g, expected %g", rows.Count, cols, rows.Split, i, v, want.Dst[i])
				}
			}
		}
	}
}
