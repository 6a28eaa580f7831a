//go:build unix

package attention

import (
	"testing"

	guarded "github.com/espalier-ane/espalier/internal/kernel/guard"
)

// Nothing beside the slices is touched.
func TestGuard(t *testing.T) {
	forMachines(t, func(t *testing.T) {
		m := guarded.New(t)
		for _, cols := range []int{1, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65} {
			pitch := RoundUp(cols)
			for _, rows := range []int{1, 3, 4, 5, 8, 9, 12, 13, 15, 16, 17, 21, 25, 31, 32} {
				for _, more := range []int{0, 1, 6} {
					stride := 2*cols + more
					m.Check(func() {
						Rows(m.Floats(rows*pitch), pitch, m.Bytes((rows-1)*stride+2*cols), stride, rows, cols)
					}, "%d rows of %d, %d more", rows, cols, more)
					m.Check(func() {
						Put(m.Bytes((rows-1)*stride+2*cols), stride, m.Floats((rows-1)*pitch+cols), pitch, rows, cols, guarded.Place(m, [Lanes]float32{}))
					}, "put %d rows of %d, %d more", rows, cols, more)
				}
				m.Check(func() { Turn(m.Floats(pitch*Lanes), m.Floats(rows*pitch), pitch, rows, 2) }, "turn %d rows of %d", rows, pitch)
				for _, n := range []int{1, 2, 3, 4, 5, 12, 13, 31} {
					m.Check(func() {
						Values(m.Floats(Lanes*pitch), m.Floats(n*Lanes), m.Floats(n*pitch), pitch, n, rows, guarded.Place(m, State{}))
					}, "values of %d keys, %d rows of %d", n, rows, pitch)
				}
			}
			for _, n := range []int{1, 2, 3, 4, 5, 7, 8, 11, 12, 13, 15, 16, 17, 24, 25, 31, 33} {
				for _, lanes := range []int{1, 8, 9, 16, 17, 32} {
					for _, kind := range []string{"", "bias", "each"} {
						m.Check(func() {
							var bias []float32
							if kind == "bias" {
								bias = m.Floats(Keys(n))
							}
							Scores(m.Floats(Keys(n)*Lanes), m.Floats(cols*Lanes), m.Floats((Keys(n)-1)*pitch+cols), pitch, cols, n, lanes, bias, kind == "each")
						}, "scores of %d keys, %d features, %d lanes, %s", n, cols, lanes, kind)
					}
					m.Check(func() { Down(m.Floats(n*Lanes), n, guarded.Place(m, State{})) }, "%d rows scaled down", n)
					m.Check(func() { Powers(m.Floats(n*Lanes), n, lanes, 1, guarded.Place(m, State{})) }, "powers of %d keys, %d lanes", n, lanes)
				}
			}
		}
	})
}

// Rows that are not filled up, and more positions than lanes, are refused.
func TestGuardRefuses(t *testing.T) {
	forMachines(t, func(t *testing.T) {
		m := guarded.New(t)
		m.Refuses(func() { Rows(m.Floats(3*17), 17, m.Bytes(3*2*17), 2*17, 3, 17) }, "rows 17 apart")
		m.Refuses(func() { Rows(m.Floats(3*16), 16, m.Bytes(3*2*17), 2*17, 3, 17) }, "rows longer than the pitch")
		m.Refuses(func() { Turn(m.Floats(17*Lanes), m.Floats(Lanes*17), 17, Lanes, 1) }, "turned rows 17 apart")
		m.Refuses(func() {
			Values(m.Floats(17*Lanes), m.Floats(Lanes), m.Floats(17), 17, 1, Lanes, guarded.Place(m, State{}))
		}, "values 17 apart")
		m.Refuses(func() {
			Values(m.Floats(16*Lanes), m.Floats(Lanes), m.Floats(16), 16, 1, Lanes+1, guarded.Place(m, State{}))
		}, "more results than lanes")
		m.Refuses(func() { Scores(m.Floats(4*Lanes), m.Floats(16*Lanes), m.Floats(4*16), 16, 16, 4, Lanes+1, nil, false) }, "more scores than lanes")
	})
}
