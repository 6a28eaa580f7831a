package gemm

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/espalier-ane/espalier/internal/kernel/half"
	"github.com/espalier-ane/espalier/internal/kernel/vec"
)

// What the rows say of themselves fits together.
func TestRows(t *testing.T) {
	names := make(map[string]bool)
	for _, r := range Rows() {
		if names[r.Name] || r.Name == "" || r.Doc == "" {
			t.Errorf("row %q stands twice or says nothing", r.Name)
		}
		names[r.Name] = true
		if r.A.KR != r.B.KR || r.Depth < 1 || r.Depth%r.A.KR != 0 {
			t.Errorf("%s: groups of %d and %d, blocks of %d", r.Name, r.A.KR, r.B.KR, r.Depth)
		}
		// Between instruction sets results may differ by about 2^-16 of the sum of
		// the magnitudes, and no more.
		if r.Terms <= 0 || r.Terms > 300 {
			t.Errorf("%s: off by %v units", r.Name, r.Terms)
		}
		for _, p := range []*Panel{&r.A, &r.B} {
			if p.Lines < 1 || p.Lines > 64 || !p.Reads(F32) || p.Reads(Placed) && p.KR > 1 || p.Lines*p.KR*p.Bytes%4 != 0 {
				t.Errorf("%s: panel of %d lines, groups of %d factors of %d bytes, of %v", r.Name, p.Lines, p.KR, p.Bytes, p.Takes)
			}
		}
	}
	if r := Rows()[0]; r.Needs != 0 || !r.Exact || r.Else != nil {
		t.Errorf("the first row is %s, which is not plain", r.Name)
	}
	if Named("go4x4") != Rows()[0] || Named("none") != nil {
		t.Error("rows are not found by name")
	}
}

// A matrix has lines of factors, in the order of the lines.
type matrix struct {
	lines, n int
	values   []float32
}

func (m *matrix) at(l, k int) float32 { return m.values[l*m.n+k] }

// kinds of values: of each, what an element is.
var kinds = map[string]func(r *rand.Rand) float32{
	"numbers":    func(r *rand.Rand) float32 { return float32(r.NormFloat64()) },
	"zeros":      func(r *rand.Rand) float32 { return float32(math.Copysign(0, r.Float64()-0.5)) },
	"large":      func(r *rand.Rand) float32 { return float32(r.NormFloat64()) * half.Max / 4 },
	"subnormals": func(r *rand.Rand) float32 { return float32(r.IntN(2048)-1024) * 0x1p-24 },
	"infinities": func(r *rand.Rand) float32 {
		if r.IntN(40) == 0 {
			return float32(math.Inf(1 - 2*r.IntN(2)))
		}
		return float32(r.IntN(3) - 1)
	},
	"NaN": func(r *rand.Rand) float32 {
		if r.IntN(40) == 0 {
			return float32(math.NaN())
		}
		return float32(r.NormFloat64())
	},
}

// newMatrix has fp16 numbers, so that every kind of source can hold them.
func newMatrix(r *rand.Rand, lines, n int, kind func(*rand.Rand) float32) *matrix {
	m := &matrix{lines, n, make([]float32, lines*n)}
	for i := range m.values {
		m.values[i] = half.Round(kind(r))
	}
	return m
}

// source lays the factors k to k+d out in one of the ways that a panel reads.
func (m *matrix) source(r *rand.Rand, p *Panel, k, d int) *Source {
	s := &Source{Elem: p.Takes[r.IntN(len(p.Takes))], Lines: m.lines, Depth: d}
	if s.Elem == Scaled || s.Elem == Looked {
		s.Elem = F16 // codes are held to it by a test of their own
	}
	switch gap := r.IntN(3); r.IntN(3) {
	case 0:
		s.Line, s.Step = d+gap, 1
	case 1:
		s.Line, s.Step = 1, m.lines+gap
	default:
		s.Line, s.Step = 2*(d+gap), 2
	}
	at := func(l, k int) int { return l*s.Line + k*s.Step }
	if s.Elem == Placed {
		places := make([]int64, m.lines)
		for l := range places {
			places[l] = int64(at(l, 0))
		}
		s.Places = new(vec.Places)
		s.Places.Set(places)
		for k := range d {
			s.Shifts = append(s.Shifts, at(0, k))
		}
	}
	size := at(m.lines-1, d-1) + 1
	if s.Elem == F16 {
		s.Bytes = make([]byte, 2*size)
	} else {
		s.Floats = make([]float32, size)
	}
	for l := range m.lines {
		for j := range d {
			if s.Elem == F16 {
				binary.LittleEndian.PutUint16(s.Bytes[2*at(l, j):], half.Bits(m.at(l, k+j)))
			} else {
				s.Floats[at(l, j)] = m.at(l, k+j)
			}
		}
	}
	return s
}

