package transform

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/espalier-ane/espalier/internal/kernel/half"
)

// kinds of elements of x.
var kinds = map[string]func(r *rand.Rand) float32{
	"numbers":    func(r *rand.Rand) float32 { return float32(r.NormFloat64()) },
	"positive":   func(r *rand.Rand) float32 { return float32(max(0, r.NormFloat64())) },
	"zeros":      func(r *rand.Rand) float32 { return float32(math.Copysign(0, r.Float64()-0.5)) },
	"largest":    func(r *rand.Rand) float32 { return half.Max * float32(1-2*r.IntN(2)) },
	"subnormals": func(r *rand.Rand) float32 { return float32(r.IntN(2048)-1024) * 0x1p-24 },
	"spikes": func(r *rand.Rand) float32 {
		if r.IntN(16) == 0 {
			return half.Max
		}
		return float32(r.NormFloat64())
	},
}

// same reports whether two results of a transform are the same but for some
// roundings of terms of that magnitude, and NaN and infinities in the same places.
func same(got, want, magnitude float32) bool {
	if !finite(want) || !finite(got) {
		return finite(want) == finite(got)
	}
	return math.Abs(float64(got-want)) <= 0x1p-20*float64(magnitude)
}

func finite(v float32) bool { return math.Abs(float64(v)) <= math.MaxFloat32 }

// plainOf is the portable row of a form.
func plainOf(r *Row) *Row {
	if r.Tile == 2 {
		return &go2
	}
	return &go4
}

// forMachine runs a test with each row that has machine code.
func forMachine(t *testing.T, test func(t *testing.T, row *Row, r *rand.Rand)) {
	for _, row := range Rows() {
		if row.Needs != 0 {
			t.Run(row.Name, func(t *testing.T) { test(t, row, rand.New(rand.NewPCG(3, 9))) })
		}
	}
}

const guard = 12345 // what nobody may overwrite

func guarded(n int) []float32 {
	s := make([]float32, n)
	for i := range s {
		s[i] = guard
	}
	return s
}

func TestAcross(t *testing.T) {
	forMachine(t, func(t *testing.T, row *Row, r *rand.Rand) {
		for range 400 {
			width, before := 1+r.IntN(150), r.IntN(3)
			a := Across{
				Width: width, Pad: before, Rows: 1 + r.IntN(5), Pitch: 2*width + r.IntN(5),
				Tiles: (width+before+r.IntN(3)+row.Tile-3)/row.Tile + 1,
			}
			a.Plane = a.Rows*a.Tiles + r.IntN(20)
			bytes := make([]byte, r.IntN(4)+(a.Rows-1)*a.Pitch+2*width)
			a.Src = bytes[len(bytes)-(a.Rows-1)*a.Pitch-2*width:]
			wrong := r.IntN(4) == 0
			for y := range a.Rows {
				for x := range width {
					binary.LittleEndian.PutUint16(a.Src[y*a.Pitch+2*x:], half.Bits(float32(r.NormFloat64())))
				}
			}
			if wrong {
				bits := []uint16{0x7c00, 0xfc00, 0x7e01, 0xfd00}[r.IntN(4)]
				binary.LittleEndian.PutUint16(a.Src[r.IntN(a.Rows)*a.Pitch+2*r.IntN(width):], bits)
			}
			b := a
			a.Dst, b.Dst = guarded(row.Side*a.Plane), guarded(row.Side*a.Plane)
			got, want := row.Across(&a), plainOf(row).Across(&b)
			if got != want || !wrong && !want {
				t.Fatalf("width %d: finite is %v, want %v", width, got, want)
			}
			for i := range a.Dst {
				if !same(a.Dst[i], b.Dst[i], 64) {
					t.Fatalf("width %d, %d before, %d tiles, float %d: %v, want %v", width, before, a.Tiles, i, a.Dst[i], b.Dst[i])
				}
			}
		}
	})
}

func TestDown(t *testing.T) {
	forMachine(t, func(t *testing.T, row *Row, r *rand.Rand) {
		for range 100 {
			n := 1 + r.IntN(4)
			d := Down{Shift: 1 + r.IntN(20), Apart: 16*n + r.IntN(40)}
			d.Plane = d.Shift + 16*n + r.IntN(9)
			d.Src = make([]float32, row.Tile*row.Side*d.Plane)
			for i := range d.Src {
				if d.Src[i] = float32(r.NormFloat64()); r.IntN(100) == 0 {
					d.Src[i] = float32(math.Inf(1))
				}
			}
			b := d
			d.Dst, b.Dst = guarded(row.Side*row.Side*d.Apart), guarded(row.Side*row.Side*d.Apart)
			for _, i := range r.Perm(n) {
				d.To = append(d.To, 16*i)
				for l := range 16 {
					b.To = append(b.To, 16*i+l)
				}
			}
			row.Down(&d)
			plainOf(row).Down(&b)
			for i := range d.Dst {
				if !same(d.Dst[i], b.Dst[i], 64) {
					t.Fatalf("%d tiles, float %d: %v, want %v", 16*n, i, d.Dst[i], b.Dst[i])
				}
			}
		}
	})
}

