//go:build amd64

package transform

import "github.com/espalier-ane/espalier/internal/kernel/isa"

var machineRows = []*Row{&avx2of2, &avx2of4, &avx512of2, &avx512of4}

// The rows of AVX-512 have a tile in each lane.
var (
	avx512of2 = Row{
		Name: "avx512-2x2", Needs: isa.AVX512, Form: form2, Lanes: 16, Doc: "16 tiles at once",
		across: func(a *Across) { acrossAVX512(a, 2) },
		down:   func(d *Down) { downAVX512(d, 2) },
		back:   func(b *Back) { backAVX512(b, 2) },
	}
	avx512of4 = Row{
		Name: "avx512-4x4", Needs: isa.AVX512, Form: form4, Lanes: 16, Doc: "16 tiles at once, fused products",
		across: func(a *Across) { acrossAVX512(a, 4) },
		down:   func(d *Down) { downAVX512(d, 4) },
		back:   func(b *Back) { backAVX512(b, 4) },
	}
)

// acrossArgs is what the machine code is told of up to 16 tiles of some rows.
//
// The elements are read from four places, 32 at a time, with what is outside of
// the row under a mask: from the first element of the first tile on, from the
// first of the ninth, both again one tile later.
type acrossArgs struct {
	src   *byte
	shift int // bytes from there to the first element, which may lie before it
	pitch int
	rows  int
	dst   *float32
	next  int // bytes from row to row
	plane int
	loads [4]uint32
	store uint32
	bad   uint32 // not 0: an element is not finite
}

// acrossAVX512 is a call for 16 tiles, of few rows each.
//
//go:noinline
func acrossAVX512(a *Across, tile int) {
	args := acrossArgs{src: &a.Src[0], pitch: a.Pitch, rows: a.Rows, next: 4 * a.Tiles, plane: 4 * a.Plane}
	for t := 0; t < a.Tiles; t += 16 {
		first := t*tile - a.Pad
		args.shift, args.dst = 2*first, &a.Dst[t]
		for i, from := range [...]int{first, first + 32, first + tile, first + tile + 32} {
			args.loads[i] = inside(from, a.Width)
		}
		args.store = 1<<min(16, a.Tiles-t) - 1
		acrossSixteen(&args, tile)
	}
	a.finite = a.finite && args.bad == 0
}

// acrossSixteen is a call of its own so that the scheduler can stop a loop over
// tiles: machine code it cannot.
//
//go:noinline
func acrossSixteen(args *acrossArgs, tile int) {
	if tile == 2 {
		across2(args)
	} else {
		across4(args)
	}
}

// inside has a bit for each of 32 elements from one on that a row has.
func inside(from, width int) uint32 {
	bits := ^uint64(0) >> 32
	if from < 0 {
		bits &= ^uint64(0) << min(-from, 32)
	}
	bits &= 1<<max(0, min(32, width-from)) - 1
	return uint32(bits)
}

type downArgs struct {
	src   *float32
	plane int
	shift int
	dst   *float32
	apart int
	to    *int
	count int
}

//go:noinline
func downAVX512(d *Down, tile int) {
	args := downArgs{&d.Src[0], 4 * d.Plane, 4 * d.Shift, &d.Dst[0], 4 * d.Apart, &d.To[0], len(d.To)}
	if tile == 2 {
		down2(&args)
	} else {
		down4(&args)
	}
}

type backArgs struct {
	src   *float32
	apart int
	dst   *float32
	pitch int
	to    *int
	count int // of tiles
}

//go:noinline
func backAVX512(b *Back, tile int) {
	args := backArgs{&b.Src[0], 4 * b.Apart, &b.Dst[0], 4 * b.Pitch, &b.To[0], len(b.To)}
	if tile == 2 {
		back2(&args)
	} else {
		back4(&args)
	}
}

// pick2 and pick4 pick, of 64 elements, those that 16 tiles have at each place. The
// machine code reads them.
var (
	//lint:ignore U1000 machine code reads it
	pick2 = picks(2)
	//lint:ignore U1000 machine code reads it
	pick4 = picks(4)
)

//lint:ignore U1000 it makes what machine code reads
func picks(tile int) (picks [4][16]uint16) {
	for place := range tile {
		for t := range 16 {
			picks[place][t] = uint16(tile*t + place)
		}
	}
	return picks
}

//go:noescape
func across2(a *acrossArgs)

//go:noescape
func across4(a *acrossArgs)

//go:noescape
func down2(d *downArgs)

//go:noescape
func down4(d *downArgs)

//go:noescape
func back2(b *backArgs)

//go:noescape
func back4(b *backArgs)
