package strided

import (
	"testing"

	"github.com/espalier-ane/espalier/internal/kernel/gemm"
)

// Strips and sections cover all rows and columns once, in whole panels and tiles, and
// none is wider than the tile that there is room for.
func TestCutsCoverAll(t *testing.T) {
	for _, row := range gemm.Usable() {
		for _, rows := range []int{1, 16, 24, 96, 144, 576, 2048} {
			for _, cols := range []int{1, 16, 49, 196, 784, 3136, 12544} {
				for _, n := range []int{1, 27, 576, 4608, 1 << 18} {
					c := newCuts(row, rows, cols, 1, n, n == 27, n != 576)
					at := 0
					for i := range c.strips {
						col, count := c.strip(i)
						if col != at || count <= 0 || count > c.tileCols || col%row.B.Lines != 0 {
							t.Fatalf("%s, %d × %d of %d: strip %d of %d has %d columns from %d on, want some up to %d from %d on", row.Name, rows, cols, n, i, c.strips, count, col, c.tileCols, at)
						}
						at += count
					}
					if at != cols {
						t.Fatalf("%s, %d × %d of %d: strips have %d columns", row.Name, rows, cols, n, at)
					}
					at = 0
					for i := range c.sections {
						from, end := c.section(i)
						if from != at || end <= from || from%row.A.Lines != 0 {
							t.Fatalf("%s, %d × %d of %d: section %d of %d is rows %d to %d, want some from %d on", row.Name, rows, cols, n, i, c.sections, from, end, at)
						}
						at = end
					}
					if at != rows {
						t.Fatalf("%s, %d × %d of %d: sections have %d rows", row.Name, rows, cols, n, at)
					}
				}
			}
		}
	}
}
