//go:build unix

package gemm

import (
	"testing"

	"github.com/espalier-ane/espalier/internal/kernel/guard"
	"github.com/espalier-ane/espalier/internal/kernel/vec"
)

// Nothing beside a source and its panels is touched, of every row.
func TestGuardPack(t *testing.T) {
	m := guard.New(t)
	for _, r := range Usable() {
		for side, p := range map[string]*Panel{"A": &r.A, "B": &r.B} {
			for _, depth := range []int{1, 7, 8, 15, 16, 17, 31, 32, 33, 65} {
				for _, lines := range []int{1, 3, 4, 6, 7, 12, 13, 15, 16, 17, 31, 32, 33} {
					words := p.Words(depth)
					panels := func() []float32 { return m.Floats(p.Panels(lines) * words) }
					for name, apart := range map[string][2]int{
						"line by line": {depth, 1}, "line by line, apart": {depth + 3, 1}, "side by side": {1, lines},
						"side by side, apart": {1, lines + 5}, "apart": {2*depth + 1, 2}, "one line for all": {0, 1}, "over each other": {1, 1},
					} {
						n := (lines-1)*apart[0] + (depth-1)*apart[1] + 1
						s := Source{Line: apart[0], Step: apart[1], Lines: lines, Depth: depth}
						m.Check(func() {
							s.Elem, s.Floats, s.Bytes = F32, m.Floats(n), nil
							p.Pack(panels(), words, &s)
						}, "%s, %s: %d lines of %d floats, %s", r.Name, side, lines, depth, name)
						m.Check(func() {
							s.Elem, s.Floats, s.Bytes = F16, nil, m.Bytes(2*n)
							p.Pack(panels(), words, &s)
						}, "%s, %s: %d lines of %d numbers, %s", r.Name, side, lines, depth, name)
					}
					if !p.Reads(Placed) {
						continue
					}
					m.Check(func() {
						at, shifts := make([]int64, lines), make([]int, depth)
						for l := range at {
							at[l] = int64(l + l/5)
						}
						for k := range shifts {
							shifts[k] = 2 * k
						}
						var places vec.Places
						places.Set(at)
						s := Source{Elem: Placed, Floats: m.Floats(int(at[lines-1]) + shifts[depth-1] + 1), Places: &places, Shifts: shifts, Lines: lines, Depth: depth}
						p.Pack(panels(), words, &s)
					}, "%s, %s: %d lines of %d at places", r.Name, side, lines, depth)
				}
				m.Check(func() { p.Squares(m.Floats(p.Lines), m.Floats(p.Words(depth)), depth) }, "%s, %s: squares of %d", r.Name, side, depth)
			}
		}
	}
}

// Nothing beside panels and the tile is touched.
func TestGuardRun(t *testing.T) {
	m := guard.New(t)
	for _, r := range Usable() {
		for _, depth := range []int{1, 2, 3, 4, 5, 7, 8, 31, 32, 33} {
			a, b := r.A.Words(depth), r.B.Words(depth)
			for _, rows := range []int{1, 4, 5, 6, 7, 8, 9, 12, 13, 16, 31, 32, 33} {
				for _, cols := range []int{1, 8, 15, 16, 17, 31, 32, 33, 49} {
					for _, more := range []int{0, 5} {
						m.Check(func() {
							room, stride := r.Room(rows, cols)
							high := room / stride
							tile := Tile{
								A: m.Floats(r.A.Panels(rows) * a), DistA: a, B: m.Floats(r.B.Panels(cols) * b), DistB: b, Depth: depth, Rows: rows, Cols: cols,
								C: m.Floats(room + (high-1)*more), Stride: stride + more, Fresh: depth%2 == 0,
							}
							r.Run(&tile)
						}, "%s: %d rows, %d columns, %d deep, %d more", r.Name, rows, cols, depth, more)
					}
				}
			}
		}
	}
}

// What lies outside of its memory is refused.
func TestGuardRefuses(t *testing.T) {
	m := guard.New(t)
	for _, r := range Usable() {
		if r.Needs == 0 {
			continue // Go looks by itself
		}
		const depth = 40
		a, b := r.A.Words(depth), r.B.Words(depth)
		rows, cols := r.A.Lines+1, r.B.Lines+1
		room, stride := r.Room(rows, cols)
		for _, less := range [][3]int{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}} {
			m.Refuses(func() {
				r.Run(&Tile{
					A: m.Floats(2*a - less[0]), DistA: a, B: m.Floats(2*b - less[1]), DistB: b, Depth: depth, Rows: rows, Cols: cols,
					C: m.Floats(room - less[2]), Stride: stride,
				})
			}, "%s: a tile without the last of %v", r.Name, less)
		}
		for side, p := range map[string]*Panel{"A": &r.A, "B": &r.B} {
			for _, s := range []Source{
				{Line: -1, Step: 1}, {Line: 1, Step: -1}, {Line: depth, Step: 1, Elem: F16}, {Line: 1, Step: p.Lines, Elem: F16},
				{Line: depth, Step: 1}, {Line: 1, Step: p.Lines},
			} {
				m.Refuses(func() {
					s.Lines, s.Depth = p.Lines, depth
					s.Floats, s.Bytes = m.Floats(p.Lines*depth-1), m.Bytes(2*p.Lines*depth-1)
					p.Pack(m.Floats(p.Words(depth)), p.Words(depth), &s)
				}, "%s, %s: lines %d apart, factors %d, elements %d", r.Name, side, s.Line, s.Step, s.Elem)
			}
		}
	}
}
