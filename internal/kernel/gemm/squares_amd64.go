//go:build amd64

package gemm

// squares is what the machine code is told that adds up the squares of factors.
type squares struct {
	panel *float32
	next  int // bytes from a factor to the next
	count int // factors, or groups of them
	sums  *float32
	lines uint64 // as a mask
}

//go:noescape
func squaresOfFloats(s *squares)

//go:noescape
func squaresOfPairs(s *squares)

//go:noescape
func squaresOfLines(s *squares)

// vectorSquares is Squares of panels of floats, of up to 32 lines.
//
//go:noinline
func vectorSquares(sums, panel []float32, lines, depth int) {
	if depth == 0 {
		return
	}
	_, _ = sums[lines-1], panel[lines*depth-1]
	squaresOfFloats(&squares{&panel[0], 4 * lines, depth, &sums[0], 1<<lines - 1})
}

// tileSquares is Squares of panels of tiles. What fills up the last group is 0.
//
//go:noinline
func tileSquares(sums, panel []float32, depth int, columns bool) {
	groups := (depth + tileFactors - 1) / tileFactors
	if groups == 0 {
		return
	}
	_, _ = sums[2*tileLines-1], panel[groups*groupWords-1]
	for l := 0; l < 2*tileLines; l += tileLines {
		sixteenSquares(&squares{panel: &panel[l/tileLines*(tileBytes/4)], count: groups, sums: &sums[l]}, columns)
	}
}

//go:noinline
func sixteenSquares(s *squares, columns bool) {
	if columns {
		squaresOfPairs(s)
	} else {
		squaresOfLines(s)
	}
}