// pack makes panels of the factors k to k+d, in one go or in parts.
func (m *matrix) pack(r *rand.Rand, p *Panel, k, d int) (panels []float32, apart int, held bool) {
	apart = p.Words(d) + 3*r.IntN(2)
	panels = make([]float32, p.Panels(m.lines)*apart)
	for i := range panels {
		panels[i] = float32(math.NaN()) // of the last user
	}
	held = true
	for j := 0; j < d; {
		n := d - j
		if r.IntN(2) == 0 {
			n = min(n, p.KR*(1+r.IntN(7)))
		}
		held = p.Pack(panels[p.Words(j):], apart, m.source(r, p, k+j, n)) && held
		j += n
	}
	return panels, apart, held
}

// Each row computes, for each shape and kind of values, what the definition
// says, within its bound; exactly, if it says so.
func TestProducts(t *testing.T) {
	for _, row := range Usable() {
		for name, kind := range kinds {
			t.Run(row.Name+"/"+name, func(t *testing.T) {
				r := rand.New(rand.NewPCG(13, uint64(len(name))))
				for _, n := range []int{0, 1, 2, 3, 7, 64, row.Depth - 1, row.Depth, row.Depth + 1, 2*row.Depth + 5, 900} {
					for _, rows := range []int{1, 2, 3, row.A.Lines, row.A.Lines + 1, 2*row.A.Lines + 1, 1 + r.IntN(40)} {
						for _, cols := range []int{1, 2, row.B.Lines - 1, row.B.Lines, row.B.Lines + 3, 1 + r.IntN(80)} {
							if cols > 0 {
								testProduct(t, r, row, newMatrix(r, rows, n, kind), newMatrix(r, cols, n, kind))
							}
						}
					}
				}
			})
		}
	}
}

func testProduct(t *testing.T, r *rand.Rand, row *Row, a, b *matrix) {
	t.Helper()
	const guard = 7
	room, stride := row.Room(a.lines, b.lines)
	begin, after := float32(r.IntN(2)), 0
	fresh := row.Sets && begin == 0 && a.n > 0
	if row.Masked && r.IntN(2) == 0 { // it may write to a part of something larger
		after = 1 + r.IntN(4)
		stride += after
		room = a.lines * stride
	}
	c := make([]float32, room)
	for i := range c {
		c[i] = guard
	}
	for i := range a.lines {
		for j := range b.lines {
			c[i*stride+j] = begin
			if fresh {
				c[i*stride+j] = float32(math.NaN()) // which does not matter
			}
		}
	}
	for k := 0; k < a.n; k += row.Depth {
		d := min(row.Depth, a.n-k)
		panelsA, apartA, heldA := a.pack(r, &row.A, k, d)
		panelsB, apartB, heldB := b.pack(r, &row.B, k, d)
		if !heldA || !heldB {
			if row.Else == nil {
				t.Fatal("the panels do not hold the factors, and there is no other row")
			}
			return
		}
		testPanel(t, row.Name, &row.A, a, panelsA, apartA, k, d)
		testPanel(t, row.Name, &row.B, b, panelsB, apartB, k, d)
		row.Run(&Tile{
			A: panelsA, DistA: apartA, B: panelsB, DistB: apartB, Depth: d, Rows: a.lines, Cols: b.lines, C: c, Stride: stride, Fresh: fresh && k == 0,
		})
	}
	for i := range a.lines {
		for j := range b.lines {
			if err := check(row, a, b, i, j, begin, c[i*stride+j]); err != nil {
				t.Fatalf("%d×%d×%d: element %d, %d: %v", a.lines, b.lines, a.n, i, j, err)
			}
		}
		for j := range after {
			if at := i*stride + b.lines + j; c[at] != guard {
				t.Fatalf("%d×%d×%d: %v stands where nothing is to be written", a.lines, b.lines, a.n, c[at])
			}
		}
	}
}

// check holds an element to the definition.
func check(row *Row, a, b *matrix, i, j int, begin, got float32) error {
	exact, magnitudes := float64(begin), math.Abs(float64(begin))
	plain := begin
	for k := 0; k < a.n; k += row.Depth {
		var sum float32
		for x := k; x < min(k+row.Depth, a.n); x++ {
			p := a.at(i, x) * b.at(j, x)
			sum += float32(p)
			exact += float64(a.at(i, x)) * float64(b.at(j, x))
			magnitudes += math.Abs(float64(a.at(i, x)) * float64(b.at(j, x)))
		}
		plain += sum
	}
	switch {
	case row.Exact && got != plain && (got == got || plain == plain):
		return fmt.Errorf("%v, want %v", got, plain)
	case exact != exact || math.IsInf(exact, 0):
		if got == got == (exact != exact) || exact == exact && float64(got) != exact {
			return fmt.Errorf("%v, want %v", got, exact)
		}
	case math.Abs(float64(got)-exact) > row.Bound(a.n)*0x1p-24*magnitudes:
		return fmt.Errorf("%v, want %v within %v units of %v", got, exact, row.Bound(a.n), magnitudes)
	}
	return nil
}

