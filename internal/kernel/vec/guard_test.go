//go:build unix

package vec

import (
	"math"
	"testing"

	"github.com/espalier-ane/espalier/internal/kernel/guard"
)

// Nothing beside the slices is touched.
func TestGuard(t *testing.T) {
	m := guard.New(t)
	pairs := map[string]func(dst, a, b []float32){"Add": Add, "Sub": Sub, "Mul": Mul, "Div": Div, "Max": Max, "Min": Min}
	inPlace := map[string]func(v []float32){
		"Plus":        func(v []float32) { Plus(v, 1) },
		"ReLU":        ReLU,
		"Clamp":       func(v []float32) { Clamp(v, 0, 1) },
		"Square":      func(v []float32) { Square(v, false) },
		"odd Square":  func(v []float32) { Square(v, true) },
		"Sum":         func(v []float32) { Sum(v) },
		"SumSquares":  func(v []float32) { SumSquares(v, 1) },
		"Powers":      func(v []float32) { Powers(v, 1) },
		"MaxOf":       func(v []float32) { MaxOf(v) },
		"Scale":       func(v []float32) { Scale(v, 3, false) },
		"odd Scale":   func(v []float32) { Scale(v, 3, true) },
		"HasNaN":      func(v []float32) { HasNaN(v) },
		"Greatest":    func(v []float32) { Greatest(v) },
		"Limits":      func(v []float32) { guard.Place(m, Limits{Least: 1, Most: 2, None: 0}).Apply(v) },
		"Curve":       func(v []float32) { guard.Place(m, Curve{Low: -9, High: 9, PerUnit: 4}).Apply(v) },
		"Curve, far":  func(v []float32) { guard.Place(m, Curve{Low: -9, High: 9, PerUnit: 400}).Apply(v) },
		"Curve of 2^": func(v []float32) { guard.Place(m, Curve{Low: -9, High: 9, PerUnit: 32, Powers: true}).Apply(v) },
	}
	for _, n := range guard.Sizes {
		for name, f := range pairs {
			m.Check(func() { f(m.Floats(n), m.Floats(n), m.Floats(n)) }, "%s of %d", name, n)
		}
		for name, f := range inPlace {
			m.Check(func() { f(m.Floats(n)) }, "%s of %d", name, n)
		}
		for f := range numFunctions {
			if !Applies() {
				break
			}
			for _, odd := range []bool{false, true} {
				m.Check(func() { Apply(f, m.Floats(n), 1.5, odd) }, "function %d of %d, odd %v", f, n, odd)
				m.Check(func() { // which fp32 leaves to fp64
					v := m.Floats(n)
					for i := range v {
						v[i] = float32(math.NaN())
					}
					Apply(f, v, 1.5, odd)
				}, "function %d of %d NaN, odd %v", f, n, odd)
			}
		}
		m.Check(func() {
			f := guard.Place(m, Leave{Limits: Limits{Least: 1, Most: 2}, Scale: 1, Tile: m.Floats(3 * n), Stride: n, Rows: 3, Cols: n, Out: m.Bytes(6 * n), OutApart: 2 * n})
			f.Run()
		}, "Leave of %d", n)
		for _, rows := range []bool{false, true} {
			m.Check(func() {
				p := Planar{Op: PlanarAdd, A: m.Bytes(6 * n), AApart: 2 * n, Scalars: m.Floats(3), Scales: m.Floats(3), Pre: 1, Rows: 3, Cols: n, Halves: m.Bytes(6 * n)}
				if rows {
					p.B, p.BApart, p.Scalars = m.Bytes(6*n), 2*n, nil
					p.Floats, p.Halves = m.Floats(3*n), nil
				}
				p.Run()
			}, "Planar of %d, rows %v", n, rows)
		}
		for _, odd := range []bool{false, true} {
			m.Check(func() { Normalize(m.Floats(n), m.Floats(n), m.Floats(n), 1, 2, odd) }, "Normalize of %d, odd %v", n, odd)
		}
		if Standardizes(n) {
			m.Check(func() { Standardize(m.Bytes(2*n), m.Bytes(2*n), Rows{N: 1}, m.Floats(n), m.Floats(n), 1) }, "Standardize of %d", n)
			m.Check(func() {
				Standardize(m.Bytes(6*n+4), m.Bytes(6*n+8), Rows{3, 2*n + 2, 2*n + 4}, m.Floats(n), m.Floats(n), 1)
			}, "Standardize of 3 rows of %d", n)
		}
	}
}

func TestGuardFinish(t *testing.T) {
	m := guard.New(t)
	for _, n := range guard.Sizes {
		for _, rows := range []int{1, 2, 3, 7} {
			for _, more := range []int{0, 1, 16} {
				for _, kind := range []string{"", "bias", "other", "same other"} {
					m.Check(func() {
						apart := 2*(n+more) + more%2
						room := (rows-1)*apart + 2*n
						f := Finish{
							Tile: m.Floats((rows-1)*(n+more) + n), Stride: n + more, Rows: rows, Cols: n,
							Out: m.Bytes(room), OutApart: apart,
						}
						f.Bounds()
						switch kind {
						case "bias":
							f.Bias = m.Floats(rows)
						case "other":
							f.Other, f.OtherApart = m.Bytes(room), apart
						case "same other":
							f.Other = m.Bytes(2 * n)
						}
						f.Run()
					}, "%d rows of %d, %d more, %s", rows, n, more, kind)
				}
			}
		}
	}
}

func TestGuardPlaces(t *testing.T) {
	m := guard.New(t)
	for _, n := range guard.Sizes[1:] {
		for _, width := range []int{6, 12, 16, 32} {
			for _, every := range []int{1, 2, 5, 40} { // a place is left out after so many
				m.Check(func() {
					at, next := make([]int64, n), int64(0)
					for i := range at {
						at[i] = next
						next++
						if i%every == every-1 {
							next += 3
						}
					}
					var p Places
					p.Set(at)
					shifts := []int{0, 1, 5}
					panels := (n + width - 1) / width
					p.Read(m.Floats(panels*len(shifts)*width), len(shifts)*width, width, m.Floats(int(p.greatest)+5+1), shifts)
				}, "%d places, stretches of %d, panels of %d", n, every, width)
			}
		}
	}
}

// Rows and places outside of their memory are refused.
func TestGuardRefuses(t *testing.T) {
	m := guard.New(t)
	const rows, cols = 3, 32
	for _, apart := range [][3]int{{-1, 2 * cols, 0}, {cols, -2, 0}, {cols, 2 * cols, -2}, {cols + 1, 2 * cols, 0}, {cols, 2*cols + 1, 0}, {cols, 2 * cols, 2*cols + 1}} {
		m.Refuses(func() {
			f := Finish{Tile: m.Floats(rows * cols), Rows: rows, Cols: cols, Out: m.Bytes(2 * rows * cols), Other: m.Bytes(2 * rows * cols)}
			f.Stride, f.OutApart, f.OtherApart = apart[0], apart[1], apart[2]
			f.Bounds()
			f.Run()
		}, "rows %v apart", apart)
	}
	for _, at := range [][]int64{{-1, 0, 1}, {0, 1, -2}, {0, 1, 8}} {
		m.Refuses(func() {
			var p Places
			p.Set(at)
			p.Read(m.Floats(32), 32, 16, m.Floats(8), []int{0, 0})
		}, "places %v", at)
	}
}
