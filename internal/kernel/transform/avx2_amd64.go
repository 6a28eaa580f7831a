//go:build amd64

package transform

import "github.com/espalier-ane/espalier/internal/kernel/isa"

// The rows of AVX2 have a tile in each lane, of two vectors.
var (
	avx2of2 = Row{
		Name: "avx2-2x2", Needs: isa.AVX2, Form: form2, Lanes: 16, Doc: "eight tiles at once",
		across: func(a *Across) { acrossAVX2(a, 2) },
		down:   func(d *Down) { downAVX2(d, 2) },
		back:   func(b *Back) { backAVX2(b, 2) },
	}
	avx2of4 = Row{
		Name: "avx2-4x4", Needs: isa.AVX2, Form: form4, Lanes: 16, Doc: "eight tiles at once, fused products",
		across: func(a *Across) { acrossAVX2(a, 4) },
		down:   func(d *Down) { downAVX2(d, 4) },
		back:   func(b *Back) { backAVX2(b, 4) },
	}
)

// eightArgs is what the machine code is told of rows that it may read in whole
// vectors, with what is outside as 0.
type eightArgs struct {
	src   *byte
	pitch int
	rows  int
	tiles int
	dst   *float32
	next  int // bytes from row to row
	plane int
	last  int    // tiles of the last vector
	bad   uint32 // not 0: an element is not finite
}

// Rows are copied between zeros, some tiles of some rows at a time.
const (
	copiedTiles = 32
	copiedBytes = 2304 // eight rows of 32 tiles of four elements
)

//go:noinline
func acrossAVX2(a *Across, tile int) {
	var copies [copiedBytes]byte
	args := eightArgs{src: &copies[0], next: 4 * a.Tiles, plane: 4 * a.Plane}
	for t := 0; t < a.Tiles; t += copiedTiles {
		args.tiles = min(copiedTiles, a.Tiles-t)
		args.last = (args.tiles-1)%8 + 1
		args.pitch = 2*tile*(args.tiles-args.last+8) + 16
		first := t*tile - a.Pad // of the elements of these tiles
		lo, hi := max(first, 0), min(first+tile*args.tiles+2, a.Width)
		if t > 0 {
			clear(copies[:])
		}
		for r := 0; r < a.Rows; r += args.rows {
			args.rows = min(len(copies)/args.pitch, a.Rows-r)
			for i := 0; i < args.rows && lo < hi; i++ {
				copy(copies[i*args.pitch+2*(lo-first):], a.Src[(r+i)*a.Pitch:][2*lo:2*hi])
			}
			args.dst = &a.Dst[r*a.Tiles+t]
			acrossEight(&args, tile)
		}
	}
	a.finite = a.finite && args.bad == 0
}

// acrossEight is a call of its own, as acrossSixteen is.
//
//go:noinline
func acrossEight(args *eightArgs, tile int) {
	if tile == 2 {
		across2Eight(args)
	} else {
		across4Eight(args)
	}
}

//go:noinline
func downAVX2(d *Down, tile int) {
	args := downArgs{&d.Src[0], 4 * d.Plane, 4 * d.Shift, &d.Dst[0], 4 * d.Apart, &d.To[0], len(d.To)}
	if tile == 2 {
		down2Eight(&args)
	} else {
		down4Eight(&args)
	}
}

// backAVX2 puts those of the last eight tiles that are not there where the last one
// lies, and that after them.
func backAVX2(b *Back, tile int) {
	whole := len(b.To) &^ 7
	if whole > 0 {
		backEight(&backArgs{&b.Src[0], 4 * b.Apart, &b.Dst[0], 4 * b.Pitch, &b.To[0], whole}, tile)
	}
	if whole < len(b.To) {
		var to [8]int
		for i := range to {
			to[i] = b.To[min(whole+i, len(b.To)-1)]
		}
		backEight(&backArgs{&b.Src[whole], 4 * b.Apart, &b.Dst[0], 4 * b.Pitch, &to[0], len(to)}, tile)
	}
}

//go:noinline
func backEight(args *backArgs, tile int) {
	if tile == 2 {
		back2Eight(args)
	} else {
		back4Eight(args)
	}
}

//go:noescape
func across2Eight(a *eightArgs)

//go:noescape
func across4Eight(a *eightArgs)

//go:noescape
func down2Eight(d *downArgs)

//go:noescape
func down4Eight(d *downArgs)

//go:noescape
func back2Eight(b *backArgs)

//go:noescape
func back4Eight(b *backArgs)
