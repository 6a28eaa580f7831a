package strided

import "github.com/espalier-ane/espalier/internal/kernel/gemm"

// cuts are how a convolution is cut for threads: its columns into strips, of which
// the factors stay in the scratch, and its rows into sections. A section of a strip is
// computed tile by tile:
//
//	            strip 0      strip 1
//	          ┌────────────┬────────────┐
//	          │ tile 0     │ tile 0     │
//	section 0 │ tile 1     │ tile 1     │
//	          ├────────────┼────────────┤
//	section 1 │ tile 2     │ tile 2     │
//	          └────────────┴────────────┘
//
// Strips are about equal, in whole panels, and so are sections, in whole tiles.
type cuts struct {
	rows, cols         int
	panel              int // columns
	tileRows, tileCols int // the largest tile
	strips, sections   int
	grain              int
}

// newCuts cuts results of rows and columns, of which there are so many, each element
// a sum of n products.
//
// A strip is packed by each thread that has a part of it, which takes as long as to
// multiply it with some hundred rows; the left factors are read again for each strip.
// So where both are few there are strips for all threads, and otherwise sections. What a
// strip meets around its places is read for each, so that small ones are wide if they
// meet some.
//
// If the left factors do not last, they are made anew for each strip, so that there are as
// few as can be.
func newCuts(row *gemm.Row, rows, cols, results, n int, around, lasts bool) cuts {
	const (
		enough = 8       // parts for the threads
		few    = 256     // rows
		stays  = 3 << 17 // left factors that a cache of the second level keeps beside a strip
		narrow = 2       // panels of a strip that is not cut any more
		least  = 1 << 18 // products that are worth a thread
		most   = 1 << 27 // products that a thread may take at once
	)
	c := cuts{rows: rows, cols: cols, panel: row.B.Lines, sections: 1, grain: 1}
	wide := around && rows <= 48 && n <= 128
	c.tileRows, c.tileCols = stripTiles(row, rows, cols, results, n, true, lasts && !wide)
	if rows*cols*results == 0 { // no strips
		return c
	}
	panels := row.B.Panels(cols)
	c.strips = tilesOf(cols, c.tileCols)
	if lasts && rows <= few && rows*n <= stays {
		wanted := min(tilesOf(enough, results), panels/narrow, rows*cols*max(n, 1)/least)
		c.strips = max(c.strips, wanted)
	}
	c.tileCols = min(cols, tilesOf(panels, c.strips)*c.panel)
	tiles, strip := tilesOf(rows, c.tileRows), rows*c.tileCols*max(n, 1)
	c.sections = max(min(tilesOf(enough, c.strips*results), strip/least), tilesOf(strip, most), 1)
	c.sections = min(c.sections, tiles)
	c.grain = max(1, least/(strip/c.sections))
	return c
}

// strip is where strip i begins, and how many columns it has.
func (c *cuts) strip(i int) (col, cols int) {
	panels := tilesOf(c.cols, c.panel)
	col = i * panels / c.strips * c.panel
	return col, min((i+1)*panels/c.strips*c.panel, c.cols) - col
}

// section is where the rows of section i begin and end.
func (c *cuts) section(i int) (row, end int) {
	tiles := tilesOf(c.rows, c.tileRows)
	return i * tiles / c.sections * c.tileRows, min((i+1)*tiles/c.sections*c.tileRows, c.rows)
}