func TestBack(t *testing.T) {
	forMachine(t, func(t *testing.T, row *Row, r *rand.Rand) {
		for n := 1; n < 70; n++ {
			b := Back{Apart: (n+15)/16*16 + r.IntN(9)}
			perRow := 1 + r.IntN(12)
			b.Pitch = perRow*row.Tile + r.IntN(3)
			for i := range n {
				b.To = append(b.To, i/perRow*row.Tile*b.Pitch+i%perRow*row.Tile)
			}
			b.Src = make([]float32, row.Side*row.Side*b.Apart)
			for i := range b.Src {
				if b.Src[i] = float32(r.NormFloat64()); r.IntN(200) == 0 {
					b.Src[i] = float32(math.NaN())
				}
			}
			c := b
			size := ((n+perRow-1)/perRow + 1) * row.Tile * b.Pitch
			b.Dst, c.Dst = guarded(size), guarded(size)
			row.Back(&b)
			plainOf(row).Back(&c)
			for i := range b.Dst {
				if !same(b.Dst[i], c.Dst[i], 256) {
					t.Fatalf("%d tiles, float %d: %v, want %v", n, i, b.Dst[i], c.Dst[i])
				}
			}
		}
	})
}

// one computes a tile of so many channels, of elements of some kind. It returns the
// worst error, in units of 2^-24 of the sum of the magnitudes of the products, and
// of that sum with the largest |x| of the tile.
func one(row *Row, r *rand.Rand, channels int, kind func(r *rand.Rand) float32) (units, ofTile float64) {
	side, m := row.Side, row.Tile
	elements := side * side
	x, src := make([]float64, elements), make([]byte, 2*elements)
	planes, panel, products := make([]float32, m*side*64), make([]float32, elements*row.Lanes), make([]float32, elements*row.Lanes)
	want, sums, tile := make([]float64, m*m), make([]float64, m*m), 0.
	for range channels {
		var kernel [9]float32
		largest, weights := 0., 0.
		for i := range x {
			v := half.Round(kind(r))
			x[i] = float64(v)
			largest = max(largest, math.Abs(x[i]))
			binary.LittleEndian.PutUint16(src[2*i:], half.Bits(v))
		}
		for i := range kernel {
			kernel[i] = half.Round(float32(r.NormFloat64()))
			weights += math.Abs(float64(kernel[i]))
		}
		tile += largest * weights
		for p := range want {
			for k, v := range kernel {
				t := float64(v) * x[(p/m+k/3)*side+p%m+k%3]
				want[p] += t
				sums[p] += math.Abs(t)
			}
		}
		for q := range m {
			row.Across(&Across{
				Src: src[2*q*side:], Pitch: 2 * m * side, Rows: (side - q + m - 1) / m, Width: side, Dst: planes[q*side*64:], Plane: 64, Tiles: 1,
			})
		}
		row.Down(&Down{Src: planes, Plane: 64, Shift: 1, Dst: panel, Apart: row.Lanes, To: []int{0}})
		for e := range elements {
			var u [1]float32
			row.Transform(u[:], kernel[:], e)
			products[e*row.Lanes] = float32(float64(u[0])*float64(panel[e*row.Lanes]) + float64(products[e*row.Lanes]))
		}
	}
	got := make([]float32, m*m)
	row.Back(&Back{Src: products, Apart: row.Lanes, Dst: got, Pitch: m, To: []int{0}})
	for p := range got {
		if off := math.Abs(float64(got[p]) - want[p]); off != 0 {
			units, ofTile = max(units, off/sums[p]*0x1p24), max(ofTile, off/tile*0x1p24)
		}
	}
	return units, ofTile
}

// A tile is the convolution. Of any data, its error is within the bound. Where the
// values of a tile are of one size, it is within 64 units of the sum of the
// magnitudes, a quarter of what instruction sets may differ by.
func TestBound(t *testing.T) {
	const channels = 16
	for _, row := range Rows() {
		for name, kind := range kinds {
			r := rand.New(rand.NewPCG(5, 5))
			units, ofTile := 0., 0.
			for range 20 {
				u, o := one(row, r, channels, kind)
				units, ofTile = max(units, u), max(ofTile, o)
			}
			t.Logf("%s, %s: %.1f units; %.2f of the tile", row.Name, name, units, ofTile)
			if ofTile > row.Amplify*(Roundings+channels) {
				t.Errorf("%s, %s: off by %v units of the tile", row.Name, name, ofTile)
			}
			if name != "spikes" && units > 64 {
				t.Errorf("%s, %s: off by %v units", row.Name, name, units)
			}
		}
	}
}

// Amplify is what the transforms of a line make of the largest values, along both
// axes.
func TestAmplify(t *testing.T) {
	for _, tt := range []struct {
		form             *Form
		forward, inverse func(*line)
	}{{&form2, forward2, inverse2}, {&form4, forward4, inverse4}} {
		f := tt.form
		var places [4]float64
		for i := range f.Side { // value i of a line
			ofX, ofW := 0., 0.
			for s := range f.Side {
				v := line{}
				v[s] = 1
				tt.forward(&v)
				ofX += math.Abs(float64(v[i]))
			}
			for _, c := range f.Weights[i] {
				ofW = max(ofW, math.Abs(c))
			}
			v := line{}
			v[i] = 1
			tt.inverse(&v)
			for k := range f.Tile {
				places[k] += math.Abs(float64(v[k])) * ofX * ofW
			}
		}
		if want := slices.Max(places[:]); math.Abs(f.Amplify-want*want) > 0.01*f.Amplify {
			t.Errorf("F(%d×%d) amplifies by %v, not %v", f.Tile, f.Tile, want*want, f.Amplify)
		}
	}
}
