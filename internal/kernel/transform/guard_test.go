//go:build unix

package transform

import (
	"testing"

	guardpages "github.com/espalier-ane/espalier/internal/kernel/guard"
)

// Nothing beside rows, planes, panels and places is touched, of every row.
func TestGuard(t *testing.T) {
	m := guardpages.New(t)
	for _, r := range Rows() {
		for _, width := range guardpages.Sizes[1:] {
			for _, rows := range []int{1, 3} {
				for pad := range 3 {
					tiles := (width + r.Tile - 1) / r.Tile
					for _, more := range []int{0, 1, 7} {
						m.Check(func() {
							a := Across{
								Src: m.Bytes((rows-1)*(2*width+more) + 2*width), Pitch: 2*width + more, Rows: rows, Width: width, Pad: pad,
								Dst: m.Floats((r.Side-1)*(rows*tiles+more) + rows*tiles), Plane: rows*tiles + more, Tiles: tiles,
							}
							r.Across(&a)
						}, "%s: across %d rows of %d, pad %d, %d more", r.Name, rows, width, pad, more)
					}
				}
			}
		}
		for _, groups := range []int{1, 2, 3, 5} {
			for _, more := range []int{0, 1, 7} {
				lanes := r.Lanes * groups
				m.Check(func() {
					to := make([]int, groups)
					for i := range to {
						to[i] = i * r.Lanes
					}
					plane, shift, apart := lanes+more, more+1, lanes+more
					d := Down{
						Src: m.Floats((r.Tile*r.Side-1)*plane + shift + lanes), Plane: plane, Shift: shift,
						Dst: m.Floats((r.Side*r.Side-1)*apart + lanes), Apart: apart, To: to,
					}
					r.Down(&d)
				}, "%s: down %d groups, %d more", r.Name, groups, more)
			}
		}
		for _, tiles := range guardpages.Sizes[1:] {
			lanes := (tiles + r.Lanes - 1) / r.Lanes * r.Lanes
			for _, more := range []int{0, 1, 7} {
				m.Check(func() {
					to := make([]int, tiles)
					for i := range to {
						to[i] = i * r.Tile
					}
					pitch := tiles*r.Tile + more
					b := Back{
						Src: m.Floats((r.Side*r.Side-1)*(lanes+more) + lanes), Apart: lanes + more,
						Dst: m.Floats((r.Tile-1)*pitch + tiles*r.Tile), Pitch: pitch, To: to,
					}
					r.Back(&b)
				}, "%s: back %d tiles, %d more", r.Name, tiles, more)
			}
		}
	}
}

// Rows and planes outside of their memory are refused.
func TestGuardRefuses(t *testing.T) {
	m := guardpages.New(t)
	for _, r := range Rows() {
		const rows, width = 3, 32
		tiles := width / r.Tile
		for _, apart := range [][2]int{{-2, rows * tiles}, {2 * width, -1}, {2*width + 1, rows * tiles}, {2 * width, rows*tiles + 1}} {
			m.Refuses(func() {
				r.Across(&Across{
					Src: m.Bytes(2 * rows * width), Pitch: apart[0], Rows: rows, Width: width, Pad: 1,
					Dst: m.Floats(r.Side * rows * tiles), Plane: apart[1], Tiles: tiles,
				})
			}, "%s: rows and planes %v apart", r.Name, apart)
		}
	}
}
