// Package transform computes 3×3 convolutions of stride 1 with fewer products: of
// a tile of m×m places at once, with (m+2)² products for each pair of channels
// instead of 9·m². F(2×2) takes 16 for 36, F(4×4) takes 36 for 144.
//
// Along one axis, a tile of x and the weights are two polynomials, known by their
// values at m+1 points and at infinity: the values are multiplied, and the tile of
// the result is what its values say. Along both axes it is done one after the
// other:
//
//	x, fp16 rows ── Across ── planes ── Down ── panels of B ─┐
//	                                                         ├─ (m+2)² products of matrices ── Back ── places
//	weights ─────── Weight ─────────────────── panels of A ──┘
//
// A matrix has a line for each tile, and a factor for each channel. Planes are of
// one channel. Of the m+2 numbers that a tile has along W there is a plane each,
// and of each of these one for rows 0, m, 2m, …, one for rows 1, m+1, …; in it lie
// the tiles side by side, row after row, so that what tiles have at row i of theirs
// is a run of floats:
//
//	row of x   0 1 2 3 4 5 6 7 8 9       plane 0: rows 0 4 8    plane 1: rows 1 5 9   …
//	tiles      └─────────┘               row 0 of the tiles begins in plane 0 at row 0,
//	                   └─────────┘       row 4 in plane 0 at row 4
//
// # How exact it is
//
// All is done in fp32, with coefficients that are exact there; weights are
// transformed in fp64 and rounded once. Where the values of a tile are of one
// size, the error before rounding is at most about 20 units of 2^-24 of Σ|a·b| with
// F(4×4), and 2 with F(2×2): far below the 256 by which instruction sets may
// differ.
//
// But no form is bounded by Σ|a·b| of the element itself: an element is computed
// with all of its tile, and what it does not meet cancels, up to rounding. The
// worst case is (Roundings + the terms of the sum over channels)·Amplify units of
// Σ max|x|·Σ|w|, with the largest |x| of the tile in each channel. So a value that
// is 2^k times as large as those around it costs the places of its tile that do
// not meet it about k bits, of 21; a plain sum loses none.
//
// A NaN or an infinity would spread to all places of its tile. Across says when
// there is one, so that such tiles are computed in another way.
package transform

import (
	"slices"

	"github.com/espalier-ane/espalier/internal/kernel/isa"
)

// A Row is a way to transform.
type Row struct {
	Name  string
	Needs isa.Set // of the processor
	Form

	// Lanes is how many tiles Down takes at once: panels have a multiple of them.
	Lanes int

	across func(*Across)
	down   func(*Down)
	back   func(*Back)
	Doc    string
}

// The portable rows come first, the best last.
var rows = slices.Concat([]*Row{&go2, &go4}, machineRows)

// Rows lists the rows that may be run.
func Rows() []*Row {
	have := isa.Have()
	return slices.DeleteFunc(slices.Clone(rows), func(r *Row) bool { return !have.Has(r.Needs) })
}

// For returns the last row with machine code for tiles of m×m places, nil if there
// is none: in plain Go, transforms take more time than they save.
func For(m int) (best *Row) {
	for _, r := range Rows() {
		if r.Tile == m && r.Needs != 0 {
			best = r
		}
	}
	return best
}

// Across transforms rows of a channel along W: rows that are Tile apart, of which
// the tiles have the same row.
type Across struct {
	Src   []byte // fp16, from the first element of the first row on
	Pitch int    // bytes from one of these rows to the next
	Rows  int
	Width int // elements of a row
	Pad   int // elements by which the first tile begins before the row

	Dst   []float32 // the first of the planes
	Plane int       // floats from one to the next
	Tiles int       // of a row

	finite bool
}

// Across reports whether all elements were finite.
func (r *Row) Across(a *Across) bool {
	if a.Rows == 0 || a.Tiles == 0 {
		return true
	}
	_ = a.Src[:(a.Rows-1)*a.Pitch+2*a.Width]
	_ = a.Dst[:(r.Side-1)*a.Plane+a.Rows*a.Tiles]
	if min(a.Pitch, a.Width, a.Plane) < 0 {
		panic("bug: rows and planes go forward")
	}
	a.finite = true
	r.across(a)
	return a.finite
}

// Down transforms the planes of a channel along H, into the panels of its factor.
type Down struct {
	Src   []float32 // the planes
	Plane int       // floats from one to the next
	Shift int       // floats from a row of tiles to the next

	// Panels of element e begin at e*Apart. To has, for each Lanes tiles, where
	// they go.
	Dst   []float32
	Apart int
	To    []int
}

// Down takes as many tiles as To has room for; of those after the last one it
// takes what lies there.
func (r *Row) Down(d *Down) {
	if len(d.To) == 0 {
		return
	}
	lanes := r.Lanes * len(d.To)
	_ = d.Src[:(r.Tile*r.Side-1)*d.Plane+d.Shift+lanes]
	_ = d.Dst[:(r.Side*r.Side-1)*d.Apart+slices.Max(d.To)+r.Lanes]
	if slices.Min(d.To) < 0 || min(d.Plane, d.Shift, d.Apart) < 0 {
		panic("bug: planes and panels go forward")
	}
	r.down(d)
}

// Back makes places of products.
type Back struct {
	Src   []float32 // of element e from e*Apart on, in whole Lanes
	Apart int

	// Tile t has its first place at To[t], and its rows a pitch apart.
	Dst   []float32
	Pitch int
	To    []int
}

// Back makes the places of as many tiles as To has.
func (r *Row) Back(b *Back) {
	if len(b.To) == 0 {
		return
	}
	lanes := (len(b.To) + r.Lanes - 1) / r.Lanes * r.Lanes
	_ = b.Src[:(r.Side*r.Side-1)*b.Apart+lanes]
	_ = b.Dst[:(r.Tile-1)*b.Pitch+slices.Max(b.To)+r.Tile]
	if slices.Min(b.To) < 0 || min(b.Pitch, b.Apart) < 0 {
		panic("bug: products and places go forward")
	}
	r.back(b)
}