// testPanel holds panels to what they were made of.
func testPanel(t *testing.T, name string, p *Panel, m *matrix, panels []float32, apart, k, d int) {
	t.Helper()
	line := make([]float32, d)
	for first := 0; first < m.lines; first += p.Lines {
		panel := panels[first/p.Lines*apart:]
		squares, want := make([]float32, p.Lines), make([]float64, p.Lines)
		p.Squares(squares, panel, d)
		for l := range p.Lines {
			p.Unpack(line, panel, l)
			for j, got := range line {
				var v float32
				if first+l < m.lines {
					v = m.at(first+l, k+j)
				}
				if got != v && (got == got || v == v) {
					t.Fatalf("%s: factor %d of line %d is %v, want %v", name, k+j, first+l, got, v)
				}
				want[l] += float64(v) * float64(v)
			}
			if got := float64(squares[l]); math.Abs(got-want[l]) > 0x1p-14*want[l] {
				t.Fatalf("%s: the squares of line %d are %v, want %v", name, first+l, got, want[l])
			}
		}
	}
}

// BenchmarkRows prints how fast rows multiply what lies in the cache.
// FuzzRows picks a row, a shape and numbers of a kind.
func FuzzRows(f *testing.F) {
	names := slices.Sorted(maps.Keys(kinds))
	f.Add(uint64(1), uint8(0), uint8(0), uint8(7), uint8(9), uint16(33))
	f.Add(uint64(2), uint8(3), uint8(4), uint8(50), uint8(70), uint16(300))
	f.Fuzz(func(t *testing.T, seed uint64, row, kind, rows, cols uint8, n uint16) {
		usable := Usable()
		r := rand.New(rand.NewPCG(seed, 1))
		of := kinds[names[int(kind)%len(names)]]
		a, b := newMatrix(r, 1+int(rows)%100, int(n)%700, of), newMatrix(r, 1+int(cols)%100, int(n)%700, of)
		testProduct(t, r, usable[int(row)%len(usable)], a, b)
	})
}

func BenchmarkRows(b *testing.B) {
	for _, row := range Usable() {
		for _, shape := range [][2]int{{1, 128}, {128, 1}, {128, 128}} {
			r := rand.New(rand.NewPCG(1, 1))
			x, y := newMatrix(r, shape[0], row.Depth, kinds["numbers"]), newMatrix(r, shape[1], row.Depth, kinds["numbers"])
			panelsA, apartA, _ := x.pack(r, &row.A, 0, row.Depth)
			panelsB, apartB, _ := y.pack(r, &row.B, 0, row.Depth)
			room, stride := row.Room(shape[0], shape[1])
			tile := &Tile{
				A: panelsA, DistA: apartA, B: panelsB, DistB: apartB, Depth: row.Depth, Rows: shape[0], Cols: shape[1],
				C: make([]float32, room), Stride: stride,
			}
			b.Run(fmt.Sprintf("%s/%d×%d", row.Name, shape[0], shape[1]), func(b *testing.B) {
				for b.Loop() {
					row.Run(tile)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*shape[0]*shape[1]*row.Depth), "ns/product")
			})
		}
	}
}

// Panels have what is nearest to factors with more bits than they hold.
func TestNear(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, row := range Usable() {
		for side, p := range map[string]*Panel{"A": &row.A, "B": &row.B} {
			for _, apart := range [][2]int{{40, 1}, {1, 50}, {2, 90}} { // lines, factors, neither side by side
				s := Source{Line: apart[0], Step: apart[1], Lines: p.Lines, Depth: 37, Floats: make([]float32, 5000)}
				for i := range s.Floats {
					s.Floats[i] = float32(r.NormFloat64())
				}
				panel, line := make([]float32, p.Words(s.Depth)), make([]float32, s.Depth)
				p.Pack(panel, len(panel), &s)
				for l := range s.Lines {
					p.Unpack(line, panel, l)
					for k, got := range line {
						want := s.float(l, k)
						if math.Abs(float64(got-want)) > 0x1p-17*math.Abs(float64(want)) {
							t.Fatalf("%s, %s: factor %d of line %d is %g for %g", row.Name, side, k, l, got, want)
						}
					}
				}
			}
		}
	}
}
