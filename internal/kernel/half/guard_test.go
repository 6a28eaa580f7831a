//go:build unix

package half

import (
	"testing"

	"github.com/espalier-ane/espalier/internal/kernel/guard"
)

// Nothing beside the slices is touched.
func TestGuard(t *testing.T) {
	m := guard.New(t)
	for _, n := range guard.Sizes {
		m.Check(func() { Floats(m.Floats(n), m.Bytes(2*n)) }, "Floats of %d", n)
		m.Check(func() { Put(m.Bytes(2*n), m.Floats(n)) }, "Put of %d", n)
		m.Check(func() { Narrow(m.Bytes(2*n), m.Bytes(4*n)) }, "Narrow of %d", n)
		m.Check(func() { RoundAll(m.Floats(n)) }, "RoundAll of %d", n)
		m.Check(func() { RoundAllAway(m.Floats(n)) }, "RoundAllAway of %d", n)
		m.Check(func() { FloatsFlushed(m.Floats(n), m.Bytes(2*n), true) }, "FloatsFlushed of %d", n)
		m.Check(func() { Flush(m.Bytes(2*n), m.Bytes(2*n)) }, "Flush of %d", n)
		m.Check(func() { Flushes(m.Bytes(2 * n)) }, "Flushes of %d", n)
		for _, rows := range []int{1, 7, 8, 17} {
			m.Check(func() {
				Transpose(m.Bytes(2*n*rows), 2*rows, m.Bytes(2*n*rows), 2*n, rows, n)
			}, "Transpose of %d × %d", rows, n)
		}
		even := (n + 1) / 2
		for _, rows := range []int{1, 2, 5} {
			for _, apart := range []int{n, n + 1, n + 7} {
				floats, bytes := (rows-1)*apart+n, (rows-1)*(2*apart+1)+2*n
				m.Check(func() {
					r := Rows{Dst: m.Floats(floats), DstApart: apart, Src: m.Bytes(bytes), SrcApart: 2*apart + 1, Count: rows, Cols: n}
					r.Convert()
				}, "%d rows of %d, %d apart", rows, n, apart)
				m.Check(func() {
					r := Rows{Dst: m.Floats(floats), DstApart: apart, Src: m.Bytes(bytes), SrcApart: 2*apart + 1, Count: rows, Cols: n, Split: even}
					r.Convert()
				}, "%d rows of %d, %d apart, split", rows, n, apart)
				m.Check(func() { // odd ones before the even ones
					r := Rows{Dst: m.Floats(floats), At: n / 2, DstApart: apart, Src: m.Bytes(bytes), SrcApart: 2*apart + 1, Count: rows, Cols: n, Split: -(n / 2)}
					r.Convert()
				}, "%d rows of %d, %d apart, split backwards", rows, n, apart)
			}
		}
	}
}

// Rows outside of their memory are refused.
func TestGuardRefuses(t *testing.T) {
	m := guard.New(t)
	const cols = 40
	for _, r := range []Rows{{DstApart: -1, SrcApart: 2}, {DstApart: 1, SrcApart: -2}, {DstApart: 8, SrcApart: 2}, {DstApart: 1, SrcApart: 6}} {
		m.Refuses(func() {
			r.Dst, r.Src, r.Count, r.Cols = m.Floats(cols+4), m.Bytes(2*(cols+4)), 6, cols
			if r.DstApart < 0 {
				r.At = 5
			}
			r.Convert()
		}, "rows %d and %d apart", r.DstApart, r.SrcApart)
	}
}
